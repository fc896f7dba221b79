package remove

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/grow"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// scene is what a cycle finds at [Start] in groups a and b, whose machines are the nodes that are called so.
type scene struct {
	nodes   []*corev1.Node
	objects []any
	min     int
	groups  func(a, b *cluster.Group)
	set     func(*policy.Policy)
	kept    memory.Memory
}

// begin is the removal of a cycle that places no pod and adds no machine.
func (s scene) begin() *Removal {
	allowed := policy.Default()
	if s.set != nil {
		s.set(allowed)
	}
	machines := map[string][]*cluster.Instance{}
	for _, n := range s.nodes {
		s.objects = append(s.objects, n)
		group, id, _ := strings.Cut(n.Name, "-")
		machines[group] = append(machines[group], Machine(id, n.Name, func(in *cluster.Instance) { in.UID = "vm-" + n.Name }))
	}
	a, b := Group("a", s.min, 9, machines["a"]...), Group("b", 0, 9, machines["b"]...)
	if s.groups != nil {
		s.groups(a, b)
	}
	snapshot := cluster.New(Start, Objects(s.objects...), []*cluster.Group{a, b})
	snapshot.Fleet = Ledger(snapshot, time.Hour)
	v := node.NewView(snapshot, allowed, s.kept, scheduling.NewChecker(snapshot), &node.Memo{})
	v.Memo.Look(v, nil)
	d := NewRemoval(grow.NewGrowth(place.NewRoom(v), &grow.Misses{}))
	d.holds.unhealthy = d.nodes.read()
	return d
}

// code is that of the first reason, "" for none.
func code(all []reason.Reason) string {
	if len(all) == 0 {
		return ""
	}
	return string(all[0].Code)
}

// names are the candidates' in their order.
func names(all []*candidate) string {
	var words []string
	for _, st := range all {
		words = append(words, st.Name())
	}
	return strings.Join(words, " ")
}

// since is the memory of a process that has seen nodes be removable for so long.
func since(ago map[string]time.Duration) memory.Memory {
	m := memory.Memory{Since: Start.Add(-time.Hour), Removing: memory.Removing{Removable: map[string]time.Time{}}}
	for name, d := range ago {
		m.Removable[name] = Start.Add(-d)
	}
	return m
}

// server is a node of the control plane.
func server(n *corev1.Node) { n.Labels[cluster.ControlPlaneRoles[0]] = "" }

func asked(n *corev1.Node) {
	metav1.SetMetaDataAnnotation(&n.ObjectMeta, cluster.DrainAnnotation, "now")
}

