package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

// TestWhatAnEmbeddedCloudControllerSaysIsKnownFromTheFirstNodeOn asks for the labels of the next machine of a group that has had no node.
func TestWhatAnEmbeddedCloudControllerSaysIsKnownFromTheFirstNodeOn(t *testing.T) {
	server := func(id, size string) *corev1.Node {
		return Node("server", func(n *corev1.Node) {
			n.Spec.ProviderID = id
			n.Labels[corev1.LabelInstanceTypeStable] = size
		})
	}
	agent := func(labels map[string]string) *corev1.Node {
		return Node("b-0", func(n *corev1.Node) { n.Spec.ProviderID, n.Labels = "k3s://b-0", labels })
	}
	type labels struct{ Size, Zone, Region string }
	described := labels{"D4", "west-1", "west"}
	for name, tc := range map[string]struct {
		nodes    []any
		reported map[string]string
		want     labels
		named    int // groups that doctor names
	}{
		"a cluster of another kind": {[]any{server("azure:///x", "D2")}, nil, described, 0},
		"no node at all":            {nil, nil, described, 0},
		"a server of K3s":           {[]any{server("k3s://server", "k3s")}, nil, labels{"k3s", "", ""}, 2},
		"a server of RKE2":          {[]any{server("rke2://server", "rke2")}, nil, labels{"rke2", "", ""}, 2},
		"a server that says its own size: agents may not":    {[]any{server("k3s://server", "D2")}, nil, labels{"k3s", "", ""}, 2},
		"another scheme that begins alike":                   {[]any{server("k3s-like://server", "x")}, nil, described, 0},
		"tags say otherwise":                                 {[]any{server("k3s://server", "k3s")}, map[string]string{cluster.AboutLabel(corev1.LabelInstanceTypeStable): "D4"}, labels{"D4", "", ""}, 1},
		"a node of another group says nothing of its own":    {[]any{server("k3s://server", "k3s"), agent(map[string]string{corev1.LabelInstanceTypeStable: "k3s"})}, nil, labels{"k3s", "", ""}, 2},
		"a kubelet of another group was told its size":       {[]any{server("k3s://server", "k3s"), agent(map[string]string{corev1.LabelInstanceTypeStable: "D8"})}, nil, labels{"D4", "", ""}, 0},
		"a kubelet of another group was told size and place": {[]any{server("k3s://server", "k3s"), agent(map[string]string{corev1.LabelInstanceTypeStable: "D8", corev1.LabelTopologyZone: "west-2", corev1.LabelTopologyRegion: "west"})}, nil, described, 0},
		"nobody labels nodes of another group with any size": {[]any{server("k3s://server", "k3s"), agent(map[string]string{})}, nil, labels{"", "", ""}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := Group("a", 0, 5), Group("b", 0, 5, Machine("0", "b-0", func(in *cluster.Instance) { in.Group = "b" }))
			for _, g := range []*cluster.Group{a, b} {
				for key, value := range map[string]string{corev1.LabelInstanceTypeStable: "D4", corev1.LabelTopologyZone: "west-1", corev1.LabelTopologyRegion: "west"} {
					g.Template.Labels[key] = value
				}
			}
			a.Reported = tc.reported
			s := cluster.New(Start, Objects(tc.nodes...), []*cluster.Group{a, b})
			n := s.Group("a").Template
			got := labels{n.Labels[corev1.LabelInstanceTypeStable], n.Labels[corev1.LabelTopologyZone], n.Labels[corev1.LabelTopologyRegion]}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("the next machine (-want +got):\n%s", diff)
			}
			if named, _ := s.Unlabelled(); len(named) != tc.named {
				t.Errorf("%d groups are named, want %d", len(named), tc.named)
			}
			if again := cluster.New(s.Time, s.Objects, s.Groups).Group("a").Template.Labels; !cmp.Equal(again, n.Labels) {
				t.Errorf("asked again it has %v", again)
			}
			for _, g := range s.Groups {
				for _, d := range g.Drift {
					if d.Found == "k3s" {
						t.Errorf("group %s: drift %+v", g.ID, d)
					}
				}
			}
		})
	}
}
