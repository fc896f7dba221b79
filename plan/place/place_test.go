package place

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/scheduling"
)

// scene is what a cycle finds at [Start], and what the last one left.
type scene struct {
	groups  []*cluster.Group
	objects []any
	kept    memory.Memory
	set     func(*policy.Policy)
}

// line has the pods that wait stand in line.
func (s scene) line() *Room {
	allowed := policy.Default()
	if s.set != nil {
		s.set(allowed)
	}
	os := Objects(s.objects...)
	var pods []*corev1.Pod
	for _, p := range os.Pods {
		pods = append(pods, p.Object())
	}
	os.Pods = cluster.NewPods(pods...) // those that are alike are of one class
	snapshot := cluster.New(Start, os, s.groups)
	v := node.NewView(snapshot, allowed, s.kept, scheduling.NewChecker(snapshot), &node.Memo{})
	v.Memo.Look(v, nil)
	d := NewRoom(v)
	d.OpenRoom()
	d.Collect()
	d.Order()
	d.CollectGangs()
	d.Bound()
	return d
}

// told is the verdict on a pod: its outcome, codes, and the node or group of the first of them.
func told(d *Room, pod string) string {
	at := slices.IndexFunc(d.Waiting, func(p *cluster.Pod) bool { return p.Name == pod })
	v := d.PodVerdicts[at]
	words := []string{string(v.Outcome)}
	for _, r := range v.Because {
		words = append(words, string(r.Code), r.Facts["node"]+r.Facts["group"])
	}
	return strings.TrimSpace(strings.Join(words, " "))
}

// is what a pod is.
type is []func(*corev1.Pod)

func priority(n int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &n } }

func aged(age time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(Start.Add(-age)) }
}

func unjudged(p *corev1.Pod) { p.Status.Conditions = nil }

func of(scheduler string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.SchedulerName = scheduler }
}

func ganged(least string) func(*corev1.Pod) { return Annotated(cluster.GangAnnotation, least) }

func TestPodsStandInLine(t *testing.T) {
	for name, c := range map[string]struct {
		pods []any
		want string // demands in their order, "+" between pods of one
	}{
		"pods that are alike are one demand, the oldest first":    {[]any{Pod("a"), Pod("b", aged(time.Hour))}, "b+a"},
		"the larger one is harder to place":                       {[]any{Pod("a"), Pod("b", CPU("2"))}, "b a"},
		"priority comes before size":                              {[]any{Pod("a", priority(1)), Pod("b", CPU("2"), priority(0))}, "a b"},
		"of two of a size the older one is first":                 {[]any{Pod("a"), Pod("b", Labelled("x", "b"), aged(time.Hour))}, "b a"},
		"one that the scheduler has not judged is another demand": {[]any{Pod("a"), Pod("b", unjudged), Pod("c")}, "a+c b"},
	} {
		t.Run(name, func(t *testing.T) {
			d := scene{objects: c.pods}.line()
			var demands []string
			for _, dm := range d.Demands {
				var pods []string
				for _, at := range dm.Pods {
					pods = append(pods, d.Waiting[at].Name)
				}
				demands = append(demands, strings.Join(pods, "+"))
			}
			if got := strings.Join(demands, " "); got != c.want {
				t.Errorf("in line are %q, want %q", got, c.want)
			}
		})
	}
}

