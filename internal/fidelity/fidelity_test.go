package fidelity

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// yes is a judge who lets every pod onto every node.
type yes struct{}

func (yes) Fits(*corev1.Pod, string) bool             { return true }
func (yes) Place(*corev1.Pod, string)                 {}
func (yes) Open(*cluster.Group, string) (undo func()) { return func() {} }

func TestASeedAlwaysMakesTheSameWorld(t *testing.T) {
	for seed := range uint64(50) {
		if diff := cmp.Diff(Draw(seed, All()...), Draw(seed, All()...)); diff != "" {
			t.Fatalf("world %d (-first +second):\n%s", seed, diff)
		}
	}
}

func TestAJudgeWhoNeverRefusesIsFoundOut(t *testing.T) {
	var tally Tally
	for seed := range uint64(20) {
		w := Draw(seed, All()...)
		tally.Add(w, Walk(w, yes{}))
	}
	if tally.Disagreements != tally.Questions-tally.Fits || tally.Disagreements == 0 {
		t.Errorf("%v: every refusal of kube-scheduler's should disagree", &tally)
	}
}

func TestWhatTheSchedulerWouldDoHolds(t *testing.T) {
	for seed := range uint64(200) {
		w := Draw(seed, All()...)
		if ds := Check(w, Walk(w, yes{}).Outcome); len(ds) > 0 {
			t.Errorf("world %d: %v", seed, ds)
		}
	}
}

func TestAWrongOutcomeIsFoundOut(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *World, out *Outcome) bool // false where the world does not lend itself to it
		want   string
	}{
		"a pod that fits is refused": {
			func(_ *World, out *Outcome) bool {
				last := len(out.Placements) - 1
				if last < 0 {
					return false
				}
				out.Refused = append(out.Refused, out.Placements[last].Pod)
				out.Placements = out.Placements[:last]
				return true
			}, `said "it does not fit"`,
		},
		"a pod that fits nowhere is placed": {
			func(w *World, out *Outcome) bool {
				if len(out.Refused) == 0 {
					return false
				}
				out.Placements = append(out.Placements, Placement{Pod: out.Refused[0], Node: w.Nodes[0].Name})
				out.Refused = out.Refused[1:]
				return true
			}, `said "it fits"`,
		},
		"a machine is opened beyond the maximum": {
			func(w *World, out *Outcome) bool {
				if len(out.Refused) == 0 {
					return false
				}
				w.Groups[0].Max = w.Groups[0].Capacity
				out.Placements = []Placement{{Pod: out.Refused[0], Node: "new", Group: w.Groups[0].ID}}
				return true
			}, "can open no machine",
		},
		"a pod is placed twice": {
			func(_ *World, out *Outcome) bool {
				out.Placements = append(out.Placements, out.Placements...)
				return len(out.Placements) > 0
			}, "it has a place",
		},
		"a pod is forgotten": {
			func(_ *World, out *Outcome) bool {
				if len(out.Refused) == 0 {
					return false
				}
				out.Refused = out.Refused[1:]
				return true
			}, "every pending pod has one",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tried := 0
			for seed := uint64(0); tried < 20; seed++ {
				w := Draw(seed, "taints", "node-selector", "pod-anti-affinity", "spread", "host-ports")
				out := Walk(w, yes{}).Outcome
				if !c.change(w, &out) {
					continue
				}
				tried++
				says := func(d Disagreement) bool { return strings.Contains(d.String(), c.want) }
				if ds := Check(w, out); !slices.ContainsFunc(ds, says) {
					t.Errorf("world %d: want one that says %q, got %v", seed, c.want, ds)
				}
			}
		})
	}
}
