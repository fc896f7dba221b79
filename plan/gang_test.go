package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// gangOf are n pods of a Job that says that it needs least of them, each as large as a machine.
func gangOf(name string, n, least int, change ...func(*corev1.Pod)) []any {
	var all []any
	for i := range n {
		all = append(all, Pod(fmt.Sprintf("%s-%02d", name, i), append([]func(*corev1.Pod){
			OwnedBy("Job", name), Annotated(cluster.GangAnnotation, fmt.Sprint(least)), CPU("4"),
		}, change...)...))
	}
	return all
}

func gate(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated
		for _, name := range names {
			p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: name})
		}
	}
}

func unjudged(p *corev1.Pod) { p.Status.Conditions = nil }

func important(p *corev1.Pod) { p.Spec.Priority = new(int32(1000)) }

func vital(p *corev1.Pod) { p.Spec.Priority = new(int32(2000)) }

func younger(p *corev1.Pod) { p.CreationTimestamp.Time = p.CreationTimestamp.Add(30 * time.Second) }

func ending(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Start} }

// coscheduled makes pods a gang by the coscheduling plugin's label instead of by their owner.
func coscheduled(p *corev1.Pod) { Labelled(cluster.CoschedulingLabel, "together")(p) }

// fast marks a node that [onFast] pods need.
func fast(n *corev1.Node)  { n.Labels["disk"] = "fast" }
func onFast(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "fast"} }

