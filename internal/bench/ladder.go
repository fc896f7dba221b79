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
}

// Ladders grow a backlog and the cluster beside it, each plain and with constraints.
func Ladders() []Ladder {
	var all []Ladder
	for _, constrained := range []bool{false, true} {
		suffix, kind := "", "500 classes"
		if constrained {
			suffix, kind = "-constrained", "500 classes, a tenth constrained"
		}
		pods := Ladder{Name: "pods" + suffix, Title: "pending pods of " + kind + ", 1,250 nodes"}
		nodes := Ladder{Name: "nodes" + suffix, Title: "nodes, 12,500 pending pods of " + kind}
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
		Name: fmt.Sprintf("%s-%dx", name, times), Title: fmt.Sprintf("%d pending pods, %d nodes", b.Pods, b.Nodes),
		Build: func(float64) Case { return cold(b.World(), allHoused) },
	}
}

// noise is what a doubling may cost beyond twice the time.
const noise = 1.05

// Growth is what a ladder showed.
type Growth struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Rungs    []Result `json:"rungs"`
	Doubling float64  `json:"doubling,omitempty"` // by how much the time grew with each doubling, in the geometric mean; 0 where a rung has no time
	Verdict  Verdict  `json:"verdict"`            // [Goal] for no worse than linear, else [Over], [Stopped] or [Wrong]
}

// Linear says whether the time of the rungs grew no worse than their size.
func (l Ladder) Linear(rungs []Result) Growth {
	g := Growth{Name: l.Name, Title: l.Title, Rungs: rungs, Verdict: Goal}
	for _, r := range rungs {
		if r.Figures == nil {
			g.Verdict = r.Verdict
			return g
		}
	}
	doublings := float64(len(rungs) - 1)
	g.Doubling = math.Pow(float64(rungs[len(rungs)-1].Figures.Time)/float64(rungs[0].Figures.Time), 1/doublings)
	if g.Doubling > 2*noise {
		g.Verdict = Over
	}
	return g
}
