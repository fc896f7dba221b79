package plan_test

import (
	"encoding/json"
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
)

// buffer is a CapacityBuffer of pods like the template "t".
func buffer(name string, change ...func(*cluster.CapacityBuffer)) *cluster.CapacityBuffer {
	b := &cluster.CapacityBuffer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(Start)},
		Spec:       cluster.CapacityBufferSpec{ProvisioningStrategy: cluster.ActiveStrategy, PodTemplateRef: &cluster.LocalReference{Name: "t"}},
	}
	for _, c := range change {
		c(b)
	}
	return b
}

func replicas(n int) func(*cluster.CapacityBuffer) {
	return func(b *cluster.CapacityBuffer) { b.Spec.Replicas = new(int32(n)) }
}

func percentage(n int) func(*cluster.CapacityBuffer) {
	return func(b *cluster.CapacityBuffer) { b.Spec.Percentage = new(int32(n)) }
}

func limit(resource, most string) func(*cluster.CapacityBuffer) {
	return func(b *cluster.CapacityBuffer) { b.Spec.Limits = map[string]string{resource: most} }
}

// scaling has the buffer follow what scales instead of a template.
func scaling(group, kind, name string) func(*cluster.CapacityBuffer) {
	return func(b *cluster.CapacityBuffer) {
		b.Spec.PodTemplateRef, b.Spec.ScalableRef = nil, &cluster.ScalableReference{APIGroup: group, Kind: kind, Name: name}
	}
}

// answered gives the buffer the status that n pods like the template "t" come to.
func answered(n int) func(*cluster.CapacityBuffer) {
	return func(b *cluster.CapacityBuffer) {
		b.Status = cluster.CapacityBufferStatus{
			PodTemplateRef: &cluster.LocalReference{Name: "t"}, Replicas: new(int32(n)), PodTemplateGeneration: new(int64(7)), ProvisioningStrategy: new(cluster.ActiveStrategy),
			Conditions: []metav1.Condition{
				{Type: cluster.BufferReady, Status: metav1.ConditionTrue, Reason: "AttributesSetSuccessfully"},
				{Type: cluster.BufferProvisioning, Status: metav1.ConditionTrue, Reason: "FakePodsInjected"},
			},
		}
	}
}

func keepingBuffers(p *policy.Policy) { p.Growth.Buffers = policy.Buffers{Translate: true, Keep: true} }

const (
	bufferReady = " AttributesSetSuccessfully"
	bufferKept  = " ReadyForProvisioning=True AttributesSetSuccessfully Provisioning=True FakePodsInjected"
)

