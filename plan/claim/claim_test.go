package claim

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// blank points at nothing yet: claims rest on what other packages find, which these tests neither import nor ask.
func blank[T any](to **T) { *to = new(T) }

// claims are those of these objects, in a cluster with the Ready node a-0 and node a-1, which is not.
func claims(objects ...any) *Claims {
	d := &Claims{}
	blank(&d.Growth)
	blank(&d.Orders)
	blank(&d.Room)
	blank(&d.View)
	blank(&d.Queue)
	objects = append(objects, Node("a-0"), Node("a-1", NotReady(Start)))
	d.Snapshot, d.Policy, d.Now = cluster.New(Start, Objects(objects...), nil), policy.Default(), Start
	d.Policy.Growth.Requests.Enabled = true
	d.Policy.Growth.Buffers = policy.Buffers{Translate: true, Keep: true}
	d.Verdicts = map[reason.Kind][]action.Verdict{}
	return d
}

// found is what others found for so many pods: a verdict, and the node where it is one.
type found struct {
	pods    int
	outcome action.Outcome
	code    reason.Code
	node    string
}

// serve tells the pods of all claims what was found for them.
func serve(d *Claims, all []found) {
	for _, dm := range append(d.Demands, d.Later...) {
		for _, f := range all {
			n := min(f.pods, dm.Left())
			d.Serve(dm, n, f.outcome, reason.New(f.code, reason.Ref{}, "node", f.node))
		}
	}
}

// answered is the verdict on the one claim, and what is written to it.
func answered(d *Claims, kind reason.Kind) (verdict, answer string) {
	d.AnswerClaims()
	v := d.Verdicts[kind][0]
	words, conditions := []string{string(v.Outcome)}, []metav1.Condition{}
	for _, r := range v.Because {
		words = append(words, string(r.Code))
	}
	var written []string
	for _, a := range d.Answers {
		switch a := a.(type) {
		case action.AnswerRequest:
			conditions = a.Conditions
		case action.AnswerBuffer:
			if conditions = a.Conditions; a.Status.Replicas != nil {
				written = append(written, fmt.Sprintf("replicas %d", *a.Status.Replicas))
			}
		}
	}
	for _, c := range conditions {
		written = append(written, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
	}
	return strings.Join(words, " "), strings.Join(written, ", ")
}

// template is a PodTemplate of pods that ask for a core.
func template() *corev1.PodTemplate {
	return &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "t"}, Template: corev1.PodTemplateSpec{Spec: Pod("t").Object().Spec},
	}
}

// said is a condition that a request or buffer has had for so long.
func said(kind string, status metav1.ConditionStatus, why string, ago time.Duration) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: why, LastTransitionTime: metav1.NewTime(Start.Add(-ago))}
}

