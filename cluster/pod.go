package cluster

import (
	"encoding/json"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Pod is one pod as decisions read it: a compact record of what is its own, and the class that it shares with pods that are alike.
// It is immutable. Clusters have many pods: a field that few of them need belongs into pending or rare.
type Pod struct {
	// What every cycle reads of every pod comes first: it lies in one line of the processor's cache.
	*Class                              // never nil
	created, deletion, started int64    // seconds since 1970, 0 for none
	pending                    *pending // nil once it is bound, and when nobody has said anything about it
	rare                       *rare    // nil when there is nothing of it

	Name  string
	UID   types.UID
	Node  string // that it is bound to, "" for none
	Phase corev1.PodPhase
}

// pending is what is said of a pod that no node holds.
type pending struct {
	Key       string `json:"-"`                   // the pod's "namespace/name"
	Reason    string `json:"reason,omitempty"`    // of the condition PodScheduled, while that is False
	Nominated string `json:"nominated,omitempty"` // the node on which the scheduler has made room
	Since     int64  `json:"since,omitempty"`     // of the condition
	Message   string `json:"message,omitempty"`   // of the same: the scheduler's own words
	observed  int64  // when somebody who follows the API server first heard of any of this, nanoseconds since 1970, 0 for unknown
}

// same says whether both tell the same of a pod, whenever that was heard.
func (said pending) same(o pending) bool {
	said.observed, o.observed = 0, 0
	return said == o
}

// rare is what is true of few pods.
type rare struct {
	Made     []corev1.PodResourceClaimStatus        `json:"made,omitempty"` // the resource claims that were made for it
	Extended *corev1.PodExtendedResourceClaimStatus `json:"extended,omitempty"`
	Unready  bool                                   `json:"unready,omitempty"` // it runs, and its kubelet, or Kubernetes for it, says that it is not Ready
}

// rareOf is nil when there is nothing of it.
func rareOf(o *corev1.Pod) *rare {
	r := rare{Made: o.Status.ResourceClaimStatuses, Extended: o.Status.ExtendedResourceClaimStatus}
	for i := range o.Status.Conditions {
		if c := &o.Status.Conditions[i]; c.Type == corev1.PodReady {
			r.Unready = o.Status.Phase == corev1.PodRunning && c.Status != corev1.ConditionTrue
		}
	}
	if len(r.Made) == 0 && r.Extended == nil && !r.Unready {
		return nil
	}
	return &r
}

// ownPart is the record without its class.
func ownPart(o *corev1.Pod) *Pod {
	var p *Pod
	if said := saidOf(o); said != (pending{}) {
		both := &struct { // side by side, since whoever reads one of them reads the other
			Pod
			pending
		}{pending: said}
		both.pending.Key = o.Namespace + "/" + o.Name
		p, both.Pod.pending = &both.Pod, &both.pending
		p.Name = both.pending.Key[len(o.Namespace)+1:]
	} else {
		p = &Pod{Name: o.Name}
	}
	p.UID, p.Node, p.Phase = o.UID, o.Spec.NodeName, phase(o.Status.Phase)
	p.created, p.deletion, p.started = seconds(&o.CreationTimestamp), seconds(o.DeletionTimestamp), seconds(o.Status.StartTime)
	p.rare = rareOf(o)
	return p
}

// saidOf is what is said of the pod while no node holds it, but for its key.
func saidOf(o *corev1.Pod) pending {
	var said pending
	if o.Spec.NodeName != "" {
		return said
	}
	said.Nominated = o.Status.NominatedNodeName
	for i := range o.Status.Conditions {
		if c := &o.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			if said.Reason = c.Reason; said.Reason == corev1.PodReasonUnschedulable {
				said.Reason = corev1.PodReasonUnschedulable // one copy, which compares faster
			}
			said.Message, said.Since = c.Message, seconds(&c.LastTransitionTime)
		}
	}
	return said
}

// phase is the constant for a phase, so that its text is not kept once for every pod.
func phase(p corev1.PodPhase) corev1.PodPhase {
	for _, known := range []corev1.PodPhase{corev1.PodRunning, corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed} {
		if p == known {
			return known
		}
	}
	return p
}

