package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

// TestWorkersOfDaemonSetsKeepTheirMachines plays on the real control plane what sluice was begun for: workers run as the pods of DaemonSets, marked in
// one group and chosen by --daemon-work in another, beside machines that carry nothing but plain daemons. The latter go, no worker is touched,
// and when the DaemonSets are deleted the workers' machines go too.
func TestWorkersOfDaemonSetsKeepTheirMachines(t *testing.T) {
	const each = 2 // machines of a group
	marked, chosen, spare := group{name: "marked", size: d4s, max: 3}, group{name: "chosen", size: d4s, max: 3}, group{name: "spare", size: d4s, max: 3}
	o := options{dir: filepath.Join(t.TempDir(), "playground"), script: shortStory()}
	work, err := cluster.ParsePodSelector(metav1.NamespaceDefault + "/" + appLabel + "=workers-chosen")
	if err != nil {
		t.Fatal(err)
	}
	o.script.work = []cluster.PodSelector{work}

	s, ctx, wait := onGroups(t, o, marked, chosen, spare)
	p := s.playground

	sets := map[group]map[string]string{marked: {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}, chosen: nil}
	for g, annotations := range sets {
		template := onPool(pod("workers-"+g.name, "1500m", "1Gi"), g)
		template.Annotations = annotations
		meta := named("workers-" + g.name)
		_, err := p.client.AppsV1().DaemonSets(meta.Namespace).Create(ctx, &appsv1.DaemonSet{
			ObjectMeta: meta,
			Spec:       appsv1.DaemonSetSpec{Selector: &metav1.LabelSelector{MatchLabels: meta.Labels}, Template: template},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.createDaemons(ctx, daemonApp); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if err := s.createDeployment(ctx, onPool(pod("load-"+g.name, "2", "1Gi"), g), each); err != nil {
			t.Fatal(err)
		}
	}
	wait("the machines with their workers", func() (string, bool) {
		up, progress := true, ""
		for _, g := range groups {
			load, workers := p.observer.running("load-"+g.name), p.observer.running("workers-"+g.name)
			up = up && load == each && (g == spare || workers == p.machinesOf(g))
			progress += fmt.Sprintf("%s: %d pods and %d workers run; ", g.name, load, workers)
		}
		return progress, up
	})
	machines := map[string]int{marked.name: p.machinesOf(marked), chosen.name: p.machinesOf(chosen)}

	for _, g := range groups {
		if err := s.deleteDeployment(ctx, "load-"+g.name); err != nil {
			t.Fatal(err)
		}
	}
	var gone time.Time // the idle machines
	wait("the idle machines to go, and once more as long", func() (string, bool) {
		first(&gone, p.machinesOf(spare) == 0, time.Now())
		return s.standing(), !gone.IsZero() && time.Since(gone) > o.script.unneeded+o.script.afterTaint
	})
	for _, g := range []group{marked, chosen} {
		if is := p.machinesOf(g); is != machines[g.name] {
			t.Errorf("group %s has %d machines of %d, each with a worker", g.name, is, machines[g.name])
		}
		for _, w := range p.observer.podsOf("workers-" + g.name) {
			if !w.deleting.IsZero() || !w.gone.IsZero() || w.evicted {
				t.Errorf("worker %s was told to end, and nobody had deleted its DaemonSet", w.name)
			}
		}
		for _, node := range p.observer.nodesNow() {
			if strings.HasPrefix(node.name, g.name) && !node.everOn.IsZero() {
				t.Errorf("node %s was cordoned for removal under its worker", node.name)
			}
		}
	}

	for g := range sets {
		if err := p.client.AppsV1().DaemonSets(corev1.NamespaceDefault).Delete(ctx, "workers-"+g.name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}); err != nil {
			t.Fatal(err)
		}
	}
	wait("the workers' machines to go", func() (string, bool) { return s.standing(), s.atMinimum() })
}

// onGroups opens a playground with those groups alone, and closes it when the test ends. wait waits for a step of the story, which says how far it is.
func onGroups(t *testing.T, o options, own ...group) (s *story, ctx context.Context, wait func(what string, step func() (string, bool))) {
	t.Helper()
	before := groups
	groups = own
	t.Cleanup(func() { groups = before })
	var told bytes.Buffer
	n := newNarrator(&told)
	p, ctx, err := open(t.Context(), o, n)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(told.String())
			logTail(t, filepath.Join(o.dir, sluiceLog))
		}
		if err := p.close(true); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s = &story{playground: p, n: n}
	return s, ctx, func(what string, step func() (string, bool)) {
		t.Helper()
		if err := s.until(ctx, what, step); err != nil {
			t.Fatal(err)
		}
	}
}
