package claim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
)

// How long room is kept for a request that found some, and how long one that found none is tried. Both are cluster-autoscaler's.
const (
	bookingHold  = 10 * time.Minute
	requestTries = 7 * 24 * time.Hour
)

// Reasons of conditions, as cluster-autoscaler gives them.
const (
	requestAccepted      = "Accepted"
	capacityFound        = "CapacityIsFound"
	capacityProvisioned  = "CapacityIsProvisioned"
	capacityNotFound     = "CapacityIsNotFound"
	failedToCreatePods   = "FailedToCreatePods"
	failedToBookCapacity = "FailedToBookCapacity"
	reservationExpired   = "CapacityReservationTimeExpired"
	bookingConsumed      = "CapacityBookingConsumed"
	requestExpired       = "Expired"
)

// request is a ProvisioningRequest within one cycle.
//
//	field             set when
//	claim             it asks for room, or its room is kept
//	left, until       its room was promised in an earlier cycle
//	outcome, because  each time that more is known; the last ones count
//	answers           a condition of the object has to change
type request struct {
	*cluster.ProvisioningRequest
	about reason.Ref
	claim *place.Claim // nil when it asks for no room now

	left  int       // pods that its room is kept for, where it was promised
	until time.Time // when that ends

	outcome action.Outcome
	because []reason.Reason
	answers []metav1.Condition
}

// say settles what becomes of the request.
func (q *request) say(outcome action.Outcome, because ...reason.Reason) {
	q.outcome, q.because = outcome, because
}

// answer is a condition to be written, unless the object has it already.
func (q *request) answer(condition string, status metav1.ConditionStatus, why string) {
	if c := q.Condition(condition); c != nil && c.Status == status && c.Reason == why {
		return
	}
	q.answers = append(q.answers, metav1.Condition{Type: condition, Status: status, Reason: why, Message: reason.Sentences(q.because[:1])})
}

func (q *request) isCheck() bool { return q.Spec.ProvisioningClassName == cluster.CheckCapacityClass }

// ClaimRequests finds out which requests ask for room, and adds their pods to those that wait. A pod that takes its room from a request is
// placed where this one's would be.
//
//	request that a pod names        the pod
//	asks for room in this cycle     is ignored: its virtual pod stands for it, and both would buy twice
//	has its room promised           takes that room, before all other pods
//	is over, unknown, or another's  takes room that is there, and buys nothing
//
// Scenario request-atomic holds these.
func (d *Claims) ClaimRequests() {
	if !d.Policy.Growth.Requests.Enabled || len(d.Snapshot.Objects.ProvisioningRequests) == 0 {
		return
	}
	used := d.consumers()
	open, booked := map[string]bool{}, map[string]bool{}
	for _, r := range d.Snapshot.Objects.ProvisioningRequests {
		q := &request{ProvisioningRequest: r, about: reason.Request(r.Namespace, r.Name)}
		d.requests = append(d.requests, q)
		d.enter(q, used[r.String()])
		if q.claim != nil {
			booked[r.String()], open[r.String()] = q.claim.Booked, !q.claim.Booked
		}
	}
	for _, dm := range d.Demands {
		if name := dm.Of.Consumes(); name != "" && dm.Claim == nil {
			dm.Consumes, dm.Judged, dm.Booked = name, false, booked[name]
			if open[name] { // its pods are pretended already
				d.Serve(dm, dm.Left(), action.PodIgnored, reason.New(reason.PodConsumes, reason.Ref{}, "request", name))
			}
		}
	}
	for _, q := range d.requests {
		if q.claim != nil {
			d.Demands = append(d.Demands, q.claim.Demands...)
		}
	}
}

// consumed is how many pods have come that take their room from a request.
type consumed struct {
	placed  int // that have a node, or had one
	waiting int
}

// consumers counts the pods of every request.
// Pods that have ended count as placed: they have used up their room.
func (d *Claims) consumers() map[string]consumed {
	out, of := map[string]consumed{}, map[*cluster.Class]string{}
	for _, p := range d.Snapshot.Objects.Pods {
		name, known := of[p.Class]
		if !known {
			name = p.Consumes()
			of[p.Class] = name
		}
		if name == "" {
			continue
		}
		c := out[name]
		switch {
		case p.Node != "":
			c.placed++
		case !p.Leaving():
			c.waiting++
		}
		out[name] = c
	}
	return out
}