// TestPodsFindTheirPlace has pod p look for a place on node a-0 of group a or on what is to come.
func TestPodsFindTheirPlace(t *testing.T) {
	mine := cluster.Machine{Group: "a", ID: "0", UID: "vm-0"}
	unbound := func(since, until, rest time.Duration) memory.Placing {
		u := memory.Unbound{Rest: rest}
		if u.Since = Start.Add(-since); until != 0 {
			u.Until = Start.Add(until)
		}
		return memory.Placing{Unbound: map[string]memory.Unbound{"uid-p": u}}
	}
	gated := func(gate string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}} }
	}
	nominated := func(p *corev1.Pod) { p.Status.NominatedNodeName = "a-0" }
	delay := func(p *policy.Policy) { p.Growth.PodDelay = 2 * time.Minute }
	bypassed := func(p *policy.Policy) { p.Growth.Schedulers.Bypassed = []string{"other"} }
	served := func(p *policy.Policy) { p.Growth.Schedulers.Allowed = []string{"x"} }
	older := Pod("o", CPU("4"), aged(time.Hour))
	const m = time.Minute
	for name, c := range map[string]struct {
		pod     is
		full    bool // node a-0 is
		leaves  bool // node a-0 does, since a minute
		coming  bool // a machine is
		other   any
		placing memory.Placing
		set     func(*policy.Policy)
		want    string
	}{
		"a node that is there comes first":            {coming: true, want: "scheduling FitsNode a-0"},
		"then one that is on its way out":             {leaves: true, coming: true, want: "rescues RescuesNode a-0"},
		"then a machine that is coming":               {full: true, coming: true, want: "waiting FitsComingMachine a"},
		"what is left over wants a machine":           {full: true, want: ""},
		"the scheduler may have made room":            {pod: is{nominated}, full: true, want: "scheduling PodNominated a-0"},
		"one that it has not judged finds a node":     {pod: is{unjudged}, want: "scheduling FitsNode a-0"},
		"and buys none":                               {pod: is{unjudged}, full: true, want: "ignored NotYetScheduled"},
		"another scheduler is waited for":             {pod: is{unjudged, of("other")}, full: true, want: "ignored OtherScheduler"},
		"unless it is bypassed":                       {pod: is{unjudged, of("other")}, full: true, set: bypassed},
		"a scheduler that is not served gets nothing": {pod: is{of("other")}, set: served, want: "ignored OtherScheduler"},
		"nor does a pod behind another gate":          {pod: is{gated("g")}, want: "ignored PodGated"},
		"one behind sluice's own does":                {pod: is{gated(cluster.CapacityGate)}, want: "scheduling FitsNode a-0"},
		"a pod below the cutoff gets nothing":         {pod: is{priority(-11)}, want: "ignored PodExpendable"},
		"an older pod comes before a young one":       {pod: is{CPU("4"), priority(1)}, other: older, full: true, coming: true, set: delay},
		"a young one takes what is left":              {full: true, coming: true, set: delay, want: "waiting FitsComingMachine a"},
		"a scheduler has ten minutes to bind a pod":   {placing: unbound(10*m-time.Second, 0, 0), want: "scheduling FitsNode a-0"},
		"a pod that it does not bind holds no node":   {placing: unbound(11*m, 0, 0), want: "stuck PodNotBound"},
		"nor one that it has not judged":              {pod: is{unjudged}, placing: unbound(11*m, 0, 0), want: "ignored PodNotBound"},
		"for as long as it is left":                   {pod: is{unjudged}, placing: unbound(60*m, 1, 30*m), want: "ignored PodNotBound"},
		"then it is tried again":                      {pod: is{unjudged}, placing: unbound(60*m, -1, 30*m), want: "scheduling FitsNode a-0"},
		"a new judgement of its scheduler ends that":  {placing: unbound(60*m, 30*m, 31*m), want: "scheduling FitsNode a-0"},
	} {
		t.Run(name, func(t *testing.T) {
			g, objects := Group("a", 0, 5, Machine("0", "a-0")), []any{Node("a-0"), Pod("p", c.pod...)}
			if c.leaves {
				objects[0] = Node("a-0", Removing(Start.Add(-m), mine))
			}
			if c.full {
				objects = append(objects, Pod("f", On("a-0"), CPU("4")))
			}
			if c.other != nil {
				objects = append(objects, c.other)
			}
			if c.coming {
				g = Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "", Born(Start), In(cluster.StateCreating)))
			}
			d := scene{[]*cluster.Group{g}, objects, memory.Memory{Placing: c.placing}, c.set}.line()
			d.PlacePending()
			if got := told(d, "p"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			counts := strings.HasPrefix(c.want, "scheduling")
			if counts != (d.Counted["a-0"] == "default/p") || d.TakenBack("a-0") != c.leaves {
				t.Errorf("a-0 is counted on by %q, and taken back: %t", d.Counted["a-0"], d.TakenBack("a-0"))
			}
		})
	}
}

func TestAPodThatIsLeftIsLeftLongerEachTime(t *testing.T) {
	for name, c := range map[string]struct{ rest, want time.Duration }{
		"the first time for ten minutes": {0, 10 * time.Minute},
		"then for twice as long":         {10 * time.Minute, 20 * time.Minute},
		"at most for a day":              {20 * time.Hour, 24 * time.Hour},
	} {
		u := map[string]memory.Unbound{"uid-p": {Since: Start.Add(-time.Hour), Rest: c.rest}}
		d := scene{objects: []any{Pod("p")}, kept: memory.Memory{Placing: memory.Placing{Unbound: u}}}.line()
		if got := d.Memory.Unbound["uid-p"]; got.Rest != c.want || !got.Until.Equal(Start.Add(c.want)) || !d.Next.Equal(got.Until) {
			t.Errorf("%s: %+v, and the next cycle is at %s", name, got, d.Next)
		}
	}
}

