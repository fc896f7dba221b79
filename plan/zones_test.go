package plan_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// across is group a over the zones x, y and z, of which it has machines with nodes a-0, a-1 ... in these.
func across(zones ...string) *cluster.Group {
	var machines []*cluster.Instance
	for i, zone := range zones {
		no := string(rune('0' + i))
		machines = append(machines, Machine(no, "a-"+no, Born(Start.Add(-time.Minute)), func(in *cluster.Instance) { in.Zone = zone }))
	}
	g := Group("a", 0, 20, machines...)
	g.Zones = []string{"x", "y", "z"}
	g.Template = g.Template.DeepCopy()
	g.Template.Labels = map[string]string{corev1.LabelTopologyZone: "x"}
	return g
}

// busy are full nodes of the group's machines.
func busy(g *cluster.Group) []any {
	var all []any
	for _, in := range g.Instances {
		all = append(all, Node(in.ComputerName, located(in.Zone)), Pod("base-"+in.ComputerName, On(in.ComputerName), CPU("4")))
	}
	return all
}

// located puts a node into a zone, wants has a pod go there alone.
func located(zone string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = zone }
}

// unreachable bears what Kubernetes puts on a node whose kubelet is silent.
func unreachable(n *corev1.Node) {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoSchedule})
}

func wants(zone string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone} }
}

