package economics

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"sluice.dev/sluice/internal/traces"
	"sluice.dev/sluice/policy"
)

// Workload is what a farm is replayed with.
type Workload struct {
	Name    string
	Kinds   []Kind
	Pods    []traces.Pod
	LeftOut int // pods that no kind takes
}

// NewWorkload is a workload of the pods that ask for GPUs, or of those that do not: they meet on no machine.
func NewWorkload(name string, kinds []Kind, pods []traces.Pod, gpus bool) Workload {
	w := Workload{Name: name, Kinds: kinds}
	for _, p := range pods {
		switch {
		case (p.Asks.GPU > 0) != gpus:
		case slices.ContainsFunc(kinds, func(k Kind) bool { return k.Takes(p.Asks) }):
			w.Pods = append(w.Pods, p)
		default:
			w.LeftOut++
		}
	}
	return w
}

// Pinned is the workload with no pod that may be evicted, as the published figures have it.
func (w Workload) Pinned() Workload {
	w.Pods = slices.Clone(w.Pods)
	for i := range w.Pods {
		w.Pods[i].Evictable = false
	}
	return w
}

// Contender is a way to run a farm.
type Contender struct {
	Name      string
	Pack      bool          // the scheduler prefers the fullest node
	Window    time.Duration // see [Settings]
	New       func(w Workload) Autoscaler
	Only      string             // the one workload that it is for, "" for all
	Published map[string]float64 // what the same policy cost in the published simulation, by workload
}

// The names of the workloads that figures are published for.
const (
	W1CPU = "W1 without GPUs"
	W1GPU = "W1 on T4"
	W2    = "W2"
)

// coalesce is how long sluice waits after one cycle before changes begin the next.
const coalesce = 10 * time.Second

// Contenders are those whose figures are published, and sluice under the same timers.
func Contenders() []Contender {
	waste := Expanders[slices.IndexFunc(Expanders, func(e Expander) bool { return e.Name == "least-waste" })]
	autoscaler := func(a ClusterAutoscaler) func(Workload) Autoscaler {
		a.Expander = waste
		return func(Workload) Autoscaler { return &a }
	}
	sluice := func(change func(*policy.Policy)) func(Workload) Autoscaler {
		return func(Workload) Autoscaler {
			p := policy.Default()
			change(p)
			return &Sluice{Policy: p}
		}
	}
	tuned := func(p *policy.Policy) { p.Removal.UnneededTime, p.Removal.Delay.AfterAdd = time.Minute, 0 }
	joint := func(drain time.Duration, sigma float64) func(Workload) Autoscaler {
		return func(w Workload) Autoscaler {
			return &Joint{Unneeded: time.Minute, Drain: drain, Expect: MeanRunTimes(w, sigma)}
		}
	}
	out := []Contender{
		{
			Name:      "cluster-autoscaler, defaults",
			New:       autoscaler(ClusterAutoscaler{Unneeded: 10 * time.Minute, AfterAdd: 10 * time.Minute}),
			Published: map[string]float64{W1CPU: 988, W1GPU: 8910, W2: 3108},
		},
		{
			Name:      "cluster-autoscaler, tuned",
			New:       autoscaler(ClusterAutoscaler{Unneeded: time.Minute}),
			Published: map[string]float64{W1CPU: 934, W1GPU: 8889, W2: 2136},
		},
		{
			Name:      "cluster-autoscaler, tuned, Jobs evicted",
			New:       autoscaler(ClusterAutoscaler{Unneeded: time.Minute, EvictJobs: true}),
			Published: map[string]float64{W2: 2368},
		},
		{Name: "sluice, default timers", Window: coalesce, New: sluice(func(*policy.Policy) {})},
		{Name: "sluice, tuned", Window: coalesce, New: sluice(tuned)},
		{
			Name: "sluice, tuned, MostAllocated", Window: coalesce, Pack: true, New: sluice(tuned),
			Published: map[string]float64{W1CPU: 858, W1GPU: 8824, W2: 2059},
		},
		{
			Name: "joint model", Window: coalesce, Pack: true, New: joint(0, 0),
			Published: map[string]float64{W1CPU: 858, W1GPU: 8824, W2: 2059},
		},
	}
	drained := func(expect func(Workload) RunTimes, within time.Duration) func(Workload) Autoscaler {
		return func(w Workload) Autoscaler {
			p := policy.Default()
			tuned(p)
			p.Growth.DrainTargets = []policy.DrainTarget{{Namespace: namespace, Within: within}}
			return &Sluice{Policy: p, Expect: expect(w)}
		}
	}
	out = append(out, Contender{
		Name: "sluice, MostAllocated, drain target 20 min, run times annotated", Window: coalesce, Pack: true, Only: W2,
		New:       drained(func(w Workload) RunTimes { return MeanRunTimes(w, 0) }, 20*time.Minute),
		Published: map[string]float64{W2: 1740},
	}, Contender{
		Name: "sluice, MostAllocated, drain target 20 min, run times learned", Window: coalesce, Pack: true, Only: W2,
		New:       drained(func(Workload) RunTimes { return nil }, 20*time.Minute),
		Published: map[string]float64{W2: 1740},
	})
	for i, published := range []float64{1898, 1740, 1674} {
		out = append(out, Contender{
			Name: fmt.Sprintf("joint model, drain target %d min", 10<<i), Window: coalesce, Pack: true, Only: W2, New: joint(10*time.Minute<<i, 0),
			Published: map[string]float64{W2: published},
		})
	}
	return append(out, Contender{
		Name: "joint model, drain target 20 min, run times off by sigma 0.7", Window: coalesce, Pack: true, Only: W2, New: joint(20*time.Minute, 0.7),
		Published: map[string]float64{W2: 1740},
	})
}

