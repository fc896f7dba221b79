package kubesim

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// amounts is a quantity of every resource: milli-CPU, bytes, and whatever else
// nodes offer in whole units.
type amounts struct {
	cpu, memory, disk int64
	pods              int64
	others            map[corev1.ResourceName]int64
}

func amountsOf(l corev1.ResourceList) amounts {
	var a amounts
	for name, q := range l {
		switch name {
		case corev1.ResourceCPU:
			a.cpu = q.MilliValue()
		case corev1.ResourceMemory:
			a.memory = q.Value()
		case corev1.ResourceEphemeralStorage:
			a.disk = q.Value()
		case corev1.ResourcePods:
			a.pods = q.Value()
		default:
			if a.others == nil {
				a.others = map[corev1.ResourceName]int64{}
			}
			a.others[name] = q.Value()
		}
	}
	return a
}

// take subtracts b in place.
func (a *amounts) take(b *amounts) {
	a.cpu -= b.cpu
	a.memory -= b.memory
	a.disk -= b.disk
	a.pods -= b.pods
	for name, n := range b.others {
		if a.others == nil {
			a.others = map[corev1.ResourceName]int64{}
		}
		a.others[name] -= n
	}
}

// hostPort is a port a pod takes on its node.
type hostPort struct {
	protocol corev1.Protocol
	ip       string // empty means all
	port     int32
}

func (p hostPort) clashes(o hostPort) bool {
	return p.port == o.port && p.protocol == o.protocol && (p.ip == "" || o.ip == "" || p.ip == o.ip)
}

// demand is what a pod asks of a node; it does not change in a pod's life.
type demand struct {
	amounts amounts
	ports   []hostPort
	claims  []string // keys of the volume claims it mounts
	// relative: where it may go depends on other pods.
	relative bool
	// repels: where others may go depends on it.
	repels bool
}

func demandOf(pod *corev1.Pod) demand {
	d := demand{amounts: amountsOf(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}))}
	d.amounts.pods = 1
	d.claims = claimsOf(pod)
	for _, ct := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, p := range ct.Ports {
			if p.HostPort == 0 {
				continue
			}
			ip := p.HostIP
			if ip == "0.0.0.0" {
				ip = ""
			}
			d.ports = append(d.ports, hostPort{p.Protocol, ip, p.HostPort})
		}
	}
	affinity := pod.Spec.Affinity
	attracted := affinity != nil && affinity.PodAffinity != nil && len(affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
	d.repels = affinity != nil && affinity.PodAntiAffinity != nil && len(affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
	d.relative = attracted || d.repels || slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(t corev1.TopologySpreadConstraint) bool {
		return t.WhenUnsatisfiable == corev1.DoNotSchedule
	})
	return d
}

// room is a node as the scheduler sees it during one pass.
type room struct {
	node  *corev1.Node
	total amounts
	free  amounts
	ports []hostPort
	pods  []*podState

	lowest    int32       // no pod here has a lower priority
	nominated []*podState // that displaced others here and are to come
}

func (r *room) hold(st *podState) {
	if mine := priority(st.pod); len(r.pods) == 0 || mine < r.lowest {
		r.lowest = mine
	}
	r.free.take(&st.asks.amounts)
	r.ports = append(r.ports, st.asks.ports...)
	r.pods = append(r.pods, st)
}

// rooms returns all nodes, in order of name, with what is free on each.
func (s *scheduler) rooms() []*room {
	entries := s.store.tables["nodes"].sorted
	all := make([]*room, len(entries))
	for i, e := range entries {
		n := e.obj.(*corev1.Node)
		r := &room{node: n, total: amountsOf(n.Status.Allocatable)}
		r.free = r.total
		r.free.others = maps.Clone(r.total.others)
		for _, st := range s.pods.onNode[n.Name] { // sums do not depend on the order
			if !finished(st.pod) {
				r.hold(st)
			}
		}
		all[i] = r
	}
	for k, node := range s.reserved {
		if at := slices.IndexFunc(all, func(r *room) bool { return r.node.Name == node }); at >= 0 {
			all[at].hold(s.pods.byKey[k])
		}
	}
	return all
}