// enter settles what becomes of a request that asks for no room, and makes a claim of one that does.
//
//	request, in this order                       outcome        condition          room
//	of another class, or for another autoscaler  ignored        none               none
//	has failed, or its booking has expired       over           none               none
//	provisioned, and all its pods have come      over           BookingExpired     none
//	provisioned ten minutes ago                  over           BookingExpired     none (scenario request-booking-ends)
//	provisioned, and a template is missing       over           Failed             none
//	provisioned                                  kept           none               kept for pods that have not come
//	for more than [mostVirtual] pods             over           Failed             none
//	older than a week                            over           Failed             none
//	a template is missing                        stuck          Accepted is False  none
//	any other                                    see judgeOpen  see there          asked for, all or nothing
func (d *Claims) enter(q *request, used consumed) {
	why := func(code reason.Code, facts ...any) reason.Reason { return reason.New(code, q.about, facts...) }
	spec, all := q.Spec, q.Pods()
	switch {
	case spec.ProvisioningClassName != cluster.AtomicClass && !q.isCheck(),
		q.isCheck() && spec.Parameters[cluster.InstanceParameter] != d.Policy.Growth.Requests.Instance:
		q.say(action.ClaimIgnored, why(reason.RequestForeign, "class", q.className()))
		return
	}
	for _, over := range []string{cluster.RequestFailed, cluster.RequestBookingExpired} {
		if q.Is(over) {
			q.say(action.ClaimOver, why(reason.RequestOver, "condition", over, "why", q.Condition(over).Reason))
			return
		}
	}
	templates, missing := d.templatesOf(q)
	if q.Is(cluster.RequestProvisioned) {
		until := q.Condition(cluster.RequestProvisioned).LastTransitionTime.Add(bookingHold)
		switch {
		case used.placed >= all:
			q.say(action.ClaimOver, why(reason.RequestUsedUp, "pods", all))
			q.answer(cluster.RequestBookingExpired, metav1.ConditionTrue, bookingConsumed)
		case !d.Now.Before(until):
			q.say(action.ClaimOver, why(reason.RequestBookingEnded, "hold", bookingHold))
			q.answer(cluster.RequestBookingExpired, metav1.ConditionTrue, reservationExpired)
		case missing != "":
			q.say(action.ClaimOver, why(reason.RequestNoTemplate, "template", missing))
			q.answer(cluster.RequestFailed, metav1.ConditionTrue, failedToBookCapacity)
		default:
			d.Wake(until)
			q.claim = d.claimOf(q, templates, used.placed+used.waiting, true)
			q.booked(max(0, all-used.placed), until)
		}
		return
	}
	expires := q.CreationTimestamp.Add(requestTries)
	switch {
	case all > mostVirtual:
		q.say(action.ClaimOver, why(reason.RequestTooLarge, "pods", all, "most", mostVirtual))
		q.answer(cluster.RequestFailed, metav1.ConditionTrue, failedToCreatePods)
	case !d.Now.Before(expires):
		q.say(action.ClaimOver, why(reason.RequestOutdated, "limit", requestTries))
		q.answer(cluster.RequestFailed, metav1.ConditionTrue, requestExpired)
	case missing != "":
		d.Wake(expires)
		q.say(action.ClaimStuck, why(reason.RequestNoTemplate, "template", missing))
		q.answer(cluster.RequestAccepted, metav1.ConditionFalse, failedToCreatePods)
	default:
		d.Wake(expires)
		q.claim = d.claimOf(q, templates, used.placed, false)
	}
}

// className is the request's class, with the autoscaler that it names.
func (q *request) className() string {
	if instance := q.Spec.Parameters[cluster.InstanceParameter]; q.isCheck() && instance != "" {
		return fmt.Sprintf("%s for %s", q.Spec.ProvisioningClassName, instance)
	}
	return q.Spec.ProvisioningClassName
}

// templatesOf are the templates of the request's pod sets; missing names the first that is not there.
func (d *Claims) templatesOf(q *request) (templates []*corev1.PodTemplate, missing string) {
	for _, set := range q.Spec.PodSets {
		t := d.podTemplate(q.Namespace, set.PodTemplateRef.Name)
		if t == nil {
			return nil, set.PodTemplateRef.Name
		}
		templates = append(templates, t)
	}
	return templates, ""
}

// claimOf claims room for the pods of a request, but for so many that have come.
// The pods that have come are taken off the first pod sets, since a pod does not say of which set it is.
func (d *Claims) claimOf(q *request, templates []*corev1.PodTemplate, come int, booked bool) *place.Claim {
	c := &place.Claim{About: q.about, Booked: booked, Asks: !booked && !q.isCheck(), Keeps: reason.New(reason.NodeBooked, reason.Ref{}, "request", q.String())}
	if !booked {
		c.Gang = &place.Gang{Gang: cluster.Gang{ID: "request " + string(q.UID), Name: q.String()}, Claim: c}
	}
	for i, set := range q.Spec.PodSets {
		n := max(0, int(set.Count)-come)
		come -= int(set.Count) - n
		p := virtual(podOf(templates[i], q.Namespace, q.Name, q.CreationTimestamp))
		d.Claims(c, p, n, !booked && !q.isCheck())
		if c.Gang != nil {
			c.Gang.Least += n
		}
	}
	return c
}

