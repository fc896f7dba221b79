package plan_test

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// TestAMachineIsLateByWhatItsGroupHasShown has a machine of group a without a node for seven minutes, and a pod that waits for it. Group b
// could grow as well.
func TestAMachineIsLateByWhatItsGroupHasShown(t *testing.T) {
	boot := func(took time.Duration, size string) memory.Boot {
		return memory.Boot{Longest: took, Size: size, Learned: Start}
	}
	const size = "Standard_D4s_v5"
	for name, c := range map[string]struct {
		known   map[cluster.GroupID]memory.Boot
		since   time.Duration // the machine is without a node
		joined  bool          // another one of its group joined a minute ago
		lost    bool
		lone    bool // there is no group b
		machine string
		pod     string
	}{
		"nothing is known":                           {since: 7 * time.Minute, machine: "coming MachineComing", pod: "waiting FitsComingMachine"},
		"its group took two minutes":                 {known: map[cluster.GroupID]memory.Boot{"a": boot(2*time.Minute, size)}, since: 7 * time.Minute, machine: "coming MachineLate", pod: "grows b"},
		"exactly three times as long":                {known: map[cluster.GroupID]memory.Boot{"a": boot(2*time.Minute, size)}, since: 6 * time.Minute, machine: "coming MachineLate", pod: "grows b"},
		"a second less":                              {known: map[cluster.GroupID]memory.Boot{"a": boot(2*time.Minute, size)}, since: 6*time.Minute - time.Second, machine: "coming MachineComing", pod: "waiting FitsComingMachine"},
		"its group took ten seconds":                 {known: map[cluster.GroupID]memory.Boot{"a": boot(10*time.Second, size)}, since: 3*time.Minute - time.Second, machine: "coming MachineComing", pod: "waiting FitsComingMachine"},
		"its group took ten seconds, at three":       {known: map[cluster.GroupID]memory.Boot{"a": boot(10*time.Second, size)}, since: 3 * time.Minute, machine: "coming MachineLate", pod: "grows b"},
		"its group took too long to tell":            {known: map[cluster.GroupID]memory.Boot{"a": boot(5*time.Minute, size)}, since: 14 * time.Minute, machine: "coming MachineComing", pod: "waiting FitsComingMachine"},
		"another group of its size took as long":     {known: map[cluster.GroupID]memory.Boot{"b": boot(2*time.Minute, size)}, since: 7 * time.Minute, machine: "coming MachineLate", pod: "grows b"},
		"its group had another size then":            {known: map[cluster.GroupID]memory.Boot{"a": boot(2*time.Minute, "Standard_B2s")}, since: 7 * time.Minute, machine: "coming MachineComing", pod: "waiting FitsComingMachine"},
		"its group's own come first":                 {known: map[cluster.GroupID]memory.Boot{"a": boot(4*time.Minute, size), "b": boot(time.Minute, size)}, since: 7 * time.Minute, machine: "coming MachineComing", pod: "waiting FitsComingMachine"},
		"another machine of its group has joined":    {known: map[cluster.GroupID]memory.Boot{"a": boot(2*time.Minute, size)}, since: 7 * time.Minute, joined: true, machine: "coming MachineLate", pod: "grows a"},
		"there is no other group":                    {known: map[cluster.GroupID]memory.Boot{"a": boot(2*time.Minute, size)}, since: 7 * time.Minute, lone: true, machine: "coming MachineLate", pod: "waiting FitsComingMachine"},
		"it is lost, and nobody waits for it at all": {known: map[cluster.GroupID]memory.Boot{"a": boot(2*time.Minute, size)}, since: 7 * time.Minute, lost: true, machine: "hold MachineLost MachineLostRecently GroupLost", pod: "grows a"},
	} {
		t.Run(name, func(t *testing.T) {
			machines := []*cluster.Instance{Machine("1", "", Born(Start.Add(-c.since)), In(cluster.StateCreating))}
			if c.joined {
				machines = append(machines, Machine("2", "a-2", Born(Start.Add(-3*time.Minute))))
			}
			a := Group("a", 0, 5, machines...)
			a.Template, a.PriceUSDPerHour = Node("template"), 0.1
			objects := []any{Pod("p", CPU("3")), Node("elsewhere"), Pod("full", CPU("4"), On("elsewhere"))}
			if c.joined {
				objects = append(objects, Node("a-2", func(n *corev1.Node) { n.CreationTimestamp.Time = Start.Add(-time.Minute) }), Pod("busy", CPU("4"), On("a-2")))
			}
			groups := []*cluster.Group{a}
			if !c.lone {
				b := Group("b", 0, 5)
				b.Template, b.PriceUSDPerHour = Node("template"), 0.2
				groups = append(groups, b)
			}
			m := memory.Memory{Since: Start.Add(-time.Hour), Groups: map[cluster.GroupID]memory.GroupMemory{}}
			for id, boot := range c.known {
				m.Groups[id] = memory.GroupMemory{Boot: boot}
			}
			s := cluster.New(Start, Objects(objects...), groups)
			if c.lost {
				s.Fleet = ledgerOf(s, 2*time.Hour)
			}
			p, _ := plan.Decide(s, policy.Default(), m)
			if got := verdictOf(p, reason.Instance("a", "1")); got != c.machine {
				t.Errorf("machine: %q, want %q", got, c.machine)
			}
			v, _ := p.Verdict(reason.Pod("default", "p"))
			got := string(v.Outcome) + " " + string(v.Because[0].Code)
			if v.Outcome == action.PodGrows {
				got = string(v.Outcome) + " " + v.Because[0].Facts["group"]
			}
			if got != c.pod {
				t.Errorf("pod: %q, want %q", got, c.pod)
			}
		})
	}
}

