package bench

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/plan/action"
)

// small is the scale at which a row takes a moment.
const small = 0.01

// TestEveryRowDecidesRight measures every row once, far smaller than it is: what it decides is what it expects.
func TestEveryRowDecidesRight(t *testing.T) {
	for _, r := range Rows {
		t.Run(r.Name, func(t *testing.T) {
			f, err := Measure(r.Build(small), Effort{Runs: 1, Time: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if f.Runs != 1 || f.Time <= 0 || f.Allocations == 0 || f.Bytes == 0 || f.Pods == 0 {
				t.Errorf("figures are missing: %+v", f)
			}
		})
	}
}

func TestAWrongDecisionHasNoFigures(t *testing.T) {
	nothing := func(Made) Made { return Made{Seen: workload.OneClass(100).Snapshot()} }
	for name, c := range map[string]struct {
		spoil func(Made) Made
		want  string
	}{
		"no verdicts at all": {nothing, "0 verdicts on 100 pending pods"},
		"one machine too many": {func(m Made) Made {
			grow := m.Plan.Actions[0].(action.SetCapacity)
			grow.To++
			m.Plan.Actions = []action.Action{grow}
			return m
		}, "3 machines are added, want 2"},
		"more machines than the group may have": {func(m Made) Made {
			grow := m.Plan.Actions[0].(action.SetCapacity)
			grow.To = 2001
			m.Plan.Actions = []action.Action{grow}
			return m
		}, "its maximum is 2000"},
		"a pod that stays": {func(m Made) Made {
			m.Plan.Verdicts[0].Outcome = action.PodStuck
			return m
		}, "99 of 100 pending pods"},
	} {
		t.Run(name, func(t *testing.T) {
			made := cold(workload.OneClass(100), allGrow, machines(2))
			decide := made.Decide
			made.Decide = func() Made { return c.spoil(decide()) }
			if _, err := Measure(made, Effort{Runs: 1}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
		})
	}
}

// TestNextCycleBringsWhatItSays counts the pods that differ between one cycle's list and the next one's.
func TestNextCycleBringsWhatItSays(t *testing.T) {
	s := start(backlog(small, true).World())
	before, after := s.objects.Pods, s.change(100, 1)
	held := map[*cluster.Pod]bool{}
	for _, p := range before {
		held[p] = true
	}
	kept, fresh := 0, 0
	for _, p := range after {
		if held[p] {
			kept++
		} else {
			fresh++
		}
	}
	// 50 were bound and 25 appeared; 50 and 25 of the old ones are no more
	if fresh != 75 || len(before)-kept != 75 || len(after) != len(before) {
		t.Errorf("%d pods are new or changed and %d old ones have gone, want 75 and 75; %d pods became %d", fresh, len(before)-kept, len(before), len(after))
	}
}

func TestVerdicts(t *testing.T) {
	r := Row{Title: "pods", Goal: time.Millisecond, Limit: time.Second}
	if s := r.Scaled(0.5); s.judge(time.Hour) != Measured || s.Title != "0.5 of: pods" {
		t.Errorf("half of the row is %q and takes an hour: %s", s.Title, s.judge(time.Hour))
	}
	if s := r.Scaled(1); s.judge(time.Hour) != Over || s.Title != "pods" {
		t.Errorf("the whole row is %q and takes an hour: %s", s.Title, s.judge(time.Hour))
	}
	for _, c := range []struct {
		took time.Duration
		want Verdict
	}{{time.Millisecond, Goal}, {time.Millisecond + 1, Within}, {time.Second, Within}, {time.Second + 1, Over}} {
		if got := r.judge(c.took); got != c.want {
			t.Errorf("%s: %s, want %s", c.took, got, c.want)
		}
	}
}

func TestGrowthIsJudgedByTheDoubling(t *testing.T) {
	rungs := func(times ...time.Duration) []Result {
		var all []Result
		for _, d := range times {
			all = append(all, Result{Figures: &Figures{CPU: d, Bytes: uint64(d)}})
		}
		return all
	}
	for name, c := range map[string]struct {
		rungs []Result
		want  Growth
	}{
		"linear":       {rungs(10, 20, 40, 80), Growth{Doubling: 2, Exponent: 1, Verdict: Goal}},
		"constant":     {rungs(10, 10, 10, 10), Growth{Doubling: 1, Verdict: Goal}},
		"quadratic":    {rungs(10, 40, 160, 640), Growth{Doubling: 4, Exponent: 2, Verdict: Over}},
		"not measured": {[]Result{{Figures: &Figures{CPU: 10}}, {Verdict: Stopped}}, Growth{Verdict: Stopped}},
	} {
		got := Ladder{Bar: linear}.Judge(c.rungs)
		if got.Doubling > 0 && math.Abs(got.Memory-got.Exponent) > 0.001 {
			t.Errorf("%s: the bytes grow as the time does, but with exponent %g instead of %g", name, got.Memory, got.Exponent)
		}
		got.Rungs, got.Bar, got.Memory, got.Exponent = nil, 0, 0, math.Round(1000*got.Exponent)/1000
		got.Doubling = math.Round(1000*got.Doubling) / 1000
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestFiguresAreShort(t *testing.T) {
	for got, want := range map[string]string{
		Duration(1234 * time.Microsecond): "1.23 ms", Duration(60 * time.Second): "60 s", Duration(999): "999 ns", Duration(999_600): "1 ms",
		Size(0): "0 B", Size(123_456_789): "123 MB", Size(1_000_000_000): "1 GB",
		Count(7): "7", Count(12_345): "12.3k", Count(1_000_000): "1M",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