func TestBuffersKeepRoomThatNoPodLosesBy(t *testing.T) {
	four, full := podTemplate("t", "4"), func(node string) []any { return []any{Node(node), Pod("w-"+node, On(node), CPU("4"))} }
	two := buffer("b", replicas(2), answered(2))
	for name, c := range map[string]claimCase{
		"room is bought in one request, and the buffer is told for what it is": {
			objects: []any{four, buffer("b", replicas(2))}, want: []string{"grow a 0 -> 2"},
			answers: []string{"buffer b: replicas 2 template t generation 7" + bufferKept}, verdict: map[string]string{"buffer b": "grows BufferShort", "group a": "grow GroupGrowsFor GroupSteady"},
		},
		"what it was told already it is not told again": {
			objects: []any{four, two, Node("a-0"), Node("a-1")}, verdict: map[string]string{"buffer b": "kept BufferKept"},
		},
		"room that is there buys nothing": {
			objects: []any{four, two, Node("a-0")}, want: []string{"grow a 1 -> 2"}, verdict: map[string]string{"buffer b": "grows BufferShort"},
		},
		"machines that are coming are room": {
			objects: []any{four, two}, coming: 2, verdict: map[string]string{"buffer b": "waiting BufferShort"},
		},
		"pods and buffers come by one request": {
			objects: append(pods(8), four, two), want: []string{"grow a 0 -> 4"}, verdict: map[string]string{"group a": "grow GroupGrows GroupGrowsFor GroupSteady"},
		},
		"the last machine is for the pod that waits": {
			objects: []any{four, two, Pod("p", CPU("4"))}, max: 2, want: []string{"grow a 0 -> 2"},
			verdict: map[string]string{"pod p": "grows NeedsMachine", "buffer b": "stuck BufferShort GroupAtMax"},
		},
		"and for the request": {
			objects: []any{four, two, request("r", 2, accepted)}, max: 2, policy: answering, want: []string{"grow a 0 -> 2"},
			verdict: map[string]string{"request r": "grows RequestGrows", "buffer b": "stuck BufferShort GroupAtMax"},
		},
		"a group that is full for a buffer alone is not full for pods": {
			objects: append([]any{four, two}, full("a-0")...), max: 1, verdict: map[string]string{"group a": "steady GroupSteady", "buffer b": "stuck BufferShort GroupAtMax"},
		},
		"pods take the room, and it is filled again": {
			objects: []any{four, two, Node("a-0"), Node("a-1"), Pod("p", CPU("4"))}, want: []string{"grow a 2 -> 3"},
			verdict: map[string]string{"pod p": "scheduling FitsNode"},
		},
		"a node that it needs stays, another goes": {
			objects: []any{four, two, Node("a-0"), Node("a-1"), Node("a-2")}, kept: removable("a-0", "a-1", "a-2"), want: []string{"cordon a-2 idle"},
			verdict: map[string]string{"node a-1": "idle NodeBuffer NodeIdle"},
		},
		"room on a node that stays anyway lets an idle one go": {
			objects: []any{podTemplate("t", "1"), buffer("b", replicas(1), answered(1)), Node("a-0"), Node("a-1"), Pod("w", On("a-1"), CPU("3"))}, kept: removable("a-0"),
			want: []string{"cordon a-0 idle"}, verdict: map[string]string{"buffer b": "kept BufferKept"},
		},
		"no pod is moved into it": {
			objects: []any{podTemplate("t", "2"), buffer("b", replicas(1), answered(1)), Node("a-0"), Pod("v", On("a-0"), CPU("2"), OwnedBy("Job", "j")), Node("a-1"), Pod("x", On("a-1"), CPU("4"), OwnedBy("Job", "j")), Node("a-2"), Pod("y", On("a-2"))},
			kept:    removable("a-2"), policy: func(p *policy.Policy) { p.Removal.Utilization.Threshold = 0.4 }, verdict: map[string]string{"node a-2": "keep PodNowhereToGo"},
		},
		"a node comes down from the ladder before a machine is bought": {
			objects: []any{four, two, Node("a-0"), leaving("a-1", "1", 1)}, want: []string{"uncordon a-1: NodeBuffer"}, verdict: map[string]string{"buffer b": "waiting BufferShort"},
		},
		"headroom is kept beside it": {
			objects: []any{four, two, Node("a-0"), Node("a-1")}, policy: keeping(t, "machines:1"), want: []string{"grow a 2 -> 3"},
		},
		"an expander chooses for buffers as well": {
			objects: []any{four, two}, policy: func(p *policy.Policy) { p.Growth.Expanders = []policy.Expander{policy.LeastWaste} }, want: []string{"grow a 0 -> 2"},
		},
		"without the flags nothing is kept": {
			objects: []any{four, buffer("b", replicas(2))}, policy: func(p *policy.Policy) { p.Growth.Buffers = policy.Buffers{} },
		},
	} {
		t.Run(name, func(t *testing.T) { c.decide(t, keepingBuffers) })
	}
}

