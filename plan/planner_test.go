package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
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

// history is a small cluster in which things happen.
type history struct {
	*rapid.T
	at     time.Time
	nodes  map[string]*corev1.Node
	pods   map[string]*cluster.Pod
	budget *policyv1.PodDisruptionBudget
	owners cluster.Controllers
	others cluster.Objects  // daemon sets, namespaces, the ranking
	groups []*cluster.Group // as the cloud tells of them
	made   int              // pods so far
	roomy  bool             // most pods run and are small, and machines are nodes at once: nodes could be emptied onto others
	seen   *cluster.Snapshot
	kept   memory.Memory
}

func (h *history) chance(of int, what string) bool {
	return rapid.IntRange(1, of).Draw(h.T, what) == 1
}

// begin is a history of two groups with a few machines each, and of a node that is nobody's.
func begin(t *rapid.T) *history {
	h := &history{T: t, at: Start, nodes: map[string]*corev1.Node{}, pods: map[string]*cluster.Pod{}}
	h.nodes["other"] = Node("other")
	h.roomy = h.chance(2, "roomy")
	if h.chance(2, "controllers") {
		h.owners = controllers(1)
	}
	for _, id := range []string{"a", "b"} {
		g := Group(id, rapid.IntRange(0, 2).Draw(t, "min"), 6)
		g.Size = map[string]string{"a": "Standard_D4s_v5", "b": "Standard_E4s_v5"}[id]
		g.PriceUSDPerHour = float64(rapid.IntRange(0, 3).Draw(t, "price"))
		if h.chance(3, "own threshold") {
			g.Options.Threshold = new(0.3)
		}
		if h.chance(3, "zones") {
			g.Zones = []string{"x", "y"}
		}
		g.Parks = h.chance(2, "parks")
		h.groups = append(h.groups, g)
		for range rapid.IntRange(1, 4).Draw(t, "machines") {
			h.join(h.machine(g))
		}
	}
	for range rapid.IntRange(0, 16).Draw(t, "pods") {
		h.appear()
	}
	return h
}

// machine is one more machine of a group.
func (h *history) machine(g *cluster.Group) *cluster.Instance {
	id := 0
	for g.Instance(cluster.InstanceID(fmt.Sprint(id))) != nil {
		id++
	}
	in := Machine(fmt.Sprint(id), fmt.Sprintf("%s-%d", g.ID, id), Born(h.at))
	if len(g.Zones) > 0 {
		in.Zone = rapid.SampledFrom(g.Zones).Draw(h.T, "zone")
	}
	in.Group, in.UID, in.ProviderID = g.ID, fmt.Sprintf("vm-%s-%d", g.ID, id), fmt.Sprintf("cloud:///%s/%d", g.ID, id)
	g.Instances = append(g.Instances, in)
	slices.SortFunc(g.Instances, func(a, b *cluster.Instance) int { return strings.Compare(string(a.ID), string(b.ID)) })
	g.Capacity = g.Standing()
	return in
}

// join makes the machine's node.
func (h *history) join(in *cluster.Instance) {
	h.nodes[in.ComputerName] = Node(in.ComputerName, func(n *corev1.Node) {
		n.CreationTimestamp.Time = h.at
		n.Spec.ProviderID = in.ProviderID
		n.Status.NodeInfo.SystemUUID = in.UID
		if in.Zone != "" {
			located(in.Zone)(n)
		}
		if !h.roomy && h.chance(4, "starts") {
			NotReady(h.at)(n)
		}
	})
}

// appear makes a pod, which waits or runs.
func (h *history) appear() {
	name := fmt.Sprintf("p%d", h.made)
	h.made++
	owner := rapid.SampledFrom([]string{"ReplicaSet", "ReplicaSet", "ReplicaSet", "DaemonSet", "Job"}).Draw(h.T, "owner")
	sizes, waits := []string{"100m", "500m", "1", "1", "2", "3500m"}, 3
	if h.roomy {
		sizes, waits = []string{"100m", "300m", "700m"}, 20
	}
	change := []func(*corev1.Pod){CPU(rapid.SampledFrom(sizes).Draw(h.T, "cpu")), OwnedBy(owner, "o"), func(p *corev1.Pod) {
		p.CreationTimestamp.Time = h.at
		p.OwnerReferences[0].APIVersion = "apps/v1"
	}}
	if h.chance(3, "labelled") {
		change = append(change, Labelled("app", "s"))
		if h.chance(2, "spread") {
			change = append(change, spread)
		} else if h.chance(2, "apart") {
			change = append(change, apart)
		}
	}
	if h.chance(8, "annotated") {
		change = append(change, Annotated("karpenter.sh/do-not-disrupt", "8m"))
	}
	if h.chance(8, "priority") {
		change = append(change, rapid.SampledFrom([]func(*corev1.Pod){important, vital}).Draw(h.T, "of"))
	}
	if h.chance(8, "cost") {
		change = append(change, Annotated(corev1.PodDeletionCost, rapid.SampledFrom([]string{"-5", "5"}).Draw(h.T, "deletion")))
	}
	if owner == "DaemonSet" || !h.chance(waits, "waits") {
		change = append(change, On(rapid.SampledFrom(h.names()).Draw(h.T, "on")))
	}
	h.pods[name] = Pod(name, change...)
}

