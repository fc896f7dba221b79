package policy

import (
	"fmt"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
)

// Growth bounds how groups grow.
type Growth struct {
	MaxNodes     int           `json:"maxNodes"`            // all nodes of the cluster, managed or not; 0 for no limit (--max-nodes-total)
	MaxCores     int64         `json:"maxCores"`            // cores of the whole cluster; 0: none may be added (--cores-total)
	MaxMemoryGiB int64         `json:"maxMemoryGiB"`        // memory of the whole cluster; 0: none may be added (--memory-total)
	GPUs         []GPUTotal    `json:"gpus,omitempty"`      // GPUs of the whole cluster, by kind (--gpu-total)
	NeedsReady   bool          `json:"needsReady,omitzero"` // nothing grows while no node is Ready (--scale-up-from-zero=false)
	MaxAtOnce    int           `json:"maxAtOnce"`           // machines that one cycle adds to one group; 0 for no limit (--max-nodes-per-scaleup)
	Provision    time.Duration `json:"provision"`           // a machine that has no node after this long is given up (--max-node-provision-time)
	Startup      time.Duration `json:"startup"`             // from a node's registration to its being Ready (--max-node-startup-time)
	BackoffFirst time.Duration `json:"backoffFirst"`        // after a group's first failure (--initial-node-group-backoff-duration)
	BackoffMost  time.Duration `json:"backoffMost"`         // the back-off doubles up to this (--max-node-group-backoff-duration)
	BackoffReset time.Duration `json:"backoffReset"`        // without failures for this long, the next one is a first one (--node-group-backoff-reset-timeout)

	BurstWindow    time.Duration `json:"burstWindow"`    // while pods keep coming, a group is asked again so long after it was asked at the latest; 0: in every cycle (--burst-window)
	PodDelay       time.Duration `json:"podDelay"`       // a younger pod is no reason to grow; its annotation may say more (--new-pod-scale-up-delay)
	PriorityCutoff int32         `json:"priorityCutoff"` // a pod of a lower priority is expendable: as if it were not there (--expendable-pods-priority-cutoff)
	GangHold       time.Duration `json:"gangHold"`       // for so long a gang that cannot be whole keeps the machines that its pods fit (--gang-hold)
	EnforceMin     bool          `json:"enforceMin"`     // a group below its min is raised to it (--enforce-node-group-min-size)

	Taints     cluster.Taints `json:"taints,omitzero"`      // (--startup-taint, --ignore-taint, --startup-taint-prefix, --status-taint)
	Bypassed   []string       `json:"bypassed,omitempty"`   // schedulers whose pods are a reason to grow before they were looked at (--bypassed-scheduler-names)
	Schedulers []string       `json:"schedulers,omitempty"` // schedulers whose pods are a reason to grow; none is all (--allowed-scheduler-names)

	Expanders []Expander `json:"expanders,omitempty"` // which group grows, filter after filter; none is [LeastCost] (--expander)
	Balance   Balance    `json:"balance,omitzero"`

	Headroom  []GroupHeadroom `json:"headroom,omitempty"`  // of several for a group the last holds (--headroom)
	Schedules []GroupSchedule `json:"schedules,omitempty"` // of several in force for a group the last holds (--schedule)
	Ceilings  []GroupCeiling  `json:"ceilings,omitempty"`  // all of them hold (--ceiling)

	DrainTargets []DrainTarget `json:"drainTargets,omitempty"` // see [Growth.Drain] (--drain-target)
	AwaitPlaces  bool          `json:"awaitPlaces"`            // short pods of Jobs wait for places that are free before a machine could boot (--await-free-places)

	Requests Requests `json:"requests,omitzero"`
	Buffers  Buffers  `json:"buffers,omitzero"`
}

// check returns the first setting of growth that makes no sense, by the name of its flag.
func (g Growth) check() error {
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{
		{"max-node-provision-time", g.Provision},
		{"max-node-startup-time", g.Startup},
		{"initial-node-group-backoff-duration", g.BackoffFirst},
		{"max-node-group-backoff-duration", g.BackoffMost},
		{"node-group-backoff-reset-timeout", g.BackoffReset},
	} {
		if d.value <= 0 {
			return fmt.Errorf("--%s=%s: give a duration above zero, such as 15m", d.flag, d.value)
		}
	}
	for _, name := range g.Bypassed {
		if len(g.Schedulers) > 0 && !slices.Contains(g.Schedulers, name) {
			return fmt.Errorf("--bypassed-scheduler-names=%s: name it in --allowed-scheduler-names too, or leave that out", name)
		}
	}
	switch {
	case g.BackoffMost < g.BackoffFirst:
		return fmt.Errorf("--max-node-group-backoff-duration=%s: give at least --initial-node-group-backoff-duration (%s)", g.BackoffMost, g.BackoffFirst)
	case g.GangHold < 0:
		return fmt.Errorf("--gang-hold=%s: give a duration of zero or more, such as 5m", g.GangHold)
	case g.BurstWindow < 0:
		return fmt.Errorf("--burst-window=%s: give a duration of zero or more, such as 10s", g.BurstWindow)
	case g.PodDelay < 0:
		return fmt.Errorf("--new-pod-scale-up-delay=%s: give a duration of zero or more, such as 30s", g.PodDelay)
	case g.MaxNodes < 0:
		return fmt.Errorf("--max-nodes-total=%d: give 0 or more", g.MaxNodes)
	case g.MaxAtOnce < 0:
		return fmt.Errorf("--max-nodes-per-scaleup=%d: give 0 or more; 0 is no limit", g.MaxAtOnce)
	}
	if err := checkExpanders(g.Expanders); err != nil {
		return err
	}
	for _, t := range g.DrainTargets {
		if t.Within <= 0 {
			return fmt.Errorf("--drain-target=%s: give a duration above zero, such as 20m", t)
		}
	}
	return g.Balance.check()
}
