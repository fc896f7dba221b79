package plan_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// calm is a history in which every pod runs and most nodes are used enough to stay, so that a planner has the rest to look for savings.
func calm(t *rapid.T) *history {
	h := &history{T: t, at: Start, nodes: map[string]*corev1.Node{}, pods: map[string]*cluster.Pod{}}
	for i, id := range []string{"a", "b", "c"} {
		g := Group(id, 0, 6)
		g.Size = fmt.Sprintf("Standard_D%ds_v5", 4+i)
		g.PriceUSDPerHour = float64(rapid.IntRange(1, 3).Draw(t, "price"))
		h.groups = append(h.groups, g)
		for range rapid.IntRange(1, 2).Draw(t, "machines") {
			in := h.machine(g)
			h.nodes[in.ComputerName] = Node(in.ComputerName, func(n *corev1.Node) {
				n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = in.ProviderID, in.UID
			})
			for range rapid.IntRange(2, 4).Draw(t, "pods") {
				h.run(in.ComputerName)
			}
		}
	}
	return h
}

// run makes a pod that runs.
func (h *history) run(node string) {
	change := []func(*corev1.Pod){On(node), Labelled("app", "s"), CPU(rapid.SampledFrom([]string{"500m", "700m", "900m"}).Draw(h.T, "cpu"))}
	if h.chance(30, "works") {
		change = append(change, OwnedBy("Job", "o"))
	}
	if h.chance(30, "annotated") {
		change = append(change, Annotated("karpenter.sh/do-not-disrupt", "8m"))
	}
	name := fmt.Sprintf("p%d", h.made)
	h.made++
	h.pods[name] = Pod(name, change...)
}

// stir lets one thing happen that leaves the cluster calm.
func (h *history) stir() {
	node := rapid.SampledFrom(h.names()).Draw(h.T, "node")
	g := rapid.SampledFrom(h.groups).Draw(h.T, "group")
	switch rapid.IntRange(0, 9).Draw(h.T, "what") {
	case 0:
		h.run(node)
	case 1:
		if len(h.pods) > 0 {
			delete(h.pods, rapid.SampledFrom(keys(h.pods)).Draw(h.T, "pod"))
		}
	case 2:
		h.budget = Budget("b", "app", "s", int32(rapid.IntRange(0, 9).Draw(h.T, "allowed")))
	case 3:
		h.budget = (*policyv1.PodDisruptionBudget)(nil)
	case 4:
		g.PriceUSDPerHour = float64(rapid.IntRange(0, 3).Draw(h.T, "price"))
	case 5:
		g.Max = rapid.IntRange(1, 6).Draw(h.T, "max")
	case 6:
		h.change(node, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	case 7:
		h.change(node, func(n *corev1.Node) { n.Spec.Unschedulable = len(n.Spec.Taints) > 0 })
	case 8:
		h.change(node, func(n *corev1.Node) { n.Labels["team"] = "a" })
	case 9:
		h.annotate(node, cluster.HoldAnnotation, h.at.Add(time.Minute).Format(time.RFC3339))
	}
}

// come lets machines that were asked for come, and pods that were evicted run on another node where there is one.
func (h *history) come() {
	for _, g := range h.groups {
		for _, in := range g.Instances {
			if in.State == cluster.StateCreating && h.chance(2, "comes") {
				in.State = cluster.StateRunning
				h.join(in)
			}
		}
	}
}

// TestAPlannerThatConsolidatesDecidesAsIfItRememberedNothing lets calm random histories pass before one planner that looks for savings, and
// holds each of its plans to a decision that was made from nothing.
func TestAPlannerThatConsolidatesDecidesAsIfItRememberedNothing(t *testing.T) {
	codes := map[reason.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := calm(t)
		allowed := policy.Default()
		allowed.Removal.Consolidation.Groups = []cluster.GroupID{policy.AllGroups}
		allowed.Removal.Consolidation.PodUSD = rapid.SampledFrom([]float64{0, 0.01, 0.01, 1}).Draw(t, "pod cost")
		allowed.Removal.Consolidation.PerDay = rapid.SampledFrom([]int{1, 10}).Draw(t, "per day")
		allowed.Removal.Delay.AfterAdd = time.Minute
		allowed.Removal.Emptied.Window = time.Duration(rapid.SampledFrom([]int{1, 1, 1, 10}).Draw(t, "window")) * time.Minute
		allowed.Removal.UnneededTime = time.Duration(rapid.IntRange(1, 3).Draw(t, "unneeded")) * time.Minute
		stirs := rapid.SampledFrom([]int{4, 40, 40}).Draw(t, "cycles between stirs")
		var planner plan.Planner
		for range rapid.IntRange(20, 40).Draw(t, "cycles") {
			if h.chance(stirs, "stirs") {
				h.stir()
			}
			h.come()
			s := h.observe()
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
			h.perform(p, m, allowed)
			h.at = h.at.Add(time.Duration(rapid.SampledFrom([]int{1, 10, 30, 60, 60}).Draw(t, "seconds")) * time.Second)
		}
	})
	for _, c := range []reason.Code{reason.ConsolidationPays, reason.ConsolidationTooDear, reason.NodeConsolidated} {
		if codes[c] == 0 {
			t.Errorf("no history came to the reason %s: the test shows little", c)
		}
	}
	t.Log(codes)
}

