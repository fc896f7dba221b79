package plan

import (
	"slices"
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// budgets are the disruption budgets, with their selectors read, and what was found of each class of pods.
type budgets struct {
	all       []*policyv1.PodDisruptionBudget
	selectors []labels.Selector
	of        map[*cluster.Class][]string
	turns     uint64 // how often there were others
}

// mostClasses is how many classes are remembered before all of them are forgotten: those that are gone for good are among them.
const mostClasses = 1 << 14

// turn turns to the budgets that there are now.
func (b *budgets) turn(all []*policyv1.PodDisruptionBudget) {
	if len(b.of) < mostClasses && slices.Equal(b.all, all) {
		return
	}
	*b = budgets{all: all, of: map[*cluster.Class][]string{}, turns: b.turns + 1}
	for _, o := range all {
		selector, err := metav1.LabelSelectorAsSelector(o.Spec.Selector)
		if err != nil {
			selector = labels.Nothing()
		}
		b.selectors = append(b.selectors, selector)
	}
}

// selecting are the budgets that select pods of the class, by "namespace/name" in that order.
func (b *budgets) selecting(c *cluster.Class) []string {
	keys, ok := b.of[c]
	if ok {
		return keys
	}
	for i, o := range b.all {
		if o.Namespace == c.Namespace && b.selectors[i].Matches(labels.Set(c.Labels)) {
			keys = append(keys, o.Namespace+"/"+o.Name)
		}
	}
	if b.of == nil {
		b.of = map[*cluster.Class][]string{}
	}
	b.of[c] = keys
	return keys
}

// disruptions is how many disruptions the budget still allows, as this cycle consumes them.
func (d *decision) disruptions(key string) int32 {
	if d.allowances == nil {
		d.allowances = make(map[string]int32, len(d.s.Objects.Budgets))
		for _, b := range d.s.Objects.Budgets {
			d.allowances[b.Namespace+"/"+b.Name] = b.Status.DisruptionsAllowed
		}
	}
	return d.allowances[key]
}

// disrupt consumes one disruption of each budget that selects the pod.
func (d *decision) disrupt(p *cluster.Pod) {
	for _, key := range d.planner.budgets.selecting(p.Class) {
		left := d.disruptions(key)
		d.allowances[key] = left - 1
	}
}

// budgetRefuses says which disruption budget holds the pod now, nil when none does.
func (d *decision) budgetRefuses(p *cluster.Pod) *reason.Reason {
	keys := d.planner.budgets.selecting(p.Class)
	if len(keys) > 1 {
		r := reason.New(reason.PodTwoBudgets, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "budgets", strings.Join(keys, ", "))
		return &r
	}
	for _, key := range keys {
		if allowed := d.disruptions(key); allowed < 1 {
			r := reason.New(reason.PodBudget, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "budget", key, "allowed", allowed)
			return &r
		}
	}
	return nil
}
