package app

import (
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

func TestOnlyGroupsAtRestAreAskedAboutSeldom(t *testing.T) {
	group := func(change ...func(*cluster.Group)) *cluster.Group {
		g := Group("agents", 0, 9, Machine("0", "a"), Machine("1", "b"))
		for _, c := range change {
			c(g)
		}
		return g
	}
	says := func(o action.Outcome, about reason.Ref, code reason.Code) action.Verdict {
		return action.Verdict{Subject: about, Outcome: o, Because: []reason.Reason{reason.New(code, about)}}
	}
	agents := reason.Group("agents")
	a, b := Node("a"), Node("b")
	for name, c := range map[string]struct {
		objects  cluster.Objects
		group    *cluster.Group
		verdicts []action.Verdict
		want     cloud.Attention
	}{
		"all machines are Ready nodes":               {Objects(a, b), group(), nil, cloud.Seldom},
		"there is no machine":                        {Objects(), Group("agents", 0, 9), nil, cloud.Seldom},
		"a node at its group's min":                  {Objects(a, b), group(), []action.Verdict{says(action.NodeIdle, reason.Node("a"), reason.GroupAtMin)}, cloud.Seldom},
		"pods wait for a group that is full":         {Objects(a, b), group(), []action.Verdict{says(action.GroupFull, agents, reason.GroupAtMax)}, cloud.Seldom},
		"a node whose time to go comes":              {Objects(a, b), group(), []action.Verdict{says(action.NodeIdle, reason.Node("a"), reason.NodeIdle)}, cloud.Usual},
		"the group grows":                            {Objects(a, b), group(), []action.Verdict{says(action.GroupGrow, agents, reason.GroupGrows)}, cloud.Usual},
		"the group rests after a failure":            {Objects(a, b), group(), []action.Verdict{says(action.GroupBackoff, agents, reason.GroupBackoff)}, cloud.Usual},
		"a node on its way out":                      {Objects(a, Node("b", Removing(Start, cluster.Machine{Group: "agents", ID: "1"}))), group(), nil, cloud.Usual},
		"the cloud has announced something":          {Objects(a, Node("b", Noticed(cluster.Notice{Kind: "Preempt", ID: "1"}))), group(), nil, cloud.Usual},
		"the cloud wants more machines":              {Objects(a, b), group(func(g *cluster.Group) { g.Capacity++ }), nil, cloud.Usual},
		"the ledger does not know what a machine is": {Objects(a, b), group(), nil, cloud.Usual},
		"the list is not whole":                      {Objects(a, b), group(func(g *cluster.Group) { g.Read.Complete = false }), nil, cloud.Usual},
		"the group cannot be read":                   {Objects(a, b), group(func(g *cluster.Group) { g.Problem = "no" }), nil, cloud.Usual},
		"a parked machine":                           {Objects(a, b), group(func(g *cluster.Group) { g.Parked = []*cluster.Instance{Machine("2", "c")} }), nil, cloud.Usual},
		"a kubelet is silent":                        {Objects(a, Node("b", Silent(Start))), group(), nil, cloud.AtOnce},
		"a node is not Ready":                        {Objects(a, Node("b", NotReady(Start))), group(), nil, cloud.AtOnce},
		"a Node object is gone":                      {Objects(a), group(), nil, cloud.AtOnce},
		"a machine is coming":                        {Objects(a, b), Group("agents", 0, 9, Machine("0", "a"), Machine("1", "b", In(cluster.StateCreating))), nil, cloud.AtOnce},
		"a machine is switched off, and not noticed": {Objects(a, b), Group("agents", 0, 9, Machine("0", "a"), Machine("1", "b", In(cluster.StateStopped))), nil, cloud.AtOnce},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster.New(Start.Add(time.Minute), c.objects, []*cluster.Group{c.group})
			if strings.HasPrefix(name, "the ledger") {
				at := fleet.At(Start)
				s.Fleet = fleet.New(fleet.Usual(), at).Observe(at+2, fleet.Listed{Group: "agents", Asked: at + 1, Counted: true, Whole: true, Machines: []fleet.Sighted{{UID: "vm-9", State: fleet.Running}}},
					fleet.Listed{Group: "agents", Asked: at + 2, Counted: true, Whole: true})
			}
			if got := attention(s, &action.Plan{Verdicts: c.verdicts})["agents"]; got != c.want {
				t.Errorf("attention %d, want %d", got, c.want)
			}
		})
	}
}