// judgeRequests says of requests that asked for room what came of it, and answers them.
func (d *Claims) judgeRequests() {
	for _, q := range d.requests {
		switch {
		case q.claim == nil:
		case q.claim.Gang != nil:
			d.judgeOpen(q)
		default:
			d.judgeBooked(q)
		}
	}
}

// booked says for how many of the request's pods room is kept.
func (q *request) booked(left int, until time.Time) {
	q.left, q.until = left, until
	q.say(action.ClaimKept, reason.New(reason.RequestBooked, q.about, "left", left, "pods", q.Pods(), "until", until.UTC().Format(time.RFC3339)))
}

// judgeBooked says how much of the room that was promised is there still: machines may have gone, and none is bought anew.
// It adds the places of the virtual pods and those of the request's own pods that wait.
func (d *Claims) judgeBooked(q *request) {
	has := d.Tally(q.claim.Demands).Placed()
	for _, dm := range d.Demands {
		if dm.Claim == nil && dm.Consumes == q.String() {
			has += d.Tally([]*place.Demand{dm}).Placed()
		}
	}
	if has < q.left {
		q.booked(has, q.until)
	}
}

// judgeOpen answers a request whose pods were to find a place. It is told that there is room only when every place is on a node that is
// Ready: clouds refuse, and machines fail to come.
//
//	room for its pods                                              outcome  Provisioned
//	lacks, so that the request is left out                         stuck    False; it is tried again while it stands
//	lacks, for a check without retry                               stuck    Failed instead (scenario request-check-capacity-no-retry)
//	a group grows for some of them                                 grows    unchanged
//	a group waits for more pods, or an expander's server is asked  waiting  unchanged
//	some of it is on machines that are coming                      waiting  unchanged (scenario request-machines-never-come)
//	is on Ready nodes                                              kept     True: from then on it is kept for ten minutes
func (d *Claims) judgeOpen(q *request) {
	g, t := q.claim.Gang, d.Tally(q.claim.Demands)
	all, ready := q.Pods(), d.readyAmong(q.claim.Demands)
	why := func(code reason.Code, facts ...any) reason.Reason { return reason.New(code, q.about, facts...) }
	switch {
	case g.Out != nil:
		q.say(action.ClaimStuck, d.becauseOf(q.claim, action.PodStuck)...)
		if q.isCheck() && q.Spec.Parameters[cluster.NoRetryParameter] == "true" {
			q.answer(cluster.RequestFailed, metav1.ConditionTrue, capacityNotFound)
			break
		}
		q.answer(cluster.RequestProvisioned, metav1.ConditionFalse, capacityNotFound)
	case t.Grows > 0:
		q.say(action.ClaimGrows, why(reason.RequestGrows, "grows", t.Grows, "pods", all))
	case t.Asked > 0:
		q.say(action.ClaimWaiting, d.becauseOf(q.claim, action.PodWaiting)...)
	case ready < g.Least:
		q.say(action.ClaimWaiting, why(reason.RequestComing, "ready", ready, "pods", all))
	default:
		q.say(action.ClaimKept, why(reason.RequestFound, "pods", all))
		found := capacityFound
		if !q.isCheck() && d.boughtFor(q) {
			found = capacityProvisioned
		}
		q.answer(cluster.RequestProvisioned, metav1.ConditionTrue, found)
	}
	q.accept()
}

// accept answers that the request is being seen to, which is the first thing that it is told.
func (q *request) accept() {
	if q.Is(cluster.RequestAccepted) {
		return
	}
	q.answers = slices.Insert(q.answers, 0, metav1.Condition{
		Type: cluster.RequestAccepted, Status: metav1.ConditionTrue, Reason: requestAccepted, Message: "sluice looks for room for its pods",
	})
}

// boughtFor says whether one of the request's places is on a node that came after it.
// It only chooses between two reasons of the same condition.
func (d *Claims) boughtFor(q *request) bool {
	for _, dm := range q.claim.Demands {
		for _, at := range dm.Pods[:dm.Served] {
			if n := d.Snapshot.Node(d.placeOf(at)); n != nil && n.Object.CreationTimestamp.After(q.CreationTimestamp.Time) {
				return true
			}
		}
	}
	return false
}
