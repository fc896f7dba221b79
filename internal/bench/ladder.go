package bench

import (
	"fmt"
	"math"

	"sluice.dev/sluice/internal/bench/workload"
)

// Ladder is one decision at 1, 2, 4 and 8 times the size in one respect. Its rows have no goals: what counts is how the cost grows.
type Ladder struct {
	Name  string
	Title string
	Rows  []Row
	Bar   float64 // the exponent of the size in the CPU time that is allowed
}

// linear is the exponent that counts as linear: a doubling costs twice as much and a twentieth more, which is noise.
const linear = 1.07

// bar is what stuck pods and exclusive placement are held to.
const bar = 1.2

// Exponents grow what was once quadratic.
func Exponents() []Ladder {
	stuck := Ladder{Name: "exponent-stuck", Title: "pods that no machine of 50 groups can hold", Bar: bar}
	exclusive := Ladder{Name: "exponent-exclusive", Title: "jobs of two pods, each exclusive on its nodes, 50 groups", Bar: bar}
	for _, times := range []int{1, 2, 4} {
		pods, jobs := 2500*times, 500*times
		stuck.Rows = append(stuck.Rows, Row{
			Name: fmt.Sprintf("%s-%dx", stuck.Name, times), Title: fmt.Sprintf("%d pods", pods), Pays: Decision,
			Build: func(float64) Case { return cold(workload.Stuck(pods), noneHoused) },
		})
		exclusive.Rows = append(exclusive.Rows, Row{
			Name: fmt.Sprintf("%s-%dx", exclusive.Name, times), Title: fmt.Sprintf("%d jobs", jobs), Pays: Decision,
			Build: func(float64) Case { return cold(workload.Exclusive(jobs), allHoused) },
		})
	}
	return []Ladder{stuck, exclusive}
}

// Ladders grow a backlog and the cluster beside it, each plain and with constraints.
func Ladders() []Ladder {
	var all []Ladder
	for _, constrained := range []bool{false, true} {
		suffix, kind := "", "500 classes"
		if constrained {
			suffix, kind = "-constrained", "500 classes, a tenth constrained"
		}
		pods := Ladder{Name: "pods" + suffix, Title: "pending pods of " + kind + ", 1,250 nodes", Bar: linear}
		nodes := Ladder{Name: "nodes" + suffix, Title: "nodes, 12,500 pending pods of " + kind, Bar: linear}
		for _, times := range []int{1, 2, 4, 8} {
			b := workload.WholeBacklog
			b.Nodes, b.Pods, b.Constrained = 1250, 12_500*times, constrained
			pods.Rows = append(pods.Rows, rung(pods.Name, times, b))
			b.Nodes, b.Pods = 625*times, 12_500
			nodes.Rows = append(nodes.Rows, rung(nodes.Name, times, b))
		}
		all = append(all, pods, nodes)
	}
	return all
}

func rung(name string, times int, b workload.Backlog) Row {
	return Row{
		Name: fmt.Sprintf("%s-%dx", name, times), Pays: Decision, Title: fmt.Sprintf("%d pending pods, %d nodes", b.Pods, b.Nodes),
		Build: func(float64) Case { return cold(b.World(), allHoused) },
	}
}

// Growth is what a ladder showed.
type Growth struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Rungs    []Result `json:"rungs"`
	Doubling float64  `json:"doubling,omitempty"` // by how much the CPU time grew with each doubling, in the geometric mean; 0 where a rung has none
	Exponent float64  `json:"exponent"`           // of the size in the CPU time: 1 is linear, 2 quadratic
	Memory   float64  `json:"memoryExponent"`     // of the size in the bytes allocated, the same on a crowded machine
	Bar      float64  `json:"bar"`                // that the exponent is held to
	Verdict  Verdict  `json:"verdict"`            // [Goal] for an exponent within the bar, else [Over], [Stopped] or [Wrong]
}

// Judge says how the CPU time of the rungs grew, and whether that is within the bar.
func (l Ladder) Judge(rungs []Result) Growth {
	g := Growth{Name: l.Name, Title: l.Title, Rungs: rungs, Bar: l.Bar, Verdict: Goal}
	for _, r := range rungs {
		if r.Figures == nil {
			g.Verdict = r.Verdict
			return g
		}
	}
	doublings := float64(len(rungs) - 1)
	g.Doubling = math.Pow(float64(rungs[len(rungs)-1].Figures.CPU)/float64(rungs[0].Figures.CPU), 1/doublings)
	g.Memory = math.Log2(float64(rungs[len(rungs)-1].Figures.Bytes)/float64(rungs[0].Figures.Bytes)) / doublings
	if g.Exponent = math.Log2(g.Doubling); g.Exponent > l.Bar {
		g.Verdict = Over
	}
	return g
}