// TestEachRuleHoldsItsNodes has every row of [standing] hold node a-0, for its own reason and no earlier one, and some of them a node
// that a person has asked for. Without the scene no row holds it.
func TestEachRuleHoldsItsNodes(t *testing.T) {
	clings := func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }
	disabled := func(p *policy.Policy) { p.Removal.Enabled = false }
	paused := func(_ *Removal, st *candidate) { st.group.Paused = &reason.Reason{Code: reason.GroupPaused} }
	unknown := func(_ *Removal, st *candidate) { st.group.Blocked = &reason.Reason{Code: reason.GroupIncomplete} }
	sensitive := func(p *policy.Policy) { p.Health = policy.Health{} }
	cases := map[string]struct {
		node  func(*corev1.Node)
		scene scene
		found func(d *Removal, st *candidate) // before the rule is asked
		code  reason.Code
		asked bool // it holds a node that a person has asked for as well
	}{
		"removal is enabled":          {scene: scene{set: disabled}, code: reason.RemovalDisabled, asked: true},
		"nobody has paused the group": {found: paused, code: reason.GroupPaused, asked: true},
		"nodes that are not Ready go": {
			node: NotReady(Start), scene: scene{set: func(p *policy.Policy) { p.Removal.UnreadyEnabled = false }}, code: reason.NodeUnreadyStays,
		},
		"the cluster is healthy": {
			scene: scene{objects: []any{Node("c", NotReady(Start))}, set: sensitive}, code: reason.UnhealthyCluster, asked: true,
		},
		"the group is known":      {found: unknown, code: reason.GroupIncomplete, asked: true},
		"the group keeps its min": {scene: scene{min: 1}, code: reason.GroupAtMin, asked: true},
		"servers keep their quorum": {
			node: server, scene: scene{set: func(p *policy.Policy) { p.Removal.ControlPlane = true }}, code: reason.ControlPlaneQuorum, asked: true,
		},
		"pods that go with the machine may go": {
			scene: scene{objects: []any{Pod("p", On("a-0"), clings, Labelled("app", "p")), Budget("b", "app", "p", 0)}}, code: reason.PodBudget,
		},
		"no pod that waits has its place there": {
			found: func(d *Removal, st *candidate) { d.growth.Counted[st.Name()] = "default/p" }, code: reason.NodeCounted,
		},
		"headroom is kept without it": {
			scene: scene{groups: func(a, _ *cluster.Group) { a.Options.Headroom = &cluster.Headroom{Machines: 1} }},
			found: func(d *Removal, _ *candidate) { d.growth.Headrooms.Keep() }, code: reason.NodeHeadroom,
		},
		"the cluster keeps its minimum": {scene: scene{set: func(p *policy.Policy) { p.Removal.Keep.Cores = 1 }}, code: reason.ClusterMinimum},
	}
	plain := scene{nodes: []*corev1.Node{Node("a-0")}}.begin()
	for _, row := range standing {
		t.Run(row.rule, func(t *testing.T) {
			c, tested := cases[row.rule]
			if !tested {
				t.Fatal("no scene shows that this rule holds a node")
			}
			if why := row.why(plain.holds, plain.nodes.states[0]); why != nil {
				t.Errorf("it holds any node: %s", why.Code)
			}
			for _, person := range []bool{false, true} {
				n := Node("a-0")
				if c.node != nil {
					c.node(n)
				}
				if person {
					asked(n)
				}
				s := c.scene
				s.nodes = []*corev1.Node{n}
				d := s.begin()
				st := d.nodes.states[0]
				if c.found != nil {
					c.found(d, st)
				}
				want := string(c.code)
				if person && !c.asked {
					want = ""
				}
				if got := code(d.holds.forbidden(st)); got != want {
					t.Errorf("asked for by a person %t: held by %q, want %q", person, got, want)
				}
			}
		})
	}
	if len(cases) != len(standing) {
		t.Errorf("there are %d scenes of %d rules", len(cases), len(standing))
	}
}

