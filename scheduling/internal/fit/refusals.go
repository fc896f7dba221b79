package fit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/resources"
)

// Refusals says why the pod cannot run on the node: all causes, in kube-scheduler's order, and nil when it can. Elsewhere says that the pod
// names another node, and may go nowhere else.
//
// Pods that are nominated to the node are a cause only where the pod would fit without them. Otherwise their share of the words would hide
// what is wrong in any case.
func (j *Judge) Refusals(p *cluster.Pod, h nodes.Handle, elsewhere bool) []reason.Reason {
	_, why := j.refuse(p, h, elsewhere, true)
	return why
}

// Causes is how many reasons [Judge.Refusals] would have. Words cost a hundred times as much.
func (j *Judge) Causes(p *cluster.Pod, h nodes.Handle, elsewhere bool) int {
	n, _ := j.refuse(p, h, elsewhere, false)
	return n
}

// refuse is Refusals, worded or only counted.
func (j *Judge) refuse(p *cluster.Pod, h nodes.Handle, elsewhere, worded bool) (n int, why []reason.Reason) {
	k := j.Classes.Kind(p.Class)
	waiting := j.waiting(k, h, p)
	if len(waiting) == 0 || j.alone(k, h, j.Relations.Repelling()) != classes.Welcome {
		return j.refusals(p, k, h, elsewhere, true, worded)
	}
	repellable := k.Repellable()
	j.beside(h, waiting, func() { n, why = j.refusals(p, k, h, elsewhere, repellable, worded) })
	return n, why
}

// refusals are those by the pods that count as being on the node, and how many. Repellable says whether some of them may want to be away
// from the pod. Unworded ones are only counted.
func (j *Judge) refusals(p *cluster.Pod, k *classes.Kind, h nodes.Handle, elsewhere, repellable, worded bool) (n int, why []reason.Reason) {
	about := reason.Node(j.Nodes.Name(h))
	say := func(code reason.Code, facts ...any) {
		if n++; worded {
			why = append(why, reason.New(code, about, facts...))
		}
	}
	refuse := func(plugin, message string) { say(reason.SchedulerRefused, "plugin", plugin, "message", message) }

	v := j.Rules.Tolerated(k.Spec.Tolerations, h)
	cordoned := v&nodes.Schedule == 0
	if cordoned {
		say(reason.NodeUnschedulable)
	}
	if elsewhere {
		say(reason.NodeNameMismatch, "wants", p.Node)
	}
	if v&nodes.Taints == 0 {
		for _, t := range untolerated(k.Spec.Tolerations.All, j.Nodes.Object(h), cordoned) {
			say(reason.UntoleratedTaint, "taint", t.ToString())
		}
	}
	if !j.Rules.Selected(k.Spec.Selection, h) {
		say(reason.SelectorMismatch)
	}
	if ports := j.takenPorts(k.Spec, h); len(ports) > 0 {
		say(reason.HostPortTaken, "ports", strings.Join(ports, ", "))
	}
	for _, need := range j.lacking(k.Spec, h) {
		if n++; worded {
			why = append(why, j.insufficient(&need, h))
		}
	}
	if k.Volumes != nil && k.Refused == "" {
		for _, r := range j.Storage.Unmountable(j.Storage.Own(j.Classes.Of(p.Class).Volumes), h) {
			refuse(r.Plugin, r.Message)
		}
	}
	if k.Devices != nil {
		if message := j.Devices.Refusal(k.Devices, h); message != "" {
			refuse("DynamicResources", message)
		}
	}
	for _, key := range k.Crowded(h) {
		say(reason.TopologySpread, "key", key)
	}
	switch {
	case k.Refused != "":
		refuse(k.By, k.Refused)
	case k.Follows(h) != classes.Welcome:
		say(reason.PodAffinity)
	case k.Avoids(h) || repellable && k.Repelled(h):
		say(reason.PodAntiAffinity)
	}
	if !j.Rules.Declared(k.Spec.Features, h) {
		refuse("NodeDeclaredFeatures", "the kubelet does not declare "+strings.Join(k.Spec.Features.Undeclared(j.Nodes.Object(h)), ", "))
	}
	return n, why
}

// untolerated are the taints that keep the pod away. The taint that the control plane puts on a cordoned node
// says nothing new where the cordon has been said.
func untolerated(tolerations []corev1.Toleration, n *corev1.Node, cordoned bool) []*corev1.Taint {
	operators := utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	var all []*corev1.Taint
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		said := cordoned && t.Key == corev1.TaintNodeUnschedulable
		if nodes.Repels(t) && !said && !v1helper.TolerationsTolerateTaint(logr.Discard(), tolerations, t, operators) {
			all = append(all, t)
		}
	}
	return all
}

// takenPorts are the spec's host ports that the node has given away, as "8080/TCP", with the address where the pod names one.
func (j *Judge) takenPorts(s *classes.Spec, h nodes.Handle) []string {
	if len(s.Ports) == 0 {
		return nil
	}
	given := make(fwk.HostPortInfo)
	for _, e := range j.Nodes.Pods(h) {
		for _, p := range j.Classes.At(e.Class).Spec.Ports {
			given.Add(p.HostIP, string(p.Protocol), p.HostPort)
		}
	}
	var all []string
	for _, p := range s.Ports {
		if !given.CheckConflict(p.HostIP, string(p.Protocol), p.HostPort) {
			continue
		}
		words := fmt.Sprintf("%d/%s", p.HostPort, cmp.Or(p.Protocol, corev1.ProtocolTCP))
		if p.HostIP != "" && p.HostIP != fwk.DefaultBindAllHostIP {
			words = p.HostIP + ":" + words
		}
		all = append(all, words)
	}
	return all
}

// lacking are the resources that the node has too little of: pods, cpu, memory, ephemeral-storage, then others by name.
func (j *Judge) lacking(s *classes.Spec, h nodes.Handle) (lacking []resources.Need) {
	names := j.Nodes.Resources()
	for _, n := range s.Needs {
		if n.Exceeds(j.Nodes.Left(n.Dim, h)) {
			lacking = append(lacking, n)
		}
	}
	slices.SortFunc(lacking, func(a, b resources.Need) int {
		return cmp.Or(cmp.Compare(min(a.Dim, resources.Fixed), min(b.Dim, resources.Fixed)), cmp.Compare(names[a.Dim], names[b.Dim]))
	})
	return lacking
}

// insufficient is the reason for one of these resources.
func (j *Judge) insufficient(n *resources.Need, h nodes.Handle) reason.Reason {
	about, name := reason.Node(j.Nodes.Name(h)), j.Nodes.Resources()[n.Dim]
	if n.Dim == resources.Pods {
		return reason.New(reason.TooManyPods, about, "limit", j.Nodes.Object(h).Status.Allocatable.Pods().Value())
	}
	return reason.New(reason.InsufficientResource, about, "resource", name, "needs", resources.Words(name, n.Asked, true),
		"free", resources.Words(name, max(0, j.Nodes.Left(n.Dim, h)), false))
}
