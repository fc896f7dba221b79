package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"sluice.dev/sluice/cluster"
)

// observer watches pods and nodes for itself and notes when it heard of what. It shares nothing with sluice but the API server.
type observer struct {
	factory informers.SharedInformerFactory
	synced  []cache.InformerSynced

	mu    sync.Mutex
	pods  map[types.UID]podHistory
	nodes map[string]nodeHistory // by name: the names of the story's machines are not used twice
}

// podHistory is what the watch told of one pod: the state it is in and when each thing was first heard of, zero for never.
type podHistory struct {
	namespace, name, app, owner, node string // owner is the controller's kind, "" for none
	job                               string // the controller's name

	created       time.Time
	bound         time.Time // it had a node
	unschedulable time.Time // the scheduler found no node
	running       time.Time
	finished      time.Time // Succeeded or Failed
	succeeded     bool
	deleting      time.Time // asked to leave
	gone          time.Time
	evicted       bool // through the eviction API
}

// interrupted says whether the pod was asked to leave before it had come to its end.
func (p podHistory) interrupted() bool {
	return !p.deleting.IsZero() && (p.finished.IsZero() || p.finished.After(p.deleting))
}

// nodeHistory is the same of one node.
type nodeHistory struct {
	name   string
	ready  bool
	everOn time.Time // first put on the removal ladder
	marks  bool      // carries a removal taint, the mark of its machine, or is unschedulable
	gone   time.Time

	readySince time.Time // first Ready
}

func newObserver(client kubernetes.Interface) *observer {
	o := &observer{
		factory: informers.NewSharedInformerFactory(client, 0),
		pods:    map[types.UID]podHistory{}, nodes: map[string]nodeHistory{},
	}
	o.follow(o.factory.Core().V1().Pods().Informer(), func(object any, gone bool) { o.pod(object.(*corev1.Pod), gone) })
	o.follow(o.factory.Core().V1().Nodes().Informer(), func(object any, gone bool) { o.node(object.(*corev1.Node), gone) })
	return o
}

func (o *observer) follow(informer cache.SharedIndexInformer, heard func(object any, gone bool)) {
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { heard(object, false) },
		UpdateFunc: func(_, object any) { heard(object, false) },
		DeleteFunc: func(object any) {
			if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			heard(object, true)
		},
	})
	if err != nil {
		panic("observer: " + err.Error()) // only a stopped informer refuses handlers
	}
	o.synced = append(o.synced, registration.HasSynced)
}

// run watches until ctx is done.
func (o *observer) run(ctx context.Context) {
	o.factory.Start(ctx.Done())
	<-ctx.Done()
	o.factory.Shutdown()
}

// wait returns when everything that existed has been heard of.
func (o *observer) wait(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), o.synced...) {
		return errors.Join(errors.New("the watch did not begin"), context.Cause(ctx))
	}
	return nil
}

// first sets a time that is not set yet.
func first(t *time.Time, is bool, now time.Time) {
	if is && t.IsZero() {
		*t = now
	}
}

func (o *observer) pod(p *corev1.Pod, gone bool) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.pods[p.UID]
	h.namespace, h.name, h.app, h.node = p.Namespace, p.Name, p.Labels[appLabel], p.Spec.NodeName
	if c := metav1.GetControllerOf(p); c != nil {
		h.owner, h.job = c.Kind, c.Name
	}
	first(&h.created, true, now)
	first(&h.bound, p.Spec.NodeName != "", now)
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable:
			first(&h.unschedulable, true, now)
		case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == "EvictionByEvictionAPI":
			h.evicted = true
		}
	}
	h.succeeded = p.Status.Phase == corev1.PodSucceeded
	first(&h.running, p.Status.Phase == corev1.PodRunning, now)
	first(&h.finished, h.succeeded || p.Status.Phase == corev1.PodFailed, now)
	first(&h.deleting, p.DeletionTimestamp != nil, now)
	first(&h.gone, gone, now)
	o.pods[p.UID] = h
}

func (o *observer) node(n *corev1.Node, gone bool) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	h := o.nodes[n.Name]
	_, on := cluster.RemovalOf(n)
	first(&h.everOn, on, now)
	h.name, h.ready = n.Name, cluster.Ready(n)
	first(&h.readySince, h.ready, now)
	h.marks = on || n.Spec.Unschedulable || n.Annotations[cluster.MachineAnnotation] != ""
	first(&h.gone, gone, now)
	o.nodes[n.Name] = h
}

// podsOf are the pods, those that are gone included, with one of the app labels; all pods when none is given. Oldest first.
func (o *observer) podsOf(apps ...string) []podHistory {
	o.mu.Lock()
	defer o.mu.Unlock()
	var found []podHistory
	for _, p := range o.pods {
		if len(apps) == 0 || slices.Contains(apps, p.app) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b podHistory) int { return a.created.Compare(b.created) })
	return found
}

// running counts the pods with one of the app labels that run and are not on their way out.
func (o *observer) running(apps ...string) int {
	n := 0
	for _, p := range o.podsOf(apps...) {
		if !p.running.IsZero() && p.finished.IsZero() && p.deleting.IsZero() && p.gone.IsZero() {
			n++
		}
	}
	return n
}

// nodesNow are the nodes that exist.
func (o *observer) nodesNow() []nodeHistory {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Collect(maps.Values(o.nodes)), func(n nodeHistory) bool { return !n.gone.IsZero() })
}

// nodeOf is the node of that name, existing or gone.
func (o *observer) nodeOf(name string) nodeHistory {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.nodes[name]
}
