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
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// removable remembers nodes as removable for an hour.
func removable(nodes ...string) memory.Memory {
	m := memory.Memory{Since: Start.Add(-time.Hour), Removing: memory.Removing{Removable: map[string]time.Time{}}}
	for _, n := range nodes {
		m.Removable[n] = Start.Add(-time.Hour)
	}
	return m
}

// three is a group of three machines with nodes a-0, a-1, a-2.
func three() *cluster.Group {
	return Group("a", 1, 5, Machine("0", "a-0"), Machine("1", "a-1"), Machine("2", "a-2"))
}

// joined leaves only the machines whose nodes are among the objects.
func joined(g *cluster.Group, objects []any) *cluster.Group {
	var machines []*cluster.Instance
	for _, in := range g.Instances {
		for _, o := range objects {
			if n, ok := o.(*corev1.Node); ok && n.Name == in.ComputerName {
				machines = append(machines, in)
			}
		}
	}
	g.Instances, g.Capacity = machines, len(machines)
	return g
}

func marked(id string) cluster.Machine {
	return cluster.Machine{Group: "a", ID: cluster.InstanceID(id), UID: "vm-" + id}
}

// spread lets pods labelled app=s differ by one at most from node to node.
func spread(p *corev1.Pod) {
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "s"}},
	}}
}

func leaving(node, id string, ago time.Duration, change ...func(*corev1.Node)) *corev1.Node {
	return Node(node, append(change, Removing(Start.Add(-ago), marked(id)))...)
}

// masters taints a node as distributions do whose control plane takes no other pods.
func masters(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "node-role.kubernetes.io/control-plane", Effect: corev1.TaintEffectNoSchedule})
}

// tainted is the node with a taint that somebody who brings nodes up has forgotten.
func tainted(n *corev1.Node) *corev1.Node {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "startup-taint.cluster-autoscaler.kubernetes.io/agent", Effect: corev1.TaintEffectNoSchedule})
	return n
}