// rest is a cluster in which the pods of node a-0 could run on others, and something may be on its way in group b.
type rest struct {
	objects []any
	b       *cluster.Group
	allowed *policy.Policy
	kept    memory.Memory
}

// TestSavingsAreLookedForAtRestAlone lets one thing be on its way: nothing is moved for money before it is over.
func TestSavingsAreLookedForAtRestAlone(t *testing.T) {
	machine := func(r *rest, in *cluster.Instance, objects ...any) {
		in.Group = r.b.ID
		r.b.Instances, r.objects = append(r.b.Instances, in), append(r.objects, objects...)
		r.b.Capacity = len(r.b.Instances)
	}
	of := func(id string) cluster.Machine {
		return cluster.Machine{Group: "b", ID: cluster.InstanceID(id), UID: "vm-" + id}
	}
	for name, c := range map[string]struct {
		moves func(*rest)
		rests bool
	}{
		"nothing is":                   {func(*rest) {}, true},
		"a node that works is no move": {func(r *rest) { machine(r, Machine("7", "b-7"), Node("b-7"), Pod("busy", On("b-7"), CPU("3"))) }, true},
		"a pod waits":                  {func(r *rest) { r.objects = append(r.objects, Pod("huge", CPU("99"))) }, false},
		"a machine comes":              {func(r *rest) { machine(r, Machine("7", "", In(cluster.StateCreating))) }, false},
		"a machine is asked for":       {func(r *rest) { r.b.Min = 1; r.allowed.Growth.EnforceMin = true }, false},
		"a machine is being deleted":   {func(r *rest) { machine(r, Machine("7", "", In(cluster.StateDeleting))); r.b.Capacity = 0 }, false},
		"a machine is to be deleted":   {func(r *rest) { machine(r, Machine("7", "", In(cluster.StateFailed))) }, false},
		"a node steps down": {func(r *rest) {
			machine(r, Machine("7", "b-7"), Node("b-7", Removing(Start.Add(-time.Minute), of("7")), func(n *corev1.Node) {
				n.Annotations[cluster.HoldAnnotation] = Start.Add(time.Hour).Format(time.RFC3339)
			}), Pod("busy", On("b-7"), CPU("3")))
		}, false},
		"a node is cordoned": {func(r *rest) {
			r.allowed.Removal.Delay.AfterTaint = time.Hour
			machine(r, Machine("7", "b-7"), Node("b-7", Removing(Start.Add(-time.Minute), of("7"))))
		}, false},
		"a node is idle": {func(r *rest) { machine(r, Machine("7", "b-7"), Node("b-7")) }, false},
		"too many nodes are not Ready": {func(r *rest) {
			r.allowed.Health.UnreadyCount, r.allowed.Health.UnreadyPercent = 0, 1
			r.allowed.Removal.UnreadyEnabled = false
			machine(r, Machine("7", "b-7"), Node("b-7", NotReady(Start.Add(-time.Hour))), Pod("busy", On("b-7"), CPU("3")))
		}, false},
		"a node that is not Ready is to go, and its pod has a place elsewhere": {func(r *rest) {
			machine(r, Machine("7", "b-7"), Node("b-7", NotReady(Start.Add(-time.Hour))), Pod("small", On("b-7"), CPU("100m")))
		}, false},
		"a node runs dry": {func(r *rest) {
			machine(r, Machine("7", "b-7"), Node("b-7", Removing(Start.Add(-time.Minute), of("7")), func(n *corev1.Node) {
				n.Spec.Taints[0] = cluster.Removal{Since: Start.Add(-time.Minute), Why: cluster.RunsDry}.Taint()
			}), Pod("work", On("b-7"), CPU("100m"), OwnedBy("Job", "j")))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"), Machine("2", "a-2"))
			a.PriceUSDPerHour = 3
			r := &rest{b: Group("b", 0, 5), allowed: policy.Default(), kept: memory.Memory{Since: Start.Add(-time.Hour)}}
			r.allowed.Removal.Consolidation.Groups = []cluster.GroupID{policy.AllGroups}
			for i := range 3 {
				node := fmt.Sprint("a-", i)
				r.objects = append(r.objects, Node(node), Pod("p-"+node, On(node), CPU("1200m")), Pod("q-"+node, On(node), CPU("1200m")))
			}
			c.moves(r)
			p, _ := plan.Decide(cluster.New(Start, Objects(r.objects...), []*cluster.Group{a, r.b}), r.allowed, r.kept)
			var pays bool
			for _, v := range p.Verdicts {
				for _, why := range v.Because {
					pays = pays || why.Code == reason.ConsolidationPays
				}
			}
			if pays != c.rests {
				t.Errorf("a saving is found: %t, want %t\n%v", pays, c.rests, p.Verdicts)
			}
		})
	}
}