// TestARequestIsAnsweredByItsSituation has a ProvisioningRequest for two pods.
func TestARequestIsAnsweredByItsSituation(t *testing.T) {
	there, coming := found{2, action.PodScheduling, reason.FitsNode, "a-0"}, found{2, action.PodWaiting, reason.FitsComingMachine, ""}
	one, unready := found{1, action.PodScheduling, reason.FitsNode, "a-0"}, found{2, action.PodScheduling, reason.FitsNode, "a-1"}
	grows := found{1, action.PodGrows, reason.NeedsMachine, ""}
	booked := func(ago time.Duration) []metav1.Condition {
		return []metav1.Condition{said("Accepted", "True", "Accepted", ago), said("Provisioned", "True", "CapacityIsFound", ago)}
	}
	accepted := []metav1.Condition{said("Accepted", "True", "Accepted", time.Minute)}
	missed := append(accepted, said("Provisioned", "False", "CapacityIsNotFound", time.Minute))
	const finds, buys = ", Provisioned=True CapacityIsFound", ", Provisioned=True CapacityIsProvisioned"
	const misses, fails = ", Provisioned=False CapacityIsNotFound", ", Failed=True CapacityIsNotFound"
	const check = cluster.CheckCapacityClass
	const accepts, week = "Accepted=True Accepted", 7 * 24 * time.Hour
	for name, c := range map[string]struct {
		class   string // "" is the atomic one
		asks    string // for another instance, or "once" for no second try
		count   int32  // of pods; 0 is two
		age     time.Duration
		has     []metav1.Condition
		come    int  // pods that take their room from it
		bare    bool // the template is missing
		found   []found
		out     bool // its pods do not fit together
		verdict string
		answer  string
	}{
		"room on Ready nodes is found": {found: []found{there}, verdict: "kept RequestFound", answer: accepts + finds},
		"on a node that came after it, it was bought": {
			age: 48 * time.Hour, found: []found{there}, verdict: "kept RequestFound", answer: accepts + buys,
		},
		"which a check never is": {
			class: check, age: 48 * time.Hour, found: []found{there}, verdict: "kept RequestFound", answer: accepts + finds,
		},
		"a node that is not Ready is room to come": {found: []found{unready}, verdict: "waiting RequestComing", answer: accepts},
		"so is a machine":                          {has: accepted, found: []found{coming}, verdict: "waiting RequestComing"},
		"machines are bought for it":               {found: []found{one, grows}, verdict: "grows RequestGrows", answer: accepts},
		"what does not fit together is stuck":      {out: true, verdict: "stuck RequestDoesNotFit", answer: accepts + misses},
		"which it is told once":                    {has: missed, out: true, verdict: "stuck RequestDoesNotFit"},
		"a check without a second try has failed": {
			class: check, asks: "once", out: true, verdict: "stuck RequestDoesNotFit", answer: accepts + fails,
		},
		"another class is another controller's": {class: "best-effort", verdict: "ignored RequestForeign"},
		"so is a check for another instance":    {class: check, asks: "other", verdict: "ignored RequestForeign"},
		"without its template it is stuck": {
			bare: true, verdict: "stuck RequestNoTemplate", answer: "Accepted=False FailedToCreatePods",
		},
		"too many pods are refused": {
			count: mostVirtual + 1, verdict: "over RequestTooLarge", answer: "Failed=True FailedToCreatePods",
		},
		"after a week it is given up": {age: week, verdict: "over RequestOutdated", answer: "Failed=True Expired"},
		"until then it is tried":      {age: week - 1, found: []found{coming}, verdict: "waiting RequestComing", answer: accepts},
		"what has failed is over": {
			has: []metav1.Condition{said("Failed", "True", "Expired", 0)}, verdict: "over RequestOver",
		},
		"room that was found is kept": {has: booked(10*time.Minute - 1), found: []found{there}, verdict: "kept RequestBooked"},
		"for ten minutes": {
			has: booked(10 * time.Minute), verdict: "over RequestBookingEnded", answer: "BookingExpired=True CapacityReservationTimeExpired",
		},
		"or until all of its pods have come": {
			has: booked(time.Minute), come: 2, verdict: "over RequestUsedUp", answer: "BookingExpired=True CapacityBookingConsumed",
		},
		"it cannot be kept without its template": {
			has: booked(time.Minute), bare: true, verdict: "over RequestNoTemplate", answer: "Failed=True FailedToBookCapacity",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &cluster.ProvisioningRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r"}}
			r.CreationTimestamp = metav1.NewTime(Start.Add(-c.age))
			r.Spec.ProvisioningClassName, r.Status.Conditions = cmp.Or(c.class, cluster.AtomicClass), c.has
			r.Spec.PodSets = []cluster.PodSet{{PodTemplateRef: cluster.LocalReference{Name: "t"}, Count: cmp.Or(c.count, 2)}}
			switch c.asks {
			case "":
			case "once":
				r.Spec.Parameters = map[string]string{cluster.NoRetryParameter: "true"}
			default:
				r.Spec.Parameters = map[string]string{cluster.InstanceParameter: c.asks}
			}
			objects := []any{r}
			if !c.bare {
				objects = append(objects, template())
			}
			for i := range c.come {
				objects = append(objects, Pod(fmt.Sprint(i), On("a-0"), Annotated(cluster.ConsumeAnnotation, "r")))
			}
			d := claims(objects...)
			d.ClaimRequests()
			serve(d, c.found)
			if q := d.requests[0]; c.out {
				q.claim.Gang.LeaveOut(action.PodStuck, q.claim.DoesNotFit(0))
				serve(d, []found{{2, action.PodStuck, reason.RequestDoesNotFit, ""}})
			}
			if verdict, answer := answered(d, reason.KindRequest); verdict != c.verdict || answer != c.answer {
				t.Errorf("%q is said and %q written", verdict, answer)
			}
		})
	}
}