func TestZonesOfAGroupTakeTurns(t *testing.T) {
	passed := func(zones ...string) memory.Memory {
		m := memory.GroupMemory{Astray: map[string]memory.Backoff{}}
		for _, zone := range zones {
			m.Astray[zone] = memory.Backoff{Until: Start.Add(time.Minute)}
		}
		return memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": m}}
	}
	for name, c := range map[string]struct {
		group   *cluster.Group
		flight  bool // its machines have no nodes yet, or those among the objects; else all are busy
		objects []any
		kept    memory.Memory
		want    []string
		zones   map[string]int
		verdict map[string]string
	}{
		"a pod that minds no zone gets the next machine": {
			group: across("x"), objects: []any{Pod("p", CPU("3"))},
			want: []string{"grow a 1 -> 2"}, zones: map[string]int{"x": 1, "y": 1}, verdict: map[string]string{"pod p": "grows NeedsMachine"},
		},
		"a zone whose turn it is costs one machine": {
			group: across("x"), objects: []any{Pod("p", wants("y"))},
			want: []string{"grow a 1 -> 2"}, zones: map[string]int{"x": 1, "y": 1}, verdict: map[string]string{"pod p": "grows NeedsMachine"},
		},
		"a zone whose turn comes third costs three": {
			group: across("x"), objects: []any{Pod("p", wants("x"))},
			want: []string{"grow a 1 -> 4"}, zones: map[string]int{"x": 2, "y": 1, "z": 1}, verdict: map[string]string{"pod p": "grows NeedsMachine ZoneTakesTurns"},
		},
		"machines in between are of use to whoever minds no zone": {
			group: across("x"), objects: []any{Pod("p", wants("x")), Pod("q", CPU("4")), Pod("r", CPU("4"))},
			want: []string{"grow a 1 -> 4"}, zones: map[string]int{"x": 2, "y": 1, "z": 1}, verdict: map[string]string{"pod p": "grows NeedsMachine", "pod q": "grows NeedsMachine"},
		},
		"a zone that is too far away is not waited for": {
			group: across("x", "x", "x"), objects: []any{Pod("p", wants("x"))},
			want: []string{}, verdict: map[string]string{"pod p": "stuck NoGroupGrows ZoneTooFar"},
		},
		"idle machines that could go count against waiting for a zone": {
			group: across("x", "y", "z"), flight: true,
			objects: []any{Node("a-0", located("x")), Pod("base", On("a-0"), CPU("4")), Node("a-1", located("y")), Node("a-2", located("z")), Pod("p", wants("x"), CPU("4")), Pod("q", wants("x"), CPU("4"))},
			want:    []string{"grow a 3 -> 4"}, zones: map[string]int{"x": 2, "y": 1, "z": 1}, verdict: map[string]string{"pod q": "stuck NoGroupGrows ZoneTooFar"},
		},
		"machines in flight stand for their zones": {
			flight: true, group: func() *cluster.Group { g := across("x"); g.Capacity = 3; return g }(), objects: []any{Pod("p", wants("z"), CPU("4")), Pod("q", wants("y"), CPU("4"))},
			want: []string{}, verdict: map[string]string{"pod p": "waiting FitsComingMachine", "pod q": "waiting FitsComingMachine"},
		},
		"a machine that is listed stands for the zone it is in": {
			group: across("z"), flight: true, objects: []any{Pod("p", wants("z"), CPU("4")), Pod("q", wants("x"), CPU("4"))},
			want: []string{"grow a 1 -> 2"}, zones: map[string]int{"x": 1, "z": 1}, verdict: map[string]string{"pod p": "waiting FitsComingMachine"},
		},
		"a machine that is started again stands for its zone": {
			group: func() *cluster.Group {
				g := across("x", "y")
				g.Instances[1].State = cluster.StateCreating
				return g
			}(),
			flight: true, objects: []any{
				Node("a-0", located("x")), Pod("base", On("a-0"), CPU("4")), Node("a-1", located("y"), Silent(Start.Add(-time.Hour)), unreachable),
				Pod("p", wants("y"), CPU("4")), Pod("q", CPU("4")),
			},
			want: []string{"grow a 2 -> 3"}, zones: map[string]int{"x": 1, "y": 1, "z": 1}, verdict: map[string]string{"pod p": "waiting FitsComingMachine", "pod q": "grows NeedsMachine"},
		},
		"a limit that is reached before a zone's turn is told": {
			group: func() *cluster.Group { g := across("x"); g.Max = 2; return g }(), objects: []any{Pod("p", wants("x"))},
			want: []string{}, verdict: map[string]string{"pod p": "stuck NoGroupGrows GroupAtMax"},
		},
		"a zone that is passed over is not waited for": {
			group: across("x"), objects: []any{Pod("p", wants("y")), Pod("q", wants("z"))}, kept: passed("y"),
			want: []string{"grow a 1 -> 2"}, zones: map[string]int{"x": 1, "z": 1}, verdict: map[string]string{"pod p": "stuck NoGroupFits ZonePassedOver", "pod q": "grows NeedsMachine"},
		},
		"when all zones are passed over none is": {
			group: across("x"), objects: []any{Pod("p", wants("y"))}, kept: passed("x", "y", "z"),
			want: []string{"grow a 1 -> 2"}, zones: map[string]int{"x": 1, "y": 1},
		},
		"parked machines are started first, wherever they are": {
			group: func() *cluster.Group {
				g := across("x")
				g.Parked = []*cluster.Instance{{ID: "9", Group: "a", UID: "parked", Zone: "z", State: cluster.StateStopped}}
				return g
			}(),
			objects: []any{Pod("p", wants("z"))},
			want:    []string{"grow a 1 -> 2"}, zones: map[string]int{"x": 1, "z": 1}, verdict: map[string]string{"pod p": "grows NeedsMachine"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !c.flight {
				c.objects = append(c.objects, busy(c.group)...)
			}
			p, _ := plan.Decide(cluster.New(Start, Objects(c.objects...), []*cluster.Group{c.group}), policy.Default(), c.kept)
			if diff := cmp.Diff(c.want, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			for _, a := range p.Actions {
				if a, grows := a.(action.SetCapacity); grows && !maps.Equal(a.Zones, c.zones) {
					t.Errorf("zones are to have %v, want %v", a.Zones, c.zones)
				}
			}
			for about, want := range c.verdict {
				if got := verdictOf(p, ref(about)); got != want {
					t.Errorf("%s: %s, want %s", about, got, want)
				}
			}
			complete(t, p)
		})
	}
}

// TestWhatAGroupOverZonesMayNotAddGoesToOneAlike has three machines wanted of two groups that are alike, of which the first may add one.
func TestWhatAGroupOverZonesMayNotAddGoesToOneAlike(t *testing.T) {
	a, b := across("x", "x", "y", "y", "z"), Group("b", 0, 20)
	a.Max = 6
	b.Template = a.Template
	objects := append(busy(a), Pod("p", CPU("4")), Pod("q", CPU("4")), Pod("r", CPU("4")))
	p, _ := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{a, b}), policy.Default(), memory.Memory{})
	if diff := cmp.Diff([]string{"grow a 5 -> 6", "grow b 0 -> 2"}, told(p)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestAZoneIsPassedOverWhenItsMachineComesUpElsewhere(t *testing.T) {
	asked := func(awaited map[string]int) memory.Memory {
		return memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Requested: Start.Add(-time.Hour), Capacity: 2, Awaited: awaited}}}
	}
	for name, c := range map[string]struct {
		group   *cluster.Group
		awaited map[string]int
		astray  []string
		awaits  bool // still
	}{
		"it came up where it was to":             {group: across("x", "y"), awaited: map[string]int{"x": 1, "y": 1}},
		"it came up in another zone":             {group: across("x", "x"), awaited: map[string]int{"x": 1, "y": 1}, astray: []string{"y"}},
		"two did":                                {group: across("x", "x", "x"), awaited: map[string]int{"x": 1, "y": 1, "z": 1}, astray: []string{"y", "z"}},
		"it never came, or has left":             {group: across("x"), awaited: map[string]int{"x": 1, "y": 1}},
		"somebody else added one":                {group: across("x", "y", "x"), awaited: map[string]int{"x": 1, "y": 1}},
		"one is still to come":                   {group: func() *cluster.Group { g := across("x", "x"); g.Capacity = 3; return g }(), awaited: map[string]int{"x": 1, "y": 1, "z": 1}, awaits: true},
		"the zone of one is not known yet":       {group: across("x", "x", ""), awaited: map[string]int{"x": 1, "y": 1, "z": 1}, awaits: true},
		"the read is older than the last growth": {group: func() *cluster.Group { g := across("x", "x"); g.Read.At = Start.Add(-2 * time.Hour); return g }(), awaited: map[string]int{"x": 1, "y": 1}, awaits: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, m := plan.Decide(cluster.New(Start, Objects(), []*cluster.Group{c.group}), policy.Default(), asked(c.awaited))
			got := m.Groups["a"]
			var astray []string
			for _, zone := range []string{"x", "y", "z"} {
				if b, is := got.Astray[zone]; is {
					astray = append(astray, zone)
					if !b.Until.Equal(Start.Add(policy.Default().Growth.Backoff.Initial)) {
						t.Errorf("%s is passed over until %s", zone, b.Until)
					}
				}
			}
			if diff := cmp.Diff(c.astray, astray); diff != "" {
				t.Errorf("zones passed over (-want +got):\n%s", diff)
			}
			if (got.Awaited != nil) != c.awaits {
				t.Errorf("awaited %v, want some: %v", got.Awaited, c.awaits)
			}
		})
	}
}

