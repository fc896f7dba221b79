package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// moment is a cycle, and what happens before it.
type moment struct {
	at      time.Duration // since Start
	forgets bool          // the memory is lost
	happens func(w *twoNodes)
	want    string // verdicts on the two nodes
}

// twoNodes is a group of two nodes, each of which can hold the pods of the other as well, and whatever a case adds.
type twoNodes struct {
	a, b       *corev1.Node
	podA, podB *cluster.Pod
	group      *cluster.Group
	objects    []any
	groups     []*cluster.Group
	owners     cluster.Controllers
}

// TestTheOrderOfThoseWhoMayGoYieldsToWhatHappens has two nodes of which one may go. Node b is the one that is less used: it goes first
// unless the other one has waited for longer. No cycle's plan is carried out.
func TestTheOrderOfThoseWhoMayGoYieldsToWhatHappens(t *testing.T) {
	const aGoes, bGoes = "idle NodeUnderused, keep NodeReceives", "keep NodeReceives, idle NodeUnderused"
	kept := map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
	bIsHeld := func(w *twoNodes) { w.b.Annotations = kept }
	bIsFree := func(w *twoNodes) { w.b = w.b.DeepCopy(); w.b.Annotations = nil }
	disrupts := func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(Start)) }
	waits := func(limit time.Duration) func(w *twoNodes) {
		return func(w *twoNodes) { w.group.Options.Unneeded = &limit }
	}
	cases := map[string][]moment{
		"nothing": {
			{want: bGoes}, {at: time.Minute, want: bGoes}, {at: 2 * time.Minute, want: bGoes},
		},
		"one waits for longer": {
			{happens: bIsHeld, want: "idle NodeUnderused, keep NodeScaleDownOff"},
			{at: 3 * time.Minute, happens: bIsFree, want: aGoes},
			{at: 4 * time.Minute, want: aGoes}, {at: 5 * time.Minute, want: aGoes},
		},
		"the time of both comes": {
			{happens: bIsHeld, want: "idle NodeUnderused, keep NodeScaleDownOff"},
			{at: 3 * time.Minute, happens: bIsFree, want: aGoes},
			{at: 4 * time.Minute, want: aGoes}, {at: 20 * time.Minute, want: "keep NodeReceives, cordoned NodeUnderused"},
		},
		"the clock goes back to before it came": {
			{happens: bIsHeld, want: "idle NodeUnderused, keep NodeScaleDownOff"},
			{at: 3 * time.Minute, happens: bIsFree, want: aGoes},
			{at: 20 * time.Minute, want: "keep NodeReceives, cordoned NodeUnderused"},
			{at: 5 * time.Minute, want: aGoes},
		},
		"the memory is lost": {
			{happens: bIsHeld, want: "idle NodeUnderused, keep NodeScaleDownOff"},
			{at: 3 * time.Minute, happens: bIsFree, want: aGoes},
			{at: 4 * time.Minute, want: aGoes}, {at: 5 * time.Minute, forgets: true, want: bGoes},
		},
		"their limit becomes another one": {
			{happens: bIsHeld, want: "idle NodeUnderused, keep NodeScaleDownOff"},
			{at: 3 * time.Minute, happens: bIsFree, want: aGoes},
			{at: 4 * time.Minute, want: aGoes}, {at: 5 * time.Minute, happens: waits(time.Minute), want: "keep NodeReceives, cordoned NodeUnderused"},
		},
		"one may go that might not, and two cycles were of one instant": {
			{at: 8 * time.Minute, happens: func(w *twoNodes) {
				w.podB = Changed(w.podB, Annotated("karpenter.sh/do-not-disrupt", "10m"), disrupts)
			}, want: "idle NodeUnderused, keep PodDoNotDisrupt NodeReceives"},
			{at: 8 * time.Minute, want: "idle NodeUnderused, keep PodDoNotDisrupt NodeReceives"},
			{at: 12 * time.Minute, want: aGoes},
		},
		"the controller of those who would go first is gone": {
			{happens: func(w *twoNodes) {
				w.podB, w.owners = Changed(w.podB, OwnedBy("ReplicaSet", "o"), inApps), controllers(1)
				w.podA = Changed(w.podA, OwnedBy("ReplicaSet", "o"), inApps)
			}, want: bGoes},
			{at: time.Minute, want: bGoes},
			{at: 2 * time.Minute, happens: func(w *twoNodes) { w.owners = cluster.Controllers{Known: true} }, want: "keep PodControllerMissing, keep PodControllerMissing"},
			{at: 3 * time.Minute, happens: func(w *twoNodes) { w.owners = controllers(1) }, want: bGoes},
		},
		"one may go that might not, and others may not": {
			{at: 8 * time.Minute, happens: func(w *twoNodes) {
				w.group = Group("g", 0, 5, Machine("0", "a"), Machine("1", "b"), Machine("2", "c"))
				w.objects = []any{Node("c", taken), Pod("c", On("c"), CPU("1600m"), OwnedBy("ReplicaSet", "gone"), inApps)}
				w.podA, w.owners = Changed(w.podA, OwnedBy("ReplicaSet", "gone"), inApps), controllers(1)
				w.podB = Changed(w.podB, OwnedBy("ReplicaSet", "o"), inApps, Annotated("karpenter.sh/do-not-disrupt", "10m"), disrupts)
			}, want: "keep PodControllerMissing, keep PodDoNotDisrupt"},
			{at: 9 * time.Minute, want: "keep PodControllerMissing, keep PodDoNotDisrupt"},
			{at: 12 * time.Minute, want: "keep PodControllerMissing, idle NodeUnderused"},
		},
		"a node that has no part in it is looked at anew": {
			{happens: func(w *twoNodes) { w.objects = []any{cordoned("other")} }, want: bGoes},
			{at: time.Minute, want: bGoes},
			{at: 2 * time.Minute, happens: func(w *twoNodes) {
				other := cordoned("other")
				other.Annotations = map[string]string{"a": "b"}
				w.objects = []any{other}
			}, want: bGoes},
		},
		"pods of a node on the ladder move no more": {
			{happens: func(w *twoNodes) {
				leaves := Machine("2", "leaves")
				w.groups = []*cluster.Group{Group("z", 0, 5, leaves)}
				w.objects = []any{Node("leaves", Removing(Start, leaves.Machine())), Pod("x", On("leaves"), CPU("100m"), func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "b"} })}
			}, want: aGoes}, // b has x by then
			{at: time.Minute, want: aGoes},
			{at: 2 * time.Minute, happens: func(w *twoNodes) { w.groups[0] = new(*w.groups[0]); w.groups[0].Problem = "forbidden" }, want: bGoes},
		},
		"the group begins to need one of them": {
			{want: bGoes}, {at: time.Minute, want: bGoes},
			{at: 2 * time.Minute, happens: func(w *twoNodes) { w.group.Min = 2 }, want: "idle GroupAtMin NodeUnderused, idle GroupAtMin NodeUnderused"},
			{at: 3 * time.Minute, want: "idle GroupAtMin NodeUnderused, idle GroupAtMin NodeUnderused"},
			{at: 4 * time.Minute, happens: func(w *twoNodes) { w.group.Min = 0 }, want: bGoes},
		},
	}
	for name, moments := range cases {
		t.Run(name, func(t *testing.T) {
			w := &twoNodes{a: Node("a"), b: Node("b"), podA: Pod("a", On("a"), CPU("1500m")), podB: Pod("b", On("b"), CPU("1"))}
			w.group = Group("g", 0, 5, Machine("0", "a"), Machine("1", "b"))
			var planner plan.Planner
			var kept memory.Memory
			var seen *cluster.Snapshot
			allowed := policy.Default()
			for i, m := range moments {
				if w.group = new(*w.group); seen != nil {
					w.group.Learned = seen.Group("g").Learned
				}
				if m.happens != nil {
					m.happens(w)
				}
				if m.forgets {
					kept = memory.Memory{}
				}
				objects := Objects(append([]any{w.a, w.b, w.podA, w.podB}, w.objects...)...)
				objects.Controllers = w.owners
				at, groups := Start.Add(m.at), append([]*cluster.Group{w.group}, w.groups...)
				if seen == nil {
					seen = cluster.New(at, objects, groups)
				} else {
					if slices.Equal(seen.Objects.Nodes, objects.Nodes) {
						objects.Nodes = seen.Objects.Nodes
					}
					seen = seen.Next(at, objects, groups)
				}
				fresh, _ := plan.Decide(known(seen), allowed, kept)
				p, left := planner.Decide(seen, allowed, kept)
				kept = left
				if got := verdictOf(p, ref("node a")) + ", " + verdictOf(p, ref("node b")); got != m.want {
					t.Errorf("cycle %d: %q, want %q", i, got, m.want)
				}
				if diff := cmp.Diff(fresh, p); diff != "" {
					t.Errorf("cycle %d (-fresh +planner):\n%s", i, diff)
				}
			}
		})
	}
}