// TestANodeThatMayGoWaits has node a-0 be idle, or carry a pod, for so long. Limits are those of [policy.Default]: ten minutes of idleness,
// twenty while it is not Ready.
func TestANodeThatMayGoWaits(t *testing.T) {
	const m = time.Minute
	deleting := func(a, _ *cluster.Group) {
		a.Instances = append(a.Instances, Machine("9", "", In(cluster.StateDeleting)))
	}
	drains := []any{Pod("p", On("a-0"))}
	for name, c := range map[string]struct {
		scene  scene
		node   func(*corev1.Node)
		since  time.Duration
		grown  time.Duration // ago
		flight int           // nodes on their way out
		drains int           // of these, such as are drained
		code   string        // "time" for no more than its time
		wakes  time.Duration
	}{
		"until its time has come": {since: 10*m - 1, code: "time", wakes: 1},
		"and no longer":           {since: 10 * m},
		"for as long as its group says": {
			since: 10 * m, scene: scene{groups: func(a, _ *cluster.Group) { a.Options.Unneeded = new(15 * m) }}, code: "time", wakes: 5 * m,
		},
		"longer while it is not Ready":     {since: 60 * m, node: NotReady(Start.Add(-19 * m)), code: "time", wakes: m},
		"and then no longer":               {since: 60 * m, node: NotReady(Start.Add(-20 * m))},
		"for a growth to be over":          {since: 60 * m, grown: 9 * m, code: "RemovalCoolsDown", wakes: m},
		"which its time comes before":      {since: m, grown: 9 * m, code: "time", wakes: 9 * m},
		"for others that are on their way": {since: 60 * m, flight: 10, code: "RemovalBudget"},
		"but not for one fewer":            {since: 60 * m, flight: 9},
		"nor where all go by one deletion": {since: 60 * m, flight: 10, scene: scene{groups: deleting}},
		"an idle one for no drain":         {since: 60 * m, drains: 1},
		"one with pods for each":           {since: 60 * m, drains: 1, scene: scene{objects: drains}, code: "RemovalBudget"},
		"one with pods for deletions as well": {
			since: 60 * m, flight: 10, scene: scene{objects: drains, groups: deleting}, code: "RemovalBudget",
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := Node("a-0")
			if c.node != nil {
				c.node(n)
			}
			s := c.scene
			s.nodes, s.kept = []*corev1.Node{n}, since(map[string]time.Duration{"a-0": c.since})
			if c.grown > 0 {
				s.kept.LastGrowth = Start.Add(-c.grown)
			}
			d := s.begin()
			d.queue.order(d.nodes.removable)
			d.traffic.inFlight, d.traffic.drains = c.flight, c.drains
			block := d.holds.notYet(d.nodes.states[0])
			got := code(block)
			if block != nil && got == "" {
				got = "time"
			}
			if got != c.code || c.wakes != 0 && !d.Next.Equal(Start.Add(c.wakes)) {
				t.Errorf("waits for %q, want %q; the next cycle is at %s", got, c.code, d.Next)
			}
		})
	}
}

func TestNodesLeaveInTheirOrder(t *testing.T) {
	const m = time.Minute
	on := func(node string, change ...func(*corev1.Pod)) any {
		return Pod("on-"+node, append(change, On(node))...)
	}
	important := func(p *corev1.Pod) { p.Spec.Priority = new(int32(7)) }
	cost := Annotated(corev1.PodDeletionCost, "5")
	silent := Node("a-0", NotReady(Start.Add(-m)))
	for name, c := range map[string]struct {
		first  *corev1.Node // beside a-1 and b-0
		ago    [3]time.Duration
		pods   []any
		groups func(a, b *cluster.Group)
		made   time.Duration // a pod that a drain has made homeless came to a-0 so long ago
		want   string
	}{
		"one whose time has come is first":         {ago: [3]time.Duration{5 * m, 6 * m, 20 * m}, want: "b-0 a-1 a-0"},
		"of those that wait the longest removable": {ago: [3]time.Duration{5 * m, 3 * m, 4 * m}, pods: []any{on("a-0")}, want: "a-0 b-0 a-1"},
		"of the others the cheapest to lose": {
			ago: [3]time.Duration{90 * m, 80 * m, 70 * m}, pods: []any{on("a-0", cost), on("a-1"), on("b-0")}, want: "a-1 b-0 a-0",
		},
		"then the least important": {
			ago: [3]time.Duration{90 * m, 80 * m, 70 * m}, pods: []any{on("a-0", important), on("a-1"), on("b-0")}, want: "a-1 b-0 a-0",
		},
		"then the dearest": {
			ago: [3]time.Duration{90 * m, 80 * m, 70 * m}, groups: func(_, b *cluster.Group) { b.PriceUSDPerHour = 1 }, want: "b-0 a-0 a-1",
		},
		"then a regular one": {
			ago: [3]time.Duration{90 * m, 80 * m, 70 * m}, groups: func(a, _ *cluster.Group) { a.Spot = true }, want: "b-0 a-0 a-1",
		},
		"then the least used": {
			ago: [3]time.Duration{90 * m, 80 * m, 70 * m}, pods: []any{on("a-0"), on("a-1", CPU("500m")), on("b-0")}, want: "a-1 a-0 b-0",
		},
		"then the longest removable":                {ago: [3]time.Duration{70 * m, 80 * m, 90 * m}, want: "b-0 a-1 a-0"},
		"then by name":                              {ago: [3]time.Duration{90 * m, 90 * m, 90 * m}, want: "a-0 a-1 b-0"},
		"one not Ready waits since it ceased to be": {first: silent, ago: [3]time.Duration{90 * m, 80 * m, 2 * m}, want: "a-1 b-0 a-0"},
		"one that receives pods of a drain anew":    {ago: [3]time.Duration{9 * m, 8 * m, 7 * m}, made: m, want: "a-1 b-0 a-0"},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene{nodes: []*corev1.Node{c.first, Node("a-1"), Node("b-0")}, objects: c.pods, groups: c.groups}
			if c.first == nil {
				s.nodes[0] = Node("a-0")
			}
			s.kept = since(map[string]time.Duration{"a-0": c.ago[0], "a-1": c.ago[1], "b-0": c.ago[2]})
			if c.made > 0 {
				s.objects = append(s.objects, on("a-0", func(p *corev1.Pod) { p.CreationTimestamp.Time = Start.Add(-c.made) }))
				s.kept.Emptied = map[string]memory.Emptied{"c-0": {At: Start.Add(-c.made)}}
			}
			d := s.begin()
			d.queue.order(d.nodes.removable)
			if got := names(d.nodes.removable); got != c.want {
				t.Errorf("they leave as %s, want %s", got, c.want)
			}
		})
	}
}

func TestACordonCountsUntilItIsTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		why     string
		delay   time.Duration // of the exclusion
		pods    []any
		exclude bool
		emptied bool
	}{
		"an idle node":                      {why: cluster.Idle},
		"one that pods have to leave":       {why: "underused", pods: []any{Pod("p", On("a-0"))}, emptied: true},
		"one that load balancers leave out": {why: cluster.Idle, delay: time.Minute, exclude: true},
		"one that runs dry serves them on":  {why: cluster.RunsDry, delay: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			set := func(p *policy.Policy) { p.Removal.Delay.Exclusion = c.delay }
			d := scene{nodes: []*corev1.Node{Node("a-0")}, objects: c.pods, set: set}.begin()
			st := d.nodes.states[0]
			d.cordon(st, c.why, reason.New(reason.NodeIdleFor, reason.Node("a-0"), "idle", time.Hour))
			put, is := d.Steps[0].(action.Cordon)
			if !is || put.Removal != (cluster.Removal{Since: Start, Why: c.why}) || put.Machine.UID != "vm-a-0" || put.Exclude != c.exclude {
				t.Errorf("it is cordoned by %+v", d.Steps[0])
			}
			_, emptied := d.Memory.Emptied["a-0"]
			said := d.Memo.Said[0].Outcome
			if d.traffic.inFlight != 1 || st.group.leaving != 1 || emptied != c.emptied || said != action.NodeCordoned {
				t.Errorf("in flight %d, leaving %d, emptied %t, said %s", d.traffic.inFlight, st.group.leaving, emptied, said)
			}
			if pause := d.Policy.Removal.Pause(); !d.Next.Equal(Start.Add(pause)) {
				t.Errorf("the next cycle is at %s, want it after %s", d.Next, pause)
			}
			st.Removal = put.Removal // as the next cycle reads it
			d.giveBack(st, reason.New(reason.NodeCounted, reason.Node("a-0"), "pod", "p"))
			back, is := d.Steps[1].(action.Uncordon)
			if !is || back.Because.Code != reason.NodeCounted || d.traffic.inFlight != 0 || st.group.leaving != 0 {
				t.Errorf("it is given back by %+v, in flight %d, leaving %d", d.Steps[1], d.traffic.inFlight, st.group.leaving)
			}
		})
	}
}
