package kubesim_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sluice.dev/sluice/internal/kubesim"
)

func ranked(name, cpu, class string) *corev1.Pod {
	p := pod(name, cpu)
	p.Labels["app"] = name
	p.Spec.PriorityClassName = class
	return p
}

func TestImportantPodDisplacesTheLeastImportant(t *testing.T) {
	w := newWorld(t)
	never := corev1.PreemptNever
	w.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Value: -5})
	w.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100})
	w.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "patient"}, Value: 100, PreemptionPolicy: &never})
	w.join("a", "4")
	w.join("b", "4")
	w.create(ranked("plain", "3", ""))
	w.advance(5 * time.Second)
	w.create(ranked("cheap-1", "2", "low"))
	w.create(ranked("cheap-2", "2", "low"))
	w.advance(5 * time.Second)
	w.create(ranked("patient", "3", "patient"))
	w.advance(time.Minute)
	if w.pod("cheap-1") == nil || w.pod("patient").Spec.NodeName != "" {
		t.Fatal("a pod that never preempts did")
	}
	if err := w.Delete(w.pod("patient"), nil); err != nil {
		t.Fatal(err)
	}
	w.create(ranked("vital", "3", "high"))
	w.settle()
	if got, want := w.pod("vital").Status.NominatedNodeName, w.pod("cheap-1").Spec.NodeName; got != want {
		t.Errorf("nominated to %q, want %q where the least important pods are", got, want)
	}
	w.create(ranked("late", "1", "")) // would fit where the victims leave, did it not belong to the nominated pod
	w.advance(time.Minute)
	if p := w.pod("vital"); p.Status.Phase != corev1.PodRunning || p.Status.NominatedNodeName != "" {
		t.Errorf("%s, nominated %q: %s", p.Status.Phase, p.Status.NominatedNodeName, w.whyNot("vital"))
	}
	if w.pod("plain") == nil || w.pod("cheap-1") != nil || w.pod("cheap-2") != nil {
		t.Error("the wrong pods had to go")
	}
}

func TestPreemptionSparesWhatABudgetProtects(t *testing.T) {
	w := newWorld(t)
	w.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100})
	w.join("a", "4")
	w.create(ranked("guarded", "3", ""))
	w.advance(5 * time.Second)
	w.join("b", "4")
	w.create(ranked("free", "3", ""))
	one := intstr.FromInt32(1)
	w.create(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "guard"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "guarded"}}}})
	w.advance(5 * time.Second)
	w.create(ranked("vital", "3", "high"))
	w.advance(time.Minute)
	if w.pod("guarded") == nil || w.pod("free") != nil || w.pod("vital").Spec.NodeName != "b" {
		t.Errorf("vital went to %q", w.pod("vital").Spec.NodeName)
	}
}

// lost counts the pods of low priority that have gone, of those that were there.
func (w *world) lost(names ...string) (n int) {
	for _, name := range names {
		if w.pod(name) == nil {
			n++
		}
	}
	return n
}

func TestPreemptorsTakeANodeEach(t *testing.T) {
	w := newWorld(t)
	w.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100})
	w.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "higher"}, Value: 200})
	var fillers []string
	for _, node := range []string{"a", "b", "c", "d"} { // the youngest costs least
		w.join(node, "4")
		w.create(ranked("filler-"+node, "4", ""))
		w.advance(5 * time.Second)
		fillers = append(fillers, "filler-"+node)
	}
	places := map[string]string{"first": "d", "vital-1": "c", "vital-2": "b"}
	w.create(ranked("first", "3", "higher"))
	w.create(ranked("vital-1", "3", "high"))
	w.create(ranked("vital-2", "3", "high"))
	w.settle()
	for name, node := range places {
		if got := w.pod(name).Status.NominatedNodeName; got != node {
			t.Errorf("%s is nominated to %q, want %q", name, got, node)
		}
	}
	w.advance(time.Minute)
	for name, node := range places {
		if got := w.pod(name).Spec.NodeName; got != node {
			t.Errorf("%s is on %q, want %q: %s", name, got, node, w.whyNot(name))
		}
	}
	if n := w.lost(fillers...); n != len(places) {
		t.Errorf("%d pods had to go for %d", n, len(places))
	}
}

