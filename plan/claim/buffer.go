package claim

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Reasons of conditions, as cluster-autoscaler gives them.
const (
	attributesSet   = "AttributesSetSuccessfully"
	attributesWrong = "error"
	podsInjected    = "FakePodsInjected"
	bufferEmpty     = "BufferIsEmpty"
	bufferNotReady  = "NotReadyForProvisioning"
	templateMissing = "FailedToGetPodTemplate"
)

// buffer is a CapacityBuffer within one cycle.
type buffer struct {
	*cluster.CapacityBuffer
	about reason.Ref
	claim *place.Claim // nil when no room is kept for it

	outcome action.Outcome
	because []reason.Reason
	answers []metav1.Condition
	status  cluster.CapacityBufferStatus // what is to be written beside
}

// measure is for how many pods like which a buffer is.
// The zero value is for no pods.
type measure struct {
	pod      *cluster.Pod
	pods     int
	template *corev1.PodTemplate // that it names, nil for one that names what scales
}

// ClaimBuffers finds out which buffers ask for room, and pretends their pods. These come last: see [Claims.KeepBuffers].
//
//	setting    sluice
//	Translate  writes into the status for which pods a buffer is; without it, the status is believed
//	Keep       keeps room for these pods, and says so in a condition
//
// A buffer of another strategy is ignored.
func (d *Claims) ClaimBuffers() {
	set := d.Policy.Growth.Buffers
	if !set.Translate && !set.Keep {
		return
	}
	for _, o := range d.Snapshot.Objects.CapacityBuffers {
		b := &buffer{CapacityBuffer: o, about: reason.Buffer(o.Namespace, o.Name)}
		d.buffers = append(d.buffers, b)
		if strategy := o.Spec.ProvisioningStrategy; strategy != "" && strategy != cluster.ActiveStrategy {
			b.say(action.ClaimIgnored, reason.New(reason.BufferForeign, b.about, "strategy", strategy))
			continue
		}
		m, unclear := d.measureOf(b)
		if set.Translate {
			b.translated(m, unclear)
		}
		if set.Keep {
			d.claimRoom(b, m, unclear)
		}
	}
}

func (b *buffer) say(outcome action.Outcome, because ...reason.Reason) {
	b.outcome, b.because = outcome, because
}

// answer is a condition to be written, unless the object has it already.
func (b *buffer) answer(condition string, status metav1.ConditionStatus, why, message string) {
	if c := b.Condition(condition); c != nil && c.Status == status && c.Reason == why {
		return
	}
	b.answers = append(b.answers, metav1.Condition{Type: condition, Status: status, Reason: why, Message: message})
}

// measureOf is for how many pods like which the buffer is, or why that is not clear, with the remedy: what it asks for, or what its status
// says where somebody else works that out.
//
//	buffer                     pods like                          how many
//	sluice does not translate  the template in its status         the number in its status
//	names both or none         unclear
//	names a template           that template                      see count
//	names what scales          its newest pod, else its template  see count, with a share of its pods (scenario buffer-percentage)
//
// What is unclear is one clause with a remedy. It becomes a reason and the message of a condition.
func (d *Claims) measureOf(b *buffer) (m measure, unclear string) {
	switch s := b.Spec; {
	case !d.Policy.Growth.Buffers.Translate:
		return d.believe(b)
	case s.PodTemplateRef != nil && s.ScalableRef != nil, s.PodTemplateRef == nil && s.ScalableRef == nil:
		return m, "it has to name one of podTemplateRef and scalableRef"
	case s.PodTemplateRef != nil:
		if m, unclear = d.likeTemplate(b, s.PodTemplateRef.Name); unclear != "" {
			return m, unclear
		}
		m.pods, unclear = b.count(m.pod, nil)
	default:
		var scaled int
		if m.pod, scaled = d.scaled(b); m.pod == nil {
			return m, fmt.Sprintf("no pod of %s %s is there to tell what its pods are like, and no template of it can be read; run one, or name a podTemplateRef", s.ScalableRef.Kind, s.ScalableRef.Name)
		}
		m.pods, unclear = b.count(m.pod, &scaled)
	}
	return m, unclear
}

