package plan_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// TestABreakerOpensWhenMachinesNeverJoin begins with machines that have had their time, and so many before them, and asks for machines for
// four pods.
func TestABreakerOpensWhenMachinesNeverJoin(t *testing.T) {
	ago := func(d time.Duration) time.Time { return Start.Add(-d) }
	breaker := func(machines int) memory.Breaker {
		return memory.Breaker{Machines: machines, Last: ago(40 * time.Minute)}
	}
	kept := breaker(3)
	kept.Kept, kept.Until = "vm-0", Start.Add(time.Minute)
	kept.Last = ago(20 * time.Minute)
	over := kept
	over.Until = Start
	costing := func(usd float64) func(*policy.Policy) {
		return func(p *policy.Policy) {
			p.Growth.Ceilings = []policy.GroupCeiling{{Ceiling: cluster.Ceiling{Limit: usd, Unit: cluster.CeilingRate}}}
		}
	}
	first := []string{"a-9"}
	for name, c := range map[string]struct {
		was     memory.Breaker
		strays  []string      // machines that have waited for their nodes for 20 minutes
		nodes   []string      // of the group, two hours old
		young   time.Duration // how old a further node is, 0 for none
		policy  func(*policy.Policy)
		max     int
		granted int // machines, a minute ago
		want    []string
		open    bool
		hold    string // the machine that is kept
	}{
		"two that failed are two accidents":                    {strays: []string{"0", "1"}, want: []string{"delete a 0() 1()"}},
		"the third opens it, and is kept":                      {strays: []string{"0", "1", "2"}, want: []string{"delete a 0() 1()"}, open: true, hold: "2"},
		"the third after two before it":                        {was: breaker(2), strays: []string{"0"}, open: true, hold: "0"},
		"a new one is kept instead of the one before":          {was: memory.Breaker{Machines: 3, Last: ago(40 * time.Minute), Kept: "vm-0", Until: Start.Add(time.Minute)}, strays: []string{"0", "1"}, want: []string{"delete a 0()"}, open: true, hold: "1"},
		"none is kept when its time is over":                   {was: over, strays: []string{"0"}, want: []string{"delete a 0()"}, open: true},
		"it is kept until then":                                {was: kept, strays: []string{"0"}, open: true},
		"none is kept when that is switched off":               {was: breaker(2), strays: []string{"0"}, policy: func(p *policy.Policy) { p.Removal.Unregistered.Keep = 0 }, want: []string{"delete a 0()"}, open: true},
		"none is kept where no other has room beside it":       {was: breaker(2), strays: []string{"0"}, max: 1, want: []string{"delete a 0()"}, open: true},
		"none is kept where the cluster has no room beside it": {was: breaker(2), strays: []string{"0"}, nodes: first, policy: func(p *policy.Policy) { p.Growth.Max.Nodes = 2 }, want: []string{"delete a 0()"}, open: true},
		"nor where its cores are those that another one lacks": {was: breaker(2), strays: []string{"0"}, nodes: first, policy: func(p *policy.Policy) { p.Growth.Max.Cores = 11 }, want: []string{"delete a 0()"}, open: true},
		"nor where it takes what machines may cost":            {was: breaker(2), strays: []string{"0"}, nodes: first, policy: costing(2.5), want: []string{"delete a 0()"}, open: true},
		"it is kept where that leaves room for another one":    {was: breaker(2), strays: []string{"0"}, nodes: first, policy: costing(3), open: true, hold: "0"},
		"it is kept where others only have to wait": {was: breaker(2), strays: []string{"0"}, nodes: first, policy: func(p *policy.Policy) {
			p.Growth.Ceilings = []policy.GroupCeiling{{Ceiling: cluster.Ceiling{Limit: 1, Unit: cluster.CeilingMachines, Window: time.Hour}}}
		}, granted: 1, open: true, hold: "0"},
		"it is kept where a ceiling is too small for any machine": {was: breaker(2), strays: []string{"0"}, nodes: first, policy: func(p *policy.Policy) {
			p.Growth.Ceilings = []policy.GroupCeiling{{Ceiling: cluster.Ceiling{Limit: 0.5, Unit: cluster.CeilingUSD, Window: time.Hour}}}
		}, open: true, hold: "0"},
		"it is kept where none has room without it either":    {was: breaker(2), strays: []string{"0"}, nodes: first, policy: func(p *policy.Policy) { p.Growth.Max.Nodes = 1 }, open: true, hold: "0"},
		"one machine is tried":                                {was: breaker(3), nodes: first, want: []string{"grow a 1 -> 2"}, open: true},
		"one that joined closes it":                           {was: breaker(3), nodes: first, young: 30 * time.Minute, want: []string{"grow a 2 -> 6"}},
		"one that joined before them does not":                {was: breaker(3), nodes: first, young: 50 * time.Minute, want: []string{"grow a 2 -> 3"}, open: true},
		"those that came with one which joined do not count":  {was: breaker(2), strays: []string{"0", "1"}, young: 19 * time.Minute, want: []string{"delete a 0() 1()"}},
		"it closes by itself when nothing is tried for hours": {was: memory.Breaker{Machines: 3, Last: ago(4 * time.Hour)}, young: 5 * time.Hour, want: []string{"grow a 1 -> 5"}},
	} {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			if c.policy != nil {
				c.policy(allowed)
			}
			objects := []any{Pod("p0", CPU("3")), Pod("p1", CPU("3")), Pod("p2", CPU("3")), Pod("p3", CPU("3"))}
			g := Group("a", 0, cmp.Or(c.max, 9))
			g.PriceUSDPerHour = 1
			m := memory.Memory{Since: ago(3 * time.Hour), Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Breaker: c.was}}}
			if c.granted > 0 {
				m.Granted = []memory.Grant{{Group: "a", Machines: c.granted, At: ago(time.Minute)}}
			}
			node := func(name, id string, age time.Duration) {
				n := Node(name)
				n.CreationTimestamp.Time = ago(age)
				objects = append(objects, n, Pod("on-"+name, On(name), CPU("3")))
				g.Instances = append(g.Instances, Machine(id, name))
			}
			for _, id := range c.strays {
				g.Instances = append(g.Instances, Machine(id, "", Born(ago(20*time.Minute))))
			}
			for _, name := range c.nodes {
				node(name, "9", 2*time.Hour)
			}
			if c.young > 0 {
				node("a-99", "99", c.young)
			}
			for _, in := range g.Instances {
				in.Group = g.ID
			}
			g.Capacity = len(g.Instances)
			p, after := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{g}), allowed, m)
			if d := diff.Diff(c.want, told(p), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("actions (-want +got):\n%s", d)
			}
			b := after.Groups["a"].Breaker
			if open := b.Machines >= 3; open != c.open {
				t.Errorf("open: %t, want %t: %+v", open, c.open, b)
			}
			if c.hold != "" && (b.Kept != "vm-"+c.hold || !b.Until.Equal(Start.Add(time.Hour))) {
				t.Errorf("kept: %q until %s, want machine %s for an hour", b.Kept, b.Until, c.hold)
			}
			_, again := plan.Decide(cluster.New(Start.Add(time.Second), Objects(objects...), []*cluster.Group{g}), allowed, after)
			if d := diff.Diff(b.Machines, again.Groups["a"].Breaker.Machines); d != "" {
				t.Errorf("the same machines count twice (-once +twice):\n%s", d)
			}
		})
	}
}

