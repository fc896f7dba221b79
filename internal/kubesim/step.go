package kubesim

// Step lets everything that is not a client act once at Now: kubelets, the node
// lifecycle, the workload controllers, garbage collection, the controllers of
// devices and volumes, the scheduler, the disruption budgets, in this order. It reports whether anything changed; the
// cluster has settled when it did not.
func (c *Cluster) Step() (changed bool) {
	c.lock()
	defer c.mu.Unlock()
	before := c.store.rv
	cs := c.controllers
	c.fireTimers()
	cs.reconcile("nodes", cs.lifecycle.reconcile)
	cs.reconcile("deployments", cs.workloads.reconcileDeployment)
	cs.reconcile("replicasets", cs.workloads.reconcileReplicaSet)
	cs.reconcile("statefulsets", cs.workloads.reconcileStatefulSet)
	cs.reconcile("daemonsets", cs.workloads.reconcileDaemonSet)
	cs.reconcile("jobs", cs.workloads.reconcileJob)
	cs.reconcile("namespaces", cs.reconcileNamespace)
	cs.garbage.collect()
	cs.reconcile("pods", cs.reconcilePod)
	cs.reconcile("resourceclaims", cs.deviceClaims.reconcile)
	cs.reconcile("persistentvolumes", cs.volumes.reconcileVolume)
	cs.reconcile("persistentvolumeclaims", func(e *entry) { cs.volumes.reconcileClaim(e, orDefault(c.Provision, defaultProvision)) })
	c.scheduler.schedule()
	cs.volumes.attach(orDefault(c.Detach, defaultDetach))
	cs.reconcile("poddisruptionbudgets", cs.budgets.reconcile)
	cs.expireEvents()
	c.stepped = c.store.rv
	if c.store.rv != before {
		c.stepped = before // what changed may concern those whose turn had passed
	}
	return c.store.rv != before
}