// apart keeps pods labelled s from sharing a node with this one.
func apart(p *corev1.Pod) {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "s"}}},
	}}}
}

func (h *history) names() []string { return keys(h.nodes) }

func keys[V any](m map[string]V) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// happen lets one thing happen.
func (h *history) happen() {
	pod := func() string {
		if len(h.pods) == 0 {
			h.appear()
		}
		return rapid.SampledFrom(keys(h.pods)).Draw(h.T, "pod")
	}
	node := rapid.SampledFrom(h.names()).Draw(h.T, "node")
	g := rapid.SampledFrom(h.groups).Draw(h.T, "group")
	switch rapid.IntRange(0, 32).Draw(h.T, "what") {
	case 0:
		h.appear()
	case 1:
		delete(h.pods, pod())
	case 2:
		name := pod()
		h.pods[name] = Changed(h.pods[name], On(node))
	case 3:
		name := pod()
		h.pods[name] = Changed(h.pods[name], func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(h.at)) })
	case 4:
		h.change(node, NotReady(h.at))
	case 5:
		whole := h.chance(2, "taints too")
		h.change(node, func(n *corev1.Node) {
			if n.Spec.Unschedulable = false; whole {
				n.Spec.Taints = nil
			}
			n.Status.Conditions = Node("").Status.Conditions
		})
	case 6:
		h.change(node, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	case 7:
		h.machine(g)
	case 8:
		if len(g.Instances) > 0 {
			in := rapid.SampledFrom(g.Instances).Draw(h.T, "machine")
			in.State = rapid.SampledFrom([]cluster.State{cluster.StateCreating, cluster.StateRunning, cluster.StateDeleting, cluster.StateFailed}).Draw(h.T, "state")
			g.Capacity = g.Standing() + rapid.IntRange(0, 1).Draw(h.T, "promised")
		}
	case 9:
		if len(g.Instances) > 0 {
			in := rapid.SampledFrom(g.Instances).Draw(h.T, "machine")
			h.join(in)
		}
	case 10:
		if node != "other" { // there is always one
			delete(h.nodes, node)
		}
	case 11:
		h.budget = Budget("b", "app", "s", int32(rapid.IntRange(0, 1).Draw(h.T, "allowed")))
	case 12:
		if name := pod(); h.pods[name].Node == "" {
			h.pods[name] = Changed(h.pods[name], func(p *corev1.Pod) { p.Status.NominatedNodeName = node })
		}
	case 13:
		h.change(node, func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime.Time = h.at })
	case 14:
		h.change(node, func(n *corev1.Node) {
			n.Labels["team"] = rapid.SampledFrom([]string{"a", "b"}).Draw(h.T, "team")
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "team", Value: n.Labels["team"], Effect: corev1.TaintEffectNoSchedule})
		})
	case 15:
		g.Capacity = g.Standing() + rapid.IntRange(0, 3).Draw(h.T, "promised")
	case 16:
		if g.Problem = ""; h.chance(2, "unreadable") {
			g.Problem = "the cloud does not answer"
		}
		g.Failure = &cluster.Failure{At: h.at, Kind: "allocation", Code: "SkuNotAvailable", Message: "no more of these"}
	case 17:
		g.Max = rapid.IntRange(3, 8).Draw(h.T, "max")
	case 18:
		h.owners = cluster.Controllers{Known: true}
	case 19:
		h.owners = controllers(rapid.Int32Range(1, 2).Draw(h.T, "replicas"))
	case 20:
		if len(g.Instances) > 0 {
			in := rapid.SampledFrom(g.Instances).Draw(h.T, "machine")
			in.Protected = !in.Protected
		}
	case 21:
		g.PriceUSDPerHour, g.Spot = float64(rapid.IntRange(0, 3).Draw(h.T, "price")), h.chance(2, "spot")
	case 22:
		g.Options.Unneeded = new(time.Duration(rapid.IntRange(0, 15).Draw(h.T, "unneeded")) * time.Minute)
	case 23:
		h.kept = memory.Memory{}
	case 24:
		g.Min = rapid.IntRange(0, 3).Draw(h.T, "min")
	case 25:
		h.annotate(node, cluster.HoldAnnotation, h.at.Add(time.Duration(rapid.IntRange(0, 15).Draw(h.T, "held for"))*time.Minute).Format(time.RFC3339))
	case 26:
		h.annotate(node, cluster.DrainAnnotation, rapid.SampledFrom([]string{h.at.Format(time.RFC3339), ""}).Draw(h.T, "asked for at"))
	case 27:
		h.change(node, Noticed(cluster.Notice{ID: "n", Kind: rapid.SampledFrom([]string{"Freeze", "Reboot", "Preempt"}).Draw(h.T, "notice"), Deadline: h.at.Add(time.Minute)}))
	case 28:
		h.daemons()
	case 29:
		h.others.Namespaces = []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: cluster.PauseNamespace, Annotations: map[string]string{
			cluster.PauseAnnotation: cluster.Pauses{g.ID: h.at.Add(time.Duration(rapid.IntRange(0, 5).Draw(h.T, "pause")) * time.Minute)}.Annotation(),
		}}}}
	case 30:
		g.Parks = !g.Parks
	case 31:
		g.Template = g.Template.DeepCopy()
		g.Template.Labels["team"] = rapid.SampledFrom([]string{"a", "b"}).Draw(h.T, "team")
	case 32:
		h.gang()
	}
}

