package kube

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"sluice.dev/sluice/cluster"
)

// Cause is something that happened in the cluster which may change what is to be done.
type Cause string

// The causes of a [Trigger].
const (
	PodUnschedulable Cause = "pod unschedulable" // the scheduler found no node for a pod
	PodGone          Cause = "pod gone"          // a pod finished, or left unfinished
	NodeAppeared     Cause = "node appeared"
	NodeReadiness    Cause = "node readiness" // a node became Ready, or ceased to be
	NodeLeft         Cause = "node left"
	NodeNoticed      Cause = "node noticed" // the cloud announced something to its machine, or took that back
	PodCame          Cause = "pod came"     // of a scheduler that is not waited for
	PodGated         Cause = "pod gated"    // a pod waits behind nothing but sluice's scheduling gate
	RequestCame      Cause = "request came" // a ProvisioningRequest or CapacityBuffer came, went, or asks for something else
)

// Trigger is what happened since the one before it was received.
type Trigger struct {
	Causes []Cause // sorted, each once; never empty

	// Unschedulable is when the scheduler first found no node for the pod that has waited longest among those that
	// turned unschedulable, as the API server has it. Zero without such a pod.
	Unschedulable time.Time
}

// triggers gathers causes into the one Trigger that its channel holds.
type triggers struct {
	mu sync.Mutex // held while sending: nobody else fills c after it was emptied
	c  chan Trigger

	bypassed func(scheduler string) bool // see [Options]
}

func newTriggers(bypassed func(scheduler string) bool) *triggers {
	return &triggers{c: make(chan Trigger, 1), bypassed: bypassed}
}

// raise never blocks.
func (t *triggers) raise(cause Cause, unschedulable time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := Trigger{Causes: []Cause{cause}, Unschedulable: unschedulable}
	select {
	case waiting := <-t.c:
		next = waiting.and(next)
	default:
	}
	t.c <- next
}

func (t Trigger) and(o Trigger) Trigger {
	both := Trigger{Causes: slices.Concat(t.Causes, o.Causes), Unschedulable: t.Unschedulable}
	slices.Sort(both.Causes)
	both.Causes = slices.Compact(both.Causes)
	if both.Unschedulable.IsZero() || !o.Unschedulable.IsZero() && o.Unschedulable.Before(both.Unschedulable) {
		both.Unschedulable = o.Unschedulable
	}
	return both
}

func (t *triggers) pod(c change[*cluster.Pod]) {
	switch {
	case c.vanished:
		if !c.before.Finished() {
			t.raise(PodGone, time.Time{})
		}
	case c.after.Finished():
		if !c.appeared && !c.before.Finished() {
			t.raise(PodGone, time.Time{})
		}
	case c.after.AwaitsCapacity():
		if c.appeared || !c.before.AwaitsCapacity() {
			t.raise(PodGated, time.Time{})
		}
	case c.after.Node == "" && c.after.Unschedulable():
		if c.appeared || !c.before.Unschedulable() {
			t.raise(PodUnschedulable, c.after.UnschedulableSince())
		}
	case c.appeared && c.after.Node == "" && t.bypassed != nil && t.bypassed(c.after.Spec.SchedulerName) && !c.after.Gated():
		t.raise(PodCame, time.Time{})
	}
}

func (t *triggers) request(c change[*cluster.ProvisioningRequest]) {
	if c.appeared || c.vanished || !equality.Semantic.DeepEqual(c.before.Spec, c.after.Spec) {
		t.raise(RequestCame, time.Time{})
	}
}

func (t *triggers) buffer(c change[*cluster.CapacityBuffer]) {
	if c.appeared || c.vanished || !equality.Semantic.DeepEqual(c.before.Spec, c.after.Spec) {
		t.raise(RequestCame, time.Time{})
	}
}

// noticeChanged says whether a notice came, went, or says something else.
func noticeChanged(before, after *corev1.Node) bool {
	stands := cluster.Noticed(after)
	return cluster.Noticed(before) != stands || stands && before.Annotations[cluster.NoticeAnnotation] != after.Annotations[cluster.NoticeAnnotation]
}

func (t *triggers) node(c change[*corev1.Node]) {
	switch {
	case c.vanished:
		t.raise(NodeLeft, time.Time{})
	case c.appeared:
		t.raise(NodeAppeared, time.Time{})
	case cluster.Ready(c.before) != cluster.Ready(c.after):
		t.raise(NodeReadiness, time.Time{})
	case noticeChanged(c.before, c.after):
		t.raise(NodeNoticed, time.Time{})
	}
}
