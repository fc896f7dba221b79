package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
)

// act counts what became of one action.
func (c compatibleMetrics) act(act action.Action, r memory.Result, entry journal.Entry) {
	accepted, failed := r.Status == memory.Accepted, r.Status == memory.Failed
	if failed {
		c.errors.WithLabelValues(errorType(r.Kind)).Inc()
	}
	switch a := act.(type) {
	case action.SetCapacity:
		if accepted || r.Status == memory.Asked {
			c.grown(a, entry)
		}
		if failed {
			c.failure(errorType(r.Kind), entry.Seen.Group(a.Group), entry, a.To-a.From)
		}
	case action.Evict:
		if accepted {
			c.evicted.WithLabelValues("succeeded").Inc()
		}
		if failed {
			c.evicted.WithLabelValues("failed").Inc()
		}
	case action.Uncordon:
		if accepted {
			c.left(entry.Seen.Node(a.Node), entry, false)
		}
	case action.DeleteInstances:
		if !accepted {
			return
		}
		for _, l := range a.Machines {
			if l.Node == "" {
				c.lateRemoved.Inc()
				continue
			}
			n := entry.Seen.Node(l.Node)
			c.removed(n, entry)
			c.left(n, entry, true)
		}
	}
}

// errorType is cluster-autoscaler's word for what failed.
func errorType(kind string) string {
	if kind == "kubernetes" {
		return apiCallError
	}
	return cloudProviderError
}

// grown counts the machines that a group was granted, and the kinds of pods that they are for.
func (c compatibleMetrics) grown(a action.SetCapacity, entry journal.Entry) {
	g := entry.Seen.Group(a.Group)
	machines := float64(max(0, a.To-a.From))
	of := devicesOfGroup(g, entry)
	c.scaledUp.WithLabelValues(of.resource, of.gpu, of.drivers).Add(machines)
	if of.gpu != "" {
		c.scaledUpGPU.WithLabelValues(of.resource, of.gpu).Add(machines)
	}
	if g == nil || len(a.Pods) == 0 {
		return
	}
	asked := make(map[string]bool, len(a.Pods))
	for _, key := range a.Pods {
		asked[key] = true
	}
	kinds, namespaces := map[*cluster.Class]bool{}, map[string]bool{}
	for _, p := range entry.Seen.Pending {
		if asked[p.String()] {
			kinds[p.Class], namespaces[p.Namespace] = true, true
		}
	}
	cores := ""
	if g.Template != nil {
		cores = strconv.FormatInt(g.Template.Status.Capacity.Cpu().Value(), 10)
	}
	c.heterogeneity.WithLabelValues(g.Size, cores, strconv.Itoa(len(namespaces))).Observe(float64(len(kinds)))
}

// failure counts a growth, or machines, of a group that is nil when nobody knows it.
func (c compatibleMetrics) failure(why string, g *cluster.Group, entry journal.Entry, machines int) {
	of := devicesOfGroup(g, entry)
	c.failed.WithLabelValues(why, of.resource, of.gpu, of.drivers).Inc()
	if of.gpu != "" {
		c.failedGPU.WithLabelValues(why, of.resource, of.gpu).Inc()
	}
	c.failedNodes.WithLabelValues(why).Add(float64(max(1, machines)))
}

// removed counts a node whose machine is being deleted; nil when the cycle did not see it.
func (c compatibleMetrics) removed(n *cluster.Node, entry journal.Entry) {
	why, of := removalReason(n), devices{}
	if n != nil {
		of = devicesOf(n.Object, driversOf(entry, func(node string) bool { return node == n.Name() }))
	}
	c.scaledDown.WithLabelValues(why, of.resource, of.gpu, of.drivers).Inc()
	if of.gpu != "" {
		c.scaledDownGPU.WithLabelValues(why, of.resource, of.gpu).Inc()
	}
}

// left observes for how long a node was on its way out until its machine was deleted, or it was given back.
func (c compatibleMetrics) left(n *cluster.Node, entry journal.Entry, deleted bool) {
	if n == nil {
		return
	}
	if removal, on := cluster.RemovalOf(n.Object); on && !removal.Since.IsZero() {
		c.latency.WithLabelValues(strconv.FormatBool(deleted), "none").Observe(max(0, entry.Seen.Time.Sub(removal.Since).Seconds()))
	}
}

// removalReason is cluster-autoscaler's word for why a node leaves.
func removalReason(n *cluster.Node) string {
	if n != nil {
		switch removal, _ := cluster.RemovalOf(n.Object); removal.Why {
		case "underused", cluster.RanDry, cluster.Consolidated:
			return "underutilized"
		case "unready":
			return "unready"
		}
	}
	return "empty"
}

// devices are a node's as cluster-autoscaler labels them; all are empty where it has none.
type devices struct{ resource, gpu, drivers string }

// gpuNames are the types of GPUs on Azure that cluster-autoscaler tells apart.
var gpuNames = []string{"nvidia-tesla-a100", "nvidia-tesla-k80", "nvidia-tesla-p100", "nvidia-tesla-v100"}

// devicesOf are a node's: what it announces, by the label that names its GPUs.
func devicesOf(n *corev1.Node, drivers string) devices {
	resource := string(cluster.GPU(n))
	label := cmp.Or(n.Labels["kubernetes.azure.com/accelerator"], n.Labels["accelerator"])
	switch {
	case resource == "" && label == "":
		return devices{drivers: drivers}
	case resource == "":
		return devices{string(cluster.GPUs[0]), "missing-gpu", drivers}
	case label == "":
		return devices{resource, "generic", drivers}
	case slices.Contains(gpuNames, label):
		return devices{resource, label, drivers}
	}
	return devices{resource, "not-listed", drivers}
}

// devicesOfGroup are those of the group's next machine.
func devicesOfGroup(g *cluster.Group, entry journal.Entry) devices {
	if g == nil || g.Template == nil {
		return devices{}
	}
	return devicesOf(g.Template, driversOf(entry, func(node string) bool { return groupOf(entry, node) == g.ID }))
}

// driversOf are the drivers of the devices that these nodes publish, sorted, with commas between them.
func driversOf(entry journal.Entry, of func(node string) bool) string {
	var drivers []string
	for _, s := range entry.Seen.Objects.ResourceSlices {
		if s.Spec.NodeName != nil && !slices.Contains(drivers, s.Spec.Driver) && of(*s.Spec.NodeName) {
			drivers = append(drivers, s.Spec.Driver)
		}
	}
	slices.Sort(drivers)
	return strings.Join(drivers, ",")
}
