package kubesim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// controllers are what kube-controller-manager runs, and their queue of work.
type controllers struct {
	store *store
	work  workQueue

	lifecycle    nodeLifecycle
	workloads    workloads
	garbage      garbage
	deviceClaims deviceClaims
	volumes      *volumes
	budgets      budgets

	swept time.Time // when old Events were last removed
}

func newControllers(s *store, pods *podIndex, t *timers) *controllers {
	work := workQueue{}
	return &controllers{
		store: s, work: work,
		lifecycle:    nodeLifecycle{store: s, pods: pods, timers: t, lostAt: map[string]time.Time{}},
		workloads:    workloads{store: s, timers: t, work: work, tallies: map[types.UID]*tally{}},
		garbage:      garbage{store: s},
		deviceClaims: deviceClaims{store: s, pods: pods, work: work},
		volumes:      newVolumes(s, pods, t, work),
		budgets:      budgets{store: s, work: work},
	}
}

// reconcile hands each marked object that exists to its controller, in order of key.
func (cs *controllers) reconcile(resource string, f func(*entry)) {
	for _, key := range cs.work.take(resource) {
		if e := cs.store.entryOf(resource, key); e != nil {
			f(e)
		}
	}
}

// observe marks what a change to anything but pods and nodes concerns.
func (cs *controllers) observe(ch change) {
	resource := ch.after.kind.home
	switch resource {
	case "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "namespaces", "poddisruptionbudgets":
		cs.work.mark(resource, ch.after.key)
	}
	switch resource {
	case "persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes", "volumeattachments":
		cs.volumes.observe(ch)
	case "replicasets", "statefulsets":
		cs.markOwner(ch.after.obj)
		cs.budgets.markOver(ch.after.obj.GetUID())
	case "jobs":
		if ch.deleted {
			delete(cs.workloads.tallies, ch.after.obj.GetUID())
		}
	}
}

// markOwner has the controller of an object look at its owner.
func (cs *controllers) markOwner(obj object) {
	if ref := metav1.GetControllerOf(obj); ref != nil {
		if owner := cs.store.owners.byUID[ref.UID]; owner != nil {
			cs.work.mark(owner.kind.home, owner.key)
		}
	}
}

// reconcileNamespace empties a namespace under deletion, then lets it go.
func (cs *controllers) reconcileNamespace(e *entry) {
	if e.obj.GetDeletionTimestamp() == nil {
		return
	}
	ns := e.obj.GetName()
	empty := true
	for _, k := range kinds {
		if !k.namespaced || k.stored != nil {
			continue
		}
		for _, content := range slices.Clone(cs.store.table(k).inNamespace(ns)) {
			empty = false
			if content.obj.GetDeletionTimestamp() == nil {
				_, _ = cs.store.delete(content, &metav1.DeleteOptions{})
			}
		}
	}
	if !empty {
		cs.work.mark("namespaces", e.key)
		return
	}
	revised(cs.store, e, func(n *corev1.Namespace) { n.Spec.Finalizers = nil })
}

// markParts has what belongs to a new pod made: the claims of its generic
// ephemeral volumes.
func (cs *controllers) markParts(key string, pod *corev1.Pod) {
	if len(pod.Spec.ResourceClaims) > 0 || slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Ephemeral != nil }) {
		cs.work.mark("pods", key)
	}
}

// reconcilePod makes the claims of a pod: of its devices that have templates, and of its generic ephemeral volumes.
func (cs *controllers) reconcilePod(e *entry) {
	if pod := e.obj.(*corev1.Pod); pod.DeletionTimestamp == nil && !finished(pod) {
		cs.deviceClaims.make(e)
		cs.volumes.makeClaims(pod)
	}
}

// eventSweep is how often old Events are looked for.
const eventSweep = 10 * time.Minute

func (cs *controllers) expireEvents() {
	now := cs.store.now()
	if now.Sub(cs.swept) < eventSweep {
		return
	}
	cs.swept = now
	var old []*entry
	for _, e := range cs.store.tables["events"].sorted {
		if now.Sub(lastSeen(e.obj.(*corev1.Event))) > eventLife {
			old = append(old, e)
		}
	}
	for _, e := range old {
		cs.store.remove(e)
	}
}