// gang has pods wait of which each is worth nothing without the others.
func (h *history) gang() {
	n, cpu := rapid.SampledFrom([]int{2, 4, 8, 20}).Draw(h.T, "gang"), rapid.SampledFrom([]string{"500m", "3500m"}).Draw(h.T, "cpu")
	for _, o := range gangOf(fmt.Sprintf("g%d", h.made), n, n, CPU(cpu)) {
		p := o.(*cluster.Pod)
		h.pods[p.Name] = p
	}
	h.made++
}

// daemons has each node carry a pod of a daemon, or none.
func (h *history) daemons() {
	h.others.DaemonSets = nil
	if milli := rapid.IntRange(0, 3).Draw(h.T, "daemon"); milli > 0 {
		d := Pod("d", CPU(fmt.Sprintf("%d00m", milli))).Object()
		h.others.DaemonSets = []*appsv1.DaemonSet{{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "d", UID: "d"}, Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: d.Spec}}}}
	}
}

// annotate has a node say that, or nothing.
func (h *history) annotate(node, key, said string) {
	h.change(node, func(n *corev1.Node) {
		if delete(n.Annotations, key); said != "" {
			metav1.SetMetaDataAnnotation(&n.ObjectMeta, key, said)
		}
	})
}

// controllers are those that pods name, with so many replicas.
func controllers(replicas int32) cluster.Controllers {
	return cluster.Controllers{Known: true, ReplicaSets: []*cluster.Controller{{Namespace: "default", Name: "o", UID: "ReplicaSet-o", Replicas: &replicas}}}
}

func (h *history) change(node string, change func(*corev1.Node)) {
	n := h.nodes[node].DeepCopy()
	change(n)
	h.nodes[node] = n
}

// observe is what an observer would make of it.
func (h *history) observe() *cluster.Snapshot {
	o := h.others
	o.Controllers = h.owners
	if h.budget != nil {
		o.Budgets = append(o.Budgets, h.budget)
	}
	for _, name := range h.names() {
		o.Nodes = append(o.Nodes, h.nodes[name])
	}
	for _, name := range keys(h.pods) {
		o.Pods = append(o.Pods, h.pods[name])
	}
	var groups []*cluster.Group
	for _, g := range h.groups {
		again := *g
		again.Read.At = h.at
		again.Instances = nil
		for _, in := range g.Instances {
			again.Instances = append(again.Instances, new(*in))
		}
		if h.seen != nil {
			again.Learned = h.seen.Group(g.ID).Learned
		}
		groups = append(groups, &again)
	}
	if h.seen == nil {
		h.seen = cluster.New(h.at, o, groups)
		return h.seen
	}
	if last := h.seen.Objects; slices.Equal(last.Nodes, o.Nodes) {
		o.Nodes = last.Nodes // as an observer gives the same list for as long as nothing changes
		if slices.Equal(last.Pods, o.Pods) {
			o.Pods = last.Pods
		}
	}
	h.seen = h.seen.Next(h.at, o, groups)
	return h.seen
}

