package economics

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/traces"
	"sluice.dev/sluice/policy"
)

// kind is a group of machines that keep nothing to themselves.
func kind(name string, cores, gib, gpus int64, price float64) Kind {
	v := Vector{Milli: 1000 * cores, MiB: 1024 * gib, GPU: gpus}
	return Kind{traces.Size{Name: name, Machine: v, PriceUSDPerHour: price}, v, 100}
}

func asks(cores, gib int64) Vector { return Vector{Milli: 1000 * cores, MiB: 1024 * gib} }

func TestNoMethodCostsLessThanTheBound(t *testing.T) {
	kinds := []Kind{kind("big", 16, 64, 0, 0.75), kind("gpu", 16, 64, 4, 4), kind("high", 4, 32, 0, 0.25), kind("small", 4, 16, 0, 0.2)}
	for seed := range uint64(50) {
		in := Instance{Family: "random", Name: fmt.Sprint(seed), Kinds: kinds}
		for i := range 1 + mix(seed)%4 {
			r := mix(seed<<8 + i)
			d := Demand{Vector{Milli: int64(100 + r%3900), MiB: int64(100 + r>>16%16000)}, int(1 + r>>32%20)}
			if r>>48%4 == 0 {
				d.Asks.GPU = 1
			}
			in.Demands = append(in.Demands, d)
			in.Pods += d.Count
		}
		bound := Bound(in)
		if bound <= 0 {
			t.Fatalf("seed %d: bound %g", seed, bound)
		}
		for _, m := range Methods() {
			a := m.Answer(in)
			if a.Unplaced > 0 {
				t.Errorf("seed %d: %s leaves %d pods", seed, m.Name, a.Unplaced)
			}
			if cost := a.Cost(kinds); cost < bound {
				t.Errorf("seed %d: %s costs %g, less than the bound %g", seed, m.Name, cost, bound)
			}
		}
	}
}

func TestExpandersKeepWhatTheirNamesSay(t *testing.T) {
	kinds := []Kind{kind("big", 16, 64, 0, 0.9), kind("lean", 4, 8, 0, 0.2), kind("small", 4, 16, 0, 0.1)}
	demands := []Demand{{asks(4, 8), 4}, {asks(4, 16), 1}}
	want := map[string]string{"most-pods": "big", "least-waste": "lean", "least-nodes": "big", "price": "small", "priority": "small"}
	for _, e := range Expanders {
		if e.Name == "random" {
			continue
		}
		var options []option
		for i := range kinds {
			options = append(options, estimate(kinds, i, demands, 100))
		}
		got := kinds[options[e.choose(kinds, options, 1)].kind].Name
		if e.Name == "most-pods" && got == "small" {
			continue // it holds as many
		}
		if got != want[e.Name] {
			t.Errorf("%s chooses %s, want %s", e.Name, got, want[e.Name])
		}
	}
}

// farm is a workload of batch pods of one core: minutes of creation and of run time.
func farm(minutes ...[2]int) Workload {
	w := Workload{Name: "test", Kinds: []Kind{kind("four", 4, 16, 0, 0.6)}}
	for i, m := range minutes {
		w.Pods = append(w.Pods, traces.Pod{
			At: time.Duration(m[0]) * time.Minute, Name: fmt.Sprint(i), Owner: "o", Asks: asks(1, 1), Run: time.Duration(m[1]) * time.Minute,
		})
	}
	return w
}

func tunedSluice(Workload) Autoscaler {
	p := policy.Default()
	p.Removal.UnneededTime, p.Removal.Delay.AfterAdd = time.Minute, 0
	return &Sluice{Policy: p}
}

func TestMachinesAreBilledFromRequestToTheirEnd(t *testing.T) {
	contenders := []Contender{
		{Name: "cluster-autoscaler", New: func(Workload) Autoscaler { return &ClusterAutoscaler{Expander: Expanders[2], Unneeded: time.Minute} }},
		{Name: "sluice", New: tunedSluice},
	}
	for _, c := range contenders {
		got := c.Run(farm([2]int{1, 10}), FlatBoot)
		// 3 minutes to boot, 10 of work, 1 idle, 3 to delete: 17 minutes at a cent each, and some seconds of reaction
		if got.CostUSD < 0.17 || got.CostUSD > 0.175 {
			t.Errorf("%s: cost %g, want 0.17 and a little", c.Name, got.CostUSD)
		}
		if got.Peak != 1 || got.Unfinished != 0 {
			t.Errorf("%s: %d machines at once, %d pods unfinished; want 1 and 0", c.Name, got.Peak, got.Unfinished)
		}
		if wait := got.Waited - 3*time.Minute; wait < 0 || wait > 5*time.Second {
			t.Errorf("%s: waited %s, want the boot time and a little", c.Name, got.Waited)
		}
	}
}