func TestPreemptorsShareANodeThatHoldsBoth(t *testing.T) {
	w := newWorld(t)
	w.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100})
	w.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "higher"}, Value: 200})
	w.join("a", "4")
	w.create(ranked("filler-1", "2", ""))
	w.create(ranked("filler-2", "2", ""))
	w.advance(5 * time.Second)
	w.create(ranked("vital-1", "2", "high"))
	w.create(ranked("vital-2", "2", "high"))
	w.create(ranked("vital-3", "2", "high")) // for which nobody is left
	w.settle()
	if w.pod("vital-1").Status.NominatedNodeName != "a" || w.pod("vital-2").Status.NominatedNodeName != "a" || w.pod("vital-3").Status.NominatedNodeName != "" {
		t.Errorf("nominated to %q, %q and %q", w.pod("vital-1").Status.NominatedNodeName, w.pod("vital-2").Status.NominatedNodeName, w.pod("vital-3").Status.NominatedNodeName)
	}
	w.create(ranked("first", "4", "higher")) // is more important than those that wait for its place
	w.settle()
	if w.pod("first").Status.NominatedNodeName != "a" || w.pod("vital-1").Status.NominatedNodeName != "" {
		t.Errorf("nominated to %q and %q", w.pod("first").Status.NominatedNodeName, w.pod("vital-1").Status.NominatedNodeName)
	}
	w.advance(time.Minute)
	if w.pod("first").Spec.NodeName != "a" || w.pod("vital-1").Spec.NodeName != "" {
		t.Errorf("first is on %q, vital-1 on %q", w.pod("first").Spec.NodeName, w.pod("vital-1").Spec.NodeName)
	}
}

func TestPodWaitsForThoseItDisplaced(t *testing.T) {
	w := newWorld(t)
	w.PodStop = 20 * time.Second
	w.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Value: -5})
	w.create(&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 100})
	w.join("a", "4")
	w.create(ranked("dear", "4", ""))
	w.advance(5 * time.Second)
	w.join("b", "4")
	w.create(ranked("cheap", "4", "low"))
	guard := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "guard"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "cheap"}}}}
	w.create(guard)
	w.advance(5 * time.Second)
	w.create(ranked("vital", "3", "high"))
	w.settle()
	if err := w.Delete(guard, nil); err != nil { // b would be chosen now
		t.Fatal(err)
	}
	looksAgain := func(node string) {
		if err := kubesim.Edit(w.Cluster, "", node, func(n *corev1.Node) { n.Labels["touched"] = node }); err != nil {
			t.Fatal(err)
		}
		w.advance(5 * time.Second)
	}
	looksAgain("b")
	if w.pod("cheap").DeletionTimestamp != nil {
		t.Error("a pod that waits for those it displaced displaced more")
	}
	if err := kubesim.Edit(w.Cluster, "", "a", func(n *corev1.Node) { n.Spec.Unschedulable = true }); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Second)
	if w.pod("vital").Status.NominatedNodeName != "b" {
		t.Error("a pod waits for a node that does not take it any more")
	}
}

// gangs are the ways to say that pods belong together, each with a group of 3.
var gangs = map[string]func(w *world, p *corev1.Pod){
	"a PodGroup of Kubernetes": func(w *world, p *corev1.Pod) {
		w.Install(kubesim.Gangs)
		if _, ok := kubesim.Find[*schedulingv1beta1.PodGroup](w.Cluster, "default", "g"); !ok {
			w.create(&schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g"}, Spec: schedulingv1beta1.PodGroupSpec{
				SchedulingPolicy: schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 3}}}})
		}
		name := "g"
		p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
	},
	"a PodGroup of the coscheduling plugin": func(w *world, p *corev1.Pod) {
		w.Install(kubesim.Coscheduling)
		if _, ok := kubesim.Find[*kubesim.CoschedulingGroup](w.Cluster, "default", "g"); !ok {
			w.create(&kubesim.CoschedulingGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "g"}, Spec: map[string]any{"minMember": int64(3)}})
		}
		p.Labels["scheduling.x-k8s.io/pod-group"] = "g"
	},
	"labels alone": func(w *world, p *corev1.Pod) {
		w.Install(kubesim.Coscheduling)
		p.Labels["pod-group.scheduling.sigs.k8s.io/name"] = "g"
		p.Labels["pod-group.scheduling.sigs.k8s.io/min-available"] = "3"
	},
}

func TestGangIsPlacedWholeOrNotAtAll(t *testing.T) {
	for name, join := range gangs {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.join("a", "2")
			running := func() (n int) {
				for _, p := range kubesim.All[*corev1.Pod](w.Cluster, "default") {
					if p.Spec.NodeName != "" {
						n++
					}
				}
				return n
			}
			for i := range 3 {
				p := pod(fmt.Sprint("w-", i), "1")
				join(w, p)
				w.create(p)
				w.advance(time.Minute)
			}
			if n := running(); n != 0 {
				t.Errorf("%d pods run where only two have room", n)
			}
			if err := kubesim.Edit(w.Cluster, "", "a", func(n *corev1.Node) {}); err != nil {
				t.Fatal(err)
			}
			w.create(pod("other", "2")) // may use the room that the gang leaves
			w.advance(time.Minute)
			if w.pod("other").Spec.NodeName != "a" {
				t.Errorf("the gang holds room: %s", w.whyNot("other"))
			}
			w.join("b", "3")
			w.advance(time.Minute)
			if n := running(); n != 4 {
				t.Errorf("%d pods run when all have room", n)
			}
		})
	}
}