// TestPlacesAreKept has pods p of two cores and q of three, whose places the last cycle found. The larger one is placed first.
func TestPlacesAreKept(t *testing.T) {
	p, q := Pod("p", CPU("2")), Pod("q", CPU("3"))
	two := []*cluster.Instance{Machine("0", "a-0"), Machine("1", "a-1")}
	coming := func(id string) *cluster.Instance { return Machine(id, "", Born(Start), In(cluster.StateCreating)) }
	young := Node("a-0", func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(Start.Add(-time.Minute)) })
	for name, c := range map[string]struct {
		machines []*cluster.Instance
		nodes    []any
		last     []string // places of p and q
		want     []string
	}{
		"without a place the larger one is first": {two, []any{Node("a-0"), Node("a-1")}, nil, []string{"a-1", "a-0"}},
		"each keeps its node":                     {two, []any{Node("a-0"), Node("a-1")}, []string{"a-0", "a-1"}, []string{"a-0", "a-1"}},
		"of a place that is gone nothing is left": {two, []any{Node("a-0"), Node("a-1")}, []string{"a-0", "a-7"}, []string{"a-0", "a-1"}},
		"each keeps its machine that is coming": {
			[]*cluster.Instance{coming("0"), coming("1")}, nil, []string{"coming:a:0", "coming:a:1"}, []string{"coming:a:0", "coming:a:1"},
		},
		"a node that has come takes over a place": {
			[]*cluster.Instance{Machine("0", "a-0"), coming("1")}, []any{young}, []string{"coming:a:1", "coming:a:0"}, []string{"a-0", "coming:a:0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var kept memory.Memory
			if c.last != nil {
				kept.Places = &memory.Places{Nodes: c.last, Of: map[cluster.Key][]int32{p.Key: {0, 1}, q.Key: {1, 1}}}
			}
			d := scene{groups: []*cluster.Group{Group("a", 0, 5, c.machines...)}, objects: append(c.nodes, p, q), kept: kept}.line()
			d.PlacePending()
			d.Reservations.Remember()
			now := d.Memory.Places
			if got := []string{now.Nodes[now.Of[p.Key][0]], now.Nodes[now.Of[q.Key][0]]}; !slices.Equal(got, c.want) {
				t.Errorf("places are on %v, want %v", got, c.want)
			}
		})
	}
}

func TestAGangIsServedWhenItIsThere(t *testing.T) {
	two := func(node string) []any {
		return []any{Pod("q", ganged("2"), On(node)), Pod("r", ganged("2"), On(node))}
	}
	for name, c := range map[string]struct {
		pods []any
		gang string // "there of least, and why it is left out"
		runs bool
	}{
		"pods of their own are no gang":        {[]any{Pod("p")}, "", false},
		"a gang that is there is served":       {[]any{Pod("p", ganged("2")), Pod("q", ganged("2"))}, "2 of 2", false},
		"one whose pods are yet to come waits": {[]any{Pod("p", ganged("3")), Pod("q", ganged("3"))}, "2 of 3 GangAwaitsPods", false},
		"pods that have a place are there":     {[]any{Pod("p", ganged("2")), Pod("q", ganged("2"), On("a-0"))}, "2 of 2", false},
		"further pods are served one by one":   {append(two("a-0"), Pod("p", ganged("2"))), "3 of 2", true},
		"a number that is none is told":        {[]any{Pod("p", ganged("many"))}, "1 of 0 GangUnclear", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := scene{objects: append(c.pods, Node("a-0"))}.line()
			got, runs := "", false
			for _, g := range d.Gangs {
				got, runs = fmt.Sprintf("%d of %d", g.There, g.Least), g.Runs()
				if g.Out != nil {
					got += " " + string(g.Out.Code)
				}
			}
			if got != c.gang || runs != c.runs {
				t.Errorf("%q, runs %t, want %q, %t", got, runs, c.gang, c.runs)
			}
		})
	}
	d := scene{objects: []any{Pod("p", ganged("2"), unjudged), Pod("q", ganged("2"))}}.line()
	if len(d.Demands) != 2 || !d.Demands[0].Judged || !d.Demands[1].Judged {
		t.Error("a gang of which one pod is judged is not judged as a whole")
	}
}