func TestBuffersAreForAsManyPodsAsTheySay(t *testing.T) {
	one := podTemplate("t", "1")
	web := func(name string, change ...func(*corev1.Pod)) *cluster.Pod {
		return Pod(name, append([]func(*corev1.Pod){
			On("bare"), CPU("2"), Labelled("pod-template-hash", "abc"),
			func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-abc", UID: "rs", Controller: new(true)}}
			},
		}, change...)...)
	}
	deployed := []any{web("w-0"), web("w-1"), web("w-2"), web("w-3"), web("w-4", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })}
	template := func(n string) string {
		return "buffer b: replicas " + n + " template t generation 7 ReadyForProvisioning=True" + bufferReady
	}
	scaled := func(n string) string { return "buffer b: replicas " + n + " ReadyForProvisioning=True" + bufferReady }
	unclear := []string{"buffer b: ReadyForProvisioning=False error"}
	for name, c := range map[string]claimCase{
		"replicas":                        {objects: []any{one, buffer("b", replicas(3))}, answers: []string{template("3")}, verdict: map[string]string{"buffer b": "kept BufferTranslated"}},
		"as many as a limit holds":        {objects: []any{one, buffer("b", limit("cpu", "2500m"))}, answers: []string{template("2")}},
		"the least of replicas and limit": {objects: []any{one, buffer("b", replicas(2), limit("cpu", "9"))}, answers: []string{template("2")}},
		"a share of a Deployment's pods that have not ended":   {objects: append(deployed, buffer("b", scaling("apps", "Deployment", "web"), percentage(50))), answers: []string{scaled("2")}},
		"a share is rounded down":                              {objects: append(deployed, buffer("b", scaling("apps", "Deployment", "web"), percentage(70))), answers: []string{scaled("2")}},
		"the least of share and replicas":                      {objects: append(deployed, buffer("b", scaling("apps", "Deployment", "web"), percentage(100), replicas(3))), answers: []string{scaled("3")}},
		"pods of what controls them itself":                    {objects: append(deployed, buffer("b", scaling("apps", "ReplicaSet", "web-abc"), percentage(100))), answers: []string{scaled("4")}},
		"a reference of another API is another thing":          {objects: append(deployed, buffer("b", scaling("example.com", "ReplicaSet", "web-abc"), percentage(100))), answers: unclear, verdict: map[string]string{"buffer b": "stuck BufferUnclear"}},
		"what scales has to have a pod":                        {objects: []any{buffer("b", scaling("apps", "Deployment", "web"), replicas(1))}, answers: unclear},
		"a template that is missing":                           {objects: []any{buffer("b", replicas(1))}, answers: unclear},
		"no number at all":                                     {objects: []any{one, buffer("b")}, answers: unclear},
		"a share of nothing":                                   {objects: []any{one, buffer("b", percentage(50))}, answers: unclear},
		"a limit of what its pods do not ask for":              {objects: []any{one, buffer("b", limit("nvidia.com/gpu", "1"))}, answers: unclear},
		"a limit that is no quantity":                          {objects: []any{one, buffer("b", limit("cpu", "some"))}, answers: unclear},
		"both references":                                      {objects: []any{one, buffer("b", replicas(1), func(b *cluster.CapacityBuffer) { b.Spec.ScalableRef = &cluster.ScalableReference{Kind: "Job"} })}, answers: unclear},
		"a strategy that sluice does not have, and leaves out": {objects: []any{one, buffer("b", replicas(1), func(b *cluster.CapacityBuffer) { b.Spec.ProvisioningStrategy = "x/standby" })}, verdict: map[string]string{"buffer b": "ignored BufferForeign"}},
		"a status that is true already":                        {objects: []any{one, buffer("b", replicas(3), answered(3))}, verdict: map[string]string{"buffer b": "kept BufferTranslated"}},
		"a template that changed": {
			objects: []any{one, buffer("b", replicas(3), answered(3), func(b *cluster.CapacityBuffer) { b.Status.PodTemplateGeneration = new(int64(6)) })}, answers: []string{"buffer b: generation 7"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.decide(t, func(p *policy.Policy) { p.Growth.Buffers.Translate = true })
		})
	}
}

