package plan_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// podTemplate is a PodTemplate of pods that ask for so many cores.
func podTemplate(name, cores string) *corev1.PodTemplate {
	o := Pod(name, CPU(cores)).Object()
	return &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Generation: 7},
		Template:   corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: o.Labels}, Spec: o.Spec},
	}
}

// request is a ProvisioningRequest, a minute old, for n pods like the template "t".
func request(name string, n int, change ...func(*cluster.ProvisioningRequest)) *cluster.ProvisioningRequest {
	r := &cluster.ProvisioningRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(Start.Add(-time.Minute))},
		Spec: cluster.ProvisioningRequestSpec{
			ProvisioningClassName: cluster.AtomicClass,
			PodSets:               []cluster.PodSet{{PodTemplateRef: cluster.LocalReference{Name: "t"}, Count: int32(n)}},
		},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func checks(r *cluster.ProvisioningRequest) {
	r.Spec.ProvisioningClassName = cluster.CheckCapacityClass
}

func parameter(key, value string) func(*cluster.ProvisioningRequest) {
	return func(r *cluster.ProvisioningRequest) { r.Spec.Parameters = map[string]string{key: value} }
}

func aged(age time.Duration) func(*cluster.ProvisioningRequest) {
	return func(r *cluster.ProvisioningRequest) { r.CreationTimestamp = metav1.NewTime(Start.Add(-age)) }
}

// has gives the request a condition, "Type=Status Reason", that it has had for so long.
func has(condition string, ago time.Duration) func(*cluster.ProvisioningRequest) {
	return func(r *cluster.ProvisioningRequest) {
		said, why, _ := strings.Cut(condition, " ")
		kind, status, _ := strings.Cut(said, "=")
		r.Status.Conditions = append(r.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionStatus(status), Reason: why, LastTransitionTime: metav1.NewTime(Start.Add(-ago)),
		})
	}
}

func accepted(r *cluster.ProvisioningRequest) { has("Accepted=True Accepted", time.Minute)(r) }

func provisioned(ago time.Duration) func(*cluster.ProvisioningRequest) {
	return func(r *cluster.ProvisioningRequest) {
		accepted(r)
		has("Provisioned=True CapacityIsFound", ago)(r)
	}
}

// consuming is a pod that takes its room from the request.
func consuming(request string) func(*corev1.Pod) {
	return Annotated(cluster.ConsumeAnnotation, request)
}

// answers are the plan's answers, "request NAME: Type=Status Reason ...".
func answers(p action.Plan) []string {
	lines := []string{}
	say := func(who string, conditions []metav1.Condition) {
		for _, c := range conditions {
			who += fmt.Sprintf(" %s=%s %s", c.Type, c.Status, c.Reason)
		}
		lines = append(lines, who)
	}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case action.AnswerRequest:
			say("request "+a.Request+":", a.Conditions)
		case action.AnswerBuffer:
			who := "buffer " + a.Buffer + ":"
			if n := a.Status.Replicas; n != nil {
				who += fmt.Sprintf(" replicas %d", *n)
			}
			if t := a.Status.PodTemplateRef; t != nil {
				who += fmt.Sprintf(" template %s", t.Name)
			}
			if g := a.Status.PodTemplateGeneration; g != nil {
				who += fmt.Sprintf(" generation %d", *g)
			}
			say(who, a.Conditions)
		}
	}
	return lines
}

func answering(p *policy.Policy) { p.Growth.Requests.Enabled = true }

// claimCase is a cluster with one group "a" of which every node among the objects is, and what is decided there.
type claimCase struct {
	objects []any
	max     int // of the group; 0 is 9
	coming  int // machines of it that are on their way
	kept    memory.Memory
	policy  func(*policy.Policy)

	want    []string          // actions but for answers
	answers []string          // as answers tells them
	verdict map[string]string // "OUTCOME CODE ..." of "KIND NAME"; pods, requests and buffers are of the namespace default
}

