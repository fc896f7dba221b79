package cluster_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

// TestTagsThatChangedAreBelievedBeforeAnOlderNode has a node teach, and then the cloud be told otherwise.
func TestTagsThatChangedAreBelievedBeforeAnOlderNode(t *testing.T) {
	team := corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	dedicated := corev1.Taint{Key: "dedicated", Value: "b", Effect: corev1.TaintEffectNoSchedule}
	reported := map[string]string{cluster.AboutModel: "one", cluster.AboutLabel("pool"): "batch", cluster.AboutTaint(team): "a", "cpu": "4"}
	describe := func(g *cluster.Group, reported map[string]string) {
		g.Reported = reported
		for key, label := range map[string]string{cluster.AboutLabel("pool"): "pool", cluster.AboutLabel("disk"): "disk"} {
			if value, is := reported[key]; is {
				g.Template.Labels[label] = value
			}
		}
		for _, taint := range []corev1.Taint{team, dedicated} {
			if _, is := reported[cluster.AboutTaint(taint)]; is {
				g.Template.Spec.Taints = append(g.Template.Spec.Taints, taint)
			}
		}
		g.Template.Status.Capacity = g.Template.Status.Capacity.DeepCopy()
		g.Template.Status.Capacity[gpu] = resource.MustParse("1")
		g.Template.Status.Allocatable = g.Template.Status.Capacity
		if cpu, is := reported["cpu"]; is {
			g.Template.Status.Capacity[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
	}
	node := Node("a-0", born(time.Hour), with(corev1.ResourceCPU, "3"), func(n *corev1.Node) {
		n.Labels["pool"], n.Labels["own"] = "none", "yes"
		n.Spec.Taints = []corev1.Taint{team}
	})
	first := Group("a", 0, 5, Machine("0", "a-0", Born(Start.Add(-time.Hour))))
	describe(first, reported)
	taught := cluster.New(Start, Objects(node), []*cluster.Group{first}).Group("a").Learned

	type next struct {
		Pool, Disk, Own, Taints, CPU, GPU string
	}
	learned := next{"none", "", "yes", "team", "3", "0"}
	for name, tc := range map[string]struct {
		change func(reported map[string]string)
		want   next
	}{
		"nothing changed":                                      {func(map[string]string) {}, learned},
		"a label is promised that was not":                     {func(reported map[string]string) { reported[cluster.AboutLabel("disk")] = "fast" }, next{"none", "fast", "yes", "team", "3", "0"}},
		"a label has another value":                            {func(reported map[string]string) { reported[cluster.AboutLabel("pool")] = "render" }, next{"render", "", "yes", "team", "3", "0"}},
		"a label is promised no more: nodes may bear it still": {func(reported map[string]string) { delete(reported, cluster.AboutLabel("pool")) }, learned},
		"a taint is promised that was not":                     {func(reported map[string]string) { reported[cluster.AboutTaint(dedicated)] = "b" }, next{"none", "", "yes", "team dedicated", "3", "0"}},
		"a taint is promised no more":                          {func(reported map[string]string) { delete(reported, cluster.AboutTaint(team)) }, next{"none", "", "yes", "", "3", "0"}},
		"another amount of a resource":                         {func(reported map[string]string) { reported["cpu"] = "8" }, next{"none", "", "yes", "team", "8", "0"}},
		"machines are made of something else, and kubelets reserve what they reserved": {
			func(reported map[string]string) { reported[cluster.AboutModel] = "two" }, next{"batch", "", "yes", "team", "3", "1"},
		},
		"what machines are made of is not known now": {func(reported map[string]string) { delete(reported, cluster.AboutModel) }, learned},
	} {
		t.Run(name, func(t *testing.T) {
			now := maps.Clone(reported)
			tc.change(now)
			look := func(s *cluster.Snapshot) next {
				n := s.Group("a").Template
				out := next{Pool: n.Labels["pool"], Disk: n.Labels["disk"], Own: n.Labels["own"], CPU: n.Status.Allocatable.Cpu().String()}
				for _, taint := range n.Spec.Taints {
					if out.Taints != "" {
						out.Taints += " "
					}
					out.Taints += taint.Key
				}
				amount := n.Status.Allocatable[gpu]
				out.GPU = amount.String()
				return out
			}
			g := Group("a", 0, 5)
			describe(g, now)
			g.Learned = taught
			empty := cluster.New(Start.Add(time.Hour), Objects(), []*cluster.Group{g})
			if diff := cmp.Diff(tc.want, look(empty)); diff != "" {
				t.Errorf("the next machine (-want +got):\n%s", diff)
			}
			if again := cluster.New(empty.Time, empty.Objects, empty.Groups); look(again) != look(empty) {
				t.Errorf("asked again it is %+v", look(again))
			}

			// A machine that was made since settles it, one that was made before does not.
			for _, made := range []time.Duration{30 * time.Minute, 90 * time.Minute} {
				later := Group("a", 0, 5, Machine("1", "a-1", Born(Start.Add(made))))
				describe(later, now)
				later.Learned = empty.Group("a").Learned
				young := Node("a-1", with(corev1.ResourceCPU, "3"), func(n *corev1.Node) {
					n.CreationTimestamp.Time = Start.Add(2 * time.Hour)
					n.Labels["pool"], n.Labels["own"] = "none", "yes"
					n.Spec.Taints = []corev1.Taint{team}
				})
				want := tc.want
				if made > time.Hour {
					want = learned
				}
				s := cluster.New(Start.Add(3*time.Hour), Objects(young), []*cluster.Group{later})
				if diff := cmp.Diff(want, look(s)); diff != "" {
					t.Errorf("after a node of a machine that was made %s after the first (-want +got):\n%s", made, diff)
				}
			}
		})
	}
}

// TestATagThatIsSetAgainIsBelieved takes a tag off and sets it again: how an operator says that machines are mended in what Azure does not
// show.
func TestATagThatIsSetAgainIsBelieved(t *testing.T) {
	reported := func(value string, machines ...*cluster.Instance) *cluster.Group {
		g := Group("a", 0, 5, machines...)
		g.Reported = map[string]string{}
		if value != "" {
			g.Reported[cluster.AboutLabel("pool")], g.Template.Labels["pool"] = value, value
		}
		return g
	}
	s := cluster.New(Start, Objects(Node("a-0")), []*cluster.Group{reported("render", Machine("0", "a-0"))})
	for i, step := range []struct{ tag, want string }{{"render", ""}, {"", ""}, {"render", "render"}, {"render", "render"}} {
		g := reported(step.tag)
		g.Learned = s.Group("a").Learned
		s = cluster.New(Start.Add(time.Duration(i+1)*time.Minute), Objects(), []*cluster.Group{g})
		if got := s.Group("a").Template.Labels["pool"]; got != step.want {
			t.Errorf("step %d: the next machine has label pool=%q, want %q", i, got, step.want)
		}
	}
}