// FlatBoot is a boot time that is the same for every machine.
func FlatBoot(int) time.Duration { return 180 * time.Second }

// DrawnBoot draws boot times: lognormal with a median of 150 s and a sigma of 0.25, and 30 s to join.
func DrawnBoot(seed uint64) func(machine int) time.Duration {
	return func(machine int) time.Duration {
		return 30*time.Second + time.Duration(150*math.Exp(0.25*normal(seed, uint64(machine)))*float64(time.Second)).Round(time.Millisecond)
	}
}

// normal is the n-th number of a stream of standard normal ones (Box and Muller, 1958).
func normal(seed, n uint64) float64 {
	return math.Sqrt(-2*math.Log(1-unit(seed, 2*n))) * math.Cos(2*math.Pi*unit(seed, 2*n+1))
}

// unit is the n-th number of a stream, in [0, 1).
func unit(seed, n uint64) float64 { return float64(mix(mix(seed)+n)>>11) / (1 << 53) }

// deleting is how long the cloud takes to delete a machine, which it bills meanwhile.
const deleting = 180 * time.Second

// Replayed is one workload under one contender.
type Replayed struct {
	Workload  string        `json:"workload"`
	Contender string        `json:"contender"`
	Pods      int           `json:"pods"`
	Published float64       `json:"publishedUSD,omitempty"`
	Took      time.Duration `json:"tookNanos"` // of real time
	Totals
}

// Run replays the workload.
func (c Contender) Run(w Workload, boot func(int) time.Duration) Replayed {
	began := time.Now()
	f := NewFarm(w.Kinds, w.Pods, Settings{Boot: boot, Delete: deleting, Pack: c.Pack, Window: c.Window})
	t := f.Replay(c.New(w))
	return Replayed{w.Name, c.Name, len(w.Pods), c.Published[w.Name], time.Since(began), t}
}

// WriteReplays prints replays as a table.
func WriteReplays(to io.Writer, all []Replayed) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "workload\tcontender\tUSD\tpublished\tratio\tidle USD\tused\tlost core h\tevictions\tturnaround s\twaited s\tpeak\trequests\tcycles\ttook\t")
	for _, r := range all {
		published, ratio := "", ""
		if r.Published > 0 {
			published, ratio = fmt.Sprintf("%.0f", r.Published), fmt.Sprintf("%.3f", r.CostUSD/r.Published)
		}
		fmt.Fprintf(w, "%s\t%s\t%.0f\t%s\t%s\t%.0f\t%.2f\t%.0f\t%d\t%.0f\t%.0f\t%d\t%d\t%d\t%s\t\n", r.Workload, r.Contender, r.CostUSD, published, ratio,
			r.IdleUSD, r.Used, r.LostCoreHours, r.Evictions, r.Turnaround.Seconds(), r.Waited.Seconds(), r.Peak, r.Requests, r.Looks, r.Took.Round(time.Millisecond))
	}
	w.Flush()
}
