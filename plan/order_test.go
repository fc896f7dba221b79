package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/policy"
)

func costing(cost string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: cost} }
}

func mattering(p *corev1.Pod) { p.Spec.Priority = new(int32(1000)) }

// TestOfNodesThatCouldGoTheCheapestToLoseGoesFirst lets one drain begin and sees whose. The other nodes could go as well.
func TestOfNodesThatCouldGoTheCheapestToLoseGoesFirst(t *testing.T) {
	busy := []any{Node("a-0"), Pod("w", On("a-0"), CPU("2500m"))}
	for name, c := range map[string]struct {
		objects []any
		groups  func(a, b *cluster.Group)
		longer  string // a node that has been removable for two hours, not one
		want    string
	}{
		"the one whose pods cost less to delete": {
			objects: []any{Node("a-1"), Pod("x", On("a-1"), CPU("100m"), costing("100")), Node("a-2"), Pod("y", On("a-2"), CPU("200m"), costing("-5"))},
			want:    "cordon a-2 underused",
		},
		"the one whose pods matter less": {
			objects: []any{Node("a-1"), Pod("x", On("a-1"), CPU("100m"), mattering), Node("a-2"), Pod("y", On("a-2"), CPU("200m"))},
			want:    "cordon a-2 underused",
		},
		"the dearer one": {
			objects: []any{Node("a-1"), Pod("x", On("a-1"), CPU("100m")), Node("b-0"), Pod("y", On("b-0"), CPU("200m"))},
			groups:  func(a, b *cluster.Group) { a.PriceUSDPerHour, b.PriceUSDPerHour = 0.1, 0.2 },
			want:    "cordon b-0 underused",
		},
		"a regular one before a spot one at the same price": {
			objects: []any{Node("a-1"), Pod("x", On("a-1"), CPU("100m")), Node("b-0"), Pod("y", On("b-0"), CPU("200m"))},
			groups:  func(a, b *cluster.Group) { a.Spot = true },
			want:    "cordon b-0 underused",
		},
		"the one that is used less": {
			objects: []any{Node("a-1"), Pod("x", On("a-1"), CPU("200m")), Node("a-2"), Pod("y", On("a-2"), CPU("100m"))},
			want:    "cordon a-2 underused",
		},
		"the one that could go for longer": {
			objects: []any{Node("a-1"), Pod("x", On("a-1"), CPU("100m")), Node("a-2"), Pod("y", On("a-2"), CPU("100m"))},
			longer:  "a-2",
			want:    "cordon a-2 underused",
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := append(append([]any{}, busy...), c.objects...)
			a, b := joined(three(), objects), joined(Group("b", 0, 5, Machine("10", "b-0")), objects)
			a.Min = 0
			if c.groups != nil {
				c.groups(a, b)
			}
			m := removable("a-1", "a-2", "b-0")
			if c.longer != "" {
				m.Removable[c.longer] = Start.Add(-2 * time.Hour)
			}
			p, _ := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{a, b}), policy.Default(), m)
			if diff := cmp.Diff([]string{c.want}, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNobodyMovesTwice lets every node go whose pods find places: a node that took pods of another one stays in that cycle, with its own.
func TestNobodyMovesTwice(t *testing.T) {
	objects := []any{
		Node("a-0"), Pod("x", On("a-0"), CPU("500m")), Node("a-1"), Pod("y", On("a-1"), CPU("600m")), Node("a-2"), Pod("z", On("a-2"), CPU("700m")),
	}
	allowed := policy.Default()
	allowed.Removal.Drain.Parallelism, allowed.Removal.Emptied.Percent = 9, 100
	g := joined(three(), objects)
	g.Min = 0
	p, _ := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{g}), allowed, removable("a-0", "a-1", "a-2"))
	if diff := cmp.Diff([]string{"cordon a-0 underused", "cordon a-1 underused"}, told(p)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if got := verdictOf(p, ref("node a-2")); got != "keep NodeReceives" {
		t.Errorf("node a-2: %q, want that it takes the others' pods", got)
	}
}
