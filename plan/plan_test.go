package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// told prints a plan's actions, one a line.
func told(p action.Plan) []string {
	lines := []string{}
	for _, a := range p.Actions {
		switch a := a.(type) {
		case action.SetCapacity:
			lines = append(lines, fmt.Sprintf("grow %s %d -> %d", a.Group, a.From, a.To))
		case action.Cordon:
			lines = append(lines, fmt.Sprintf("cordon %s %s", a.Node, a.Removal.Why))
		case action.Uncordon:
			lines = append(lines, fmt.Sprintf("uncordon %s: %s", a.Node, a.Because.Code))
		case action.Evict:
			lines = append(lines, fmt.Sprintf("evict %s from %s grace %s", a.Pod, a.Node, a.Grace))
		case action.DeleteInstances:
			line := "delete " + string(a.Group)
			for _, m := range a.Machines {
				line += fmt.Sprintf(" %s(%s)", m.ID, m.Node)
			}
			lines = append(lines, line)
		case action.Mark:
			if !a.Parked.IsZero() {
				lines = append(lines, "park "+a.Node)
			}
		case action.DeleteNode:
			lines = append(lines, "bury "+a.Node)
		}
	}
	return lines
}

// verdictOf is a subject's outcome and codes in one line.
func verdictOf(p action.Plan, about reason.Ref) string {
	v, ok := p.Verdict(about)
	if !ok {
		return "no verdict"
	}
	line := string(v.Outcome)
	for _, r := range v.Because {
		line += " " + string(r.Code)
	}
	return line
}

// complete fails when a reason of the plan lacks a fact that its sentence names.
func complete(t *testing.T, p action.Plan) {
	t.Helper()
	for _, v := range p.Verdicts {
		for _, r := range v.Because {
			template, _ := reason.Template(r.Code)
			for _, part := range strings.Split(template, "{")[1:] {
				name, _, _ := strings.Cut(part, "}")
				if _, ok := r.Facts[name]; !ok && name != "about" {
					t.Errorf("%s: reason %s lacks the fact %q", v.Subject, r.Code, name)
				}
			}
		}
	}
	remedied(t, p)
}

// remedied holds every verdict about a node that stays to saying what would change it.
func remedied(t *testing.T, p action.Plan) {
	t.Helper()
	for _, v := range p.Verdicts {
		if v.Subject.Kind != reason.KindNode || v.Outcome != action.NodeKeep && v.Outcome != action.NodeIdle && v.Outcome != action.NodeHold && v.Outcome != action.NodeCordoned && v.Outcome != action.NodeDraining || slices.Contains([]reason.Code{reason.NodeIdleFor, reason.NodeConsolidated, reason.NodeAskedFor}, v.Because[0].Code) {
			continue // the last ones have just been cordoned, and do not stay
		}
		said := false
		for _, r := range v.Because {
			remedy := r.Remedy()
			said = said || remedy != ""
			if strings.ContainsAny(remedy, "<{") {
				t.Errorf("%s: the remedy of %s lacks a fact: %s", v.Subject, r.Code, remedy)
			}
		}
		if !said {
			t.Errorf("%s %s, and nothing is said of what would change it: %s", v.Subject, v.Outcome, reason.Sentences(v.Because))
		}
	}
}

func pods(n int, change ...func(*corev1.Pod)) []any {
	var all []any
	for i := range n {
		all = append(all, Pod(fmt.Sprintf("p%02d", i), change...))
	}
	return all
}