// TestANodeThatIsNotReadyInItsTimeIsAFailure has one node that is, or was, not Ready, and two failures of such nodes before it: it has the
// group rest and opens its breaker, or does neither.
func TestANodeThatIsNotReadyInItsTimeIsAFailure(t *testing.T) {
	ago := func(d time.Duration) time.Time { return Start.Add(-d) }
	for name, c := range map[string]struct {
		age     time.Duration // of the node
		unready time.Duration // for how long
		change  func(*corev1.Node)
		state   cluster.State
		since   time.Duration // the process began so long ago
		besides time.Duration // how old a further node is that is Ready, 0 for none
		rests   bool
		open    bool
	}{
		"never Ready":                         {age: 15 * time.Minute, unready: 15 * time.Minute, rests: true, open: true},
		"not Ready when its time was over":    {age: 15 * time.Minute, unready: time.Minute, rests: true, open: true},
		"has some time left":                  {age: 14 * time.Minute, unready: 14 * time.Minute},
		"Ready when its time was over":        {age: 20 * time.Minute, unready: time.Minute},
		"it fell silent":                      {age: 15 * time.Minute, unready: 15 * time.Minute, change: silent},
		"its machine is being deleted":        {age: 15 * time.Minute, unready: 15 * time.Minute, state: cluster.StateDeleting},
		"the process began when it was over":  {age: 20 * time.Minute, unready: 20 * time.Minute, since: 2 * time.Minute},
		"one that came with it came up":       {age: 15 * time.Minute, unready: 15 * time.Minute, besides: 14 * time.Minute, rests: true},
		"one came up before it":               {age: 15 * time.Minute, unready: 15 * time.Minute, besides: 16 * time.Minute, rests: true},
		"one that came after it is not Ready": {age: 15 * time.Minute, unready: 15 * time.Minute, besides: -1, rests: true, open: true},
	} {
		t.Run(name, func(t *testing.T) {
			node := Node("a-0", NotReady(ago(c.unready)), func(n *corev1.Node) { n.CreationTimestamp.Time = ago(c.age) })
			if c.change != nil {
				c.change(node)
			}
			objects := []any{node, Pod("p0", CPU("3"))}
			g := Group("a", 0, 9, Machine("0", "a-0", In(cmp.Or(c.state, cluster.StateRunning))))
			switch {
			case c.besides > 0:
				objects = append(objects, Node("a-1", func(n *corev1.Node) { n.CreationTimestamp.Time = ago(c.besides) }))
			case c.besides < 0:
				objects = append(objects, Node("a-1", NotReady(ago(time.Minute)), func(n *corev1.Node) { n.CreationTimestamp.Time = ago(time.Minute) }))
			}
			if c.besides != 0 {
				g.Instances = append(g.Instances, Machine("1", "a-1"))
				g.Instances[1].Group, g.Capacity = g.ID, 2
			}
			m := memory.Memory{Since: ago(cmp.Or(c.since, 3*time.Hour)), Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Breaker: memory.Breaker{Machines: 2, Last: ago(40 * time.Minute)}}}}
			_, after := plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{g}), policy.Default(), m)
			got := after.Groups["a"]
			if rests := got.Backoff.Until.After(Start); rests != c.rests || rests && got.Backoff.Code != string(reason.NodeNeverReady) {
				t.Errorf("it rests until %s for %q, want that it does: %t", got.Backoff.Until, got.Backoff.Code, c.rests)
			}
			if open := got.Breaker.Machines >= 3; open != c.open {
				t.Errorf("open: %t, want %t: %+v", open, c.open, got.Breaker)
			}
			if got.Breaker.Kept != "" {
				t.Errorf("machine %s is kept, whose node stays for a while by itself", got.Breaker.Kept)
			}
			_, again := plan.Decide(cluster.New(Start.Add(time.Second), Objects(objects...), []*cluster.Group{g}), policy.Default(), after)
			if d := diff.Diff(got.Breaker, again.Groups["a"].Breaker); d != "" {
				t.Errorf("the same node counts twice (-once +twice):\n%s", d)
			}
		})
	}
}