// perform does what the plan says, or lets it fail.
func (h *history) perform(p action.Plan, m memory.Memory, allowed *policy.Policy) {
	var results []memory.Result
	for _, a := range p.Actions {
		r := memory.Result{Status: memory.Accepted, At: h.at}
		if h.chance(4, "fails") {
			r.Status, r.Kind = memory.Failed, rapid.SampledFrom([]string{"conflict", "transient", "quota"}).Draw(h.T, "how")
		}
		results = append(results, r)
		if r.Status == memory.Failed {
			continue
		}
		switch a := a.(type) {
		case action.SetCapacity:
			for _, g := range h.groups {
				for g.ID == a.Group && g.Capacity < a.To {
					h.machine(g).State = cluster.StateCreating
				}
			}
		case action.Cordon:
			h.change(a.Node, Removing(a.Removal.Since, a.Machine))
		case action.Uncordon:
			h.change(a.Node, func(n *corev1.Node) { n.Spec.Unschedulable, n.Spec.Taints, n.Annotations = false, nil, nil })
		case action.Evict:
			delete(h.pods, a.Pod)
		case action.DeleteNode:
			delete(h.nodes, a.Node)
		case action.DeleteInstances:
			for _, g := range h.groups {
				if g.ID == a.Group {
					g.Instances = slices.DeleteFunc(g.Instances, func(in *cluster.Instance) bool {
						return slices.ContainsFunc(a.Machines, func(l action.Leaving) bool { return l.ID == in.ID })
					})
					g.Capacity = g.Standing()
				}
			}
		}
	}
	h.kept = m.After(p, results, allowed)
}

// TestAPlannerDecidesAsIfItRememberedNothing lets random histories pass before one planner and holds each of its plans, and what it leaves
// to the next cycle, to a decision that was made from nothing.
func TestAPlannerDecidesAsIfItRememberedNothing(t *testing.T) {
	outcomes, codes := map[action.Outcome]int{}, map[reason.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		h := begin(t)
		allowed := policy.Default()
		allowed.Removal.Drain.Parallelism = rapid.IntRange(1, 2).Draw(t, "drains")
		if h.chance(3, "cluster minimum") {
			allowed.Removal.Keep.Cores = 12
		}
		if h.chance(3, "min replicas") {
			allowed.Removal.Skip.MinReplicas = 2
		}
		if h.chance(2, "consolidates") {
			allowed.Removal.Consolidation.Groups = []cluster.GroupID{policy.AllGroups}
		}
		if h.chance(2, "however busy") {
			allowed.Removal.Utilization.Threshold = 1
		}
		calm := -3
		if h.roomy {
			calm = -9 // so that nodes are emptied
		}
		var planner plan.Planner
		for range rapid.IntRange(10, 30).Draw(t, "cycles") {
			for range max(0, rapid.IntRange(calm, 3).Draw(t, "events")) {
				h.happen()
			}
			if h.chance(20, "another policy") {
				allowed = new(*allowed)
				allowed.Removal.Utilization.Threshold = rapid.SampledFrom([]float64{0.3, 0.5, 1}).Draw(t, "threshold")
				allowed.Growth.PodDelay = time.Duration(rapid.IntRange(0, 2).Draw(t, "delay")) * time.Minute
			}
			s := h.observe()
			p, m := planner.Decide(s, allowed, h.kept)
			fresh, left := plan.Decide(s, allowed, h.kept)
			if diff := cmp.Diff(paper(t, fresh, left), paper(t, p, m)); diff != "" {
				t.Fatalf("at %s (-fresh +planner):\n%s", h.at.Sub(Start), diff)
			}
			for _, v := range p.Verdicts {
				if outcomes[v.Outcome]++; v.Outcome == "" {
					t.Fatalf("at %s nothing is said of %s", h.at.Sub(Start), v.Subject)
				}
				for _, why := range v.Because {
					codes[why.Code]++
				}
			}
			h.perform(p, m, allowed)
			h.at = h.at.Add(time.Duration(rapid.SampledFrom([]int{-1, 0, 1, 10, 60, 300, 660}).Draw(t, "seconds")) * time.Second)
		}
	})
	for _, o := range []action.Outcome{action.NodeKeep, action.NodeIdle, action.NodeCordoned, action.NodeDraining, action.NodeDeleting, action.NodeParking, action.PodScheduling, action.PodWaiting, action.PodGrows, action.MachineComing, action.MachineDeleting} {
		if outcomes[o] == 0 {
			t.Errorf("no history came to the outcome %q: the test shows little", o)
		}
	}
	for _, c := range []reason.Code{
		reason.PodControllerMissing, reason.PodFewReplicas, reason.NodeHeld, reason.NodeAskedFor, reason.NodeNoticed, reason.GroupPaused, reason.GangAwaitsPods,
		reason.GangDoesNotFit, reason.NodeReceives,
	} {
		if codes[c] == 0 {
			t.Errorf("no history came to the reason %s: the test shows little", c)
		}
	}
	t.Log(outcomes, codes)
}

// paper is a decision as JSON, one line for each of its parts.
func paper(t *rapid.T, p action.Plan, m memory.Memory) string {
	text, err := json.MarshalIndent([]any{p, m}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