func seconds(t *metav1.Time) int64 {
	if t == nil || t.IsZero() {
		return 0
	}
	return t.Unix()
}

func at(seconds int64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func stamp(seconds int64) *metav1.Time {
	if seconds == 0 {
		return nil
	}
	return new(metav1.NewTime(at(seconds)))
}

// Object is the pod as an API object that says what the record knows. It shares its parts with the record and must not be changed
// below its first level.
func (p *Pod) Object() *corev1.Pod {
	o := p.Class.Object()
	o.Name, o.UID, o.Spec.NodeName = p.Name, p.UID, p.Node
	o.CreationTimestamp, o.DeletionTimestamp = metav1.NewTime(at(p.created)), stamp(p.deletion)
	o.Status.Phase, o.Status.StartTime = p.Phase, stamp(p.started)
	if p.created == 0 {
		o.CreationTimestamp = metav1.Time{}
	}
	if said := p.pending; said != nil {
		o.Status.NominatedNodeName = said.Nominated
		if said.Reason != "" || said.Since != 0 {
			condition := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: said.Reason, Message: said.Message}
			if said.Since != 0 {
				condition.LastTransitionTime = *stamp(said.Since)
			}
			o.Status.Conditions = append(slices.Clip(o.Status.Conditions), condition)
		}
	}
	if r := p.rare; r != nil {
		o.Status.ResourceClaimStatuses, o.Status.ExtendedResourceClaimStatus = r.Made, r.Extended
		if r.Unready {
			o.Status.Conditions = append(slices.Clip(o.Status.Conditions), corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse})
		}
	}
	return o
}

// Object is a pod of the class that nobody has given a name.
func (c *Class) Object() *corev1.Pod {
	o := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Labels: c.Labels, Annotations: c.Annotations, OwnerReferences: c.OwnerReferences},
		Spec:       *c.Spec,
	}
	if c.Held != nil {
		o.Status = *c.Held
	}
	return o
}

// written is a pod on paper: an API object, and beside its fields what the API server does not tell.
type written struct {
	*corev1.Pod
	Observed *time.Time `json:"heard,omitempty"`
}