func TestNodesClimbTheLadderOnlyWhenNothingNeedsThem(t *testing.T) {
	daemon := func(node string) *cluster.Pod { return Pod("ds-"+node, On(node), OwnedBy("DaemonSet", "ds")) }
	cases := map[string]struct {
		objects []any
		group   func(*cluster.Group)
		kept    memory.Memory
		policy  func(*policy.Policy)
		want    []string
		verdict map[string]string
		gone    []string // machines, by unique id
	}{
		"an idle node waits for its time": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1"), daemon("a-1"), Node("a-2"), Pod("v", On("a-2"), CPU("3"))},
			want:    []string{}, verdict: map[string]string{"node a-1": "idle NodeIdle", "node a-0": "keep NodeBusy"},
		},
		"an idle node is cordoned when its time has come, though it is not the newest": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1"), daemon("a-1"), Node("a-2"), Pod("v", On("a-2"), CPU("3"))},
			kept:    removable("a-1"), want: []string{"cordon a-1 idle"}, verdict: map[string]string{"node a-1": "cordoned NodeIdleFor", "group a": "shrinking GroupShrinking GroupSteady"},
		},
		"all idle nodes above min go in one cycle": {
			objects: []any{Node("a-0"), Node("a-1"), Node("a-2")},
			kept:    removable("a-0", "a-1", "a-2"), want: []string{"cordon a-0 idle", "cordon a-1 idle"}, verdict: map[string]string{"node a-2": "idle GroupAtMin NodeIdle"},
		},
		"a machine that the capacity counts and no list shows does not let another go below min": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1"), Node("a-2"), Pod("v", On("a-2"), CPU("3"))},
			group:   func(g *cluster.Group) { g.Min = 2; g.Instances[2].State = cluster.StateDeleting },
			kept:    removable("a-1"), want: []string{}, verdict: map[string]string{"node a-1": "idle GroupListsFewer NodeIdle"},
		},
		"a Job's pod keeps its node": {
			objects: []any{Node("a-0"), Node("a-1"), Pod("w", On("a-0"), CPU("3")), Pod("render", On("a-2"), OwnedBy("Job", "render")), Node("a-2"), Pod("v", On("a-1"), CPU("3"))},
			kept:    removable("a-2"), want: []string{"cordon a-2 dry"}, verdict: map[string]string{"node a-2": "draining NodeRunsDry PodOfJob"},
		},
		"a Job's pod keeps its node open where nodes do not run dry": {
			objects: []any{Node("a-0"), Node("a-1"), Pod("w", On("a-0"), CPU("3")), Pod("render", On("a-2"), OwnedBy("Job", "render")), Node("a-2"), Pod("v", On("a-1"), CPU("3"))},
			kept:    removable("a-2"), policy: func(p *policy.Policy) { p.Removal.Work.RunDry = false }, want: []string{}, verdict: map[string]string{"node a-2": "keep PodOfJob"},
		},
		"a node does not run dry whose work fits nowhere else": {
			objects: []any{Node("a-0"), Node("a-1"), Pod("w", On("a-0"), CPU("3")), Pod("render", On("a-2"), CPU("2"), OwnedBy("Job", "render")), Node("a-2"), Pod("v", On("a-1"), CPU("3"))},
			kept:    removable("a-2"), want: []string{}, verdict: map[string]string{"node a-2": "keep PodOfJob PodNowhereToGo"},
		},
		"of two nodes of which one can be spared that one runs dry whose work ends first": {
			objects: []any{
				Node("a-0"), Pod("w", On("a-0"), CPU("3")),
				Node("a-1"), Pod("long", On("a-1"), CPU("700m"), OwnedBy("Job", "long"), Annotated("sluice.dev/run-time", "9h")),
				Node("a-2"), Pod("short", On("a-2"), CPU("800m"), OwnedBy("Job", "short"), Annotated("sluice.dev/run-time", "1h")),
			},
			kept: removable("a-1", "a-2"), want: []string{"cordon a-2 dry"}, verdict: map[string]string{"node a-1": "keep PodOfJob PodNowhereToGo"},
		},
		"a node that runs dry keeps no idle one of its group from leaving": {
			objects: []any{Node("a-0"), Node("a-1", Removing(Start.Add(-time.Hour), marked("1")), For(cluster.RunsDry)), Pod("x", On("a-1"), OwnedBy("Job", "j"))}, kept: removable("a-0"),
			want: []string{"cordon a-0 idle"}, verdict: map[string]string{"node a-1": "draining NodeRunsDry PodOfJob"},
		},
		"an underused node is cordoned when its pod fits elsewhere": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1"), Pod("x", On("a-1")), Node("a-2"), Pod("v", On("a-2"), CPU("3"))},
			kept:    removable("a-1"), want: []string{"cordon a-1 underused"},
		},
		"a group's own time and threshold hold for its nodes alone": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1")},
			group: func(g *cluster.Group) {
				g.Options = cluster.Options{Unneeded: new(2 * time.Hour), Threshold: new(0.8)}
			},
			kept: removable("a-1"), want: []string{}, verdict: map[string]string{"node a-1": "idle NodeIdle", "node a-0": "keep PodNowhereToGo"},
		},
		"an underused node stays when its pod fits nowhere": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1"), Pod("x", On("a-1"), CPU("2")), Node("a-2"), Pod("v", On("a-2"), CPU("3"))},
			kept:    removable("a-1"), want: []string{}, verdict: map[string]string{"node a-1": "keep PodNowhereToGo"},
		},
		"one drain at a time": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("2500m")), Node("a-1"), Pod("x", On("a-1"), CPU("500m")), Node("a-2"), Pod("v", On("a-2"), CPU("500m"))},
			kept:    removable("a-1", "a-2"), want: []string{"cordon a-1 underused"}, verdict: map[string]string{"node a-2": "idle RemovalBudget NodeUnderused"},
		},
		"a disruption budget keeps a node": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1"), Pod("x", On("a-1"), Labelled("app", "x")), Budget("x", "app", "x", 0), Node("a-2"), Pod("v", On("a-2"), CPU("3"))},
			kept:    removable("a-1"), want: []string{}, verdict: map[string]string{"node a-1": "keep PodBudget"},
		},
		"a pending pod holds the first node that it fits": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1"), Node("a-2"), Pod("p", CPU("2"))},
			kept:    removable("a-1", "a-2"), want: []string{"cordon a-2 idle"}, verdict: map[string]string{"node a-1": "idle NodeCounted NodeIdle"},
		},
		"a pending pod that fits a node that stays holds none that may go": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1"), Node("a-2"), Pod("v", On("a-2"), CPU("3")), Pod("p")},
			kept:    removable("a-1"), want: []string{"cordon a-1 idle"}, verdict: map[string]string{"pod p": "scheduling FitsNode"},
		},
		"nothing goes so soon after a growth": {
			objects: []any{Node("a-0"), Node("a-1"), Node("a-2")},
			kept: func() memory.Memory {
				m := removable("a-0", "a-1", "a-2")
				m.LastGrowth = Start.Add(-9 * time.Minute)
				return m
			}(),
			want: []string{}, verdict: map[string]string{"node a-1": "idle RemovalCoolsDown NodeIdle"},
		},
		"nothing goes when removal is switched off": {
			objects: []any{Node("a-0"), Node("a-1"), Node("a-2")}, kept: removable("a-0"), policy: func(p *policy.Policy) { p.Removal.Enabled = false },
			want: []string{}, verdict: map[string]string{"node a-0": "idle RemovalDisabled NodeIdle"},
		},
		"nothing goes from a group that was not read completely": {
			objects: []any{Node("a-0"), Node("a-1"), Node("a-2")}, kept: removable("a-0"), group: func(g *cluster.Group) { g.Read.Complete = false },
			want: []string{}, verdict: map[string]string{"node a-0": "idle GroupIncomplete NodeIdle"},
		},
		"a person's cordon is respected": {
			objects: []any{Node("a-0", func(n *corev1.Node) { n.Spec.Unschedulable = true }), Node("a-1"), Pod("w", On("a-1"), CPU("3")), Node("a-2"), Pod("v", On("a-2"), CPU("3"))}, kept: removable("a-0"),
			want: []string{}, verdict: map[string]string{"node a-0": "keep NodeHeldByPerson"},
		},
		"a control-plane node stays": {
			objects: []any{Node("a-0", func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "" })}, kept: removable("a-0"),
			want: []string{}, verdict: map[string]string{"node a-0": "keep NodeControlPlane"},
		},
		"a control-plane node that is opted in leaves, one at a time": {
			objects: []any{Node("a-0", crown), Node("a-1", crown), Node("a-2", crown)}, kept: removable("a-0", "a-1", "a-2"),
			policy: func(p *policy.Policy) { p.Removal.ControlPlane = true }, group: func(g *cluster.Group) { g.Min = 0 },
			want: []string{"cordon a-0 idle"}, verdict: map[string]string{"node a-1": "idle ControlPlaneTurn NodeIdle", "node a-2": "idle ControlPlaneTurn NodeIdle"},
		},
		"none leaves when the others would be no quorum": {
			objects: []any{Node("a-0", crown), Node("a-1", crown), Node("a-2", crown, NotReady(Start.Add(-time.Minute)))}, kept: removable("a-0", "a-1"),
			policy: func(p *policy.Policy) { p.Removal.ControlPlane = true }, group: func(g *cluster.Group) { g.Min = 0 },
			want: []string{}, verdict: map[string]string{"node a-1": "idle ControlPlaneQuorum NodeIdle"},
		},
		"one on its way out comes back when another falls silent": {
			objects: []any{Node("a-0", crown, Removing(Start.Add(-time.Minute), marked("0"))), Node("a-1", crown), Node("a-2", crown, NotReady(Start.Add(-time.Minute)))},
			policy:  func(p *policy.Policy) { p.Removal.ControlPlane = true }, group: func(g *cluster.Group) { g.Min = 0 },
			want: []string{"uncordon a-0: RemovalAbandoned"}, verdict: map[string]string{"node a-0": "rescue RemovalAbandoned ControlPlaneQuorum"},
		},
		"a pending pod takes back one on its way out": {
			objects: []any{Node("a-0", crown, Removing(Start.Add(-time.Minute), marked("0"))), Node("a-1", crown), Node("a-2", crown), Pod("w", On("a-1"), CPU("3")), Pod("v", On("a-2"), CPU("3")), Pod("p", CPU("3"))},
			policy:  func(p *policy.Policy) { p.Removal.ControlPlane = true }, group: func(g *cluster.Group) { g.Min = 0 },
			want: []string{"uncordon a-0: NodeCounted"}, verdict: map[string]string{"pod p": "rescues RescuesNode", "node a-0": "rescue NodeCounted"},
		},
		"one whose taint the pod does not tolerate stays on its way": {
			objects: []any{Node("a-0", crown, Removing(Start.Add(-time.Minute), marked("0")), masters), Node("a-1", crown), Node("a-2", crown), Pod("w", On("a-1"), CPU("3")), Pod("v", On("a-2"), CPU("3")), Pod("p", CPU("3"))},
			policy:  func(p *policy.Policy) { p.Removal.ControlPlane = true }, group: func(g *cluster.Group) { g.Min, g.Max = 0, 3 },
			want: []string{"delete a 0(a-0)"}, verdict: map[string]string{"pod p": "stuck NoGroupFits UntoleratedTaint CouldHold"},
		},
		"one comes back when such nodes are not opted in any more": {
			objects: []any{Node("a-0", crown, Removing(Start.Add(-time.Minute), marked("0"))), Node("a-1", crown), Node("a-2", crown)}, group: func(g *cluster.Group) { g.Min = 0 },
			want: []string{"uncordon a-0: NodeControlPlane"}, verdict: map[string]string{"node a-0": "rescue NodeControlPlane"},
		},
		"a node that could be two machines is held": {
			objects: []any{Node("a-0", func(n *corev1.Node) {
				n.Status.NodeInfo.SystemUUID, n.Spec.ProviderID = "vm-0", "cloud:///machines/1"
			}), Node("a-1")}, kept: removable("a-0"),
			want: []string{}, verdict: map[string]string{"node a-0": "hold NodeAmbiguous"},
		},
		"a cordoned node waits a moment before its machine is deleted": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), leaving("a-1", "1", 3*time.Second)},
			want:    []string{}, verdict: map[string]string{"node a-1": "cordoned NodeCordoned"},
		},
		"an empty cordoned node's machine is deleted by name": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1", Removing(Start.Add(-10*time.Second), marked("1")), For(cluster.Idle)), daemon("a-1")},
			want:    []string{"delete a 1(a-1)"}, verdict: map[string]string{"node a-1": "deleting NodeDrained"},
		},
		"a drained node of a group at its min is given back": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second)}, group: func(g *cluster.Group) { g.Min = 2 },
			want: []string{"uncordon a-1: GroupAtMin"},
		},
		"a cordoned node is drained by eviction, with bounded grace": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), Pod("x", On("a-1"), func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(3600)) })},
			want:    []string{"evict x from a-1 grace 10m0s"}, verdict: map[string]string{"node a-1": "draining NodeDraining"},
		},
		"pods of a lower band leave first": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), Pod("x", On("a-1"), priority(100)), Pod("y", On("a-1"))},
			policy: func(p *policy.Policy) {
				p.Removal.Drain.Bands = []policy.Band{{Grace: time.Minute}, {Priority: 100, Grace: 5 * time.Second}}
			},
			want: []string{"evict y from a-1 grace 30s"}, verdict: map[string]string{"node a-1": "draining NodeDraining PodsLater"},
		},
		"pods of a lower band are waited for": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), Pod("x", On("a-1"), priority(100)), Pod("y", On("a-1"), func(p *corev1.Pod) { p.DeletionTimestamp = &p.CreationTimestamp })},
			policy: func(p *policy.Policy) {
				p.Removal.Drain.Bands = []policy.Band{{Grace: time.Minute}, {Priority: 100, Grace: 5 * time.Second}}
			},
			want: []string{}, verdict: map[string]string{"node a-1": "draining NodeDraining PodsLater"},
		},
		"the next band follows when it is gone": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), Pod("x", On("a-1"), priority(100))},
			policy: func(p *policy.Policy) {
				p.Removal.Drain.Bands = []policy.Band{{Grace: time.Minute}, {Priority: 100, Grace: 5 * time.Second}}
			},
			want: []string{"evict x from a-1 grace 5s"},
		},
		"a pod that is overdue gives its node back": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 15*time.Minute), Pod("x", On("a-1"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Start.Add(time.Hour)} })},
			want:    []string{"uncordon a-1: RemovalAbandoned"}, verdict: map[string]string{"node a-1": "rescue RemovalAbandoned PodOverdue"},
		},
		"a pod that is overdue and to be waited for is": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 15*time.Minute), Pod("x", On("a-1"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Start.Add(time.Hour)} })},
			policy:  func(p *policy.Policy) { p.Removal.Drain.AfterDeadline = policy.Wait }, want: []string{}, verdict: map[string]string{"node a-1": "draining NodeDraining"},
		},
		"a pod that is overdue and may be forced holds nothing": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 15*time.Minute), Pod("x", On("a-1"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Start.Add(time.Hour)} })},
			policy:  func(p *policy.Policy) { p.Removal.Drain.AfterDeadline = policy.Force }, want: []string{"delete a 1(a-1)"},
		},
		"a pod that was never told to end is not forced": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 15*time.Minute), Pod("x", On("a-1"), Labelled("app", "x")), Budget("x", "app", "x", 0)},
			policy:  func(p *policy.Policy) { p.Removal.Drain.AfterDeadline = policy.Force }, want: []string{"uncordon a-1: RemovalAbandoned"},
		},
		"daemons are told to end once others have left": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), daemon("a-1"), Pod("x", On("a-1"))}, want: []string{"evict x from a-1 grace 30s"},
			policy: func(p *policy.Policy) { p.Removal.Drain.EmptyDaemons = true },
		},
		"the daemons of an empty node are told to end before its machine goes": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), daemon("a-1")}, policy: func(p *policy.Policy) { p.Removal.Drain.EmptyDaemons = true },
			want: []string{"evict ds-a-1 from a-1 grace 30s"}, verdict: map[string]string{"node a-1": "draining NodeDismisses"},
		},
		"they are told once, and hold nobody up": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), daemon("a-1")}, policy: func(p *policy.Policy) { p.Removal.Drain.EmptyDaemons = true },
			kept: memory.Memory{Removing: memory.Removing{Dismissed: map[string]time.Time{"a-1": Start.Add(-5 * time.Second)}}}, want: []string{"delete a 1(a-1)"},
		},
		"a daemon that ends is waited for": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), Pod("ds", On("a-1"), OwnedBy("DaemonSet", "ds"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Start.Add(time.Second)} })},
			policy:  func(p *policy.Policy) { p.Removal.Drain.EmptyDaemons = true }, kept: memory.Memory{Removing: memory.Removing{Dismissed: map[string]time.Time{"a-1": Start.Add(-5 * time.Second)}}}, want: []string{},
		},
		"nobody tells the daemons of a node that is silent": {
			objects: []any{Node("a-0"), Node("a-1", Removing(Start.Add(-10*time.Second), marked("1")), NotReady(Start.Add(-time.Hour))), daemon("a-1")},
			policy:  func(p *policy.Policy) { p.Removal.Drain.EmptyDaemons = true }, want: []string{"delete a 1(a-1)"},
		},
		"pods on their way out are waited for": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), Pod("x", On("a-1"), func(p *corev1.Pod) { p.DeletionTimestamp = &p.CreationTimestamp })},
			want:    []string{}, verdict: map[string]string{"node a-1": "draining NodeDraining"},
		},
		"two pods of one budget that allows one are evicted one after the other": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), Pod("x", On("a-1"), Labelled("app", "x")), Pod("y", On("a-1"), Labelled("app", "x")), Budget("x", "app", "x", 1)},
			want:    []string{"evict x from a-1 grace 30s"},
		},
		"a Job's pod that slipped on gives the node back": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), Pod("x", On("a-1"), OwnedBy("Job", "j"))},
			want:    []string{"uncordon a-1: RemovalAbandoned"}, verdict: map[string]string{"node a-1": "rescue RemovalAbandoned PodOfJob"},
		},
		"a budget that never lets go gives the node back at the deadline": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 15*time.Minute), Pod("x", On("a-1"), Labelled("app", "x")), Budget("x", "app", "x", 0)},
			want:    []string{"uncordon a-1: RemovalAbandoned"},
		},
		"a pending pod takes a cordoned node back instead of a new machine": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("4")), leaving("a-1", "1", 3*time.Second), Pod("p")},
			want:    []string{"uncordon a-1: NodeCounted"}, verdict: map[string]string{"pod p": "rescues RescuesNode", "node a-1": "rescue NodeCounted"},
		},
		"a pending pod takes no cordoned node back that would refuse it without the cordon": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("4")), tainted(leaving("a-1", "1", time.Minute)), Pod("p")},
			group:   func(g *cluster.Group) { g.Max = 2 },
			want:    []string{"delete a 1(a-1)"}, verdict: map[string]string{"pod p": "stuck NoGroupGrows GroupAtMax"},
		},
		"a machine that is being deleted takes no pod": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("4")), leaving("a-1", "1", 3*time.Second), Pod("p")}, group: func(g *cluster.Group) {
				g.Instances[1].State = cluster.StateDeleting
				g.Capacity = 1
			},
			want: []string{"grow a 1 -> 2"}, verdict: map[string]string{"node a-1": "deleting NodeLeaving"},
		},
		"the Node object of a machine that is gone is deleted": {
			objects: []any{Node("a-0"), leaving("a-1", "1", time.Minute, Silent(Start.Add(-time.Minute)))}, group: func(g *cluster.Group) { g.Instances, g.Capacity = g.Instances[:1], 1 },
			gone: []string{"vm-1"}, want: []string{"bury a-1"}, verdict: map[string]string{"node a-1": "gone NodeMachineGone"},
		},
		"it stays while its kubelet reports": {
			objects: []any{Node("a-0"), leaving("a-1", "1", time.Minute)}, group: func(g *cluster.Group) { g.Instances, g.Capacity = g.Instances[:1], 1 },
			gone: []string{"vm-1"}, want: []string{}, verdict: map[string]string{"node a-1": "gone NodeMachineGone"},
		},
		"the Node object of a machine that is missing stays while it is Ready and nobody has seen the machine leave": {
			objects: []any{Node("a-0"), leaving("a-1", "1", time.Minute)}, group: func(g *cluster.Group) { g.Instances, g.Capacity = g.Instances[:1], 1 },
			want: []string{}, verdict: map[string]string{"node a-1": "hold NodeMachineMissing"},
		},
		"the Node object of a machine that is parked stays, and says so once it is not Ready": {
			objects: []any{Node("a-0"), leaving("a-1", "1", time.Minute)}, group: func(g *cluster.Group) {
				g.Parks, g.Parked, g.Instances, g.Capacity = true, g.Instances[1:], g.Instances[:1], 1
			},
			want: []string{}, verdict: map[string]string{"node a-1": "parked NodeMachineParked"},
		},
		"and says so then": {
			objects: []any{Node("a-0"), Node("a-1", Removing(Start.Add(-time.Minute), marked("1")), NotReady(Start))}, group: func(g *cluster.Group) {
				g.Parks, g.Parked, g.Instances, g.Capacity = true, g.Instances[1:], g.Instances[:1], 1
			},
			want: []string{"park a-1"}, verdict: map[string]string{"node a-1": "parked NodeMachineParked"},
		},
		"a Node object stays while the list is not complete": {
			objects: []any{Node("a-0"), leaving("a-1", "1", time.Minute)}, group: func(g *cluster.Group) { g.Instances = g.Instances[:1]; g.Capacity = 1; g.Read.Complete = false },
			want: []string{}, verdict: map[string]string{"node a-1": "hold NodeMachineMissing"},
		},
		"when most nodes are not Ready nothing goes": {
			objects: []any{Node("a-0"), Node("a-1", NotReady(Start)), Node("a-2", NotReady(Start)), Node("x", NotReady(Start)), Node("y", NotReady(Start))}, kept: removable("a-0"),
			want: []string{}, verdict: map[string]string{"node a-0": "idle UnhealthyCluster NodeIdle"},
		},
		"the cluster keeps its minimum of cores": {
			objects: []any{Node("a-0"), Node("a-1"), Node("a-2")}, kept: removable("a-0", "a-1", "a-2"), policy: func(p *policy.Policy) { p.Removal.Keep.Cores = 9 },
			want: []string{}, verdict: map[string]string{"node a-0": "idle ClusterMinimum NodeIdle"},
		},
		"a parked machine is none of its cores": {
			objects: []any{Node("a-0"), Node("a-1"), Node("a-2", Removing(Start.Add(-time.Minute), marked("2")), NotReady(Start.Add(-time.Minute)))},
			group: func(g *cluster.Group) {
				g.Parks, g.Parked, g.Instances, g.Capacity = true, g.Instances[2:], g.Instances[:2], 2
			},
			kept: removable("a-0", "a-1"), policy: func(p *policy.Policy) { p.Removal.Keep.Cores = 8 },
			want: []string{"park a-2"}, verdict: map[string]string{"node a-0": "idle ClusterMinimum NodeIdle"},
		},
		"an underused node stays on which a pending pod counts": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("2500m")), Node("a-1"), Pod("x", On("a-1"), CPU("100m")), Pod("p", CPU("1600m"))},
			kept:    removable("a-1"), want: []string{}, verdict: map[string]string{"node a-1": "idle NodeCounted NodeUnderused"},
		},
		"a node whose machine is protected stays": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1")}, group: func(g *cluster.Group) { g.Instances[1].Protected = true },
			kept: removable("a-1"), want: []string{}, verdict: map[string]string{"node a-1": "keep NodeProtected"},
		},
		"a node whose machine is protected comes down": {
			objects: []any{Node("a-0"), leaving("a-1", "1", time.Minute)}, group: func(g *cluster.Group) { g.Instances[1].Protected = true },
			want: []string{"uncordon a-1: NodeProtected"},
		},
		"a machine that failed and is protected stays": {
			objects: []any{Node("a-0"), Node("a-1")}, group: func(g *cluster.Group) {
				broken := Machine("9", "", In(cluster.StateFailed), func(i *cluster.Instance) { i.Group, i.Protected = g.ID, true })
				g.Instances, g.Capacity = append(g.Instances, broken), g.Capacity+1
			},
			want: []string{}, verdict: map[string]string{"instance a/9": "hold MachineFailed MachineProtected"},
		},
		"a node annotated to stay comes down": {
			objects: []any{Node("a-0"), Node("a-1", Removing(Start.Add(-10*time.Second), marked("1")), func(n *corev1.Node) { n.Annotations["cluster-autoscaler.kubernetes.io/scale-down-disabled"] = "true" })},
			want:    []string{"uncordon a-1: NodeScaleDownOff"},
		},
		"a pod held by its budget does not hide another that has nowhere to go": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), leaving("a-1", "1", 10*time.Second), Pod("x", On("a-1"), CPU("500m"), Labelled("app", "x")), Budget("x", "app", "x", 0), Pod("y", On("a-1"), CPU("2"))},
			want:    []string{"uncordon a-1: RemovalAbandoned"}, verdict: map[string]string{"node a-1": "rescue RemovalAbandoned PodNowhereToGo"},
		},
		"a node that a person uncordoned comes down": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1", Removing(Start.Add(-10*time.Second), marked("1")), func(n *corev1.Node) { n.Spec.Unschedulable = false })},
			want:    []string{"uncordon a-1: NodeFreedByPerson"},
		},
		"two budgets over one pod keep its node": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1"), Pod("x", On("a-1"), Labelled("app", "x")), Budget("x", "app", "x", 1), Budget("y", "app", "x", 1)},
			kept:    removable("a-1"), want: []string{}, verdict: map[string]string{"node a-1": "keep PodTwoBudgets"},
		},
		"a pod that should have ended long ago holds nothing": {
			objects: []any{Node("a-0"), Pod("w", On("a-0"), CPU("3")), Node("a-1"), Pod("x", On("a-1"), CPU("4"), OwnedBy("Job", "j"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Start.Add(-2 * time.Minute)} })},
			kept:    removable("a-1"), want: []string{"cordon a-1 idle"},
		},
		"a pod that must spread counts the node it leaves": {
			objects: []any{Node("a-0"), Pod("s0", On("a-0"), Labelled("app", "s"), spread), Pod("w", On("a-0"), CPU("2")), Node("a-1"), Pod("s1", On("a-1"), Labelled("app", "s"), spread)},
			kept:    removable("a-1"), want: []string{}, verdict: map[string]string{"node a-1": "keep PodNowhereToGo"},
		},
		"a drained machine waits while its group deletes another": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), leaving("a-2", "2", time.Minute)}, group: func(g *cluster.Group) { g.Instances[2].State = cluster.StateDeleting; g.Capacity = 2 },
			want: []string{}, verdict: map[string]string{"node a-1": "cordoned RemovalQueued", "node a-2": "deleting NodeLeaving"},
		},
		"a drained machine waits while deletions of its group rest": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second)}, kept: memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Rest: memory.Backoff{Until: Start.Add(time.Second)}}}},
			want: []string{}, verdict: map[string]string{"node a-1": "cordoned RemovalRests"},
		},
		"a Node object stays while the list has fewer machines than the capacity": {
			objects: []any{Node("a-0"), leaving("a-1", "1", time.Minute)}, group: func(g *cluster.Group) { g.Instances = g.Instances[:1] },
			want: []string{}, verdict: map[string]string{"node a-1": "hold NodeMachineMissing"},
		},
		"a node whose machine was switched off and is started again comes off, and no machine is bought for the pod that it is started for": {
			objects: []any{Node("a-0"), Node("a-1", NotReady(Start.Add(-time.Minute)), Removing(Start.Add(-2*time.Minute), marked("1"))), Pod("w", On("a-0"), CPU("4")), Pod("p")},
			group:   func(g *cluster.Group) { g.Instances[1].State = cluster.StateCreating },
			want:    []string{"uncordon a-1: NodeStarted"}, verdict: map[string]string{"node a-1": "rescue NodeStarted", "pod p": "waiting FitsComingMachine"},
		},
		"a node that is Ready goes on, though the cloud says that its machine is coming": {
			objects: []any{Node("a-0"), Node("a-1", Removing(Start.Add(-2*time.Minute), marked("1")))}, group: func(g *cluster.Group) { g.Min, g.Instances[1].State = 0, cluster.StateCreating },
			want: []string{"delete a 1(a-1)"},
		},
		"a node that fell silent before it was cordoned goes on, though the cloud says that its machine is coming": {
			objects: []any{Node("a-0"), Node("a-1", NotReady(Start.Add(-time.Hour)), Removing(Start.Add(-2*time.Minute), marked("1")))},
			group:   func(g *cluster.Group) { g.Min, g.Instances[1].State = 0, cluster.StateCreating },
			want:    []string{"delete a 1(a-1)"},
		},
		"a node whose machine left the list is held": {
			objects: []any{Node("a-0"), Node("a-1", func(n *corev1.Node) { n.Spec.ProviderID = "cloud:///machines/1" })}, group: func(g *cluster.Group) { g.Instances = g.Instances[:1]; g.Capacity = 1 },
			want: []string{}, verdict: map[string]string{"node a-1": "hold NodeMachineMissing"},
		},
		"no more nodes leave at once than allowed": {
			objects: []any{Node("a-0"), Node("a-1"), Node("a-2")}, kept: removable("a-0", "a-1", "a-2"), policy: func(p *policy.Policy) { p.Removal.Parallelism = 1 },
			want: []string{"cordon a-0 idle"}, verdict: map[string]string{"node a-1": "idle RemovalBudget NodeIdle"},
		},
		"a node whose machine is being deleted or gone, or waits for its group's turn only, keeps no other from leaving": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second), leaving("a-2", "2", time.Minute), leaving("a-9", "9", time.Minute)}, kept: removable("a-0"),
			group: func(g *cluster.Group) {
				g.Instances[2].State = cluster.StateDeleting
				g.Capacity, g.Min = 2, 0
			},
			policy: func(p *policy.Policy) { p.Removal.Parallelism = 1 },
			want:   []string{"cordon a-0 idle"}, verdict: map[string]string{"node a-1": "cordoned RemovalQueued", "node a-2": "deleting NodeLeaving"},
		},
		"a node whose machine is ready to go keeps no other from leaving, and goes with it": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second)}, kept: removable("a-0"), group: func(g *cluster.Group) { g.Min = 0 },
			policy: func(p *policy.Policy) { p.Removal.Parallelism = 1 }, want: []string{"cordon a-0 idle"}, verdict: map[string]string{"node a-1": "cordoned RemovalGathers"},
		},
		"a node whose machine is ready to go waits for no other that has much time left": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second)}, group: func(g *cluster.Group) { g.Min = 0 },
			want: []string{"delete a 1(a-1)"},
		},
		"a node whose machine cannot be deleted keeps others from leaving": {
			objects: []any{Node("a-0"), leaving("a-1", "1", 10*time.Second)}, group: func(g *cluster.Group) { g.Min = 0 },
			kept:   memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Rest: memory.Backoff{Until: Start.Add(time.Second)}}}, Removing: memory.Removing{Removable: removable("a-0").Removable}},
			policy: func(p *policy.Policy) { p.Removal.Parallelism = 1 }, want: []string{}, verdict: map[string]string{"node a-0": "idle RemovalBudget NodeIdle"},
		},
		"a node that has yet to wait after its taint keeps others from leaving": {
			objects: []any{Node("a-0"), leaving("a-1", "1", time.Second)}, kept: removable("a-0"), group: func(g *cluster.Group) { g.Min = 0 },
			policy: func(p *policy.Policy) { p.Removal.Parallelism = 1 }, want: []string{}, verdict: map[string]string{"node a-0": "idle RemovalBudget NodeIdle"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			if c.policy != nil {
				c.policy(allowed)
			}
			g := joined(three(), c.objects)
			if c.group != nil {
				c.group(g)
			}
			s := known(cluster.New(Start, Objects(c.objects...), []*cluster.Group{g}))
			if c.gone != nil {
				s.Fleet = Gone(g.ID, c.gone...)
			}
			p, _ := plan.Decide(s, allowed, sawCordons(c.kept, c.objects))
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

func TestTimersWakeTheLoopWhenTheyRunOut(t *testing.T) {
	s := cluster.New(Start, Objects(Node("a-0"), Node("a-1"), Node("a-2")), []*cluster.Group{three()})
	allowed := policy.Default()
	p, m := plan.Decide(s, allowed, memory.Memory{})
	if want := Start.Add(allowed.Removal.UnneededTime); !p.Next.Equal(want) {
		t.Fatalf("next cycle at %s, want %s", p.Next, want)
	}
	at := p.Next
	later := known(cluster.New(at, s.Objects, []*cluster.Group{three()}))
	p, _ = plan.Decide(later, allowed, m)
	if diff := cmp.Diff([]string{"cordon a-0 idle", "cordon a-1 idle"}, told(p)); diff != "" {
		t.Errorf("actions at the timer's end (-want +got):\n%s", diff)
	}
	if want := at.Add(allowed.Removal.Delay.AfterTaint); !p.Next.Equal(want) {
		t.Errorf("next cycle at %s, want %s", p.Next, want)
	}
}

func TestEverySubjectGetsOneVerdict(t *testing.T) {
	objects := Objects(append(pods(9), Node("a-0"), Node("a-1"), leaving("a-2", "2", time.Second), Node("stranger"))...)
	g := three()
	g.Instances = append(g.Instances, Machine("7", "", Born(Start), In(cluster.StateCreating), func(i *cluster.Instance) { i.Group = "a" }))
	g.Capacity = 4
	s := cluster.New(Start, objects, []*cluster.Group{g})
	p, _ := plan.Decide(s, policy.Default(), memory.Memory{})
	count := map[string]int{}
	for _, v := range p.Verdicts {
		count[v.Subject.String()]++
		if len(v.Because) == 0 {
			t.Errorf("%s: no reason", v.Subject)
		}
	}
	want := []string{"group a", "instance a/7", "node a-0", "node a-1", "node a-2", "node stranger"}
	for i := range 9 {
		want = append(want, fmt.Sprintf("pod default/p%02d", i))
	}
	for _, w := range want {
		if count[w] != 1 {
			t.Errorf("%s has %d verdicts, want 1", w, count[w])
		}
		delete(count, w)
	}
	if len(count) > 0 {
		t.Errorf("verdicts about strangers: %v", count)
	}
}

func TestSameInputSamePlan(t *testing.T) {
	objects := Objects(append(pods(30), Node("a-0"), Node("a-1"), leaving("a-2", "2", time.Minute))...)
	groups := []*cluster.Group{three(), Group("b", 0, 10), Group("c", 0, 10)}
	first, m1 := plan.Decide(cluster.New(Start, objects, groups), policy.Default(), removable("a-0"))
	for range 20 {
		again, m2 := plan.Decide(cluster.New(Start, objects, groups), policy.Default(), removable("a-0"))
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatalf("plans differ (-first +again):\n%s", diff)
		}
		if diff := cmp.Diff(m1, m2); diff != "" {
			t.Fatalf("memories differ (-first +again):\n%s", diff)
		}
	}
}

func TestACordonThatWasRefusedIsTriedAgainAtOnce(t *testing.T) {
	s := cluster.New(Start, Objects(Node("a-0"), Node("a-1"), Node("a-2")), []*cluster.Group{three()})
	p, m := plan.Decide(s, policy.Default(), removable("a-0"))
	results := make([]memory.Result, len(p.Actions))
	for i := range results {
		results[i] = memory.Result{Status: memory.Refused, Property: "S-16", At: Start}
	}
	again, _ := plan.Decide(s, policy.Default(), m.After(p, results, policy.Default()))
	if diff := cmp.Diff(told(p), told(again)); diff != "" || len(told(p)) == 0 {
		t.Errorf("the next cycle decides otherwise (-first +next):\n%s", diff)
	}
}

// priority gives a pod its priority.
func priority(n int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &n } }

// crown makes a node one of the control plane.
func crown(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "" }
