package economics

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sluice.dev/sluice/internal/traces"
)

// slice is a farm's morning: scenes of frames that come at once and run for minutes, some of them for hours, and a few services.
func slice(seed uint64) Workload {
	w := Workload{Name: fmt.Sprint("slice ", seed), Kinds: []Kind{kind("four", 4, 16, 0, 0.2), kind("sixteen", 16, 64, 0, 0.8)}}
	for scene := range uint64(12) {
		r := mix(seed<<16 + scene)
		at := time.Duration(r%240) * time.Minute
		frames := 10 + int(r>>16%60)
		typical := time.Duration(4+r>>32%16) * time.Minute
		for i := range frames {
			run := time.Duration((0.5 + unit(seed<<16+scene, uint64(i))) * float64(typical))
			if i%20 == 19 {
				run *= 6
			}
			w.Pods = append(w.Pods, traces.Pod{At: at, Name: fmt.Sprintf("%d-%d", scene, i), Owner: fmt.Sprint(scene), Asks: asks(1+int64(scene%3), 2), Run: run.Round(time.Second)})
		}
	}
	for i := range 8 {
		w.Pods = append(w.Pods, traces.Pod{Name: fmt.Sprint("web-", i), Owner: "web", Asks: asks(1, 2), Run: 5 * time.Hour, Evictable: true})
	}
	return w
}

// TestNoJobIsKilledAndLittleIsPaidForIdleMachines holds on a slice what the table of removals says of whole days.
func TestNoJobIsKilledAndLittleIsPaidForIdleMachines(t *testing.T) {
	killed, hours, best := 0, 0.0, 0.0
	for seed := range uint64(3) {
		w := slice(seed)
		by := map[string]Replayed{}
		for _, c := range Removals() {
			by[c.Name] = c.Run(w, FlatBoot)
			if n := by[c.Name].Unfinished; n > 0 {
				t.Fatalf("%s, %s: %d pods have not finished", w.Name, c.Name, n)
			}
		}
		own := by[TheSluice]
		if own.Killed > 0 || own.LostCoreHours > 0 {
			t.Errorf("%s: sluice killed %d pods of Jobs, %.1f core-hours are lost", w.Name, own.Killed, own.LostCoreHours)
		}
		spares := Contender{Pack: true, New: func(Workload) Autoscaler {
			return &ClusterAutoscaler{Expander: Expanders[slices.IndexFunc(Expanders, func(e Expander) bool { return e.Name == "least-waste" })], Unneeded: time.Minute}
		}}.Run(w, FlatBoot)
		if own.CostUSD > spares.CostUSD {
			t.Errorf("%s: sluice costs %.2f USD, cluster-autoscaler that spares Jobs %.2f", w.Name, own.CostUSD, spares.CostUSD)
		}
		killed += by["cluster-autoscaler, defaults"].Killed + by["cluster-autoscaler, tuned"].Killed
		hours, best = hours+own.BoughtCores, best+by[TheOracle].BoughtCores
	}
	if hours > 1.15*best {
		t.Errorf("sluice buys %.1f core-hours, %.2f of the oracle's %.1f, want at most 1.15", hours, hours/best, best)
	}
	if killed == 0 {
		t.Error("cluster-autoscaler's rules killed nobody on these slices: they tell nothing")
	}
}
