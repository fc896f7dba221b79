package scheduling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestANominatedPodCountsWhereRoomWasMade(t *testing.T) {
	priority := func(n int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &n } }
	waits := func(p *corev1.Pod) { p.Status.NominatedNodeName, p.UID = "a", "uid" }
	first := pod("first", priority(10), requests("cpu", "3"), app("db"), waits)
	for name, tt := range map[string]struct {
		options []func(*corev1.Pod)
		want    []string // of refusals on node a
	}{
		"a pod of lower priority does not take its room":         {[]func(*corev1.Pod){priority(5), requests("cpu", "2")}, []string{"node a: Insufficient cpu (needs 2, free 1)"}},
		"a pod of the same priority does not either":             {[]func(*corev1.Pod){priority(10), requests("cpu", "2")}, []string{"node a: Insufficient cpu (needs 2, free 1)"}},
		"a pod of higher priority may":                           {[]func(*corev1.Pod){priority(11), requests("cpu", "2")}, nil},
		"room that is left is free":                              {[]func(*corev1.Pod){priority(5), requests("cpu", "1")}, nil},
		"it is no company: it may go elsewhere":                  {[]func(*corev1.Pod){near("db", corev1.LabelHostname)}, []string{"node a: does not match the pod's affinity rules"}},
		"who wants to be away from it stays away":                {[]func(*corev1.Pod){awayFrom("db", corev1.LabelHostname)}, []string{"node a: pod anti-affinity forbids it"}},
		"who would be away from it and comes before it may come": {[]func(*corev1.Pod){priority(11), awayFrom("db", corev1.LabelHostname)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod("p", tt.options...)
			c := NewChecker(snapshot(node("a"), node("b"), first, p))
			if diff := cmp.Diff(tt.want, sentences(c.Refusals(p, "a"))); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
			if c.Fits(p, "a") != (tt.want == nil) || (c.Room(p.Class, 0) > 0) != (tt.want == nil) {
				t.Errorf("fits: %v, room for %d", c.Fits(p, "a"), c.Room(p.Class, 0))
			}
			if !c.Fits(first, "a") {
				t.Error("it does not fit where room was made for it")
			}
			undo := c.Place(first, "b")
			if got := c.Refusals(pod("q", requests("cpu", "4")), "a"); got != nil {
				t.Errorf("it counts where it was nominated although it went elsewhere: %v", got)
			}
			undo()
			if diff := cmp.Diff(tt.want, sentences(c.Refusals(p, "a"))); diff != "" {
				t.Errorf("refusals after it was taken back (-want +got):\n%s", diff)
			}
		})
	}
}

// TestANominatedPodIsHeardBesideOneThatRuns is about pods that want to be away from another one. kube-scheduler asks the nominated ones of
// them only where one that runs has such a wish.
func TestANominatedPodIsHeardBesideOneThatRuns(t *testing.T) {
	waits := func(p *corev1.Pod) { p.Status.NominatedNodeName, p.UID, p.Spec.Priority = "a", "uid", new(int32(10)) }
	shy := pod("shy", awayFrom("web", corev1.LabelHostname), waits)
	for name, tt := range map[string]struct {
		runs []any
		want []string // of refusals on node a
	}{
		"nobody who runs has the wish":    {nil, nil},
		"one who runs elsewhere has it":   {[]any{pod("other", on("b"), awayFrom("web", corev1.LabelHostname))}, []string{"node a: pod anti-affinity forbids it"}},
		"the wish of one is about others": {[]any{pod("other", on("b"), awayFrom("db", corev1.LabelHostname))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod("p", app("web"))
			c := NewChecker(snapshot(append(tt.runs, node("a"), node("b"), shy, p)...))
			if diff := cmp.Diff(tt.want, sentences(c.Refusals(p, "a"))); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
			if c.Fits(p, "a") != (tt.want == nil) {
				t.Errorf("fits: %v", c.Fits(p, "a"))
			}
		})
	}
}