// TestABufferIsAnsweredByItsSituation has a CapacityBuffer of pods that ask for a core.
func TestABufferIsAnsweredByItsSituation(t *testing.T) {
	const ready, keeps = "ReadyForProvisioning=True AttributesSetSuccessfully", "Provisioning=True FakePodsInjected"
	const both = ready + ", " + keeps
	const unclear = "ReadyForProvisioning=False error, Provisioning=False NotReadyForProvisioning"
	one := found{1, action.PodScheduling, reason.FitsNode, "a-0"}
	there, grows := found{9, action.PodScheduling, reason.FitsNode, "a-0"}, found{9, action.PodGrows, reason.NeedsMachine, ""}
	coming, stuck := found{9, action.PodWaiting, reason.FitsComingMachine, ""}, found{9, action.PodStuck, reason.NoGroupGrows, ""}
	told := []metav1.Condition{
		said("ReadyForProvisioning", "True", "AttributesSetSuccessfully", 0), said("Provisioning", "True", "FakePodsInjected", 0),
	}
	sized := func(replicas int32, limits map[string]string) cluster.CapacityBufferSpec {
		spec := cluster.CapacityBufferSpec{PodTemplateRef: &cluster.LocalReference{Name: "t"}, Limits: limits}
		if replicas >= 0 {
			spec.Replicas = &replicas
		}
		return spec
	}
	cpu := func(most string) map[string]string { return map[string]string{"cpu": most} }
	share, missing := sized(-1, nil), sized(3, nil)
	share.Percentage, missing.PodTemplateRef = new(int32(10)), &cluster.LocalReference{Name: "x"}
	for name, c := range map[string]struct {
		spec    cluster.CapacityBufferSpec
		has     []metav1.Condition
		found   []found
		verdict string
		answer  string
	}{
		"room that is there is kept":              {sized(3, nil), nil, []found{there}, "kept BufferKept", "replicas 3, " + both},
		"what it was told it is not told again":   {sized(3, nil), told, []found{there}, "kept BufferKept", "replicas 3"},
		"room that lacks is bought":               {sized(3, nil), nil, []found{one, grows}, "grows BufferShort", "replicas 3, " + both},
		"machines that are coming are waited for": {sized(3, nil), nil, []found{coming}, "waiting BufferShort", "replicas 3, " + both},
		"no group may help":                       {sized(3, nil), nil, []found{stuck}, "stuck BufferShort", "replicas 3, " + both},
		"limits say for how many pods it is":      {sized(-1, cpu("2500m")), nil, []found{there}, "kept BufferKept", "replicas 2, " + both},
		"the least of what it says counts":        {sized(3, cpu("5")), nil, []found{there}, "kept BufferKept", "replicas 3, " + both},
		"it may be for none": {
			sized(0, nil), nil, nil, "kept BufferEmpty", "replicas 0, " + ready + ", Provisioning=False BufferIsEmpty",
		},
		"it has to say how many":             {sized(-1, nil), nil, nil, "stuck BufferUnclear", unclear},
		"a share of a template is no number": {share, nil, nil, "stuck BufferUnclear", unclear},
		"a limit is a quantity":              {sized(-1, cpu("many")), nil, nil, "stuck BufferUnclear", unclear},
		"of what its pods ask for":           {sized(-1, map[string]string{"memory": "1Gi"}), nil, nil, "stuck BufferUnclear", unclear},
		"its template has to be there":       {missing, nil, nil, "stuck BufferUnclear", unclear},
		"it has to name one": {cluster.CapacityBufferSpec{
			Replicas: new(int32(3))}, nil, nil, "stuck BufferUnclear", unclear,
		},
		"another strategy is another controller's": {cluster.CapacityBufferSpec{
			ProvisioningStrategy: "other"}, nil, nil, "ignored BufferForeign", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &cluster.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}, Spec: c.spec}
			b.Status = cluster.CapacityBufferStatus{Conditions: c.has, ProvisioningStrategy: new(cluster.ActiveStrategy)}
			d := claims(template(), b)
			d.ClaimBuffers()
			serve(d, c.found)
			if verdict, answer := answered(d, reason.KindBuffer); verdict != c.verdict || answer != c.answer {
				t.Errorf("%q is said and %q written", verdict, answer)
			}
		})
	}
}

// TestOfSeveralBadLimitsTheFirstByNameIsTold asks often, as the order of a map is another one each time.
func TestOfSeveralBadLimitsTheFirstByNameIsTold(t *testing.T) {
	for range 50 {
		if _, unclear := within(map[string]string{"memory": "x", "cpu": "y", "pods": "z"}, nil); unclear != `its limit cpu is "y"; give a quantity, such as 8 or 16Gi` {
			t.Fatal(unclear)
		}
	}
}
