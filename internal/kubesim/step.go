package kubesim

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Step lets everything that is not a client act once at Now: kubelets, the node
// lifecycle, the workload controllers, garbage collection, the controllers of
// devices and volumes, the scheduler, the disruption budgets, in this order. It reports whether anything changed; the
// cluster has settled when it did not.
func (c *Cluster) Step() (changed bool) {
	c.lock()
	defer c.mu.Unlock()
	before := c.store.rv
	c.fireTimers()
	c.reconcile("nodes", c.reconcileNode)
	c.reconcile("deployments", c.reconcileDeployment)
	c.reconcile("replicasets", c.reconcileReplicaSet)
	c.reconcile("statefulsets", c.reconcileStatefulSet)
	c.reconcile("daemonsets", c.reconcileDaemonSet)
	c.reconcile("jobs", c.reconcileJob)
	c.reconcile("namespaces", c.reconcileNamespace)
	c.garbage.collect()
	c.reconcile("pods", c.reconcilePod)
	c.reconcile("resourceclaims", c.reconcileResourceClaim)
	c.reconcile("persistentvolumes", c.reconcileVolume)
	c.reconcile("persistentvolumeclaims", c.reconcileClaim)
	c.schedule()
	c.reconcileAttachments()
	c.reconcile("poddisruptionbudgets", c.reconcileBudget)
	c.expireEvents()
	c.stepped = c.store.rv
	if c.store.rv != before {
		c.stepped = before // what changed may concern those whose turn had passed
	}
	return c.store.rv != before
}

// mark has a controller look at an object in its next turn.
func (c *Cluster) mark(resource, key string) {
	m := c.dirty[resource]
	if m == nil {
		m = map[string]struct{}{}
		c.dirty[resource] = m
	}
	m[key] = struct{}{}
}

// reconcile hands each marked object that exists to its controller, in order of key.
func (c *Cluster) reconcile(resource string, f func(*entry)) {
	marked := c.dirty[resource]
	if len(marked) == 0 {
		return
	}
	delete(c.dirty, resource)
	for _, key := range slices.Sorted(maps.Keys(marked)) {
		if e := c.store.entryOf(resource, key); e != nil {
			f(e)
		}
	}
}

// observeWorkload marks what a change to anything but pods and nodes concerns.
func (c *Cluster) observeWorkload(ch change) {
	resource := ch.after.kind.home
	switch resource {
	case "deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "namespaces", "poddisruptionbudgets":
		c.mark(resource, ch.after.key)
	}
	switch resource {
	case "resourceclaims", "resourceslices", "deviceclasses":
		c.wakeParked()
	case "podgroups", string(Coscheduling):
		c.wakeParked()
	case "persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes", "volumeattachments":
		c.observeVolumes(ch)
	case "replicasets", "statefulsets":
		c.markOwner(ch.after.obj)
		c.markBudgetsOver(ch.after.obj.GetUID())
	case "jobs":
		if ch.deleted {
			delete(c.tallies, ch.after.obj.GetUID())
		}
	}
}

// eventSweep is how often old Events are looked for.
const eventSweep = 10 * time.Minute

func (c *Cluster) expireEvents() {
	now := c.store.now()
	if now.Sub(c.swept) < eventSweep {
		return
	}
	c.swept = now
	var old []*entry
	for _, e := range c.store.tables["events"].sorted {
		if now.Sub(lastSeen(e.obj.(*corev1.Event))) > eventLife {
			old = append(old, e)
		}
	}
	for _, e := range old {
		c.store.remove(e)
	}
}