func TestPendingPodsBuyWhatTheyNeedAndNoMore(t *testing.T) {
	cases := map[string]struct {
		objects []any
		groups  []*cluster.Group
		kept    memory.Memory
		policy  func(*policy.Policy)
		want    []string
		verdict map[string]string // of "pod NAME" or "group ID"
	}{
		"nothing pending, nothing bought": {
			objects: []any{Node("a-0")}, groups: []*cluster.Group{Group("a", 1, 5, Machine("0", "a-0"))},
			want: []string{}, verdict: map[string]string{"group a": "steady GroupSteady"},
		},
		"pods that fit a node buy nothing": {
			objects: append(pods(3), Node("a-0")), groups: []*cluster.Group{Group("a", 1, 5, Machine("0", "a-0"))},
			want: []string{}, verdict: map[string]string{"pod p00": "scheduling FitsNode"},
		},
		"nine cores of pods on four-core machines buy two beside the one that is there": {
			objects: append(pods(9), Node("a-0")), groups: []*cluster.Group{Group("a", 1, 5, Machine("0", "a-0"))},
			want: []string{"grow a 1 -> 3"}, verdict: map[string]string{"pod p08": "grows NeedsMachine", "group a": "grow GroupGrows GroupSteady"},
		},
		"an empty group grows from its template": {
			objects: pods(1), groups: []*cluster.Group{Group("a", 0, 5)},
			want: []string{"grow a 0 -> 1"},
		},
		"one group's max sends the rest to the next group, one request each": {
			objects: pods(24), groups: []*cluster.Group{Group("a", 0, 4), Group("b", 0, 10)},
			want: []string{"grow a 0 -> 4", "grow b 0 -> 2"}, verdict: map[string]string{"group a": "grow GroupGrows GroupAtMax Weighed GroupSteady"},
		},
		"all groups at their max leave the pod waiting and say so": {
			objects: append(pods(6), Node("a-0")), groups: []*cluster.Group{Group("a", 1, 1, Machine("0", "a-0"))},
			want: []string{}, verdict: map[string]string{"pod p05": "stuck NoGroupGrows GroupAtMax", "group a": "full GroupAtMax GroupSteady"},
		},
		"a pod larger than any machine is told what is insufficient": {
			objects: pods(1, CPU("5")), groups: []*cluster.Group{Group("a", 0, 5)},
			want: []string{}, verdict: map[string]string{"pod p00": "stuck NoGroupFits InsufficientResource"},
		},
		"machines that are coming are counted": {
			objects: pods(8), groups: []*cluster.Group{Group("a", 0, 5, Machine("0", "", Born(Start), In(cluster.StateCreating)), Machine("1", "", Born(Start), In(cluster.StateCreating)))},
			want: []string{}, verdict: map[string]string{"pod p00": "waiting FitsComingMachine", "group a": "growing GroupGrowing GroupSteady"},
		},
		"a young pod takes no machine that is coming for an older one": {
			objects: []any{Pod("old"), Pod("young", CPU("4"), func(p *corev1.Pod) { p.CreationTimestamp.Time = Start.Add(-time.Second) })},
			groups:  []*cluster.Group{Group("a", 0, 5, Machine("0", "", Born(Start), In(cluster.StateCreating)))},
			policy:  func(p *policy.Policy) { p.Growth.PodDelay = 30 * time.Second },
			want:    []string{}, verdict: map[string]string{"pod old": "waiting FitsComingMachine", "pod young": "ignored PodYoung"},
		},
		"a young pod takes what an older one leaves of a machine that is coming": {
			objects: []any{Pod("old"), Pod("young", CPU("3"), func(p *corev1.Pod) { p.CreationTimestamp.Time = Start.Add(-time.Second) })},
			groups:  []*cluster.Group{Group("a", 0, 5, Machine("0", "", Born(Start), In(cluster.StateCreating)))},
			policy:  func(p *policy.Policy) { p.Growth.PodDelay = 30 * time.Second },
			want:    []string{}, verdict: map[string]string{"pod old": "waiting FitsComingMachine", "pod young": "waiting FitsComingMachine"},
		},
		"capacity that is not listed yet is counted": {
			objects: pods(8), groups: []*cluster.Group{func() *cluster.Group { g := Group("a", 0, 5); g.Capacity = 2; return g }()},
			want: []string{},
		},
		"capacity that is not listed yet is counted while other machines are being deleted": {
			objects: pods(8), groups: []*cluster.Group{func() *cluster.Group {
				g := Group("a", 0, 5, Machine("0", "", In(cluster.StateDeleting)), Machine("1", "", In(cluster.StateDeleting)))
				g.Capacity = 2
				return g
			}()},
			want: []string{},
		},
		"a stopped machine counts towards the cluster's limit, as the guard counts it": {
			objects: append(pods(5), Node("a-0")), groups: []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "", In(cluster.StateStopped)))},
			policy: func(p *policy.Policy) { p.Growth.Max.Nodes = 2 },
			want:   []string{}, verdict: map[string]string{"pod p04": "stuck NoGroupGrows ClusterNodesLimit"},
		},
		"pods that ask for nothing buy what costs least": {
			objects: pods(1, CPU("0")), groups: []*cluster.Group{priced("a", "4", 20), priced("b", "4", 0.1)},
			want: []string{"grow b 0 -> 1"},
		},
		"a young node that a person has cordoned is no room that is coming": {
			objects: append(pods(1), Node("a-0", NotReady(Start), func(n *corev1.Node) { n.CreationTimestamp.Time, n.Spec.Unschedulable = Start, true })),
			groups:  []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))},
			want:    []string{"grow a 1 -> 2"},
		},
		"a request that the read does not show yet is counted": {
			objects: pods(8), groups: []*cluster.Group{Group("a", 0, 5)},
			kept: memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Requested: Start.Add(time.Second), Capacity: 2}}},
			want: []string{},
		},
		"a node that has just registered is counted": {
			objects: append(pods(4), Node("a-0", NotReady(Start), func(n *corev1.Node) {
				n.CreationTimestamp.Time = Start
				n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
			})), groups: []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))},
			want: []string{},
		},
		"a Ready node is counted before its taint of arrival is taken off": {
			objects: append(pods(4), Node("a-0", func(n *corev1.Node) {
				n.CreationTimestamp.Time = Start.Add(-time.Minute)
				n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
			})), groups: []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))},
			want: []string{}, verdict: map[string]string{"pod p00": "waiting FitsComingMachine", "node a-0": "keep NodeStarting"},
		},
		"a node whose taint of arrival is never taken off is not counted for ever": {
			objects: append(pods(1), Node("a-0", func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
			})), groups: []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))},
			want: []string{"grow a 1 -> 2"},
		},
		"a node whose GPU is not announced yet is room for the pod that waits for it": {
			objects: append(pods(1, asking("nvidia.com/gpu", "1")), Node("a-0", func(n *corev1.Node) { n.CreationTimestamp.Time = Start.Add(-time.Minute) })),
			groups:  []*cluster.Group{equipped(Group("a", 0, 5, Machine("0", "a-0")), "nvidia.com/gpu")},
			want:    []string{}, verdict: map[string]string{"pod p00": "waiting FitsComingMachine", "node a-0": "keep NodeAwaitsDevices"},
		},
		"a node that fell silent before it announced its GPU is not waited for": {
			objects: append(pods(1, asking("nvidia.com/gpu", "1")), Node("a-0", func(n *corev1.Node) { n.CreationTimestamp.Time = Start.Add(-5 * time.Minute) }, silent)),
			groups:  []*cluster.Group{equipped(Group("a", 0, 5, Machine("0", "a-0")), "nvidia.com/gpu")},
			want:    []string{"grow a 1 -> 2"},
		},
		"a group whose nodes never announce a GPU is not bought for one": {
			objects: append(pods(1, asking("nvidia.com/gpu", "1")), Node("a-0")),
			groups:  []*cluster.Group{equipped(Group("a", 0, 5, Machine("0", "a-0")), "nvidia.com/gpu")},
			want:    []string{}, verdict: map[string]string{"pod p00": "stuck NoGroupFits InsufficientResource CouldHold"},
		},
		"a group in back-off is passed over": {
			objects: pods(1), groups: []*cluster.Group{Group("a", 0, 5), Group("b", 0, 5)},
			kept: memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Backoff: memory.Backoff{Until: Start.Add(time.Hour), Length: time.Hour, Last: Start}}}},
			want: []string{"grow b 0 -> 1"}, verdict: map[string]string{"group a": "backoff GroupBackoff GroupSteady"},
		},
		"a group in back-off grows by what is left of the quota, and no further": {
			objects: pods(16), groups: []*cluster.Group{Group("a", 1, 9, Machine("0", "a-0", Born(Start))), Group("b", 0, 5)},
			kept: memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Backoff: memory.Backoff{Until: Start.Add(time.Hour), Length: time.Hour, Last: Start, Ceiling: 3}}}},
			want: []string{"grow a 1 -> 3", "grow b 0 -> 1"},
		},
		"a group whose quota is used up is passed over": {
			objects: pods(4), groups: []*cluster.Group{Group("a", 0, 5), Group("b", 0, 5)},
			kept: memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Backoff: memory.Backoff{Until: Start.Add(time.Hour), Length: time.Hour, Last: Start, Ceiling: 0}}}},
			want: []string{"grow b 0 -> 1"},
		},
		"an unreadable group is not written to": {
			objects: pods(1), groups: []*cluster.Group{func() *cluster.Group { g := Group("a", 0, 5); g.Problem = "forbidden"; return g }()},
			want: []string{}, verdict: map[string]string{"pod p00": "stuck NoGroupGrows GroupUnreadable", "group a": "hold GroupUnreadable GroupSteady"},
		},
		"of a group that was never read nobody knows whether it could hold a pod": {
			objects: pods(1), groups: []*cluster.Group{{ID: "a", Max: 5, Capacity: -1, Problem: "no answer yet"}, Group("b", 0, 0)}, policy: func(p *policy.Policy) { p.Growth.Max.Nodes = 3 },
			want: []string{}, verdict: map[string]string{"pod p00": "stuck NoGroupGrows GroupAtMax GroupUnreadable", "group a": "hold GroupUnreadable"},
		},
		"nor does anybody where the others cannot hold it": {
			objects: pods(1, CPU("99")), groups: []*cluster.Group{{ID: "a", Max: 5, Capacity: -1, Problem: "no answer yet"}, Group("b", 0, 3)},
			want: []string{}, verdict: map[string]string{"pod p00": "stuck NoGroupRead GroupUnreadable InsufficientResource", "group a": "hold GroupUnreadable"},
		},
		"a capacity read as 0 while machines live is not believed": {
			objects: append(pods(5), Node("a-0")), groups: []*cluster.Group{func() *cluster.Group { g := Group("a", 0, 5, Machine("0", "a-0")); g.Capacity = 0; return g }()},
			want: []string{}, verdict: map[string]string{"group a": "hold GroupIncomplete GroupSteady"},
		},
		"an unknown size asks for a tag": {
			objects: pods(1), groups: []*cluster.Group{func() *cluster.Group { g := Group("a", 0, 5); g.Template = nil; return g }()},
			want: []string{}, verdict: map[string]string{"pod p00": "stuck NoGroupFits GroupNoTemplate"},
		},
		"the cluster's limit of nodes stops growth": {
			objects: pods(24), groups: []*cluster.Group{Group("a", 0, 10)}, policy: func(p *policy.Policy) { p.Growth.Max.Nodes = 3 },
			want: []string{"grow a 0 -> 3"}, verdict: map[string]string{"pod p23": "stuck NoGroupGrows ClusterNodesLimit"},
		},
		"the cluster's limit of cores stops growth": {
			objects: pods(24), groups: []*cluster.Group{Group("a", 0, 10)}, policy: func(p *policy.Policy) { p.Growth.Max.Cores = 9 },
			want: []string{"grow a 0 -> 2"}, verdict: map[string]string{"pod p23": "stuck NoGroupGrows ClusterCoresLimit"},
		},
		"the cheaper way to the same room is chosen": {
			objects: pods(8), groups: []*cluster.Group{priced("a", "4", 0.30), priced("b", "8", 0.40)},
			want: []string{"grow b 0 -> 1"},
		},
		"a pod is no reason to grow while it is young, and takes no machine from one that is": {
			objects: append(pods(2, CPU("4")), Pod("young", CPU("4"), func(p *corev1.Pod) { p.CreationTimestamp.Time = Start.Add(-10 * time.Second) })),
			groups:  []*cluster.Group{Group("a", 0, 5)}, policy: func(p *policy.Policy) { p.Growth.PodDelay = 30 * time.Second },
			want: []string{"grow a 0 -> 2"}, verdict: map[string]string{"pod young": "ignored PodYoung", "pod p00": "grows NeedsMachine"},
		},
		"of pods that are alike the old ones are a reason to grow": {
			objects: append(pods(3, CPU("4")), Pod("young", CPU("4"), func(p *corev1.Pod) { p.CreationTimestamp.Time = Start.Add(-10 * time.Second) })),
			groups:  []*cluster.Group{Group("a", 0, 3)}, policy: func(p *policy.Policy) { p.Growth.PodDelay = 30 * time.Second },
			want: []string{"grow a 0 -> 3"}, verdict: map[string]string{"pod young": "ignored PodYoung"},
		},
		"different pods that want one port of their node share no machine": {
			objects: []any{Pod("x", onPort(8080)), Pod("y", onPort(8080), Labelled("app", "y"), CPU("500m")), Pod("z", onPort(9090), CPU("250m"))},
			groups:  []*cluster.Group{Group("a", 0, 5)}, want: []string{"grow a 0 -> 2"},
		},
		"a pod behind a scheduling gate buys nothing": {
			objects: pods(1, func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} }), groups: []*cluster.Group{Group("a", 0, 5)},
			want: []string{}, verdict: map[string]string{"pod p00": "ignored PodGated"},
		},
		"a pod that the scheduler has not judged buys nothing": {
			objects: pods(1, func(p *corev1.Pod) { p.Status.Conditions = nil }), groups: []*cluster.Group{Group("a", 0, 5)},
			want: []string{}, verdict: map[string]string{"pod p00": "ignored NotYetScheduled"},
		},
		"a machine that failed to start is deleted and its group rests": {
			objects: pods(1), groups: []*cluster.Group{Group("a", 0, 5, Machine("0", "", In(cluster.StateFailed), func(i *cluster.Instance) {
				i.Failure = &cluster.Failure{At: Start, Code: "AllocationFailed", Message: "no room"}
			}))},
			want: []string{"delete a 0()"}, verdict: map[string]string{"group a": "backoff GroupBackoff GroupShrinking GroupSteady"},
		},
		"a machine that never joined is deleted when its time is up": {
			groups: []*cluster.Group{Group("a", 0, 5, Machine("0", "", Born(Start.Add(-15*time.Minute))), Machine("1", "", Born(Start.Add(-14*time.Minute))))},
			want:   []string{"delete a 0()"},
		},
		"a machine to whose name a running pod is bound is left alone": {
			objects: []any{Pod("render", On("Unjoined-0"), OwnedBy("Job", "j"))},
			groups:  []*cluster.Group{Group("a", 0, 5, Machine("0", "", Born(Start.Add(-time.Hour))))},
			want:    []string{}, verdict: map[string]string{"instance a/0": "hold MachineCarriesPods"},
		},
		"a group whose machine never joined rests before it is chosen again": {
			objects: pods(1), groups: []*cluster.Group{Group("a", 0, 5, Machine("0", "", Born(Start.Add(-15*time.Minute)))), Group("b", 0, 5)},
			want: []string{"grow b 0 -> 1", "delete a 0()"},
		},
		"after a failed deletion the group's machines rest": {
			groups: []*cluster.Group{Group("a", 0, 5, Machine("0", "", Born(Start.Add(-time.Hour))))},
			kept:   memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Rest: memory.Backoff{Until: Start.Add(time.Second)}}}},
			want:   []string{}, verdict: map[string]string{"instance a/0": "hold MachineNeverJoined RemovalRests"},
		},
		"a node that has fallen silent is not waited for": {
			objects: append(pods(1), Node("a-0", func(n *corev1.Node) {
				n.CreationTimestamp.Time = Start.Add(-5 * time.Minute)
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown"}}
				n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule}}
			})), groups: []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))},
			want: []string{"grow a 1 -> 2"},
		},
		"a machine that may be a node is left alone": {
			objects: []any{Node("x", func(n *corev1.Node) { n.Spec.ProviderID = "CLOUD:///machines/0" }), Node("y", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = "VM-0" })},
			groups:  []*cluster.Group{Group("a", 0, 5, Machine("0", "", Born(Start.Add(-time.Hour))))},
			want:    []string{}, verdict: map[string]string{"instance a/0": "hold MachineAmbiguous"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			if c.policy != nil {
				c.policy(allowed)
			}
			p, _ := plan.Decide(cluster.New(Start, Objects(c.objects...), c.groups), allowed, sawCordons(c.kept, c.objects))
			if diff := cmp.Diff(c.want, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			complete(t, p)
			for about, want := range c.verdict {
				if got := verdictOf(p, ref(about)); got != want {
					t.Errorf("%s: %q, want %q", about, got, want)
				}
			}
		})
	}
}

