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
	TheOracle = "oracle"
	TheSluice = "sluice"
)

// Removals are contenders that differ in what they remove. All of them have a scheduler that packs. The model of cluster-autoscaler evicts
// pods of Jobs, as its defaults have it.
func Removals() []Contender {
	waste := Expanders[slices.IndexFunc(Expanders, func(e Expander) bool { return e.Name == "least-waste" })]
	autoscaler := func(unneeded, afterAdd time.Duration) func(Workload) Autoscaler {
		return func(Workload) Autoscaler {
			return &ClusterAutoscaler{Expander: waste, Unneeded: unneeded, AfterAdd: afterAdd, EvictJobs: true}
		}
	}
	return []Contender{
		{Name: TheOracle, Window: coalesce, Pack: true, New: func(w Workload) Autoscaler { return NewOracle(w) }},
		{Name: TheSluice, Window: coalesce, Pack: true, New: removing(time.Minute)},
		{Name: "sluice, 30 s", Window: coalesce, Pack: true, New: removing(30 * time.Second)},
		{Name: "sluice with consolidation", Window: coalesce, Pack: true, New: removing(time.Minute, policy.AllGroups)},
		{Name: "cluster-autoscaler, defaults", Pack: true, New: autoscaler(10*time.Minute, 10*time.Minute)},
		{Name: "cluster-autoscaler, tuned", Pack: true, New: autoscaler(time.Minute, 0)},
	}
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
