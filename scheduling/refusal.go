package scheduling

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/kubernetes/pkg/features"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Refusals says why the pod cannot run on the node, all causes in kube-scheduler's order; nil when it can. Each is about the
// node. A pod that runs on a node of the snapshot is judged as the pod that would replace it, free to go elsewhere; what it
// uses where it runs still counts there until it is evicted. A node that is not present refuses everything.
func (c *Checker) Refusals(p *cluster.Pod, node string) []reason.Reason {
	h, ok := c.byName[node]
	if !ok {
		return []reason.Reason{reason.New(reason.SchedulerRefused, reason.Node(node), "plugin", "NodeName", "message", "there is no such node")}
	}
	k := c.kindFor(p.Class)
	heard := true
	if waiting := c.before(k, h, p); len(waiting) > 0 && c.alone(k, h) == welcome {
		heard = k.hears()
		undo := c.Mark()
		defer undo()
		for _, e := range waiting {
			c.lodge(h, e)
		}
	}
	about := reason.Node(node)
	var why []reason.Reason
	say := func(code reason.Code, facts ...any) { why = append(why, reason.New(code, about, facts...)) }

	v := c.tolerated(k.spec.tolerations, h)
	if v&verdictSchedule == 0 {
		say(reason.NodeUnschedulable)
	}
	if c.bound(p, h) {
		say(reason.NodeNameMismatch, "wants", p.Node)
	}
	if v&verdictTaints == 0 {
		for _, t := range untolerated(k.spec.tolerations.pod, c.object(h), v&verdictSchedule == 0) {
			say(reason.UntoleratedTaint, "taint", t)
		}
	}
	if !c.selected(k.spec.selection, h) {
		say(reason.SelectorMismatch)
	}
	if ports := c.takenPorts(k.spec, h); len(ports) > 0 {
		say(reason.HostPortTaken, "ports", strings.Join(ports, ", "))
	}
	why = append(why, c.insufficient(k.spec, h)...)
	if k.volumes != nil && k.refused == "" {
		for _, r := range c.unmountable(c.ownVolumes(c.class(p.Class)), h) {
			say(reason.SchedulerRefused, "plugin", r.plugin, "message", r.message)
		}
	}
	if k.devices != nil {
		if message := c.unserved(k.devices, h); message != "" {
			say(reason.SchedulerRefused, "plugin", "DynamicResources", "message", message)
		}
	}
	for _, key := range k.crowded(h) {
		say(reason.TopologySpread, "key", key)
	}
	switch {
	case k.refused != "":
		say(reason.SchedulerRefused, "plugin", k.by, "message", k.refused)
	case k.follows(h) != welcome:
		say(reason.PodAffinity)
	case k.shuns(h) || heard && k.shunned(h):
		say(reason.PodAntiAffinity)
	}
	return why
}

// untolerated are the taints that keep the pod away, as key=value:effect. The taint that the control plane puts on a cordoned node
// says nothing new where the cordon has been said.
func untolerated(p *corev1.Pod, n *corev1.Node, cordoned bool) []string {
	operators := utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	var all []string
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if !repels(t) || cordoned && t.Key == corev1.TaintNodeUnschedulable || v1helper.TolerationsTolerateTaint(logr.Discard(), p.Spec.Tolerations, t, operators) {
			continue
		}
		all = append(all, t.ToString())
	}
	return all
}

// repels says whether the taint keeps pods away, rather than only being avoided.
func repels(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

// takenPorts are the spec's host ports that the node has given away, as "8080/TCP", with the address where the pod names one.
func (c *Checker) takenPorts(s *spec, h Handle) []string {
	var all []string
	for i := range s.ports {
		p := &s.ports[i]
		if !slices.ContainsFunc(c.slots[h].pods, func(e entry) bool {
			return slices.ContainsFunc(c.classes[e.class].spec.ports, func(o corev1.ContainerPort) bool { return clash(p, &o) })
		}) {
			continue
		}
		words := fmt.Sprintf("%d/%s", p.HostPort, p.Protocol)
		if p.HostIP != anyAddress {
			words = p.HostIP + ":" + words
		}
		all = append(all, words)
	}
	return all
}

// insufficient are the reasons for each resource that the node lacks: pods, cpu, memory, ephemeral-storage, then others by name.
func (c *Checker) insufficient(s *spec, h Handle) []reason.Reason {
	about := reason.Node(c.slots[h].name)
	var why []reason.Reason
	lacking := slices.DeleteFunc(slices.Clone(s.needs), func(n need) bool { return n.asked <= 0 || n.asked <= c.free[n.dim][h] })
	slices.SortFunc(lacking, func(a, b need) int {
		return cmp.Or(int(min(a.dim, fixedDimensions)-min(b.dim, fixedDimensions)), strings.Compare(string(c.dims.names[a.dim]), string(c.dims.names[b.dim])))
	})
	for _, n := range lacking {
		if n.dim == dimPods {
			limit := int64(0)
			for _, a := range c.allocatable(h) {
				if a.dim == dimPods {
					limit = a.n
				}
			}
			why = append(why, reason.New(reason.TooManyPods, about, "limit", limit))
			continue
		}
		name := c.dims.names[n.dim]
		why = append(why, reason.Reason{Code: reason.InsufficientResource, About: about, Facts: map[string]string{
			"resource": string(name),
			"needs":    c.written(spelling{n.dim, n.asked, true}),
			"free":     c.written(spelling{n.dim, max(0, c.free[n.dim][h]), false}),
		}})
	}
	return why
}

// spelling is so much of a resource, to be written down.
type spelling struct {
	dim dimension
	n   int64
	up  bool // how it is rounded
}

// mostWritten is how many amounts a checker remembers the words of.
const mostWritten = 1 << 14

// written is the amount in words, which are remembered: the same few are said of thousands of pods.
func (c *Checker) written(q spelling) string {
	words, ok := c.words[q]
	if !ok {
		if c.words == nil || len(c.words) >= mostWritten {
			c.words = map[spelling]string{}
		}
		words = written(c.dims.names[q.dim], q.n, q.up)
		c.words[q] = words
	}
	return words
}

// written is what the scheduler counts in words: cpu in cores from millicores, bytes in binary units, anything else as a number.
// Bytes of a mebibyte and more are rounded to mebibytes, a need up and what is free down, so that the two stay apart.
func written(r corev1.ResourceName, n int64, up bool) string {
	const mebi = 1 << 20
	switch {
	case r == corev1.ResourceCPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case r == corev1.ResourceMemory, r == corev1.ResourceEphemeralStorage, strings.HasPrefix(string(r), corev1.ResourceHugePagesPrefix):
		if rest := n % mebi; n > mebi && rest > 0 {
			n -= rest
			if up {
				n += mebi
			}
		}
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return resource.NewQuantity(n, resource.DecimalSI).String()
}

// crowded are the topology keys of the constraints that keep the pod from the node, in the pod's order: those the node has no
// label for, otherwise those whose skew it would exceed. One key twice counts once.
func (k *kind) crowded(h Handle) []string {
	var keys []string
	unlabelled := k.crowds(h) == notAnyMore
	for i := range k.spreads {
		s := &k.spreads[i]
		refuses := unlabelled && s.counter.topology.of[h] < 0 || !unlabelled && s.exceeds(h)
		if refuses && !slices.Contains(keys, s.key) {
			keys = append(keys, s.key)
		}
	}
	return keys
}
