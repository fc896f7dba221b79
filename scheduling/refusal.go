package scheduling

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/util"

	"sluice.dev/sluice/reason"
)

// explain adds a plugin's refusal to those before it, as reasons with what was compared. The plugin has decided; this only
// looks up the numbers. Where it finds none, as for a selector that cannot be parsed, the plugin's own words remain.
func (c *Checker) explain(refusals []reason.Reason, q *question, i int, info *framework.NodeInfo, status *fwk.Status) []reason.Reason {
	about := reason.Node(info.Node().Name)
	before := len(refusals)
	switch i {
	case askUnschedulable:
		refusals = append(refusals, reason.New(reason.NodeUnschedulable, about))
	case askNodeName:
		refusals = append(refusals, reason.New(reason.NodeNameMismatch, about, "wants", q.pod.Spec.NodeName))
	case askTaints:
		cordoned := before > 0 && refusals[0].Code == reason.NodeUnschedulable
		refusals = untolerated(refusals, q.pod, info.Node(), cordoned)
		if cordoned {
			return refusals // its taint may be all there was
		}
	case askNodeAffinity:
		refusals = append(refusals, reason.New(reason.SelectorMismatch, about))
	case askPorts:
		refusals = append(refusals, reason.New(reason.HostPortTaken, about, "ports", strings.Join(taken(q.pod, info), ", ")))
	case askResources:
		refusals = insufficient(refusals, q.pod, info)
	case askSpread:
		for _, key := range c.crowded(q, info) {
			refusals = append(refusals, reason.New(reason.TopologySpread, about, "key", key))
		}
	case askPodAffinity:
		switch why := status.Reasons(); {
		case slices.Contains(why, interpodaffinity.ErrReasonAffinityRulesNotMatch):
			refusals = append(refusals, reason.New(reason.PodAffinity, about))
		case slices.Contains(why, interpodaffinity.ErrReasonAntiAffinityRulesNotMatch),
			slices.Contains(why, interpodaffinity.ErrReasonExistingAntiAffinityRulesNotMatch):
			refusals = append(refusals, reason.New(reason.PodAntiAffinity, about))
		}
	}
	if len(refusals) == before {
		refusals = append(refusals, reason.New(reason.SchedulerRefused, about, "plugin", c.filters[i].name, "message", status.Message()))
	}
	return refusals
}

// untolerated adds a reason for each taint that keeps the pod away, as key=value:effect. The taint that the control plane puts
// on a cordoned node says nothing new where NodeUnschedulable has been said.
func untolerated(refusals []reason.Reason, p *corev1.Pod, n *corev1.Node, cordoned bool) []reason.Reason {
	operators := utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if !repels(t) || v1helper.TolerationsTolerateTaint(logr.Discard(), p.Spec.Tolerations, t, operators) {
			continue
		}
		if cordoned && t.Key == corev1.TaintNodeUnschedulable {
			continue
		}
		refusals = append(refusals, reason.New(reason.UntoleratedTaint, reason.Node(n.Name), "taint", t.ToString()))
	}
	return refusals
}

// repels says whether the taint keeps pods away, rather than only being avoided.
func repels(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}

// taken are the pod's host ports that the node has given away, as "8080/TCP", with the address where the pod names one.
func taken(p *corev1.Pod, info *framework.NodeInfo) []string {
	var ports []string
	for _, port := range util.GetHostPorts(p) {
		if !info.UsedPorts.CheckConflict(port.HostIP, string(port.Protocol), port.HostPort) {
			continue
		}
		protocol := port.Protocol
		if protocol == "" {
			protocol = corev1.ProtocolTCP
		}
		s := fmt.Sprintf("%d/%s", port.HostPort, protocol)
		if port.HostIP != "" && port.HostIP != fwk.DefaultBindAllHostIP {
			s = port.HostIP + ":" + s
		}
		ports = append(ports, s)
	}
	return ports
}

