package azuresim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// AutoscaleSetting is a setting of the platform's own autoscaler: another hand on
// a scale set's capacity.
type AutoscaleSetting struct {
	Name     string // "": autoscale-<target's name>
	Target   string // the scale set's resource id, or its name when only one bears it
	Enabled  bool
	Min, Max int
	Default  int // the capacity without metrics; 0: Min
	Rules    []AutoscaleRule
}

// AutoscaleRule changes the capacity when a metric crosses a threshold.
type AutoscaleRule struct {
	Metric    string  // "Percentage CPU"
	Operator  string  // "GreaterThan" or "LessThan"
	Threshold float64 // in the metric's unit
	Change    int     // instances to add; negative: to remove
}

// autoscaleSetting is a setting in the store, as it was written.
type autoscaleSetting struct {
	subscription, group, name string
	model                     map[string]any
}

// autoscaleSettings are those of a store.
type autoscaleSettings []*autoscaleSetting

func (a *autoscaleSetting) id() string {
	return "/subscriptions/" + a.subscription + "/resourceGroups/" + a.group + "/providers/microsoft.insights/autoscalesettings/" + a.name
}

func (a *autoscaleSetting) target() string {
	id, _ := dig(a.model, "properties", "targetResourceUri").(string)
	return id
}

// AddAutoscaleSetting lets the platform drive a scale set, in its resource group.
// Nothing happens until AutoscaleStep, or somebody reads the setting.
func (s *Server) AddAutoscaleSetting(d AutoscaleSetting) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.store.scaleSet(d.Target)
	switch {
	case ss == nil:
		return fmt.Errorf("add autoscale setting for %q: there is not exactly one such scale set", d.Target)
	case d.Min < 0 || d.Max < d.Min:
		return fmt.Errorf("add autoscale setting for %q: %d to %d instances is no range", d.Target, d.Min, d.Max)
	}
	if d.Name == "" {
		d.Name = "autoscale-" + ss.name
	}
	s.store.autoscale.put(&autoscaleSetting{subscription: ss.subscription, group: ss.group, name: d.Name, model: d.model(ss)})
	return nil
}

func (d AutoscaleSetting) model(ss *scaleSet) map[string]any {
	rules := []any{}
	for _, r := range d.Rules {
		direction, count := "Increase", r.Change
		if count < 0 {
			direction, count = "Decrease", -count
		}
		rules = append(rules, map[string]any{
			"metricTrigger": map[string]any{
				"metricName": r.Metric, "metricResourceUri": ss.id(), "operator": r.Operator, "threshold": r.Threshold,
				"timeGrain": "PT1M", "timeWindow": "PT5M", "timeAggregation": "Average", "statistic": "Average",
			},
			"scaleAction": map[string]any{"direction": direction, "type": "ChangeCount", "value": fmt.Sprint(count), "cooldown": "PT5M"},
		})
	}
	return map[string]any{
		"location": ss.location,
		"properties": map[string]any{
			"enabled": d.Enabled, "targetResourceUri": ss.id(),
			"profiles": []any{map[string]any{
				"name":     "default",
				"capacity": map[string]any{"minimum": fmt.Sprint(d.Min), "maximum": fmt.Sprint(d.Max), "default": fmt.Sprint(max(d.Min, d.Default))},
				"rules":    rules,
			}},
		},
	}
}

// put reports whether the setting is new.
func (as *autoscaleSettings) put(a *autoscaleSetting) bool {
	at, taken := slices.BinarySearchFunc(*as, a, byID)
	if taken {
		(*as)[at] = a
		return false
	}
	*as = slices.Insert(*as, at, a)
	return true
}

// AutoscaleStep is what the platform's autoscaler does when a metric of a scale
// set has a value: the first rule whose threshold the value crosses moves the
// capacity, within the profile's bounds, and Azure chooses whom a smaller one
// costs. It returns the capacity then. Without an enabled setting, or a rule that
// fits, nothing happens.
func (s *Server) AutoscaleStep(set, metric string, value float64) (capacity int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	s.remember(now)
	err = s.store.onSet(set, func(ss *scaleSet) error {
		err := s.compute().autoscale(ss, metric, value, now)
		capacity = len(ss.live(now))
		return err
	})
	if err != nil {
		return capacity, fmt.Errorf("autoscale %q: %w", set, err)
	}
	return capacity, nil
}

func (c compute) autoscale(ss *scaleSet, metric string, value float64, now time.Time) error {
	capacity := len(ss.live(now))
	n, ok := c.store.autoscale.wanted(ss, capacity, metric, value)
	if !ok || n == capacity {
		return nil
	}
	if _, p := c.resize(ss, n, "", now); p != nil {
		return fmt.Errorf("%s: %s", p.detail.Code, p.detail.Message)
	}
	return nil
}

// wanted is the capacity that the first enabled setting of a scale set with a
// rule that fits wants next; false when there is none.
func (as autoscaleSettings) wanted(ss *scaleSet, capacity int, metric string, value float64) (int, bool) {
	for _, a := range as {
		if enabled, _ := dig(a.model, "properties", "enabled").(bool); !enabled || !strings.EqualFold(a.target(), ss.id()) {
			continue
		}
		if n, ok := a.step(capacity, metric, value); ok {
			return n, true
		}
	}
	return 0, false
}

// step is the capacity that the setting's first profile wants next; false when no
// rule fits.
func (a *autoscaleSetting) step(capacity int, metric string, value float64) (int, bool) {
	profiles, _ := dig(a.model, "properties", "profiles").([]any)
	if len(profiles) == 0 {
		return 0, false
	}
	bound := func(name string) int {
		var n int
		_, _ = fmt.Sscan(fmt.Sprint(dig(profiles[0], "capacity", name)), &n) // text; what is none is 0
		return n
	}
	rules, _ := dig(profiles[0], "rules").([]any)
	for _, r := range rules {
		name, _ := dig(r, "metricTrigger", "metricName").(string)
		operator, _ := dig(r, "metricTrigger", "operator").(string)
		threshold, _ := dig(r, "metricTrigger", "threshold").(float64)
		crossed := operator == "GreaterThan" && value > threshold || operator == "LessThan" && value < threshold
		if name != metric || !crossed {
			continue
		}
		var by int
		_, _ = fmt.Sscan(fmt.Sprint(dig(r, "scaleAction", "value")), &by)
		if dig(r, "scaleAction", "direction") == "Decrease" {
			by = -by
		}
		return min(max(capacity+by, bound("minimum")), bound("maximum")), true
	}
	return 0, false
}