// saves says whether a plan finds a saving, or goes on with one.
func saves(p action.Plan, codes ...reason.Code) bool {
	return slices.ContainsFunc(p.Verdicts, func(v action.Verdict) bool {
		return slices.ContainsFunc(v.Because, func(why reason.Reason) bool { return slices.Contains(codes, why.Code) })
	})
}

// TestAMachineOfTheSameSizeIsNoReplacement has a machine work in a group beside one whose machines cost a third, as spot machines do.
func TestAMachineOfTheSameSizeIsNoReplacement(t *testing.T) {
	for size, want := range map[string]bool{"Standard_D8s_v5": false, "Standard_D4s_v5": true} {
		a, b := Group("a", 0, 5, Machine("0", "a-0")), Group("b", 0, 5)
		a.Size, a.PriceUSDPerHour, b.Size, b.PriceUSDPerHour = "Standard_D8s_v5", 3, size, 1
		allowed := policy.Default()
		allowed.Removal.Consolidation.Groups = []cluster.GroupID{policy.AllGroups}
		s := cluster.New(Start, Objects(Node("a-0"), Pod("p", On("a-0"), CPU("3"))), []*cluster.Group{a, b})
		if p, _ := plan.Decide(s, allowed, memory.Memory{Since: Start.Add(-time.Hour)}); saves(p, reason.ConsolidationPays) != want {
			t.Errorf("machines of %s instead of %s: a saving is found: %t, want %t\n%v", size, a.Size, !want, want, p.Verdicts)
		}
	}
}