// insufficient adds a reason for each resource that the node lacks: pods, cpu, memory, ephemeral-storage, then others by name.
func insufficient(refusals []reason.Reason, p *corev1.Pod, info *framework.NodeInfo) []reason.Reason {
	lacking := noderesources.Fits(p, info, nil, noderesources.ResourceRequestsOptions{
		EnablePodLevelResources: utilfeature.DefaultFeatureGate.Enabled(features.PodLevelResources),
	})
	if byName := slices.IndexFunc(lacking, func(r noderesources.InsufficientResource) bool { return !plain(r.ResourceName) }); byName >= 0 {
		slices.SortFunc(lacking[byName:], func(a, b noderesources.InsufficientResource) int {
			return strings.Compare(string(a.ResourceName), string(b.ResourceName))
		})
	}
	about := reason.Node(info.Node().Name)
	for _, r := range lacking {
		if r.ResourceName == corev1.ResourcePods {
			refusals = append(refusals, reason.New(reason.TooManyPods, about, "limit", r.Capacity))
			continue
		}
		refusals = append(refusals, reason.Reason{Code: reason.InsufficientResource, About: about, Facts: map[string]string{
			"resource": string(r.ResourceName),
			"needs":    amount(r.ResourceName, r.Requested, true),
			"free":     amount(r.ResourceName, max(0, r.Capacity-r.Used), false),
		}})
	}
	return refusals
}

// plain says whether the scheduler counts the resource in a field of its own, and so reports it first and in a fixed order.
func plain(r corev1.ResourceName) bool {
	return r == corev1.ResourcePods || r == corev1.ResourceCPU || r == corev1.ResourceMemory || r == corev1.ResourceEphemeralStorage
}

// amount prints what the scheduler counted: cpu in cores from millicores, bytes in binary units, anything else as a number.
// Bytes of a mebibyte and more are rounded to mebibytes, a need up and what is free down, so that the two stay apart.
func amount(r corev1.ResourceName, n int64, up bool) string {
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

// lone is a pod whose spread constraints all give way but one.
type lone struct {
	key   string
	pod   *corev1.Pod
	state fwk.CycleState
	skip  bool
}

// crowded are the topology keys of the constraints that keep the pod from the node, in the pod's order: those the node has no
// label for, otherwise those whose skew it would exceed. One key twice counts once.
func (c *Checker) crowded(q *question, info *framework.NodeInfo) []string {
	var keys []string
	add := func(key string) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, t := range q.pod.Spec.TopologySpreadConstraints {
		if _, ok := info.Node().Labels[t.TopologyKey]; !ok && t.WhenUnsatisfiable == corev1.DoNotSchedule {
			add(t.TopologyKey)
		}
	}
	if len(keys) > 0 {
		return keys
	}
	if q.alone == nil {
		q.alone = c.oneByOne(q.pod)
	}
	for _, l := range q.alone {
		if !l.skip && !c.filters[askSpread].ask.Filter(c.ctx, l.state, l.pod, info).IsSuccess() {
			add(l.key)
		}
	}
	return keys
}

// oneByOne asks about each forbidding constraint with a skew for the others that nothing exceeds. They cannot be left out:
// a node counts for a constraint only when it has the labels of all.
func (c *Checker) oneByOne(p *corev1.Pod) []lone {
	var lones []lone
	for i, t := range p.Spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		one := *p
		one.Spec.TopologySpreadConstraints = slices.Clone(p.Spec.TopologySpreadConstraints)
		for j := range one.Spec.TopologySpreadConstraints {
			if j != i {
				one.Spec.TopologySpreadConstraints[j].MaxSkew = math.MaxInt32
			}
		}
		l := lone{key: t.TopologyKey, pod: &one, state: framework.NewCycleState()}
		l.skip, _ = c.prefilter(l.state, askSpread, l.pod)
		lones = append(lones, l)
	}
	return lones
}
