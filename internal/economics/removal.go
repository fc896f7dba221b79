package economics

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// The names of the contenders that removals are compared for.
const (
	TheOracle   = "oracle"
	TheSluice   = "sluice"
	TheParallel = "cluster-autoscaler, tuned, parallel"

	keepsJobs = ", Jobs kept" // behind the name of one that evicts no pod of a Job
)

// parallel is cluster-autoscaler with the timers tuned, --max-scale-down-parallelism=1000 and --max-drain-parallelism=10: as fast as it goes.
var parallel = ClusterAutoscaler{Unneeded: time.Minute, EvictJobs: true, Deletions: 1000, Drains: 10}

// Removals are contenders that differ in what they remove. All of them have a scheduler that packs. The model of cluster-autoscaler evicts
// pods of Jobs, as its defaults have it.
func Removals() []Contender {
	waste := Expanders[slices.IndexFunc(Expanders, func(e Expander) bool { return e.Name == "least-waste" })]
	autoscaler := func(c ClusterAutoscaler) func(Workload) Autoscaler {
		c.Expander = waste
		return func(Workload) Autoscaler { own := c; return &own }
	}
	spares := parallel
	spares.EvictJobs = false
	return []Contender{
		{Name: TheOracle, Window: coalesce, Pack: true, New: func(w Workload) Autoscaler { return NewOracle(w) }},
		{Name: TheSluice, Window: coalesce, Pack: true, New: removing(time.Minute)},
		{Name: "sluice, 30 s", Window: coalesce, Pack: true, New: removing(30 * time.Second)},
		{Name: "sluice with consolidation", Window: coalesce, Pack: true, New: removing(time.Minute, policy.AllGroups)},
		{Name: "cluster-autoscaler, defaults", Pack: true, New: autoscaler(ClusterAutoscaler{Unneeded: 10 * time.Minute, AfterAdd: 10 * time.Minute, EvictJobs: true})},
		{Name: "cluster-autoscaler, tuned", Pack: true, New: autoscaler(ClusterAutoscaler{Unneeded: time.Minute, EvictJobs: true})},
		{Name: TheParallel, Pack: true, New: autoscaler(parallel)},
		{Name: TheParallel + keepsJobs, Pack: true, New: autoscaler(spares)},
	}
}

// Parallels are sluice, then what it is compared with at the same timers: cluster-autoscaler as fast as it goes, with and without leave to evict
// pods of Jobs.
func Parallels() []Contender {
	all := Removals()
	named := func(name string) Contender {
		return all[slices.IndexFunc(all, func(c Contender) bool { return c.Name == name })]
	}
	return []Contender{named(TheSluice), named(TheParallel), named(TheParallel + keepsJobs)}
}

// removing is sluice that removes nodes so long after they became idle, with no delay after a growth, and consolidates these groups.
func removing(unneeded time.Duration, consolidated ...cluster.GroupID) func(Workload) Autoscaler {
	return func(Workload) Autoscaler {
		p := policy.Default()
		p.Removal.UnneededTime, p.Removal.Delay.AfterAdd, p.Removal.Consolidation.Groups = unneeded, 0, consolidated
		return &Sluice{Policy: p}
	}
}

// WriteRemovals prints replays as a table of what removals cost. The first one of each workload is what the machine-hours of the others are compared with.
func WriteRemovals(to io.Writer, all []Replayed) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "workload\tcontender\tmachine-hours\tof the oracle's\tcore-hours bought\tUSD\tevictions\tJob pods killed\tcore-hours lost\tpending-seconds\t")
	oracle := map[string]float64{}
	for _, r := range all {
		if _, known := oracle[r.Workload]; !known {
			oracle[r.Workload] = r.MachineHours
		}
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%.2f\t%.0f\t%.0f\t%d\t%d\t%.0f\t%.0f\t\n", r.Workload, r.Contender, r.MachineHours, r.MachineHours/oracle[r.Workload],
			r.BoughtCores, r.CostUSD, r.Evictions, r.Killed, r.LostCoreHours, r.Pending.Seconds())
	}
	w.Flush()
}
