package cluster_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

func TestATemplateBearsNoTaintThatPasses(t *testing.T) {
	named := cluster.Taints{Startup: []string{"example.com/starts"}, Prefixes: []string{"warm-up.example.com/"}, Status: []string{"example.com/slow"}}
	for key, tc := range map[string]struct{ stays, arriving bool }{
		"example.com/starts":                                   {false, true},
		"warm-up.example.com/cache":                            {false, true},
		"example.com/slow":                                     {false, false},
		"example.com/slow-disk":                                {true, false},
		"example.com/warm-up":                                  {true, false},
		corev1.TaintNodeNotReady:                               {false, true},
		corev1.TaintNodeUnschedulable:                          {false, false},
		"startup-taint.cluster-autoscaler.kubernetes.io/agent": {false, true},
		"ignore-taint.cluster-autoscaler.kubernetes.io/agent":  {false, true},
		"status-taint.cluster-autoscaler.kubernetes.io/disk":   {false, false},
	} {
		t.Run(key, func(t *testing.T) {
			tainted := func(n *corev1.Node) {
				n.CreationTimestamp.Time = Start.Add(-time.Minute)
				n.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}
			}
			if got := named.Arriving(Node("a-0", tainted)); got != tc.arriving {
				t.Errorf("arriving=%t, want %t", got, tc.arriving)
			}
			learned := Group("a", 0, 5, Machine("0", "a-0"))
			reported := Group("b", 0, 5)
			tainted(reported.Template)
			before := Group("c", 0, 5) // learned it when nobody called it passing
			before.Learned = &cluster.Learned{Node: Node("c-0", tainted), Size: before.Size}
			for _, g := range []*cluster.Group{learned, reported, before} {
				g.Passing = named
			}
			s := cluster.New(Start, Objects(Node("a-0", tainted)), []*cluster.Group{learned, reported, before})
			want := map[cluster.GroupID]int{"a": 0, "b": 0, "c": 0}
			if tc.stays {
				want = map[cluster.GroupID]int{"a": 1, "b": 1, "c": 1}
			}
			got := map[cluster.GroupID]int{}
			for _, g := range s.Groups {
				got[g.ID] = len(g.Template.Spec.Taints)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("taints of the templates (-want +got):\n%s", d)
			}
		})
	}
}