func TestRoomThatIsThereIsUsed(t *testing.T) {
	c := Contender{New: tunedSluice}
	if got := c.Run(farm([2]int{1, 10}, [2]int{2, 9}, [2]int{5, 5}, [2]int{6, 4}), FlatBoot); got.Peak != 1 {
		t.Errorf("%d machines for four pods of a core, want 1", got.Peak)
	}
}

func TestKilledBatchWorkIsLostAndDoneAgain(t *testing.T) {
	// the second pod keeps its machine alone for long; the first runs elsewhere, so that the second is moved there
	w := farm([2]int{1, 60}, [2]int{1, 60}, [2]int{1, 60}, [2]int{1, 5}, [2]int{1, 60})
	c := Contender{New: func(Workload) Autoscaler {
		return &ClusterAutoscaler{Expander: Expanders[2], Unneeded: time.Minute, EvictJobs: true}
	}}
	got := c.Run(w, FlatBoot)
	if got.Evictions != 1 || got.LostCoreHours <= 0 || got.Unfinished != 0 {
		t.Errorf("%d evictions, %g core hours lost, %d unfinished; want 1, more than none, 0", got.Evictions, got.LostCoreHours, got.Unfinished)
	}
	c.New = tunedSluice
	if got := c.Run(w, FlatBoot); got.Evictions != 0 {
		t.Errorf("sluice evicted %d pods of a Job", got.Evictions)
	}
}

func TestSchedulerPacksOnlyWhenToldTo(t *testing.T) {
	for pack, want := range map[bool]int64{false: 3000, true: 2000} {
		w := farm()
		f := NewFarm(w.Kinds, nil, Settings{Boot: FlatBoot, Pack: pack})
		f.Grow(0, 2)
		for _, m := range f.Machines {
			m.Ready = true
		}
		for range 2 {
			f.arrive(&Run{Pod: &traces.Pod{Asks: asks(1, 4), Run: time.Hour}, left: time.Hour})
		}
		if got := f.Machines[0].Free.Milli; got != want {
			t.Errorf("pack=%t leaves %d on the first machine, want %d", pack, got, want)
		}
	}
}

func TestReplaysAreDeterministic(t *testing.T) {
	w := farm([2]int{1, 10}, [2]int{1, 20}, [2]int{2, 90}, [2]int{7, 10}, [2]int{8, 1})
	c := Contender{New: tunedSluice, Window: coalesce}
	a, b := c.Run(w, DrawnBoot(7)), c.Run(w, DrawnBoot(7))
	a.Took, b.Took = 0, 0
	if d := cmp.Diff(a, b); d != "" {
		t.Errorf("two replays differ:\n%s", d)
	}
}

// watched looks at a farm before another autoscaler does.
type watched struct {
	Autoscaler
	see func(*Farm)
}

func (w watched) Look(f *Farm) time.Duration {
	w.see(f)
	return w.Autoscaler.Look(f)
}

func TestNoMachineHoldsMoreThanItsRoom(t *testing.T) {
	var all [][2]int
	for i := range 60 {
		all = append(all, [2]int{int(mix(uint64(i)) % 40), int(1 + mix(uint64(i)<<8)%30)})
	}
	w := farm(all...)
	looks := 0
	c := Contender{New: func(w Workload) Autoscaler {
		return watched{tunedSluice(w), func(f *Farm) {
			looks++
			for _, m := range f.Machines {
				sum := m.Free
				for _, r := range m.Pods {
					sum = sum.Plus(r.Asks)
				}
				if !(Vector{}).In(m.Free) || sum != f.Kinds[m.Kind].Room {
					t.Errorf("at %s machine %d has %v free beside %d pods", f.Now, m.ID, m.Free, len(m.Pods))
				}
			}
		}}
	}}
	if got := c.Run(w, FlatBoot); got.Unfinished != 0 || looks == 0 {
		t.Errorf("%d pods unfinished after %d looks", got.Unfinished, looks)
	}
}

func TestADrainTargetBuysLessAndIsMet(t *testing.T) {
	var all [][2]int
	for range 40 {
		all = append(all, [2]int{1, 2})
	}
	w := farm(all...)
	run := func(drain time.Duration) Replayed {
		c := Contender{New: func(w Workload) Autoscaler {
			return &Joint{Unneeded: time.Minute, Drain: drain, Expect: MeanRunTimes(w, 0)}
		}}
		return c.Run(w, FlatBoot)
	}
	at, within := run(0), run(13*time.Minute)
	// 40 pods of 2 minutes: ten machines at once; five turns between the boot and the target, so that eight places do, on two
	if at.Peak != 10 || within.Peak != 2 {
		t.Errorf("%d machines at once and %d with a target, want 10 and 2", at.Peak, within.Peak)
	}
	if within.CostUSD >= at.CostUSD {
		t.Errorf("the target costs %g, no less than %g", within.CostUSD, at.CostUSD)
	}
	if slowest := within.Turnaround; slowest > 13*time.Minute {
		t.Errorf("the mean turnaround is %s, beyond the target", slowest)
	}
}