// TestWhatMachinesTookIsLearned has a machine without a node beside nodes that came before.
func TestWhatMachinesTookIsLearned(t *testing.T) {
	took := func(times ...time.Duration) (objects []any, g *cluster.Group) {
		machines := []*cluster.Instance{Machine("9", "", Born(Start), In(cluster.StateCreating))}
		for i, boot := range times {
			id := string(rune('0' + i))
			machines = append(machines, Machine(id, "a-"+id, Born(Start.Add(-time.Hour))))
			objects = append(objects, Node("a-"+id, func(n *corev1.Node) { n.CreationTimestamp.Time = Start.Add(boot - time.Hour) }))
		}
		return objects, Group("a", 0, 9, machines...)
	}
	for name, c := range map[string]struct {
		took []time.Duration
		was  memory.Boot
		want time.Duration
	}{
		"the longest of them":                      {[]time.Duration{time.Minute, 3 * time.Minute, 2 * time.Minute}, memory.Boot{}, 3 * time.Minute},
		"none longer than machines are waited for": {[]time.Duration{time.Minute, 40 * time.Minute}, memory.Boot{}, time.Minute},
		"nor one that took over an older node":     {[]time.Duration{-time.Minute}, memory.Boot{}, 0},
		"a longer one that has gone lately":        {[]time.Duration{time.Minute}, memory.Boot{Longest: 10 * time.Minute, Size: "Standard_D4s_v5", Learned: Start.Add(-23 * time.Hour)}, 10 * time.Minute},
		"not one that went a day ago":              {[]time.Duration{time.Minute}, memory.Boot{Longest: 10 * time.Minute, Size: "Standard_D4s_v5", Learned: Start.Add(-24 * time.Hour)}, time.Minute},
		"not one of another size":                  {[]time.Duration{time.Minute}, memory.Boot{Longest: 10 * time.Minute, Size: "Standard_B2s", Learned: Start}, time.Minute},
		"what was known of a group without nodes":  {nil, memory.Boot{Longest: 10 * time.Minute, Size: "Standard_D4s_v5", Learned: Start.Add(-48 * time.Hour)}, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			objects, g := took(c.took...)
			m := memory.Memory{Since: Start.Add(-time.Hour), Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Boot: c.was}}}
			_, m = plan.Decide(cluster.New(Start, Objects(objects...), []*cluster.Group{g}), policy.Default(), m)
			if diff := gocmp.Diff(c.want, m.Groups["a"].Boot.Longest); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestALoneMachineTeaches has the only machine of a group become a node: no other one is without a node.
func TestALoneMachineTeaches(t *testing.T) {
	young := Node("a-0", func(n *corev1.Node) { n.CreationTimestamp.Time = Start.Add(-time.Minute) })
	g := Group("a", 0, 9, Machine("0", "a-0", Born(Start.Add(-3*time.Minute))))
	_, m := plan.Decide(cluster.New(Start, Objects(young), []*cluster.Group{g}), policy.Default(), memory.Memory{})
	if got := m.Groups["a"].Boot.Longest; got != 2*time.Minute {
		t.Errorf("it took %s, want two minutes", got)
	}
}