// believe takes what the buffer's status says.
func (d *Claims) believe(b *buffer) (m measure, unclear string) {
	s := b.Status
	if ready := b.Condition(cluster.BufferReady); ready == nil || ready.Status != metav1.ConditionTrue || s.PodTemplateRef == nil || s.Replicas == nil {
		return m, "its status does not say for how many pods it is; let sluice work that out by --capacity-buffer-controller-enabled"
	}
	if m, unclear = d.likeTemplate(b, s.PodTemplateRef.Name); unclear == "" {
		m.pods = min(max(0, int(*s.Replicas)), mostVirtual)
	}
	return m, unclear
}

func (d *Claims) likeTemplate(b *buffer, name string) (m measure, unclear string) {
	t := d.podTemplate(b.Namespace, name)
	if t == nil {
		return m, fmt.Sprintf("there is no PodTemplate %s in its namespace; create it", name)
	}
	return measure{pod: virtual(podOf(t, b.Namespace, b.Name, b.CreationTimestamp)), template: t}, ""
}

// scaled is a virtual pod like the newest one of what the buffer's reference names, or as its template says where it has none, and how many
// of them there are; nil when nothing tells. What a volume or a claim ties to one pod is left out.
// The template is for a workload without pods (scenario buffer-scaled-to-zero). It looks at all pods, and asks once for each class.
func (d *Claims) scaled(b *buffer) (*cluster.Pod, int) {
	var newest *cluster.Pod
	n, of := 0, map[*cluster.Class]bool{}
	for _, p := range d.Snapshot.Objects.Pods {
		if p.Namespace != b.Namespace {
			continue
		}
		own, known := of[p.Class]
		if !known {
			own = b.Spec.ScalableRef.Scales(p.Class)
			of[p.Class] = own
		}
		if !own || p.Finished() || p.Leaving() {
			continue
		}
		n++
		if newest == nil || p.Created().After(newest.Created()) {
			newest = p
		}
	}
	if newest == nil {
		t := d.podTemplate(b.Namespace, b.Spec.ScalableRef.Template())
		if t == nil {
			return nil, 0
		}
		return virtual(withoutClaims(podOf(t, b.Namespace, b.Name, b.CreationTimestamp))), 0
	}
	o := newest.Class.Object()
	o.Name, o.CreationTimestamp, o.Status = b.Name, b.CreationTimestamp, corev1.PodStatus{}
	return virtual(withoutClaims(o)), n
}

// withoutClaims leaves out of a pod what its controller's other pods do not share.
func withoutClaims(o *corev1.Pod) *corev1.Pod {
	o.Spec.Volumes = slices.DeleteFunc(slices.Clone(o.Spec.Volumes), func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
	return o
}

// count is for how many such pods the buffer is: the least of what its settings say, as cluster-autoscaler has it. scaled is how many pods
// there are of what it refers to, nil when it refers to nothing.
// A share is of the pods that are there now, rounded down. A percentage beside a template says nothing.
func (b *buffer) count(p *cluster.Pod, scaled *int) (n int, unclear string) {
	most := math.MaxInt
	if r := b.Spec.Replicas; r != nil {
		most = min(most, max(0, int(*r)))
	}
	if share := b.Spec.Percentage; share != nil && scaled != nil {
		most = min(most, max(0, int(*share)**scaled/100))
	}
	if len(b.Spec.Limits) > 0 {
		limit, unclear := within(b.Spec.Limits, scheduling.Requests(p))
		if unclear != "" {
			return 0, unclear
		}
		most = min(most, limit)
	}
	if most == math.MaxInt {
		return 0, "it does not say how many pods; give replicas, limits, or a percentage of a scalableRef"
	}
	return min(most, mostVirtual), ""
}

// within is how many pods that ask for so much stay within the limits.
// It divides thousandths, rounded down. A resource that the pods do not ask for limits nothing.
func within(limits map[string]string, asks corev1.ResourceList) (n int, unclear string) {
	n = math.MaxInt
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		text := limits[name]
		limit, err := resource.ParseQuantity(text)
		if err != nil {
			return 0, fmt.Sprintf("its limit %s is %q; give a quantity, such as 8 or 16Gi", name, text)
		}
		if q := asks[corev1.ResourceName(name)]; q.MilliValue() > 0 {
			n = min(n, max(0, int(limit.MilliValue()/q.MilliValue())))
		}
	}
	if n == math.MaxInt {
		return 0, "its pods ask for nothing that its limits name; give replicas, or a limit of what they ask for"
	}
	return n, ""
}