// MarshalJSON writes the pod as an API object, with the time of [Pod.Observed] beside its fields.
func (p *Pod) MarshalJSON() ([]byte, error) {
	w := written{Pod: p.Object()}
	if p.pending != nil && p.pending.observed != 0 {
		w.Observed = new(p.Observed())
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads what [Pod.MarshalJSON] wrote, or an API object. The class is the record's own: [Classes.Again] shares it.
func (p *Pod) UnmarshalJSON(raw []byte) error {
	w := written{Pod: &corev1.Pod{}}
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	*p = *new(Classes).Pod(w.Pod)
	if w.Observed != nil {
		p.Hear(nil, *w.Observed)
	}
	return nil
}

// Equal says whether two records say the same.
func (p *Pod) Equal(o *Pod) bool {
	if p == nil || o == nil {
		return p == o
	}
	if p.Class.Key != o.Class.Key || p.Name != o.Name || p.UID != o.UID || p.Node != o.Node || p.Phase != o.Phase ||
		p.created != o.created || p.deletion != o.deletion || p.started != o.started || !reflect.DeepEqual(p.rare, o.rare) {
		return false
	}
	return p.pending == o.pending || p.pending != nil && o.pending != nil && p.pending.same(*o.pending)
}

// String is the pod's "namespace/name".
func (p *Pod) String() string {
	if p.pending != nil {
		return p.pending.Key
	}
	return p.Namespace + "/" + p.Name
}

// CapacityGate is the scheduling gate that keeps a pod from the scheduler until sluice has the machine for it.
const CapacityGate = "sluice.dev/capacity"

// Created is when the pod was made, to the second.
func (p *Pod) Created() time.Time { return at(p.created) }

// Hear notes that whoever follows the API server has heard of the pod now, as long as nobody else has the record. The record before it, of
// the same pod, was heard of earlier; nil when there is none. Nothing is noted of a pod of which nothing is said: see [Pod.Observed].
func (p *Pod) Hear(before *Pod, now time.Time) {
	if p.pending == nil {
		return
	}
	if p.pending.observed = now.UnixNano(); before != nil && before.UID == p.UID && before.pending != nil && before.pending.observed != 0 {
		p.pending.observed = before.pending.observed
	}
}

// Observed is when it was first heard that the pod waits: finer than what the API server tells, which are whole seconds. It is when the pod
// was made where nobody has noted it.
func (p *Pod) Observed() time.Time {
	if p.pending == nil || p.pending.observed == 0 {
		return p.Created()
	}
	return time.Unix(0, p.pending.observed).UTC()
}

// Started is when the kubelet first saw the pod, to the second; zero when it has not.
func (p *Pod) Started() time.Time { return at(p.started) }

// Leaving says whether somebody has deleted the pod.
func (p *Pod) Leaving() bool { return p.deletion != 0 }

// Unready says whether the pod runs and is said not to be Ready.
func (p *Pod) Unready() bool { return p.rare != nil && p.rare.Unready }

// Finished says whether the pod will never run again: it holds no resources.
func (p *Pod) Finished() bool { return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed }

// overstay is how long a pod may outlive its grace period before it counts as gone, as cluster-autoscaler allows 30 s and
// a slow kubelet needs more.
const overstay = time.Minute

// Overstayed says whether the pod should have ended by now: its grace period, which the deletion timestamp includes, is over by a
// minute. Its kubelet is dead or its object is stuck; nothing waits for it any longer.
func (p *Pod) Overstayed(now time.Time) bool {
	return p.deletion != 0 && now.After(at(p.deletion).Add(overstay))
}

// GraceOver says whether the grace period of a pod that was deleted is over.
func (p *Pod) GraceOver(now time.Time) bool { return p.deletion != 0 && !now.Before(at(p.deletion)) }

// Unschedulable says whether the scheduler has judged the pod and found no node.
func (p *Pod) Unschedulable() bool {
	return p.pending != nil && p.pending.Reason == corev1.PodReasonUnschedulable
}

// UnschedulableSince is when the scheduler first found no node for the pod; zero when it has not.
func (p *Pod) UnschedulableSince() time.Time {
	if !p.Unschedulable() {
		return time.Time{}
	}
	return at(p.pending.Since)
}

// Message is what the scheduler says about a pod that it could not place, "" when it says nothing.
func (p *Pod) Message() string {
	if p.pending == nil {
		return ""
	}
	return p.pending.Message
}

// Nominated is the node on which the scheduler has made room for the pod, "" for none.
func (p *Pod) Nominated() string {
	if p.pending == nil {
		return ""
	}
	return p.pending.Nominated
}

// Owner is the controller of the class's pods, nil for bare pods.
func (c *Class) Owner() *metav1.OwnerReference {
	for i := range c.OwnerReferences {
		if o := &c.OwnerReferences[i]; o.Controller != nil && *o.Controller {
			return o
		}
	}
	return nil
}

// Mirror says whether such a pod is a static pod's image: it lives and dies with its node.
func (c *Class) Mirror() bool {
	_, ok := c.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

// Daemon says whether such a pod belongs to its node rather than to a workload: a DaemonSet's, a static one's, or one that is
// annotated to be treated so.
func (c *Class) Daemon() bool {
	if c.Mirror() || c.Annotations["cluster-autoscaler.kubernetes.io/daemonset-pod"] == "true" {
		return true
	}
	o := c.Owner()
	return o != nil && o.Kind == "DaemonSet"
}

// Gated says whether such a pod waits behind a scheduling gate, so that no scheduler looks at it.
func (c *Class) Gated() bool { return len(c.Spec.SchedulingGates) > 0 }

// AwaitsCapacity says whether such a pod waits behind [CapacityGate] and no other gate, so that only sluice keeps it from the scheduler.
func (c *Class) AwaitsCapacity() bool {
	return len(c.Spec.SchedulingGates) == 1 && c.Spec.SchedulingGates[0].Name == CapacityGate
}

// Priority is what such a pod's priority class gives it, 0 when it has none.
func (c *Class) Priority() int32 {
	if c.Spec.Priority == nil {
		return 0
	}
	return *c.Spec.Priority
}
