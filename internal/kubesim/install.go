package kubesim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// API names a part of the Kubernetes API that a cluster has only when somebody
// installed it or switched it on.
type API string

// The optional APIs. A cluster has none of them until [Cluster.Install].
const (
	// ProvisioningRequests is the custom resource of autoscaling.x-k8s.io/v1.
	ProvisioningRequests API = "provisioningrequests.autoscaling.x-k8s.io"
	// CapacityBuffers is the custom resource of autoscaling.x-k8s.io/v1beta1.
	CapacityBuffers API = "capacitybuffers.autoscaling.x-k8s.io"
	// Coscheduling is the custom resource PodGroup of scheduling.x-k8s.io/v1alpha1;
	// installed, the scheduler has the plugin that honours it, as it does
	// the labels that make a group without an object.
	Coscheduling API = "podgroups.scheduling.x-k8s.io"
	// Gangs is scheduling.k8s.io/v1beta1 with Workload and PodGroup, behind
	// the feature gates GenericWorkload and GangScheduling, off in 1.36.
	Gangs API = "scheduling.k8s.io/v1beta1"
)

// Install has the cluster serve an optional API from now on. It is a no-op for
// one that is there.
func (c *Cluster) Install(api API) {
	c.lock()
	defer c.mu.Unlock()
	if !slices.ContainsFunc(kinds, func(k *kind) bool { return k.optional == api }) || api == "" {
		panic(fmt.Sprintf("kubesim: there is no optional API %q", string(api)))
	}
	c.store.installed[api] = true
	c.scheduler.wake()
}

// Installed reports whether the cluster serves an optional API.
func (c *Cluster) Installed(api API) bool {
	c.lock()
	defer c.mu.Unlock()
	return c.store.installed[api]
}

// Uninstall takes an optional API away, as the deletion of its custom resource
// definition does: its objects go, and open watches on it end.
func (c *Cluster) Uninstall(api API) {
	c.lock()
	defer c.mu.Unlock()
	for _, k := range kinds {
		if k.optional != api || !c.store.installed[api] {
			continue
		}
		t := c.store.table(k)
		for _, key := range slices.Sorted(maps.Keys(t.byKey)) {
			c.store.remove(t.byKey[key])
		}
		for _, w := range t.watchers {
			w.end()
		}
		t.watchers = nil
	}
	delete(c.store.installed, api)
	c.scheduler.wake()
}

// serves reports whether the cluster has the API that a kind belongs to.
func (s *store) serves(k *kind) bool { return k.optional == "" || s.installed[k.optional] }

// custom reports whether the kind is defined by a custom resource definition.
func (k *kind) custom() bool { return strings.HasSuffix(k.group, ".x-k8s.io") }

// tableName is where the objects of a kind are kept: under its plural name, for
// a custom resource under the name of its definition.
func (k *kind) tableName() string {
	if k.custom() {
		return k.resource + "." + k.group
	}
	return k.resource
}