// translated answers what the buffer was found to be for.
// It writes only what differs from the status: otherwise each cycle would write again.
func (b *buffer) translated(m measure, unclear string) {
	if unclear != "" {
		b.say(action.ClaimStuck, reason.New(reason.BufferUnclear, b.about, "why", unclear))
		b.answer(cluster.BufferReady, metav1.ConditionFalse, attributesWrong, unclear)
		return
	}
	b.say(action.ClaimKept, reason.New(reason.BufferTranslated, b.about, "pods", m.pods))
	b.answer(cluster.BufferReady, metav1.ConditionTrue, attributesSet, "it is known for which pods it is")
	was := b.Status
	if was.Replicas == nil || int(*was.Replicas) != m.pods {
		b.status.Replicas = new(int32(m.pods))
	}
	if was.ProvisioningStrategy == nil || *was.ProvisioningStrategy != cluster.ActiveStrategy {
		b.status.ProvisioningStrategy = new(cluster.ActiveStrategy)
	}
	if t := m.template; t != nil {
		if was.PodTemplateRef == nil || was.PodTemplateRef.Name != t.Name {
			b.status.PodTemplateRef = &cluster.LocalReference{Name: t.Name}
		}
		if was.PodTemplateGeneration == nil || *was.PodTemplateGeneration != t.Generation {
			b.status.PodTemplateGeneration = new(t.Generation)
		}
	}
}

// claimRoom claims room for the buffer's pods.
//
//	buffer         outcome           Provisioning
//	unclear        stuck             False, with what is unclear
//	for no pods    kept              False
//	for some pods  see judgeBuffers  True, whether the room is there yet or not
func (d *Claims) claimRoom(b *buffer, m measure, unclear string) {
	switch {
	case unclear != "":
		b.say(action.ClaimStuck, reason.New(reason.BufferUnclear, b.about, "why", unclear))
		why := bufferNotReady
		if ready := b.Condition(cluster.BufferReady); !d.Policy.Growth.Buffers.Translate && ready != nil && ready.Status == metav1.ConditionTrue {
			why = templateMissing
		}
		b.answer(cluster.BufferProvisioning, metav1.ConditionFalse, why, unclear)
	case m.pods == 0:
		b.say(action.ClaimKept, reason.New(reason.BufferEmpty, b.about))
		b.answer(cluster.BufferProvisioning, metav1.ConditionFalse, bufferEmpty, "it is for no pods")
	default:
		b.claim = &place.Claim{About: b.about, Keeps: reason.New(reason.NodeBuffer, reason.Ref{}, "buffer", b.String())}
		d.Claims(b.claim, m.pod, m.pods, true)
		d.Later = append(d.Later, b.claim.Demands...)
		b.answer(cluster.BufferProvisioning, metav1.ConditionTrue, podsInjected, "room for its pods is kept free, and bought where it lacks")
	}
}

