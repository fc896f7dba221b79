package kube

import (
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

func gates(names ...string) []corev1.PodSchedulingGate {
	var all []corev1.PodSchedulingGate
	for _, n := range names {
		all = append(all, corev1.PodSchedulingGate{Name: n})
	}
	return all
}

func gatedPod(names ...string) *corev1.Pod {
	p := pod("default", "web", "")
	p.Spec.SchedulingGates = gates(names...)
	return p
}

func TestOpenGateTakesNothingButSluicesGate(t *testing.T) {
	for name, test := range map[string]struct {
		has, want []string
		writes    int // requests that change something
	}{
		"the only gate":         {[]string{cluster.CapacityGate}, nil, 1},
		"one of several":        {[]string{"a/b", cluster.CapacityGate, "c/d"}, []string{"a/b", "c/d"}, 2},
		"not there any more":    {nil, nil, 1},
		"somebody else's alone": {[]string{"a/b"}, []string{"a/b"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := &kubesim.Cluster{}
			create(t, c, gatedPod(test.has...))
			uid := uidOf[*corev1.Pod](t, c, "default", "web")
			w := Writer{Client: clientOf(t, c)}
			if err := w.OpenGate(t.Context(), "default", "web", uid); err != nil {
				t.Fatal(err)
			}
			p, _ := kubesim.Find[*corev1.Pod](c, "default", "web")
			if diff := cmp.Diff(gates(test.want...), p.Spec.SchedulingGates); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if n := len(c.Log()); n != test.writes {
				t.Errorf("%d writes, want %d", n, test.writes)
			}
		})
	}
}

func TestOpenGateLeavesAnotherPodOfTheNameAlone(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, gatedPod(cluster.CapacityGate))
	w := Writer{Client: clientOf(t, c)}
	if err := w.OpenGate(t.Context(), "default", "web", "another"); err != nil {
		t.Fatal(err)
	}
	if p, _ := kubesim.Find[*corev1.Pod](c, "default", "web"); len(p.Spec.SchedulingGates) != 1 {
		t.Error("the gate of a pod with another UID was opened")
	}
	if err := w.OpenGate(t.Context(), "default", "gone", "another"); err != nil {
		t.Errorf("a pod that is gone: %v", err)
	}
}

func TestOpenGateMeetsAChangeOfTheGatesBetween(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, gatedPod("a/b", cluster.CapacityGate))
	uid := uidOf[*corev1.Pod](t, c, "default", "web")
	n := 0
	w := writerBehind(t, c, http.MethodPatch, func() {
		if n++; n == 2 {
			edit(t, c, "default", "web", func(p *corev1.Pod) { p.Spec.SchedulingGates = gates(cluster.CapacityGate) })
		}
	})
	if err := w.OpenGate(t.Context(), "default", "web", uid); err != nil {
		t.Fatal(err)
	}
	if p, _ := kubesim.Find[*corev1.Pod](c, "default", "web"); len(p.Spec.SchedulingGates) != 0 {
		t.Errorf("gates %v stay", p.Spec.SchedulingGates)
	}
	lift := c.Inject(kubesim.Fault{Verb: "patch", Resource: "pods", Code: http.StatusForbidden, Reason: "Forbidden"})
	defer lift()
	if err := w.OpenGate(t.Context(), "default", "web", uid); !errors.Is(err, ErrForbidden) {
		t.Errorf("without the right: %v", err)
	}
}