// TestTheNextProcessKnowsWhatNeverJoined has a process take over with an empty memory but for the breakers of the one before.
func TestTheNextProcessKnowsWhatNeverJoined(t *testing.T) {
	g := Group("a", 0, 9)
	since := Start.Add(-20 * time.Minute)
	for _, id := range []string{"0", "1", "2"} {
		g.Instances = append(g.Instances, Machine(id, "", Born(since)))
	}
	g.Instances[2].Created = Start.Add(20 * time.Minute)
	g.Instances[0].Protected, g.Instances[1].Protected = true, true // they fail, and stay
	for _, in := range g.Instances {
		in.Group = g.ID
	}
	g.Capacity = len(g.Instances)
	decide := func(at time.Time, m memory.Memory, machines int) memory.Memory {
		seen := *g
		seen.Instances, seen.Capacity = g.Instances[:machines], machines
		_, after := plan.Decide(cluster.New(at, Objects(Pod("p0", CPU("3"))), []*cluster.Group{&seen}), policy.Default(), m)
		return after
	}
	two := decide(Start, memory.Memory{Since: since}, 2)
	want := memory.Breakers{Groups: map[cluster.GroupID]memory.Handed{"a": {
		Breaker: memory.Breaker{Machines: 2, Last: since},
		Backoff: memory.Backoff{Until: Start.Add(5 * time.Minute), Length: 5 * time.Minute, Last: Start, Code: "NeverJoined", Message: "has no node after 20m0s (limit 15m0s)"},
		Noticed: since.Add(15 * time.Minute),
	}}}
	if d := diff.Diff(want, two.Breakers(Start, policy.Default())); d != "" {
		t.Fatalf("two machines failed (-want +got):\n%s", d)
	}
	next := two.Breakers(Start, policy.Default()).Memory(Start)
	for _, at := range []time.Duration{time.Minute, 2 * time.Minute, 20 * time.Minute} {
		next = decide(Start.Add(at), next, 2)
		if d := diff.Diff(want, next.Breakers(Start, policy.Default())); d != "" {
			t.Fatalf("the next process, after %s (-want +got):\n%s", at, d)
		}
	}
	next = decide(Start.Add(21*time.Minute), next, 3)
	next = decide(Start.Add(40*time.Minute), next, 3)
	if b := next.Breakers(Start, policy.Default()).Groups["a"]; b.Machines != 3 || b.Kept != "vm-2" {
		t.Errorf("a third machine failed: %+v", b)
	}
	rests := Start.Add(5 * time.Hour)
	rested := decide(rests, next, 2).Breakers(rests, policy.Default()).Memory(rests)
	if b := decide(rests.Add(time.Minute), rested, 2).Groups["a"].Breaker; b.Machines != 0 {
		t.Errorf("two that failed hours ago and are there still count again: %+v", b)
	}
	whole := decide(Start.Add(5*time.Hour), memory.Breakers{Groups: map[cluster.GroupID]memory.Handed{"a": {Breaker: memory.Breaker{Last: since}}}}.Memory(since), 0)
	if b := whole.Breakers(Start, policy.Default()); !b.IsZero() {
		t.Errorf("nothing failed, and breakers are left: %+v", b)
	}
}