func together(lists ...[]any) []any {
	var all []any
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

func TestGangsAreServedWholeOrNotAtAll(t *testing.T) {
	held := " GangHeld"
	cases := map[string]struct {
		objects []any
		groups  []*cluster.Group
		kept    memory.Memory
		policy  func(*policy.Policy)
		want    []string
		verdict map[string]string // of "pod NAME"
	}{
		"a gang that fits is bought by one request": {
			objects: gangOf("g", 8, 8), groups: []*cluster.Group{Group("a", 0, 8)},
			want: []string{"grow a 0 -> 8"}, verdict: map[string]string{"g-07": "grows NeedsMachine"},
		},
		"one machine too few and nothing is bought": {
			objects: gangOf("g", 8, 8), groups: []*cluster.Group{Group("a", 0, 7)},
			want: []string{}, verdict: map[string]string{"g-00": "stuck GangDoesNotFit GroupAtMax" + held, "g-07": "stuck GangDoesNotFit GroupAtMax" + held},
		},
		"with an expander, too": {
			objects: gangOf("g", 8, 8), groups: []*cluster.Group{Group("a", 0, 4), Group("b", 0, 3)},
			policy: func(p *policy.Policy) { p.Growth.Expanders = []policy.Expander{policy.LeastWaste} },
			want:   []string{}, verdict: map[string]string{"g-00": "stuck GangDoesNotFit GroupAtMax GroupAtMax" + held},
		},
		"several groups make a gang whole": {
			objects: gangOf("g", 8, 8), groups: []*cluster.Group{Group("a", 0, 4), Group("b", 0, 4)},
			want: []string{"grow a 0 -> 4", "grow b 0 -> 4"},
		},
		"a group in back-off is no room": {
			objects: gangOf("g", 8, 8), groups: []*cluster.Group{Group("a", 0, 4), Group("b", 0, 4)},
			kept: memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"b": {Backoff: memory.Backoff{Until: Start.Add(time.Minute)}}}},
			want: []string{}, verdict: map[string]string{"g-00": "stuck GangDoesNotFit GroupAtMax GroupBackoff" + held},
		},
		"pods that are not there yet are waited for": {
			objects: gangOf("g", 7, 8), groups: []*cluster.Group{Group("a", 0, 9)},
			want: []string{}, verdict: map[string]string{"g-00": "ignored GangAwaitsPods" + held},
		},
		"pods that run count": {
			objects: together(gangOf("g", 2, 3), gangOf("r", 1, 1, OwnedBy("Job", "g"), Annotated(cluster.GangAnnotation, "3"), On("a-0")), []any{Node("a-0")}),
			groups:  []*cluster.Group{Group("a", 0, 3, Machine("0", "a-0"))},
			want:    []string{"grow a 1 -> 3"},
		},
		"pods of a Job that have finished count": {
			objects: together(gangOf("g", 2, 3), gangOf("r", 1, 1, OwnedBy("Job", "g"), Annotated(cluster.GangAnnotation, "3"), On("a-0"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })),
			groups:  []*cluster.Group{Group("a", 0, 3)},
			want:    []string{"grow a 0 -> 2"},
		},
		"pods beyond those that a gang needs are served one by one": {
			objects: gangOf("g", 10, 8), groups: []*cluster.Group{Group("a", 0, 9)},
			want: []string{"grow a 0 -> 9"}, verdict: map[string]string{"g-08": "grows NeedsMachine", "g-09": "stuck NoGroupGrows GroupAtMax"},
		},
		"a gang that runs gets a machine for one more pod": {
			objects: together(gangOf("g", 2, 1, Annotated(cluster.GangAnnotation, "2"), On("a-0"), CPU("1")), gangOf("m", 2, 2, OwnedBy("Job", "g")), []any{Node("a-0")}),
			groups:  []*cluster.Group{Group("a", 0, 2, Machine("0", "a-0"))},
			want:    []string{"grow a 1 -> 2"},
		},
		"room on a node is not kept for half of a gang, and others get it": {
			objects: together(gangOf("g", 3, 3), []any{Pod("single", CPU("4"), func(p *corev1.Pod) { p.CreationTimestamp.Time = Start }), Node("a-0")}),
			groups:  []*cluster.Group{Group("a", 0, 2, Machine("0", "a-0"))},
			want:    []string{}, verdict: map[string]string{"single": "scheduling FitsNode", "g-00": "stuck GangDoesNotFit GroupAtMax" + held},
		},
		"of two gangs that do not fit both the important one is served": {
			objects: together(gangOf("a", 4, 4), gangOf("b", 4, 4, important)), groups: []*cluster.Group{Group("a", 0, 7)},
			want: []string{"grow a 0 -> 4"}, verdict: map[string]string{"b-00": "grows NeedsMachine", "a-00": "stuck GangDoesNotFit GroupAtMax" + held},
		},
		"a gang that can never fit is in no other's way": {
			objects: together(gangOf("a", 4, 4), gangOf("b", 9, 9, important)), groups: []*cluster.Group{Group("a", 0, 7)},
			want: []string{"grow a 0 -> 4"}, verdict: map[string]string{"a-00": "grows NeedsMachine", "b-00": "stuck GangDoesNotFit GroupAtMax" + held},
		},
		"of two gangs that each get some places at first the older one is served": {
			objects: together(gangOf("a", 2, 4), gangOf("b", 4, 4, younger), gangOf("c", 2, 4, OwnedBy("Job", "a"), CPU("3")), []any{Node("a-0"), Node("a-1"), Node("a-2"), Node("a-3"), Node("a-4")}),
			groups:  []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"), Machine("2", "a-2"), Machine("3", "a-3"), Machine("4", "a-4"))},
			want:    []string{}, verdict: map[string]string{"a-00": "scheduling FitsNode", "c-01": "scheduling FitsNode", "b-00": "stuck GangDoesNotFit GroupAtMax" + held},
		},
		"of gangs that were in the way of none the important one is let in again, and the other is not served by half": {
			objects: together(gangOf("x", 9, 9, vital), gangOf("q", 4, 4), gangOf("p", 4, 4, important, younger)), groups: []*cluster.Group{Group("a", 0, 7)},
			want: []string{"grow a 0 -> 4"}, verdict: map[string]string{"p-00": "grows NeedsMachine", "q-00": "stuck GangDoesNotFit GroupAtMax" + held, "x-00": "stuck GangDoesNotFit GroupAtMax" + held},
		},
		"of equal ones the older is let in again, however large the other's pods": {
			objects: together(gangOf("x", 9, 9, vital), gangOf("r", 4, 4, CPU("3")), gangOf("s", 4, 4, younger)), groups: []*cluster.Group{Group("a", 0, 7)},
			want: []string{"grow a 0 -> 4"}, verdict: map[string]string{"r-00": "grows NeedsMachine", "s-00": "stuck GangDoesNotFit GroupAtMax" + held},
		},
		"pods that are missing are told of before room that is": {
			objects: gangOf("g", 7, 8), groups: []*cluster.Group{Group("a", 0, 3)},
			want: []string{}, verdict: map[string]string{"g-00": "ignored GangAwaitsPods" + held},
		},
		"a pod that is leaving does not count": {
			objects: together(gangOf("g", 2, 3), gangOf("r", 1, 3, OwnedBy("Job", "g"), On("a-0"), ending), []any{Node("a-0")}),
			groups:  []*cluster.Group{Group("a", 0, 3, Machine("0", "a-0"))},
			want:    []string{}, verdict: map[string]string{"g-00": "ignored GangAwaitsPods" + held},
		},
		"a pod that has finished does not count where the scheduler forgets it": {
			objects: together(gangOf("g", 2, 3, coscheduled), gangOf("r", 1, 3, coscheduled, On("a-0"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), []any{Node("a-0")}),
			groups:  []*cluster.Group{Group("a", 0, 3, Machine("0", "a-0"))},
			want:    []string{}, verdict: map[string]string{"g-00": "ignored GangAwaitsPods" + held},
		},
		"a pod for which the scheduler makes room counts": {
			objects: together(gangOf("g", 2, 3), gangOf("n", 1, 3, OwnedBy("Job", "g"), func(p *corev1.Pod) { p.Status.NominatedNodeName = "a-0" }), []any{Node("a-0")}),
			groups:  []*cluster.Group{Group("a", 0, 3, Machine("0", "a-0"))},
			want:    []string{"grow a 1 -> 3"},
		},
		"a gang is not given up while the operator's server is asked": {
			objects: gangOf("g", 4, 4), groups: []*cluster.Group{Group("a", 0, 4), Group("b", 0, 4)},
			policy: func(p *policy.Policy) { p.Growth.Expanders = []policy.Expander{policy.GRPC} },
			want:   []string{}, verdict: map[string]string{"g-00": "waiting ExpanderAsked"},
		},
		"what the server has chosen buys nothing as long as it is asked about the rest": {
			objects: gangOf("g", 6, 6), groups: []*cluster.Group{Group("a", 0, 4), Group("b", 0, 4)},
			policy: func(p *policy.Policy) { p.Growth.Expanders = []policy.Expander{policy.GRPC} },
			kept:   memory.Memory{Growing: memory.Growing{Answer: &memory.Answer{Offered: []cluster.GroupID{"a", "b"}, Keep: []cluster.GroupID{"a"}}}},
			want:   []string{},
		},
		"a node that half of a gang would take back stays on the ladder": {
			objects: together(gangOf("g", 3, 3), []any{Node("a-0", Removing(Start.Add(-time.Minute), cluster.Machine{Group: "a", ID: "0", UID: "vm-0"}))}),
			groups:  []*cluster.Group{Group("a", 0, 2, Machine("0", "a-0"))},
			want:    []string{"delete a 0(a-0)"}, verdict: map[string]string{"g-00": "stuck GangDoesNotFit GroupAtMax" + held},
		},
		"headroom takes back no node for what half of a gang would have used": {
			objects: together(gangOf("g", 2, 2, onFast), []any{Node("a-1", fast), Node("a-0", Removing(Start.Add(-time.Minute), cluster.Machine{Group: "a", ID: "0", UID: "vm-0"}))}),
			groups:  []*cluster.Group{Group("a", 0, 2, Machine("0", "a-0"), Machine("1", "a-1"))},
			policy:  keeping(t, "machines:1"),
			want:    []string{"delete a 0(a-0)"},
		},
		"a gang of which the scheduler has judged one pod is judged": {
			objects: together(gangOf("g", 1, 3), gangOf("h", 2, 3, OwnedBy("Job", "g"), unjudged)), groups: []*cluster.Group{Group("a", 0, 3)},
			want: []string{"grow a 0 -> 3"},
		},
		"a gang that nobody has judged buys nothing": {
			objects: gangOf("g", 3, 3, unjudged), groups: []*cluster.Group{Group("a", 0, 3)},
			want: []string{}, verdict: map[string]string{"g-00": "ignored GangAwaitsPods" + held},
		},
		"a number that cannot be read buys nothing": {
			objects: gangOf("g", 3, 3, Annotated(cluster.GangAnnotation, "all")), groups: []*cluster.Group{Group("a", 0, 3)},
			want: []string{}, verdict: map[string]string{"g-00": "stuck GangUnclear" + held},
		},
		"a gang behind the gate buys what it needs": {
			objects: gangOf("g", 3, 3, gate(cluster.CapacityGate)), groups: []*cluster.Group{Group("a", 0, 3)},
			want: []string{"grow a 0 -> 3"},
		},
		"a pod behind another gate is not there yet": {
			objects: together(gangOf("g", 2, 3, gate(cluster.CapacityGate)), gangOf("h", 1, 3, OwnedBy("Job", "g"), gate(cluster.CapacityGate, "example.com/approval"))),
			groups:  []*cluster.Group{Group("a", 0, 3)},
			want:    []string{}, verdict: map[string]string{"g-00": "ignored GangAwaitsPods" + held, "h-00": "ignored PodGated"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			if c.policy != nil {
				c.policy(allowed)
			}
			p, _ := plan.Decide(cluster.New(Start, Objects(c.objects...), c.groups), allowed, sawCordons(c.kept, c.objects))
			complete(t, p)
			if diff := cmp.Diff(c.want, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			for pod, want := range c.verdict {
				if got := verdictOf(p, reason.Pod("default", pod)); got != want {
					t.Errorf("verdict of %s: %q, want %q", pod, got, want)
				}
			}
		})
	}
}

// TestMachinesAreKeptForAGangAsLongAsIsStated has two machines for a gang that needs three and can have no more.
func TestMachinesAreKeptForAGangAsLongAsIsStated(t *testing.T) {
	allowed := policy.Default()
	allowed.Growth.GangHold = 3 * time.Minute
	decide := func(at time.Duration, m memory.Memory, most int) (action.Plan, memory.Memory) {
		s := cluster.New(Start.Add(at), Objects(together(gangOf("g", 3, 3), []any{Node("a-0"), Node("a-1")})...),
			[]*cluster.Group{Group("a", 0, most, Machine("0", "a-0"), Machine("1", "a-1"))})
		return plan.Decide(s, allowed, m)
	}
	idle := memory.Memory{Removing: memory.Removing{Removable: map[string]time.Time{"a-0": Start.Add(-time.Hour), "a-1": Start.Add(-time.Hour)}}}
	p, m := decide(0, idle, 2)
	if len(p.Counted) != 2 || len(p.Actions) != 0 {
		t.Errorf("at first %v is counted on and done is %v, want both nodes kept", p.Counted, told(p))
	}
	if want := Start.Add(3 * time.Minute); !p.Next.Equal(want) {
		t.Errorf("the next timer runs out at %s, want %s", p.Next, want)
	}
	p, m = decide(3*time.Minute-time.Second, m, 2)
	if len(p.Counted) != 2 || len(p.Actions) != 0 {
		t.Errorf("before the time is over %v is counted on and done is %v, want both nodes kept", p.Counted, told(p))
	}
	p, late := decide(3*time.Minute, m, 2)
	if diff := cmp.Diff([]string{"cordon a-0 idle", "cordon a-1 idle"}, told(p)); diff != "" || len(p.Counted) != 0 {
		t.Errorf("when it is over %v is counted on; actions (-want +got):\n%s", p.Counted, diff)
	}
	if got, want := verdictOf(p, reason.Pod("default", "g-00")), "stuck GangDoesNotFit GroupAtMax GangGivenUp"; got != want {
		t.Errorf("verdict: %q, want %q", got, want)
	}
	// A growth that is only asked for does not start the time anew; machines that come do.
	p, asked := decide(4*time.Minute, late, 3)
	if diff := cmp.Diff([]string{"grow a 2 -> 3"}, told(p)); diff != "" || asked.Gangs["controller default/Job-g"].IsZero() {
		t.Errorf("with room again (-want +got):\n%s\nremembered: %v", diff, asked.Gangs)
	}
	s := cluster.New(Start.Add(5*time.Minute), Objects(together(gangOf("g", 3, 3), []any{Node("a-0"), Node("a-1")})...),
		[]*cluster.Group{Group("a", 0, 3, Machine("0", "a-0"), Machine("1", "a-1"), Machine("2", "", Born(Start), In(cluster.StateCreating)))})
	if _, whole := plan.Decide(s, allowed, asked); len(whole.Gangs) != 0 {
		t.Errorf("of a gang that will be whole is remembered %v, want nothing", whole.Gangs)
	}
	if _, gone := plan.Decide(cluster.New(Start.Add(5*time.Minute), cluster.Objects{}, nil), allowed, late); len(gone.Gangs) != 0 {
		t.Errorf("of a gang that is gone is remembered %v, want nothing", gone.Gangs)
	}
}

func TestGatesOpenWhenTheRoomIsReady(t *testing.T) {
	starting := func(name string) *corev1.Node {
		return Node(name, NotReady(Start), func(n *corev1.Node) { n.CreationTimestamp.Time = Start })
	}
	three := func() []*cluster.Group {
		return []*cluster.Group{Group("a", 0, 3, Machine("0", "a-0"), Machine("1", "a-1"), Machine("2", "a-2"))}
	}
	gated := gate(cluster.CapacityGate)
	cases := map[string]struct {
		objects []any
		want    map[string]string // verdicts of pods
		open    []string          // "pod on node"
	}{
		"each pod for itself": {
			objects: []any{Node("a-0"), starting("a-1"), Pod("x", CPU("4"), gated), Pod("y", CPU("4"), gated)},
			want:    map[string]string{"x": "scheduling GateOpens", "y": "waiting FitsComingMachine"}, open: []string{"x on a-0"},
		},
		"not a pod that has another gate": {
			objects: []any{Node("a-0"), Pod("x", gate("example.com/approval", cluster.CapacityGate))},
			want:    map[string]string{"x": "ignored PodGated"},
		},
		"not a gang of which one node is not Ready": {
			objects: together(gangOf("g", 3, 3, gated), []any{Node("a-0"), Node("a-1"), starting("a-2")}),
			want:    map[string]string{"g-00": "waiting GateKept", "g-02": "waiting FitsComingMachine"},
		},
		"a gang in one cycle": {
			objects: together(gangOf("g", 3, 3, gated), []any{Node("a-0"), Node("a-1"), Node("a-2")}),
			want:    map[string]string{"g-00": "scheduling GateOpens", "g-02": "scheduling GateOpens"}, open: []string{"g-00 on a-0", "g-01 on a-1", "g-02 on a-2"},
		},
		"the rest of a gang of which some gates are open already": {
			objects: together(gangOf("g", 1, 3, gated), gangOf("h", 2, 3, OwnedBy("Job", "g"), unjudged), []any{Node("a-0"), Node("a-1"), Node("a-2")}),
			open:    []string{"g-00 on a-0"},
		},
		"as many pods as there is room for beyond those that a gang needs": {
			objects: together(gangOf("g", 3, 2, gated), []any{Node("a-0"), Node("a-1"), starting("a-2")}),
			want:    map[string]string{"g-02": "waiting FitsComingMachine"}, open: []string{"g-00 on a-0", "g-01 on a-1"},
		},
		"a gang of which some pods run": {
			objects: together(gangOf("g", 1, 3, gated), gangOf("r", 1, 3, OwnedBy("Job", "g"), On("a-1")), gangOf("s", 1, 3, OwnedBy("Job", "g"), On("a-2")), []any{Node("a-0"), Node("a-1"), Node("a-2")}),
			open:    []string{"g-00 on a-0"},
		},
		"not for room on a node that is not Ready, whether or not it says so by a taint": {
			objects: []any{Node("a-0", NotReady(Start.Add(-time.Hour))), Pod("x", CPU("4"), gated)},
		},
		"not half of a gang that does not fit": {
			objects: together(gangOf("g", 4, 4, gated), []any{Node("a-0"), Node("a-1"), Node("a-2")}),
			want:    map[string]string{"g-00": "stuck GangDoesNotFit GroupAtMax GangHeld"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, _ := plan.Decide(cluster.New(Start.Add(time.Second), Objects(c.objects...), three()), policy.Default(), memory.Memory{})
			complete(t, p)
			var open []string
			for _, a := range p.Actions {
				if g, is := a.(action.OpenGate); is {
					open = append(open, g.Pod+" on "+g.Node)
				}
			}
			if diff := cmp.Diff(c.open, open); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
			for pod, want := range c.want {
				if got := verdictOf(p, reason.Pod("default", pod)); got != want {
					t.Errorf("verdict of %s: %q, want %q", pod, got, want)
				}
			}
		})
	}
}

// TestGatesOpenSoManyInACycleAndAGangAtOnce has more pods behind the gate than one cycle lets go, on nodes that are Ready.
func TestGatesOpenSoManyInACycleAndAGangAtOnce(t *testing.T) {
	var machines []*cluster.Instance
	nodes := []any{}
	for i := range 7 {
		name := fmt.Sprintf("a-%d", i)
		nodes = append(nodes, Node(name))
		machines = append(machines, Machine(fmt.Sprint(i), name))
	}
	singles := func(n int) []any {
		var all []any
		for i := range n {
			all = append(all, Pod(fmt.Sprintf("p%03d", i), CPU("1m"), gate(cluster.CapacityGate)))
		}
		return all
	}
	for name, c := range map[string]struct {
		pods []any
		want int
		next bool
	}{
		"500 at once":                              {singles(500), 500, false},
		"the others a second later":                {singles(620), 500, true},
		"but for those of a gang that has begun":   {together(singles(450), gangOf("z", 100, 100, CPU("1m"), gate(cluster.CapacityGate), younger)), 550, true},
		"a gang that has not begun waits its turn": {together(singles(500), gangOf("z", 100, 100, CPU("1m"), gate(cluster.CapacityGate), younger)), 500, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster.New(Start.Add(time.Second), Objects(together(nodes, c.pods)...), []*cluster.Group{Group("a", 0, 7, machines...)})
			p, _ := plan.Decide(s, policy.Default(), memory.Memory{})
			opens := 0
			for _, a := range p.Actions {
				if _, is := a.(action.OpenGate); is {
					opens++
				}
			}
			if opens != c.want || p.Next.Equal(s.Time.Add(time.Second)) != c.next {
				t.Errorf("%d gates open and the next cycle is due at %s, want %d and a second later: %t", opens, p.Next, c.want, c.next)
			}
		})
	}
}

// TestNobodyHearsOfPlacesThatAreTakenBack has a gang that gets places and machines at first, and not enough of them.
func TestNobodyHearsOfPlacesThatAreTakenBack(t *testing.T) {
	s := cluster.New(Start, Objects(together(gangOf("g", 4, 4), []any{Pod("single", CPU("4"), younger)})...), []*cluster.Group{Group("a", 0, 3)})
	var heard witness
	plan.DecideBefore(&heard, s, policy.Default(), memory.Memory{})
	for _, at := range heard.Placements {
		if at.Pod != "" && at.Pod != "default/single" {
			t.Errorf("%s is said to have a place on %s", at.Pod, at.Node)
		}
	}
	if len(heard.Placements) != 2 {
		t.Errorf("heard %v, want one machine and one pod", heard.Placements)
	}
}