func (c claimCase) decide(t *testing.T, set func(*policy.Policy)) action.Plan {
	t.Helper()
	allowed := policy.Default()
	set(allowed)
	if c.policy != nil {
		c.policy(allowed)
	}
	g := housed(c.objects)
	g.Capacity += c.coming
	if c.max > 0 {
		g.Max = c.max
	}
	p, _ := plan.Decide(cluster.New(Start, Objects(c.objects...), []*cluster.Group{g}), allowed, c.kept)
	complete(t, p)
	if c.want == nil {
		c.want = []string{}
	}
	if diff := cmp.Diff(c.want, told(p)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if c.answers == nil {
		c.answers = []string{}
	}
	if diff := cmp.Diff(c.answers, answers(p)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	for who, want := range c.verdict {
		kind, name, _ := strings.Cut(who, " ")
		if kind != "node" && kind != "group" {
			name = "default/" + name
		}
		v, ok := p.Verdict(reason.Ref{Kind: reason.Kind(kind), Name: name})
		if got := spoken(v); !ok || got != want {
			t.Errorf("%s: %q, want %q", who, got, want)
		}
	}
	return p
}

// spoken is a verdict's outcome and codes.
func spoken(v action.Verdict) string {
	words := string(v.Outcome)
	for _, r := range v.Because {
		words += " " + string(r.Code)
	}
	return words
}

func TestRequestsAreAnsweredAsTheirClassSays(t *testing.T) {
	four, full := podTemplate("t", "4"), func(node string) []any { return []any{Node(node), Pod("w-"+node, On(node), CPU("4"))} }
	notFound := "Provisioned=False CapacityIsNotFound"
	backoff := memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Backoff: memory.Backoff{Until: Start.Add(time.Minute)}}}}
	for name, c := range map[string]claimCase{
		"an atomic request buys room for all its pods in one request, and is not told yet that it is there": {
			objects: []any{four, request("r", 3)}, want: []string{"grow a 0 -> 3"},
			answers: []string{"request r: Accepted=True Accepted"}, verdict: map[string]string{"request r": "grows RequestGrows", "group a": "grow GroupGrowsFor GroupSteady"},
		},
		"room that is there is used first": {
			objects: []any{four, request("r", 3, accepted), Node("a-0")}, want: []string{"grow a 1 -> 3"},
			verdict: map[string]string{"request r": "grows RequestGrows", "node a-0": "idle NodeBooked NodeIdle"},
		},
		"machines on their way are no room yet": {
			objects: []any{four, request("r", 2, accepted), Node("a-0")}, coming: 1, verdict: map[string]string{"request r": "waiting RequestComing"},
		},
		"room for all of them is found": {
			objects: []any{four, request("r", 2), Node("a-0"), Node("a-1")},
			answers: []string{"request r: Accepted=True Accepted Provisioned=True CapacityIsFound"}, verdict: map[string]string{"request r": "kept RequestFound"},
		},
		"room on a machine that came for it has been provisioned": {
			objects: []any{four, request("r", 1, accepted, aged(time.Hour)), Node("a-0", func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(Start.Add(-time.Minute)) })},
			answers: []string{"request r: Provisioned=True CapacityIsProvisioned"},
		},
		"a request that does not fit buys nothing": {
			objects: []any{four, request("r", 4, accepted)}, max: 3, answers: []string{"request r: " + notFound},
			verdict: map[string]string{"request r": "stuck RequestDoesNotFit GroupAtMax GangHeld"},
		},
		"what it was told already it is not told again": {
			objects: []any{four, request("r", 4, accepted, has(notFound, time.Minute))}, max: 3,
			verdict: map[string]string{"request r": "stuck RequestDoesNotFit GroupAtMax GangHeld"},
		},
		"a group in back-off is no room": {
			objects: []any{four, request("r", 1, accepted)}, kept: backoff, answers: []string{"request r: " + notFound},
			verdict: map[string]string{"request r": "stuck RequestDoesNotFit GroupBackoff GangHeld"},
		},
		"nodes are kept for a request that is not whole yet": {
			objects: []any{four, request("r", 4, accepted), Node("a-0")}, max: 3, kept: removable("a-0"), answers: []string{"request r: " + notFound},
			verdict: map[string]string{"node a-0": "idle NodeBooked NodeIdle"},
		},
		"and no longer than the hold": {
			objects: []any{four, request("r", 4, accepted, has(notFound, time.Hour)), Node("a-0")}, max: 3,
			kept: memory.Memory{Removing: memory.Removing{Removable: removable("a-0").Removable}, Growing: memory.Growing{Gangs: map[string]time.Time{"request uid-r": Start.Add(-time.Hour)}}},
			want: []string{"cordon a-0 idle"}, verdict: map[string]string{"request r": "stuck RequestDoesNotFit GroupAtMax GangGivenUp"},
		},
		"a request to check buys nothing": {
			objects: []any{four, request("r", 2, checks), Node("a-0")}, answers: []string{"request r: Accepted=True Accepted " + notFound},
			verdict: map[string]string{"request r": "stuck RequestDoesNotFit"},
		},
		"and keeps no node as long as it found no room": {
			objects: []any{four, request("r", 2, checks, accepted, has(notFound, time.Minute)), Node("a-0")}, kept: removable("a-0"),
			want: []string{"cordon a-0 idle"},
		},
		"one that is not to be tried again has failed": {
			objects: []any{four, request("r", 2, checks, accepted, parameter("noRetry", "true")), Node("a-0")}, answers: []string{"request r: Failed=True CapacityIsNotFound"},
		},
		"an atomic one is always tried again": {
			objects: []any{four, request("r", 2, accepted, parameter("noRetry", "true"))}, max: 1, answers: []string{"request r: " + notFound},
		},
		"a request to check finds what is there": {
			objects: []any{four, request("r", 1, checks, accepted, aged(time.Hour)), Node("a-0", func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(Start.Add(-time.Minute)) })},
			answers: []string{"request r: Provisioned=True CapacityIsFound"},
		},
		"a node on the ladder is taken back for it": {
			objects: []any{four, request("r", 1, accepted), leaving("a-0", "0", 3*time.Second)}, want: []string{"uncordon a-0: NodeBooked"},
			verdict: map[string]string{"request r": "waiting RequestComing", "node a-0": "rescue NodeBooked"},
		},
		"two requests that do not fit both: one is served": {
			objects: []any{four, request("q", 2, accepted), request("r", 2, accepted)}, max: 3, want: []string{"grow a 0 -> 2"},
			answers: []string{"request r: " + notFound}, verdict: map[string]string{"request q": "grows RequestGrows", "request r": "stuck RequestDoesNotFit GroupAtMax GangHeld"},
		},
		"pod sets count together": {
			objects: []any{four, podTemplate("small", "2"), request("r", 1, func(r *cluster.ProvisioningRequest) {
				r.Spec.PodSets = append(r.Spec.PodSets, cluster.PodSet{PodTemplateRef: cluster.LocalReference{Name: "small"}, Count: 2})
			})}, want: []string{"grow a 0 -> 2"}, answers: []string{"request r: Accepted=True Accepted"},
		},
		"a template that is missing is named, and waited for": {
			objects: []any{request("r", 1)}, answers: []string{"request r: Accepted=False FailedToCreatePods"}, verdict: map[string]string{"request r": "stuck RequestNoTemplate"},
		},
		"when it comes the request is accepted": {
			objects: []any{four, request("r", 1, has("Accepted=False FailedToCreatePods", time.Second))}, want: []string{"grow a 0 -> 1"},
			answers: []string{"request r: Accepted=True Accepted"},
		},
		"a request that found no room for a week has failed": {
			objects: []any{four, request("r", 1, accepted, aged(7*24*time.Hour))}, answers: []string{"request r: Failed=True Expired"}, verdict: map[string]string{"request r": "over RequestOutdated"},
		},
		"one for more pods than any cluster has fails": {
			objects: []any{four, request("r", 50_001)}, answers: []string{"request r: Failed=True FailedToCreatePods"}, verdict: map[string]string{"request r": "over RequestTooLarge"},
		},
		"a class that nobody knows is left alone": {
			objects: []any{four, request("r", 1, func(r *cluster.ProvisioningRequest) { r.Spec.ProvisioningClassName = "queued-provisioning.example.com" })},
			verdict: map[string]string{"request r": "ignored RequestForeign"},
		},
		"a request to check that names another autoscaler is left alone": {
			objects: []any{four, request("r", 1, checks, parameter("processorInstance", "east")), Node("a-0")}, verdict: map[string]string{"request r": "ignored RequestForeign"},
		},
		"one that names this one is answered": {
			objects: []any{four, request("r", 1, checks, accepted, parameter("processorInstance", "east")), Node("a-0")},
			policy:  func(p *policy.Policy) { p.Growth.Requests.Instance = "east" }, answers: []string{"request r: Provisioned=True CapacityIsFound"},
		},
		"one that has failed asks for nothing": {
			objects: []any{four, request("r", 1, accepted, has("Failed=True CapacityIsNotFound", time.Minute))}, verdict: map[string]string{"request r": "over RequestOver"},
		},
		"without the flag nothing is answered": {
			objects: []any{four, request("r", 1)}, policy: func(p *policy.Policy) { p.Growth.Requests.Enabled = false },
		},
		"a pod that waits does not lose its machine to a request": {
			objects: append([]any{four, request("r", 2, accepted), Pod("p", CPU("4"), important)}, full("a-0")...), max: 3, want: []string{"grow a 1 -> 2"},
			answers: []string{"request r: " + notFound}, verdict: map[string]string{"pod p": "grows NeedsMachine"},
		},
		"an expander chooses for requests as well": {
			objects: []any{four, request("r", 3, accepted)}, policy: func(p *policy.Policy) { p.Growth.Expanders = []policy.Expander{policy.LeastWaste} }, want: []string{"grow a 0 -> 3"},
		},
		"pods ask for their limits where they name no request": {
			objects: []any{limited(podTemplate("t", "0"), "4"), request("r", 3, accepted)}, want: []string{"grow a 0 -> 3"},
		},
	} {
		t.Run(name, func(t *testing.T) { c.decide(t, answering) })
	}
}