// TestAGroupWhoseMachinesDoNotJoinSaysWhyItDoesNotGrow has three machines run for twenty minutes that are no nodes, and that are left
// alone: what the guard would refuse is not asked for (S-35).
func TestAGroupWhoseMachinesDoNotJoinSaysWhyItDoesNotGrow(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*cluster.Group)
		objects []any
		want    []string
		strays  bool
	}{
		"three run and are no nodes": {strays: true},
		"one of them is on its way":  {change: func(g *cluster.Group) { g.Instances[0].State = cluster.StateCreating }, want: []string{"grow a 3 -> 4"}},
	} {
		t.Run(name, func(t *testing.T) {
			born := Born(Start.Add(-20 * time.Minute))
			g := Group("a", 0, 9, Machine("0", "", born), Machine("1", "", born), Machine("2", "", born))
			for _, in := range g.Instances {
				in.Protected = true
			}
			g.Template = Node("template")
			if c.change != nil {
				c.change(g)
			}
			m := memory.Memory{Since: Start.Add(-time.Hour)}
			failed := memory.GroupMemory{Noticed: Start} // its back-off is over
			m.Groups = map[cluster.GroupID]memory.GroupMemory{"a": failed}
			s := cluster.New(Start, Objects(append(c.objects, Pod("p", CPU("3")))...), []*cluster.Group{g})
			s.Fleet = AskedFor(g, 0, Start)
			p, _ := plan.Decide(s, policy.Default(), m)
			if d := diff.Diff(c.want, told(p), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("actions (-want +got):\n%s", d)
			}
			for _, about := range []reason.Ref{reason.Group("a"), reason.Pod("default", "p")} {
				v, _ := p.Verdict(about)
				if says := slices.ContainsFunc(v.Because, func(r reason.Reason) bool {
					return r.Code == reason.GroupStrays && r.Facts["machines"] == "3"
				}); says != c.strays {
					t.Errorf("%s: says that three do not join: %t, want %t: %s", about, says, c.strays, reason.Sentences(v.Because))
				}
			}
		})
	}
}

// TestTheRemedyOfAForeignGroupSaysWhichClusterThisIs has one machine run that was never a node, in a cluster whose id is known and in one
// where it is not.
func TestTheRemedyOfAForeignGroupSaysWhichClusterThisIs(t *testing.T) {
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "uid-of-this-one"}}
	for want, namespaces := range map[string][]*corev1.Namespace{
		"--cluster-id=uid-of-this-one, the UID of namespace kube-system": {system},
		"--cluster-id=<cluster>, the UID of namespace kube-system":       nil,
	} {
		var o cluster.Objects
		o.Namespaces = namespaces
		g := Group("a", 0, 9, Machine("0", "", Born(Start.Add(-20*time.Minute))))
		g.Joined = false
		m := memory.Memory{Since: Start.Add(-time.Hour)}
		p, _ := plan.Decide(cluster.New(Start, o, []*cluster.Group{g}), policy.Default(), m)
		v, _ := p.Verdict(reason.Instance("a", "0"))
		if len(v.Because) != 2 || v.Because[1].Code != reason.GroupForeign || !strings.Contains(v.Because[1].Remedy(), want) || !strings.Contains(v.Because[1].Sentence(), "1 machines never were nodes") {
			t.Errorf("want GroupForeign with the remedy %q:\n%+v", want, v.Because)
		}
	}
}
