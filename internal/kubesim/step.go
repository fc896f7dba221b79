package kubesim

import (
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
	c.reconcile("nodes", c.lifecycle.reconcile)
	c.reconcile("deployments", c.workloads.reconcileDeployment)
	c.reconcile("replicasets", c.workloads.reconcileReplicaSet)
	c.reconcile("statefulsets", c.workloads.reconcileStatefulSet)
	c.reconcile("daemonsets", c.workloads.reconcileDaemonSet)
	c.reconcile("jobs", c.workloads.reconcileJob)
	c.reconcile("namespaces", c.reconcileNamespace)
	c.garbage.collect()
	c.reconcile("pods", func(e *entry) {
		if pod := e.obj.(*corev1.Pod); pod.DeletionTimestamp == nil && !finished(pod) {
			c.deviceClaims.make(e)
			c.volumes.makeClaims(pod)
		}
	})
	c.reconcile("resourceclaims", c.deviceClaims.reconcile)
	c.reconcile("persistentvolumes", c.volumes.reconcileVolume)
	c.reconcile("persistentvolumeclaims", func(e *entry) { c.volumes.reconcileClaim(e, orDefault(c.Provision, defaultProvision)) })
	c.scheduler.schedule()
	c.volumes.attach(orDefault(c.Detach, defaultDetach))
	c.reconcile("poddisruptionbudgets", c.budgets.reconcile)
	c.expireEvents()
	c.stepped = c.store.rv
	if c.store.rv != before {
		c.stepped = before // what changed may concern those whose turn had passed
	}
	return c.store.rv != before
}

// reconcile hands each marked object that exists to its controller, in order of key.
func (c *Cluster) reconcile(resource string, f func(*entry)) {
	for _, key := range c.work.take(resource) {
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
		c.work.mark(resource, ch.after.key)
	}
	switch resource {
	case "resourceclaims", "resourceslices", "deviceclasses":
		c.scheduler.wake()
	case "podgroups", string(Coscheduling):
		c.scheduler.wake()
	case "persistentvolumeclaims", "persistentvolumes", "storageclasses", "csinodes", "volumeattachments":
		c.volumes.observe(ch)
		c.scheduler.wake()
	case "replicasets", "statefulsets":
		c.markOwner(ch.after.obj)
		c.budgets.markOver(ch.after.obj.GetUID())
	case "jobs":
		if ch.deleted {
			delete(c.workloads.tallies, ch.after.obj.GetUID())
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
