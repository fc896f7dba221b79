package economics

import (
	"fmt"
	"slices"
	"time"

	"sluice.dev/sluice/internal/traces"
	"sluice.dev/sluice/policy"
)

// FoundingStory is the load for which sluice was begun: a render farm of at most 20 machines of one size. Jobs of many lengths come through the
// morning, machine after machine is bought for them, and the newest ones get the longest Jobs, so that old machines run empty first.
func FoundingStory() Workload {
	w := Workload{Name: "founding story", Kinds: []Kind{storyKind()}}
	for i := range 60 {
		long := time.Duration(i/3+1) * 20 * time.Minute // the later, the longer
		run := long/2 + time.Duration(unit(1, uint64(i))*float64(long))
		w.Pods = append(w.Pods, traces.Pod{
			At: time.Duration(i) * 3 * time.Minute, Name: fmt.Sprint("frame-", i), Owner: fmt.Sprint("scene-", i/6),
			Asks: Vector{Milli: 1000 * int64(1+i%3), MiB: 2048 * int64(1+i%3)}, Run: run.Round(time.Second),
		})
	}
	return w
}

// storyKind is the size of the story's machines.
func storyKind() Kind {
	machine := Vector{Milli: 4000, MiB: 16 * 1024}
	return Kind{traces.Size{Name: "Standard_D4s_v5", Machine: machine, PriceUSDPerHour: 0.192}, machine.Minus(Kept), 20}
}

// StoryTellers are those who run the story: who knows every end, sluice with its defaults, and what there was before it.
func StoryTellers() []Contender {
	waste := Expanders[slices.IndexFunc(Expanders, func(e Expander) bool { return e.Name == "least-waste" })]
	return []Contender{
		{Name: TheOracle, Window: coalesce, Pack: true, New: func(w Workload) Autoscaler { return NewOracle(w) }},
		{Name: TheSluice, Window: coalesce, Pack: true, New: func(Workload) Autoscaler { return &Sluice{Policy: policy.Default()} }},
		{Name: "remove the newest", Window: coalesce, Pack: true, New: func(Workload) Autoscaler { return &RemoveNewest{} }},
		{Name: "evict under 50 %", Pack: true, New: func(Workload) Autoscaler {
			return &ClusterAutoscaler{Expander: waste, Unneeded: 10 * time.Minute, AfterAdd: 10 * time.Minute, EvictJobs: true}
		}},
	}
}

// RemoveNewest is a platform's autoscaler by use of CPU: it buys as [Joint] does, and every five minutes in which less than half of all cores is
// asked for and nobody waits it lowers the count by one. The platform then takes the machine that was added
// last. One machine stays until all is done.
type RemoveNewest struct {
	Joint
	last time.Duration
}

// Heeds says yes.
func (*RemoveNewest) Heeds(bool) bool { return true }

// Look grows for what waits, and lowers the count when use is low.
func (r *RemoveNewest) Look(f *Farm) time.Duration {
	const cooldown = 5 * time.Minute
	if f.Waiting.count > 0 {
		r.grow(f)
		return f.Now + coalesce
	}
	var has, free int64
	for _, m := range f.Machines {
		has, free = has+f.Kinds[m.Kind].Room.Milli, free+m.Free.Milli
	}
	if n := len(f.Machines); (n > 1 || n == 1 && f.left == 0) && f.Now >= r.last+cooldown && 2*free > has {
		f.Delete(f.Machines[n-1])
		r.last = f.Now
	}
	return f.Now + cooldown
}
