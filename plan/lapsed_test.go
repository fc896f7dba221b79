package plan_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestWhatWasGrantedCountsWhileTheCloudIsSilent has a pod wait for a machine that the cloud accepted to make, before it answered no more
// about the group (S-34).
func TestWhatWasGrantedCountsWhileTheCloudIsSilent(t *testing.T) {
	for name, tc := range map[string]struct {
		group   func(*cluster.Group)
		kept    func(*memory.GroupMemory)
		objects []any
		grows   bool // the other group
	}{
		"the machine is waited for":       {},
		"not where reads are refused":     {group: func(g *cluster.Group) { g.Unanswered = false }, grows: true},
		"nor where none was complete":     {group: func(g *cluster.Group) { g.Read.Complete = false }, grows: true},
		"nor when a failure came since":   {kept: func(m *memory.GroupMemory) { m.Noticed = Start.Add(-time.Second) }, grows: true},
		"an earlier failure is none":      {kept: func(m *memory.GroupMemory) { m.Noticed = Start.Add(-time.Hour) }},
		"nor when its time is over":       {kept: func(m *memory.GroupMemory) { m.Requested = Start.Add(-15 * time.Minute) }, grows: true},
		"nor where nobody granted it":     {kept: func(m *memory.GroupMemory) { m.Requested = time.Time{} }, grows: true},
		"nor once its node has joined":    {objects: []any{unlistedNode("a", Start.Add(-time.Second))}, grows: true},
		"a node from before is not its":   {objects: []any{unlistedNode("a", Start.Add(-time.Hour))}},
		"nor is one that another has":     {objects: []any{unlistedNode("b", Start.Add(-time.Second))}},
		"a growth without an answer, too": {group: func(g *cluster.Group) { g.Capacity, g.Asked = 0, 1 }},
		"whether or not it is remembered": {group: func(g *cluster.Group) { g.Capacity, g.Asked = 0, 1 }, kept: func(m *memory.GroupMemory) { *m = memory.GroupMemory{} }},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := Group("a", 0, 5), Group("b", 0, 5)
			a.Capacity, a.Problem, a.Unanswered, a.Read.At, a.ProviderIDPrefix = 1, "no answer", true, Start.Add(-2*time.Minute), "cloud:///a/"
			m := memory.GroupMemory{Requested: Start.Add(-time.Minute), Capacity: 1}
			if tc.group != nil {
				tc.group(a)
			}
			if tc.kept != nil {
				tc.kept(&m)
			}
			s := cluster.New(Start, Objects(append(tc.objects, Pod("p", CPU("3")))...), []*cluster.Group{a, b})
			p, _ := plan.Decide(s, policy.Default(), memory.Memory{Since: Start.Add(-time.Hour), Groups: map[cluster.GroupID]memory.GroupMemory{"a": m}})
			grows := false
			for _, act := range p.Actions {
				g, is := act.(action.SetCapacity)
				grows = grows || is && g.Group == "b"
			}
			if grows != tc.grows {
				t.Errorf("group b grows: %t, want %t", grows, tc.grows)
			}
		})
	}
}

// unlistedNode is a node of a group that no list has shown, and that has room for nobody.
func unlistedNode(of string, at time.Time) *corev1.Node {
	return Node(of+"-0", func(n *corev1.Node) {
		n.CreationTimestamp, n.Spec.ProviderID = metav1.NewTime(at), "cloud:///"+of+"/0"
		n.Status.Allocatable = corev1.ResourceList{}
	})
}
