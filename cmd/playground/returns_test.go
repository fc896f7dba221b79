package main

import (
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestAPodThatToleratesAllIsEvictedOnceAtMost empties machines on the real control plane whose pods tolerate every taint: its scheduler puts them back on the
// cordoned node, which is the emptiest. No pod's place is evicted twice, and the machines go.
func TestAPodThatToleratesAllIsEvictedOnceAtMost(t *testing.T) {
	const machines, agents = 3, 3
	g := group{name: "shared", size: d4s, max: 4}
	o := options{dir: filepath.Join(t.TempDir(), "playground"), script: shortStory()}
	s, ctx, wait := onGroups(t, o, g)
	p := s.playground
	if err := s.createDeployment(ctx, onPool(pod("load", "3", "1Gi"), g), machines); err != nil {
		t.Fatal(err)
	}
	wait("the machines", func() (string, bool) {
		load := p.observer.running("load")
		return fmt.Sprintf("%d pods run", load), load == machines
	})
	agent := onPool(pod("agent", "100m", "64Mi"), g)
	agent.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	if err := s.createDeployment(ctx, agent, agents); err != nil {
		t.Fatal(err)
	}
	wait("its pods", func() (string, bool) {
		is := p.observer.running("agent")
		return fmt.Sprintf("%d pods run", is), is == agents
	})
	if err := s.deleteDeployment(ctx, "load"); err != nil {
		t.Fatal(err)
	}
	wait("the machines that are not needed to go", func() (string, bool) {
		left := p.machinesOf(g)
		return fmt.Sprintf("%d machines, %s", left, s.standing()), left == 1 && p.observer.running("agent") == agents
	})
	evicted := 0
	for _, h := range p.observer.podsOf("agent") {
		if h.evicted {
			evicted++
		}
	}
	if evicted > agents {
		t.Errorf("%d evictions of the pods of a Deployment that has %d", evicted, agents)
	}
	t.Logf("evictions: %d", evicted)
}