// ref reads "pod NAME" in the default namespace, "node NAME" or "group ID".
func ref(s string) reason.Ref {
	var kind, name string
	if _, err := fmt.Sscan(s, &kind, &name); err != nil {
		panic(err)
	}
	if kind == "pod" {
		return reason.Pod("default", name)
	}
	return reason.Ref{Kind: reason.Kind(kind), Name: name}
}

func priced(id, cpu string, usd float64) *cluster.Group {
	g := Group(id, 0, 10)
	g.PriceUSDPerHour = usd
	g.Template.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
	return g
}

func TestPlanSurvivesPaper(t *testing.T) {
	objects := Objects(append(pods(9), Node("a-0"), Node("a-1", Removing(Start.Add(-time.Minute), cluster.Machine{Group: "a", ID: "1", UID: "vm-1"})), Pod("web", On("a-1")))...)
	p, _ := plan.Decide(cluster.New(Start, objects, []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"))}), policy.Default(), memory.Memory{})
	first, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back action.Plan
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(first), string(second)); diff != "" {
		t.Errorf("plan changed on paper (-first +second):\n%s", diff)
	}
	if len(back.Actions) == 0 {
		t.Error("the plan has no action: the test shows nothing")
	}
}

// silent is a node whose kubelet reports no more.
func silent(n *corev1.Node) {
	NotReady(Start.Add(-time.Minute))(n)
	for i := range n.Status.Conditions {
		n.Status.Conditions[i].Status, n.Status.Conditions[i].Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
	}
}

// onPort wants a port of its node.
func onPort(port int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: port, HostPort: port, Protocol: corev1.ProtocolTCP}}
	}
}

// asking adds a request to a pod.
func asking(name corev1.ResourceName, quantity string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(quantity)
	}
}

// equipped gives the machines of a group one device, by the cloud's word.
func equipped(g *cluster.Group, device corev1.ResourceName) *cluster.Group {
	has := g.Template.Status.Capacity.DeepCopy()
	has[device] = resource.MustParse("1")
	g.Template.Status.Capacity, g.Template.Status.Allocatable = has, has
	return g
}
