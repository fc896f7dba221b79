package workload

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// worlds are all that are described, small.
var worlds = map[string]func() *World{
	"steady":  func() *World { return NewSteadyWorld(1, 250) },
	"backlog": func() *World { return Backlog{Seed: 1, Nodes: 250, Pods: 1000, Classes: 50, Groups: 50}.World() },
	"constrained": func() *World {
		return Backlog{Seed: 1, Nodes: 250, Pods: 1000, Classes: 50, Groups: 50, Constrained: true}.World()
	},
	"one class": func() *World { return OneClass(100) },
	"alike":     func() *World { return Alike(100) },
	"diverse":   func() *World { return Diverse(1, 100, 40) },
	"unlike":    func() *World { return Unlike(1, 100) },
}

func TestTheSameSeedMakesTheSameWorld(t *testing.T) {
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			if !reflect.DeepEqual(world(), world()) {
				t.Error("a second one differs")
			}
		})
	}
}

// TestEveryNodeIsAMachine joins the worlds as an observation does.
func TestEveryNodeIsAMachine(t *testing.T) {
	for name, world := range worlds {
		t.Run(name, func(t *testing.T) {
			w := world()
			s := w.Snapshot()
			for _, n := range s.Nodes {
				if n.Instance == nil || n.Group == "" {
					t.Fatalf("node %s is no machine of a group", n.Name())
				}
			}
			pods := 0
			for _, n := range s.Nodes {
				pods += len(n.Pods)
			}
			if len(s.Pending) != w.Pending() || pods != len(w.Pods)-w.Pending() {
				t.Errorf("%d pods run and %d are pending, want %d and %d", pods, len(s.Pending), len(w.Pods)-w.Pending(), w.Pending())
			}
			for _, p := range s.Pending {
				if !p.Unschedulable() {
					t.Fatalf("the scheduler has not refused pending pod %s", p.Name)
				}
			}
			for _, g := range s.Groups {
				if !g.Usable() || g.Template == nil || g.PriceUSDPerHour <= 0 || len(g.Drift) > 0 {
					t.Errorf("group %s: usable %t, price %g, drift %v", g.ID, g.Usable(), g.PriceUSDPerHour, g.Drift)
				}
			}
		})
	}
}

// TestCounts holds the sizes of the worlds that docs/reference/benchmarks.md names.
func TestCounts(t *testing.T) {
	type counts struct {
		Nodes, Running, Daemons, Pending, Classes, Groups, Constrained int
	}
	count := func(w *World) counts {
		c := counts{Nodes: len(w.Nodes), Pending: w.Pending(), Groups: len(w.Groups)}
		apps, constrained := map[string]bool{}, map[string]bool{}
		for _, p := range w.Pods {
			switch {
			case p.Labels["app"] == agent.App:
				c.Daemons++
			case p.Spec.NodeName != "":
				c.Running++
			default:
				apps[p.Labels["app"]] = true
				if p.Spec.Affinity != nil || len(p.Spec.TopologySpreadConstraints) > 0 || len(p.Spec.Volumes) > 1 {
					constrained[p.Labels["app"]] = true
				}
			}
		}
		c.Classes, c.Constrained = len(apps), len(constrained)
		return c
	}
	constrained := WholeBacklog
	constrained.Constrained = true
	for name, c := range map[string]struct {
		world *World
		want  counts
	}{
		"backlog":   {constrained.World(), counts{Nodes: 5000, Running: 110_468, Daemons: 5000, Pending: 100_000, Classes: 500, Groups: 50, Constrained: 50}},
		"one class": {OneClass(50_000), counts{Pending: 50_000, Classes: 1, Groups: 1}},
		"alike":     {Alike(10_000), counts{Pending: 10_000, Classes: 1, Groups: 8}},
		"diverse":   {Diverse(1, 5000, 400), counts{Pending: 5000, Classes: 35, Constrained: 28, Groups: 400}},
		"unlike":    {Unlike(1, 10_000), counts{Pending: 10_000, Classes: 1, Groups: 50}},
	} {
		if d := cmp.Diff(c.want, count(c.world)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestNoTwoUnlikePodsAskForTheSame(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Unlike(1, 10_000).Pods {
		r := p.Spec.Containers[0].Resources.Requests
		ask := r.Cpu().String() + " " + r.Memory().String()
		if seen[ask] {
			t.Errorf("two pods ask for %s", ask)
		}
		seen[ask] = true
	}
}

// TestSteadyClusterIsBusy keeps quiet cycles quiet: no node is so empty that it could be removed.
func TestSteadyClusterIsBusy(t *testing.T) {
	w := NewSteadyWorld(1, 5000)
	asked := map[string]float64{}
	for _, p := range w.Pods {
		asked[p.Spec.NodeName] += p.Spec.Containers[0].Resources.Requests.Cpu().AsApproximateFloat64()
	}
	total, has := 0.0, 0.0
	for _, n := range w.Nodes {
		cores := n.Status.Allocatable[corev1.ResourceCPU]
		total, has = total+asked[n.Name], has+cores.AsApproximateFloat64()
	}
	if share := total / has; share < 0.70 || share > 0.75 {
		t.Errorf("%.3f of the cores are asked for", share)
	}
}