// TestAZoneThatIsTooFarIsToldWithTheMachinesThatCouldGo has a group whose machines carry nobody, and which has to keep two of them from the
// second cycle on.
func TestAZoneThatIsTooFarIsToldWithTheMachinesThatCouldGo(t *testing.T) {
	objects := []any{Pod("p", wants("x"))}
	for _, name := range []string{"a-0", "a-1", "a-2"} {
		objects = append(objects, Node(name, located("x")), Pod("d-"+name, On(name), CPU("4"), OwnedBy("DaemonSet", "d")))
	}
	allowed := policy.Default()
	var planner plan.Planner
	var s *cluster.Snapshot
	for i, limit := range []string{"0", "2"} {
		g := across("x", "x", "x")
		if g.Min = 2 * i; s == nil {
			s = cluster.New(Start, Objects(objects...), []*cluster.Group{g})
		} else {
			g.Template, g.Learned = s.Groups[0].Template, s.Groups[0].Learned
			s = s.Next(Start.Add(time.Second), s.Objects, []*cluster.Group{g})
		}
		p, _ := planner.Decide(s, allowed, memory.Memory{})
		v, _ := p.Verdict(ref("pod p"))
		if got := v.Because[len(v.Because)-1].Facts["limit"]; verdictOf(p, ref("pod p")) != "stuck NoGroupGrows ZoneTooFar" || got != limit {
			t.Errorf("min %d: %v %v, want limit %s", g.Min, v, v.Because, limit)
		}
	}
}