// TestBuffersThatSomebodyElseTranslatesAreBelieved holds what the one flag without the other does.
func TestBuffersThatSomebodyElseTranslatesAreBelieved(t *testing.T) {
	four := podTemplate("t", "4")
	ready := func(b *cluster.CapacityBuffer) { b.Status.Conditions = b.Status.Conditions[:1] }
	for name, c := range map[string]claimCase{
		"as many as the status says, whatever is asked for": {
			objects: []any{four, buffer("b", replicas(1), answered(2), ready)}, want: []string{"grow a 0 -> 2"}, answers: []string{"buffer b: Provisioning=True FakePodsInjected"},
		},
		"no status, no room": {
			objects: []any{four, buffer("b", replicas(1))}, answers: []string{"buffer b: Provisioning=False NotReadyForProvisioning"}, verdict: map[string]string{"buffer b": "stuck BufferUnclear"},
		},
		"a template that is gone": {
			objects: []any{buffer("b", replicas(1), answered(1), ready)}, answers: []string{"buffer b: Provisioning=False FailedToGetPodTemplate"},
		},
		"none is asked for": {
			objects: []any{four, buffer("b", answered(0), ready)}, answers: []string{"buffer b: Provisioning=False BufferIsEmpty"}, verdict: map[string]string{"buffer b": "kept BufferEmpty"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.decide(t, func(p *policy.Policy) { p.Growth.Buffers.Keep = true })
		})
	}
}

// TestAPlannerAnswersClaimsAsAFreshDecisionDoes turns one planner through a request's and a buffer's life.
func TestAPlannerAnswersClaimsAsAFreshDecisionDoes(t *testing.T) {
	four := podTemplate("t", "4")
	cycles := [][]any{
		{four, request("r", 2), buffer("b", replicas(1))},
		{four, request("r", 2, accepted), buffer("b", replicas(1), answered(1)), Node("a-0")},
		{four, request("r", 2, accepted), buffer("b", replicas(1), answered(1)), Node("a-0"), Node("a-1"), Node("a-2"), Pod("p")},
		{four, request("r", 2, provisioned(0)), buffer("b", replicas(1), answered(1)), Node("a-0"), Node("a-1"), Node("a-2"), Pod("p", CPU("4"), consuming("r"))},
		{four, buffer("b", replicas(2), answered(1)), Node("a-0"), Node("a-1"), Node("a-2")},
		{Node("a-0"), Node("a-1"), Node("a-2")},
	}
	var planner plan.Planner
	var m, fresh memory.Memory
	for i, objects := range cycles {
		allowed := policy.Default()
		answering(allowed)
		keepingBuffers(allowed)
		s := cluster.New(Start, Objects(objects...), []*cluster.Group{housed(objects)})
		var p, want action.Plan
		p, m = planner.Decide(s, allowed, m)
		want, fresh = plan.Decide(s, allowed, fresh)
		if diff := cmp.Diff(onPaper(t, want, fresh), onPaper(t, p, m)); diff != "" {
			t.Errorf("cycle %d (-fresh +planner):\n%s", i, diff)
		}
	}
}

// TestARequestThatIsMadeAnewIsYoungAgain has a request be deleted, and another one of its name be made, between two cycles of a planner. It
// comes after the pod now, which a machine that is coming holds as well.
func TestARequestThatIsMadeAnewIsYoungAgain(t *testing.T) {
	allowed := policy.Default()
	answering(allowed)
	allowed.Growth.PodDelay = 30 * time.Second
	objects, coming := []any{podTemplate("t", "4"), Pod("p", CPU("3"))}, Group("a", 0, 9)
	coming.Capacity = 1
	var planner plan.Planner
	for _, c := range []struct {
		age  time.Duration
		want string
	}{{time.Minute, "grows NeedsMachine"}, {time.Second, "waiting FitsComingMachine"}} {
		s := cluster.New(Start, Objects(append(objects, request("r", 1, aged(c.age)))...), []*cluster.Group{coming})
		p, _ := planner.Decide(s, allowed, memory.Memory{})
		if got := verdictOf(p, ref("pod p")); got != c.want {
			t.Errorf("beside a request that is %s old: %q, want %q", c.age, got, c.want)
		}
	}
}

// onPaper is a decision as JSON, one line for each of its parts.
func onPaper(t *testing.T, p action.Plan, m memory.Memory) string {
	text, err := json.MarshalIndent([]any{p, m}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