// KeepBuffers finds room for the pods of buffers on what the waiting pods have left: on nodes that are there, those that stay anyway first;
// on cordoned nodes, which it takes back; on machines that are coming; then on machines that it adds. No waiting pod loses by it.
//
// While buffers are placed, Room.Demands are theirs alone. Afterwards it puts back what says something of waiting pods:
//
//	put back              why
//	Demands               gates, requests and gangs are judged by the pods that wait
//	Joint.Cost            the plan's cost is that of machines for waiting pods
//	Wanted of each group  a group calls itself full for pods, not for buffers
//
// It runs within [grow.Rounds], so its places are tried and taken back like all others.
func (d *Claims) KeepBuffers() {
	all := slices.Clone(d.Later)
	if len(all) == 0 {
		return
	}
	pods, cost, undo := d.Demands, d.Joint.Cost, []func(){}
	for _, st := range d.Groups {
		undo = append(undo, st.Unasked())
	}
	d.Demands = all
	d.LineUp(d.stayingFirst())
	d.FindPlaces()
	if wanting := d.Wanting(); len(wanting) > 0 && d.Chain.Ask == nil {
		c := d.Candidates(wanting, false)
		d.awaitBurst(c)
		d.GrowFor(c)
		d.Stuck.ExplainStuck(c)
	}
	d.Demands, d.Joint.Cost = pods, cost
	for _, ask := range undo {
		ask()
	}
}

// awaitBurst lets buffers wait while a group that could have machines for them has just been asked: pods that come in a burst take their
// room, and one request fills it again.
func (d *Claims) awaitBurst(c *grow.Candidates) {
	until := make([]grow.Pause, len(c.Groups))
	for i, st := range c.Groups {
		if ends := d.Memory.Groups[st.ID].Decided.Add(d.Policy.Growth.BurstWindow); d.Now.Before(ends) {
			until[i] = grow.Pause{Again: ends, Latest: ends}
			d.Wake(ends)
		}
	}
	d.Bursts.LetWait(c, until)
}

// stayingFirst orders nodes by how likely they are to stay: those that do whatever else happens, those that carry pods, the others.
// Virtual pods on a node keep it. On nodes that stay anyway they cost nothing, and idle nodes may go.
func (d *Claims) stayingFirst() func(a, b scheduling.Handle) int {
	rank := make(map[string]int, len(d.Memo.Facts))
	for _, v := range d.Memo.Facts {
		switch {
		case v.Verdict.Outcome == action.NodeKeep:
			rank[v.Name()] = 0
		case len(v.Movers) > 0:
			rank[v.Name()] = 1
		default:
			rank[v.Name()] = 2
		}
	}
	return func(a, b scheduling.Handle) int { return cmp.Compare(rank[d.Check.Name(a)], rank[d.Check.Name(b)]) }
}

// judgeBuffers says what came of the buffers' room.
//
//	of its virtual pods                                   outcome
//	some have no place                                    stuck, with why
//	a group grows for some                                grows
//	some wait for more pods, or for an expander's server  waiting, with why
//	some have a place that is coming                      waiting
//	all are on nodes that are there                       kept
func (d *Claims) judgeBuffers() {
	for _, b := range d.buffers {
		if b.claim == nil {
			continue
		}
		t := d.Tally(b.claim.Demands)
		all, on := t.There+t.Coming+t.Grows+t.Asked+t.Stuck, t.Coming+t.Grows
		short := reason.New(reason.BufferShort, b.about, "free", t.There, "pods", all, "coming", on)
		switch {
		case t.Stuck > 0:
			b.say(action.ClaimStuck, append([]reason.Reason{short}, d.becauseOf(b.claim, action.PodStuck)[1:]...)...)
		case t.Grows > 0:
			b.say(action.ClaimGrows, short)
		case t.Asked > 0:
			b.say(action.ClaimWaiting, append([]reason.Reason{short}, d.becauseOf(b.claim, action.PodWaiting)...)...)
		case on > 0:
			b.say(action.ClaimWaiting, short)
		default:
			b.say(action.ClaimKept, reason.New(reason.BufferKept, b.about, "pods", all))
		}
	}
}