// limited has the template name a limit and no request.
func limited(t *corev1.PodTemplate, cores string) *corev1.PodTemplate {
	r := &t.Template.Spec.Containers[0].Resources
	r.Requests, r.Limits = nil, podTemplate("", cores).Template.Spec.Containers[0].Resources.Requests
	return t
}

func TestRoomIsKeptForTheirPodsAndCountedOnce(t *testing.T) {
	four := podTemplate("t", "4")
	running := func(name, node string) *cluster.Pod { return Pod(name, On(node), CPU("4"), consuming("r")) }
	for name, c := range map[string]claimCase{
		"a booking keeps its nodes": {
			objects: []any{four, request("r", 2, provisioned(9*time.Minute)), Node("a-0"), Node("a-1"), Node("a-2")}, kept: removable("a-0", "a-1", "a-2"),
			want: []string{"cordon a-2 idle"}, verdict: map[string]string{"request r": "kept RequestBooked", "node a-0": "idle NodeBooked NodeIdle", "node a-2": "cordoned NodeIdleFor"},
		},
		"after ten minutes it is over": {
			objects: []any{four, request("r", 1, provisioned(10*time.Minute)), Node("a-0")}, kept: removable("a-0"), want: []string{"cordon a-0 idle"},
			answers: []string{"request r: BookingExpired=True CapacityReservationTimeExpired"}, verdict: map[string]string{"request r": "over RequestBookingEnded"},
		},
		"one that is over keeps nothing": {
			objects: []any{four, request("r", 1, provisioned(time.Minute), has("BookingExpired=True CapacityBookingConsumed", 0)), Node("a-0")}, kept: removable("a-0"),
			want: []string{"cordon a-0 idle"}, verdict: map[string]string{"request r": "over RequestOver"},
		},
		"pods that run use it up": {
			objects: []any{four, request("r", 2, provisioned(time.Minute)), Node("a-0"), running("p", "a-0"), Node("a-1"), Node("a-2")}, kept: removable("a-1", "a-2"),
			want: []string{"cordon a-2 idle"}, verdict: map[string]string{"request r": "kept RequestBooked", "node a-1": "idle NodeBooked NodeIdle"},
		},
		"the last of them ends it": {
			objects: []any{four, request("r", 2, provisioned(time.Minute)), Node("a-0"), running("p", "a-0"), Node("a-1"), running("q", "a-1")},
			answers: []string{"request r: BookingExpired=True CapacityBookingConsumed"}, verdict: map[string]string{"request r": "over RequestUsedUp"},
		},
		"pods that wait have the room that is kept for them, and no more is kept": {
			objects: []any{four, request("r", 2, provisioned(time.Minute)), Node("a-0"), Node("a-1"), Pod("p", CPU("4"), consuming("r")), Node("a-2")}, kept: removable("a-1", "a-2"),
			want: []string{"cordon a-2 idle"}, verdict: map[string]string{"pod p": "scheduling FitsNode", "node a-0": "idle NodeCounted NodeIdle", "node a-1": "idle NodeBooked NodeIdle"},
		},
		"the old annotation says the same": {
			objects: []any{four, request("r", 1, provisioned(time.Minute)), Pod("p", CPU("4"), Annotated(cluster.OldConsumeAnnotation, "r"))},
			verdict: map[string]string{"pod p": "ignored PodConsumes"},
		},
		"they buy nothing by themselves": {
			objects: []any{four, request("r", 1, provisioned(time.Minute)), Pod("p", CPU("4"), consuming("r"))}, verdict: map[string]string{"pod p": "ignored PodConsumes"},
		},
		"not when the booking is over either, nor when the request is gone": {
			objects: []any{four, request("s", 1, provisioned(time.Minute), has("BookingExpired=True CapacityReservationTimeExpired", 0)), Pod("p", CPU("4"), consuming("r")), Pod("q", CPU("4"), consuming("s"))},
			verdict: map[string]string{"pod p": "ignored PodConsumes", "pod q": "ignored PodConsumes"},
		},
		"before there is room the request stands for them": {
			objects: []any{four, request("r", 2, accepted), Pod("p", CPU("4"), consuming("r")), Pod("q", CPU("4"), consuming("r"))}, want: []string{"grow a 0 -> 2"},
			verdict: map[string]string{"pod p": "ignored PodConsumes", "request r": "grows RequestGrows"},
		},
		"others get a machine rather than the room that is kept": {
			objects: []any{four, request("r", 1, provisioned(time.Minute)), Node("a-0"), Pod("p", CPU("4"), important)}, want: []string{"grow a 1 -> 2"},
			verdict: map[string]string{"request r": "kept RequestBooked", "pod p": "grows NeedsMachine"},
		},
		"no pod is moved into the room that is kept": {
			objects: []any{four, podTemplate("half", "3"), request("r", 1, provisioned(time.Minute), func(r *cluster.ProvisioningRequest) { r.Spec.PodSets[0].PodTemplateRef.Name = "half" }),
				Node("a-0"), Pod("w", On("a-0")), Node("a-1"), Pod("v", On("a-1"))},
			kept: removable("a-0", "a-1"), verdict: map[string]string{"node a-0": "idle NodeBooked NodeUnderused", "node a-1": "keep PodNowhereToGo"},
		},
		"a template that is gone ends the booking": {
			objects: []any{request("r", 1, provisioned(time.Minute))}, answers: []string{"request r: Failed=True FailedToBookCapacity"},
		},
		"without the flag such pods are pods like others": {
			objects: []any{Pod("p", CPU("4"), consuming("r")), request("r", 1, provisioned(time.Minute))}, policy: func(p *policy.Policy) { p.Growth.Requests.Enabled = false }, want: []string{"grow a 0 -> 1"},
		},
	} {
		t.Run(name, func(t *testing.T) { c.decide(t, answering) })
	}
}