// TestAHoldThatIsOverKeepsNoNodeFromASaving has the annotation stay after its time.
func TestAHoldThatIsOverKeepsNoNodeFromASaving(t *testing.T) {
	a, b := Group("a", 0, 5, Machine("0", "a-0")), Group("b", 0, 5)
	a.Size, a.PriceUSDPerHour, b.Size, b.PriceUSDPerHour = "Standard_D8s_v5", 3, "Standard_D4s_v5", 1
	allowed := policy.Default()
	allowed.Removal.Consolidation.Groups = []cluster.GroupID{policy.AllGroups}
	held := func(n *corev1.Node) {
		n.Annotations = map[string]string{cluster.HoldAnnotation: Start.Add(time.Minute).Format(time.RFC3339)}
	}
	s := cluster.New(Start, Objects(Node("a-0", held), Pod("p", On("a-0"), CPU("3"))), []*cluster.Group{a, b})
	m := memory.Memory{Since: Start.Add(-time.Hour)}
	var planner plan.Planner
	for _, c := range []struct {
		at   time.Time
		want bool
	}{{Start, false}, {Start.Add(time.Minute), true}} {
		s = s.Next(c.at, s.Objects, s.Groups)
		if p, _ := planner.Decide(s, allowed, m); saves(p, reason.ConsolidationPays) != c.want {
			t.Errorf("after %s a saving is found: %t, want %t\n%v", c.at.Sub(Start), !c.want, c.want, p.Verdicts)
		}
	}
}

// TestAReplacementThatIsTakenEmptiesNothing has the replacement come that a node waits for, with and without another pod on it.
func TestAReplacementThatIsTakenEmptiesNothing(t *testing.T) {
	for taken, want := range map[bool]bool{true: false, false: true} {
		a, b := Group("a", 0, 5, Machine("0", "a-0")), Group("b", 0, 5, Machine("1", "b-0"))
		a.Size, a.PriceUSDPerHour, b.Size, b.PriceUSDPerHour = "Standard_D8s_v5", 3, "Standard_D4s_v5", 1
		allowed := policy.Default()
		allowed.Removal.Consolidation.Groups = []cluster.GroupID{policy.AllGroups}
		objects := []any{Node("a-0"), Node("b-0", func(n *corev1.Node) { n.CreationTimestamp.Time = Start.Add(-time.Minute) }), Pod("p", On("a-0"), CPU("3"))}
		if taken {
			objects = append(objects, Pod("q", On("b-0"), CPU("3")))
		}
		m := memory.Memory{
			Since: Start.Add(-time.Hour),
			Removing: memory.Removing{Consolidation: memory.Consolidation{
				Node: "a-0", Since: Start.Add(-time.Hour), Group: "b", Asked: Start.Add(-5 * time.Minute), Saving: 2,
			}},
		}
		p, after := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{a, b}), allowed, m)
		if moved := saves(p, reason.NodeConsolidated); moved != want || after.Consolidation.Stepped != want {
			t.Errorf("the replacement is taken: %t; its pods move: %t, want %t\n%v", taken, moved, want, p.Verdicts)
		}
	}
}

// TestASavingRestsOnThoseWhoStay has the pods of a node fit onto an idle one that its group needs, and then needs no more.
func TestASavingRestsOnThoseWhoStay(t *testing.T) {
	a, b := Group("a", 0, 1, Machine("0", "a-0")), Group("b", 1, 1, Machine("1", "b-0"))
	a.PriceUSDPerHour = 3
	allowed := policy.Default()
	allowed.Removal.Consolidation.Groups = []cluster.GroupID{policy.AllGroups}
	objects := Objects(Node("a-0"), Node("b-0"), Pod("p", On("a-0"), CPU("3")))
	objects.Namespaces = []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{
		Name: cluster.PauseNamespace, Annotations: map[string]string{cluster.PauseAnnotation: cluster.Pauses{"b": Start.Add(time.Hour)}.Annotation()},
	}}}
	first := cluster.New(Start, objects, []*cluster.Group{a, b})
	free := *b
	free.Min, free.Learned = 0, first.Group("b").Learned
	again := *a
	again.Learned = first.Group("a").Learned
	second := first.Next(Start.Add(time.Second), objects, []*cluster.Group{&again, &free})
	var planner plan.Planner
	p, m := planner.Decide(known(first), allowed, memory.Memory{Since: Start.Add(-time.Hour)})
	if !saves(p, reason.ConsolidationPays) {
		t.Errorf("no saving is found while the other node stays:\n%v", p.Verdicts)
	}
	if p, _ = planner.Decide(known(second), allowed, m); saves(p, reason.ConsolidationPays) {
		t.Errorf("a saving is found on a node that could go:\n%v", p.Verdicts)
	}
}
