package world

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice.dev/sluice/policy"
)

// limits are the flags of sluice that a script may set, each with what it sets.
func limits(p *policy.Policy) map[string]any {
	g, r, h := &p.Growth, &p.Removal, &p.Health
	return map[string]any{
		"max-nodes-total":                     &g.MaxNodes,
		"cores-total":                         [2]*int64{&r.MinCores, &g.MaxCores},
		"memory-total":                        [2]*int64{&r.MinMemoryGiB, &g.MaxMemoryGiB},
		"max-node-provision-time":             &g.Provision,
		"initial-node-group-backoff-duration": &g.BackoffFirst,
		"max-node-group-backoff-duration":     &g.BackoffMost,
		"node-group-backoff-reset-timeout":    &g.BackoffReset,
		"scale-down-enabled":                  &r.Enabled,
		"scale-down-unneeded-time":            &r.Unneeded,
		"scale-down-unready-time":             &r.Unready,
		"scale-down-utilization-threshold":    &r.Threshold,
		"scale-down-delay-after-add":          &r.AfterAdd,
		"node-delete-delay-after-taint":       &r.AfterTaint,
		"max-scale-down-parallelism":          &r.MaxInFlight,
		"max-drain-parallelism":               &r.MaxDrains,
		"max-graceful-termination-sec":        seconds{&r.MaxGrace},
		"max-drain-time":                      &r.DrainDeadline,
		"skip-nodes-with-local-storage":       &r.LocalStorage,
		"skip-nodes-with-system-pods":         &r.SystemPods,
		"ok-total-unready-count":              &h.UnreadyCount,
		"max-total-unready-percentage":        &h.UnreadyPercent,
	}
}

// seconds is a duration whose flag is a number of seconds.
type seconds struct{ d *time.Duration }

// setLimit sets one of [limits] from a flag's value.
func setLimit(field any, value string) (err error) {
	switch f := field.(type) {
	case *time.Duration:
		*f, err = time.ParseDuration(value)
	case *int:
		*f, err = strconv.Atoi(value)
	case *bool:
		*f, err = strconv.ParseBool(value)
	case *float64:
		*f, err = strconv.ParseFloat(value, 64)
	case seconds:
		var n int64
		n, err = strconv.ParseInt(value, 10, 64)
		*f.d = time.Duration(n) * time.Second
	case [2]*int64:
		low, high, ok := strings.Cut(value, ":")
		if !ok {
			return fmt.Errorf("write min:max")
		}
		if *f[0], err = strconv.ParseInt(low, 10, 64); err == nil {
			*f[1], err = strconv.ParseInt(high, 10, 64)
		}
	}
	return err
}

// doPolicy sets flags.
func doPolicy(w *world, s *statement) error {
	fields := limits(w.policy)
	for name, values := range s.set {
		if err := setLimit(fields[name], values[len(values)-1]); err != nil {
			return fmt.Errorf("policy: --%s=%s is not a value of that flag", name, values[len(values)-1])
		}
	}
	if err := w.policy.Check(); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	return nil
}
