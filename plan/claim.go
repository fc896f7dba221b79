package plan

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// claim is room that is asked for without a pod: by a ProvisioningRequest or a CapacityBuffer. Its pods are pretended. They find places and
// make groups grow as waiting pods do, and what becomes of them is told by one verdict about whoever asks.
type claim struct {
	about   reason.Ref
	keeps   reason.Reason // why a node stays on which its pods have a place
	demands []*demand
	gang    *gang // its pods, where they are all or nothing; nil where each counts for itself
	booked  bool  // its room was promised: its pods come first, and nothing grows for them
	asks    bool  // nodes that its pods fit stay until they have a place
}

// mostPretended is how many pods a claim may be for: more would cost memory and no cluster has so many.
const mostPretended = 50_000

// pretend is the record of a pretended pod like o.
func pretend(o *corev1.Pod) *cluster.Pod { return new(cluster.Classes).Pod(ungated(o)) }

// ungated is the pod as it is when it may run: without gates, and asking for what the API server would have it ask for.
func ungated(o *corev1.Pod) *corev1.Pod {
	out := o.DeepCopy()
	out.Spec.SchedulingGates, out.Spec.NodeName, out.Spec.SchedulingGroup = nil, "", nil
	for _, list := range [][]corev1.Container{out.Spec.Containers, out.Spec.InitContainers} {
		for i := range list {
			r := &list[i].Resources
			if asked := maps.Clone(r.Limits); asked != nil { // which a pod asks for where it names no request
				maps.Copy(asked, r.Requests)
				r.Requests = asked
			}
		}
	}
	return out
}

// podTemplate is the PodTemplate of that name, nil when there is none.
func (d *claiming) podTemplate(namespace, name string) *corev1.PodTemplate {
	all := d.s.Objects.PodTemplates
	i, ok := slices.BinarySearchFunc(all, name, func(t *corev1.PodTemplate, _ string) int {
		return cmp.Or(cmp.Compare(t.Namespace, namespace), cmp.Compare(t.Name, name))
	})
	if !ok {
		return nil
	}
	return all[i]
}

// podOf is a pod like the template.
func podOf(t *corev1.PodTemplate, namespace, name string, created metav1.Time) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, CreationTimestamp: created, Labels: t.Template.Labels, Annotations: t.Template.Annotations,
		},
		Spec: t.Template.Spec,
	}
}

// claims adds n pretended pods to those that wait. judged says whether groups may grow for them.
func (d *placing) claims(c *claim, p *cluster.Pod, n int, judged bool) {
	if n <= 0 {
		return
	}
	dm := &demand{of: p.Class, eldest: len(d.waiting), judged: judged, claim: c, booked: c.booked, priority: p.Class.Priority()}
	if len(d.waiting) == len(d.s.Pending) {
		d.waiting = slices.Clip(d.waiting) // the list is the snapshot's own
	}
	for range n {
		dm.pods = append(dm.pods, len(d.waiting))
		d.waiting, d.podVerdicts = append(d.waiting, p), append(d.podVerdicts, Verdict{Subject: c.about})
	}
	c.demands = append(c.demands, dm)
}

// keepFor notes that a node stays for the sake of the claim's pods.
func (d *placing) keepFor(c *claim, node string) {
	if _, known := d.booked[node]; known {
		return
	}
	why := c.keeps
	why.About = reason.Node(node)
	d.booked[node] = why
}

// readyAmong counts the pods of demands whose place is on a Ready node.
func (d *claiming) readyAmong(demands []*demand) int {
	n := 0
	for _, dm := range demands {
		for _, at := range dm.pods[:dm.served] {
			if d.placeOf(at) != "" {
				n++
			}
		}
	}
	return n
}

// becauseOf are the reasons of the first of the claim's pods that has this outcome, nil when none has.
func (d *claiming) becauseOf(c *claim, outcome Outcome) []reason.Reason {
	for _, dm := range c.demands {
		for _, at := range dm.pods[:dm.served] {
			if v := d.podVerdicts[at]; v.Outcome == outcome {
				return v.Because
			}
		}
	}
	return nil
}

// doesNotFit says that so few pods of a claim find room that none is kept for them.
func (c *claim) doesNotFit(fit int) reason.Reason {
	all := 0
	for _, dm := range c.demands {
		all += len(dm.pods)
	}
	verdict := "nothing is bought for it"
	if !c.asks {
		verdict = "none is bought for such a request"
	}
	return reason.New(reason.RequestDoesNotFit, c.about, "fit", fit, "pods", all, "verdict", verdict)
}
