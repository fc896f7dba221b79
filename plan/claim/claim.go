// Package claim makes virtual pods of ProvisioningRequests and CapacityBuffers, answers their objects, and opens the gates of pods whose
// room is there.
package claim

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
)

// mostVirtual is how many pods a claim may be for: more would cost memory and no cluster has so many.
// A larger request fails; a larger buffer keeps room for this many.
const mostVirtual = 50_000

// virtual is the record of a virtual pod like o.
// Its class is of no other pod, so it shares nothing with the pods of the snapshot.
func virtual(o *corev1.Pod) *cluster.Pod { return new(cluster.Classes).Pod(ungated(o)) }

// ungated is the pod as it is when it may run: without gates, and asking for what the API server would have it ask for.
// The API server has not admitted it, so no default has been filled in: where a container has a limit and no request, the limit is the
// request.
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
// They are sorted by namespace and name.
func (d *Claims) podTemplate(namespace, name string) *corev1.PodTemplate {
	all := d.Snapshot.Objects.PodTemplates
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

// readyAmong counts the pods of demands whose place is on a Ready node.
func (d *Claims) readyAmong(demands []*place.Demand) int {
	n := 0
	for _, dm := range demands {
		for _, at := range dm.Pods[:dm.Served] {
			if d.placeOf(at) != "" {
				n++
			}
		}
	}
	return n
}

// becauseOf are the reasons of the first of the claim's pods that has this outcome, nil when none has.
func (d *Claims) becauseOf(c *place.Claim, outcome action.Outcome) []reason.Reason {
	for _, dm := range c.Demands {
		for _, at := range dm.Pods[:dm.Served] {
			if v := d.PodVerdicts[at]; v.Outcome == outcome {
				return v.Because
			}
		}
	}
	return nil
}

// Claims makes demands of requests and buffers, and answers them.
//
//	object               virtual pods wait                      answered
//	ProvisioningRequest  with all other pods, all or nothing    when its room is on Ready nodes, or lacks
//	CapacityBuffer       after all other pods, each for itself  in the cycle in which its room is first claimed
//
// Package claim writes no memory: what a cycle has to know of earlier ones is in the conditions of these objects.
type Claims struct {
	*grow.Growth

	requests []*request      // in the snapshot's order
	buffers  []*buffer       // in the snapshot's order
	Answers  []action.Action // to them
	Gates    []action.OpenGate
}

// NewClaims is a cycle that has read no request and no buffer yet.
func NewClaims(growth *grow.Growth) *Claims { return &Claims{Growth: growth} }

// answersAtOnce is how many requests and buffers one cycle answers, at most: each answer is two calls of the API server.
const answersAtOnce = 100

// AnswerClaims gives every request and buffer its verdict, and answers those whose object does not say so yet. What is left over is
// answered a second later.
// An answer that is left over is not lost, since the object still lacks it in the next cycle.
func (d *Claims) AnswerClaims() {
	d.judgeRequests()
	d.judgeBuffers()
	for _, q := range d.requests {
		d.Judge(q.about, q.outcome, q.because...)
		if len(q.answers) > 0 {
			d.Answers = append(d.Answers, action.AnswerRequest{Namespace: q.Namespace, Request: q.Name, UID: q.UID, Conditions: q.answers, Because: q.because[0]})
		}
		if q.outcome == action.ClaimGrows {
			d.Wake(d.Now.Add(time.Second)) // by then the cloud has said whether it does so
		}
	}
	for _, b := range d.buffers {
		d.Judge(b.about, b.outcome, b.because...)
		if len(b.answers) > 0 || !reflect.DeepEqual(b.status, cluster.CapacityBufferStatus{}) {
			d.Answers = append(d.Answers, action.AnswerBuffer{Namespace: b.Namespace, Buffer: b.Name, UID: b.UID, Conditions: b.answers, Status: b.status, Because: b.because[0]})
		}
	}
	if len(d.Answers) > answersAtOnce {
		d.Answers = d.Answers[:answersAtOnce]
		d.Wake(d.Now.Add(time.Second))
	}
}