func TestARequestSaysForHowManyOfItsPodsRoomIsStillKept(t *testing.T) {
	four := podTemplate("t", "4")
	for name, c := range map[string]struct {
		objects []any
		want    string
	}{
		"all that was promised":               {[]any{four, request("r", 2, provisioned(time.Minute)), Node("a-0"), Node("a-1")}, "2"},
		"less when a machine has gone":        {[]any{four, request("r", 2, provisioned(time.Minute)), Node("a-0")}, "1"},
		"also when pods have come":            {[]any{four, request("r", 2, provisioned(time.Minute)), Node("a-0"), Pod("p", CPU("4"), consuming("r")), Pod("q", CPU("4"), consuming("r"))}, "1"},
		"none when all are gone":              {[]any{four, request("r", 2, provisioned(time.Minute))}, "0"},
		"pods that have come count as before": {[]any{four, request("r", 2, provisioned(time.Minute)), Node("a-0"), Node("a-1"), Pod("p", CPU("4"), consuming("r"))}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range (claimCase{objects: c.objects}).decide(t, answering).Verdicts {
				if v.Subject.Kind == reason.KindRequest && v.Because[0].Facts["left"] != c.want {
					t.Errorf("it says %v, want room for %s", v.Because[0], c.want)
				}
			}
		})
	}
}
