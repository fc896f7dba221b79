package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Resident is the memory of a process that watches a whole cluster, by the cluster's size.
type Resident struct {
	Sizes   []Watched `json:"sizes"`
	Slope   uint64    `json:"bytesPerThousandNodes"` // of the settled memory, between the smallest and the largest size
	Base    uint64    `json:"baseBytes"`             // what the slope leaves for no nodes at all
	Verdict Verdict   `json:"verdict"`
}

// Watched is one size.
type Watched struct {
	Nodes   int    `json:"nodes"`
	Pods    int    `json:"pods"`
	Cycles  int    `json:"cycles"`          // turned by then
	Settled uint64 `json:"settledRSSBytes"` // after some cycles
	Peak    uint64 `json:"peakRSSBytes"`    // the first read included
	Heap    uint64 `json:"liveHeapBytes"`

	ReadCPU time.Duration `json:"readCPUNs"` // to read and record everything for the first time
	RunCPU  time.Duration `json:"runCPUNs"`  // afterwards, in Run
	Run     time.Duration `json:"runNs"`     // of the clock
	Goal    uint64        `json:"goalBytes"`
	Limit   uint64        `json:"limitBytes"`
	Verdict Verdict       `json:"verdict"`
	Problem string        `json:"problem,omitempty"`
}

// The memory that a process may have resident: so much, and so much more for a thousand nodes.
const (
	goalBase, goalSlope   = 40_000_000, 15_000_000
	limitBase, limitSlope = 100_000_000, 60_000_000
)

// ResidentNow is this process's resident memory in bytes; 0 where the system does not tell.
func ResidentNow() uint64 { return statusOf("VmRSS") }

// ResidentPeak is the most that it ever was.
func ResidentPeak() uint64 { return statusOf("VmHWM") }

// judge sets what is allowed, and the verdict: the goal is for the settled memory, the limit for the peak as well.
func (w *Watched) judge() {
	w.Goal = goalBase + uint64(w.Nodes)*goalSlope/1000
	w.Limit = limitBase + uint64(w.Nodes)*limitSlope/1000
	switch {
	case w.Problem != "":
		w.Verdict = Wrong
	case max(w.Settled, w.Peak) > w.Limit:
		w.Verdict = Over
	case w.Settled > w.Goal:
		w.Verdict = Within
	default:
		w.Verdict = Goal
	}
}

// share is the share of a core that the process took after the first read.
func (w *Watched) share() string {
	if w.Run <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*w.RunCPU.Seconds()/w.Run.Seconds())
}

// ProcessTime is the CPU time that this process has used, of user and system.
func ProcessTime() time.Duration { return processTime() }

// NewResident judges the sizes, the smallest first.
func NewResident(sizes []Watched) *Resident {
	r := &Resident{Sizes: sizes, Verdict: Goal}
	worse := map[Verdict]int{Goal: 0, Within: 1, Over: 2, Stopped: 3, Wrong: 4}
	for i := range sizes {
		sizes[i].judge()
		if worse[sizes[i].Verdict] > worse[r.Verdict] {
			r.Verdict = sizes[i].Verdict
		}
	}
	first, last := sizes[0], sizes[len(sizes)-1]
	if last.Nodes > first.Nodes && last.Settled > first.Settled {
		r.Slope = (last.Settled - first.Settled) * 1000 / uint64(last.Nodes-first.Nodes)
		r.Base = first.Settled - min(first.Settled, r.Slope*uint64(first.Nodes)/1000)
	}
	return r
}

func (r *Resident) tell(w io.Writer) {
	fmt.Fprintln(w, "\nResident memory of a process that watches the whole steady cluster")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NODES\tPODS\tSETTLED RSS\tPEAK RSS\tLIVE HEAP\tREAD CPU\tCPU AFTER\tGOAL\tNEVER ABOVE\tVERDICT")
	for _, s := range r.Sizes {
		fmt.Fprintf(t, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Nodes, s.Pods, Size(s.Settled), Size(s.Peak), Size(s.Heap),
			Duration(s.ReadCPU), s.share(), Size(s.Goal), Size(s.Limit), s.Verdict)
	}
	t.Flush()
	for _, s := range r.Sizes {
		if s.Problem != "" {
			fmt.Fprintf(w, "%d nodes: %s\n", s.Nodes, s.Problem)
		}
	}
	if r.Slope > 0 {
		fmt.Fprintf(w, "%s, and %s for each thousand nodes\n", Size(r.Base), Size(r.Slope))
	}
}