func TestZonesTakeTurns(t *testing.T) {
	in := func(zone string) func(*cluster.Instance) { return func(i *cluster.Instance) { i.Zone = zone } }
	machine := func(node string, change ...func(*cluster.Instance)) []*cluster.Instance {
		return []*cluster.Instance{Machine("0", node, change...)}
	}
	at := func(zone string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = zone }
	}
	for name, c := range map[string]struct {
		machines []*cluster.Instance
		parked   []*cluster.Instance
		nodes    []any
		astray   string // a zone that is passed over
		next     string
		sites    string // zones in their order
		reaches  int    // machines until two are in zone x
		after    string // machines by zone, when three more are there
	}{
		"the zone with the fewest is next": {
			machines: machine("a-0", in("x")), nodes: []any{Node("a-0", at("x"))}, next: "y", sites: "y z x", reaches: 6, after: "map[x:2 y:1 z:1]",
		},
		"a machine that is coming stands for its zone": {
			machines: machine("", Born(Start), in("y")), next: "x", sites: "x z y", reaches: 3, after: "map[x:2 y:1 z:1]",
		},
		"a parked machine is started first": {
			parked: machine("", In(cluster.StateStopped), in("z")), next: "z", sites: "z x y", reaches: 4, after: "map[x:1 y:1 z:1]",
		},
		"a zone that is passed over has no turn": {astray: "x", next: "y", sites: "y z", reaches: farthest, after: "map[y:2 z:1]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := Group("a", 0, 20, c.machines...)
			g.Zones, g.Parked, g.Template.Labels[corev1.LabelTopologyZone] = []string{"x", "y", "z"}, c.parked, "x"
			passed := memory.GroupMemory{Astray: map[string]memory.Backoff{c.astray: {Until: Start.Add(time.Hour)}}}
			kept := memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": passed}}
			d := scene{groups: []*cluster.Group{g}, objects: c.nodes, kept: kept}.line()
			st := d.Listed[0]
			if got := strings.Join(st.Sites(), " "); st.NextZone() != c.next || got != c.sites || st.Reaches("x", 2) != c.reaches {
				t.Errorf("next is %s of %v, and x is reached after %d", st.NextZone(), got, st.Reaches("x", 2))
			}
			if zone := st.Sites()[1]; st.Node(zone).Labels[corev1.LabelTopologyZone] != zone {
				t.Errorf("a machine in %s has the labels %v", zone, st.Node(zone).Labels)
			}
			if d.Machines.OpenMachines(st, 3, NewName); fmt.Sprint(st.ZonesAfter()) != c.after {
				t.Errorf("zones have %v afterwards, want %v", st.ZonesAfter(), c.after)
			}
		})
	}
}

// TestACycleLooksAtSoMuch has six pods, the oldest first, of which each takes two fifths of what a cycle may look at.
func TestACycleLooksAtSoMuch(t *testing.T) {
	var objects []any
	for i := range 6 {
		objects = append(objects, Pod(fmt.Sprint(i), aged(time.Duration(10-i)*time.Minute), Labelled("x", fmt.Sprint(i))))
	}
	mark := func(d *Room, at int) memory.Mark {
		return memory.Mark{Created: d.Waiting[at].Created(), Name: d.Waiting[at].String()}
	}
	for name, c := range map[string]struct {
		upto, next int // of the last cycle; -1 for none
		placed     int // the pod that has a place; -1 for none
		looked     string
		unseen     int
	}{
		"the oldest that were never seen come first": {-1, -1, -1, "0 1 2", 3},
		"the next cycle goes on with those":          {2, -1, -1, "3 4 5", 0},
		"when all were seen it goes on in turn":      {5, 2, -1, "2 3 4", 0},
		"and begins anew at the end":                 {5, 5, -1, "0 1 5", 0},
		"a pod with a place is looked at always":     {2, -1, 1, "1 3 4", 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := scene{objects: objects}.line()
			last := round{waiting: d.Waiting, places: &memory.Places{Of: map[cluster.Key][]int32{}}}
			if c.upto >= 0 {
				last.last.Upto = mark(d, c.upto)
			}
			if c.next >= 0 {
				last.last.Next = mark(d, c.next)
			}
			if c.placed >= 0 {
				last.places.Of[d.Waiting[c.placed].Key] = []int32{0, 1}
			}
			later, _, now := last.choose(d.Demands, effort{sites: MostWork * 2 / 5, check: d.Check})
			looked := map[string]bool{"0": true, "1": true, "2": true, "3": true, "4": true, "5": true}
			for _, l := range later {
				delete(looked, d.Waiting[l.demands[0].Eldest].Name)
			}
			if got := strings.Join(slices.Sorted(maps.Keys(looked)), " "); got != c.looked || now.Unseen != c.unseen {
				t.Errorf("looked at %s, %d unseen; want %s, %d", got, now.Unseen, c.looked, c.unseen)
			}
		})
	}
}