// TestAPlannerOfManyLeaversDecidesAsIfItRememberedNothing has nodes that could be emptied onto each other, none of which changes: what may
// be evicted from them does, as controllers, budgets and times have it.
func TestAPlannerOfManyLeaversDecidesAsIfItRememberedNothing(t *testing.T) {
	codes := map[reason.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := &history{T: t, at: Start, nodes: map[string]*corev1.Node{}, pods: map[string]*cluster.Pod{}, groups: []*cluster.Group{Group("a", 0, 6)}}
		g := h.groups[0]
		for range rapid.IntRange(2, 5).Draw(t, "machines") {
			in := h.machine(g)
			h.nodes[in.ComputerName] = Node(in.ComputerName, func(n *corev1.Node) {
				n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = in.ProviderID, in.UID
			})
			if h.chance(4, "taken") {
				taken(h.nodes[in.ComputerName])
			}
			for range rapid.IntRange(1, 2).Draw(t, "pods") {
				name := fmt.Sprintf("p%d", h.made)
				h.made++
				change := []func(*corev1.Pod){
					On(in.ComputerName), CPU(rapid.SampledFrom([]string{"300m", "500m", "900m"}).Draw(t, "cpu")),
					OwnedBy("ReplicaSet", rapid.SampledFrom([]string{"o", "q"}).Draw(t, "owner")), inApps,
				}
				if h.chance(4, "annotated") {
					change = append(change, Annotated("karpenter.sh/do-not-disrupt", fmt.Sprintf("%dm", rapid.IntRange(1, 5).Draw(t, "for"))), func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(Start)) })
				}
				if h.chance(4, "labelled") {
					change = append(change, Labelled("app", "s"))
				}
				h.pods[name] = Pod(name, change...)
			}
		}
		allowed := policy.Default()
		allowed.Removal.UnneededTime = time.Hour
		var planner plan.Planner
		for range rapid.IntRange(5, 20).Draw(t, "cycles") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				h.owners = controllers(1)
			case 1:
				h.owners = cluster.Controllers{Known: true}
			case 2:
				h.owners = controllers(1)
				h.owners.ReplicaSets = append(h.owners.ReplicaSets, &cluster.Controller{Namespace: "default", Name: "q", UID: "ReplicaSet-q"})
			case 3:
				h.budget = Budget("b", "app", "s", int32(rapid.IntRange(0, 2).Draw(t, "allowed")))
			case 4:
				g.Min = rapid.IntRange(0, 3).Draw(t, "min")
			}
			s := known(h.observe())
			p, m := planner.Decide(s, allowed, h.kept)
			fresh, left := plan.Decide(s, allowed, h.kept)
			if diff := cmp.Diff(paper(t, fresh, left), paper(t, p, m)); diff != "" {
				t.Fatalf("at %s (-fresh +planner):\n%s", h.at.Sub(Start), diff)
			}
			for _, v := range p.Verdicts {
				for _, why := range v.Because {
					codes[why.Code]++
				}
			}
			h.kept = m
			h.at = h.at.Add(time.Duration(rapid.SampledFrom([]int{1, 10, 60}).Draw(t, "seconds")) * time.Second)
		}
	})
	for _, c := range []reason.Code{reason.NodeReceives, reason.NodeUnderused, reason.PodControllerMissing, reason.PodDoNotDisrupt, reason.PodBudget, reason.GroupAtMin} {
		if codes[c] == 0 {
			t.Errorf("no history came to the reason %s: the test shows little", c)
		}
	}
	t.Log(codes)
}

// inApps has a pod's controller be one of apps/v1.
func inApps(p *corev1.Pod) { p.OwnerReferences[0].APIVersion = "apps/v1" }
