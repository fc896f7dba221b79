package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestPlansHeedTheSafetyContract holds plans to what the ledger of machines allows: what it keeps is neither cordoned nor asked to go.
func TestPlansHeedTheSafetyContract(t *testing.T) {
	silent := func(name string) any { return Node(name, NotReady(Start.Add(-30*time.Minute))) }
	cases := map[string]struct {
		objects []any
		group   *cluster.Group
		kept    memory.Memory
		want    []string
		verdict map[string]string
	}{
		"Ready nodes that the min needs stay beside silent ones": {
			objects: []any{Node("a-0"), silent("a-1"), silent("a-2")}, group: three(), kept: removable("a-0"),
			want: []string{}, verdict: map[string]string{"node a-0": "idle GroupMinReady NodeIdle"},
		},
		"a node on the ladder comes down when the min needs it": {
			objects: []any{leaving("a-0", "0", time.Hour), silent("a-1"), silent("a-2")}, group: three(), kept: removable(),
			want: []string{"uncordon a-0: GroupMinReady"}, verdict: map[string]string{"node a-0": "rescue GroupMinReady"},
		},
		"a node that has run dry stays when the min needs it": {
			objects: []any{Node("a-0", Removing(Start.Add(-time.Hour), marked("0")), For(cluster.RunsDry)), silent("a-1"), silent("a-2")}, group: three(), kept: removable(),
			want: []string{"uncordon a-0: GroupMinReady"}, verdict: map[string]string{"node a-0": "rescue GroupMinReady"},
		},
		"an idle node goes beside silent ones when the min needs it not": {
			objects: []any{Node("a-0"), Node("a-1"), silent("a-2")}, group: three(), kept: removable("a-0"),
			want: []string{"cordon a-0 idle"},
		},
		"machines that are lost together stay, and its group says so": {
			objects: []any{Node("a-0"), silent("a-1"), silent("a-2")}, group: three(), kept: removable("a-2"),
			want: []string{}, verdict: map[string]string{"node a-2": "idle MachineLostRecently GroupLost NodeNotReady", "group a": "steady GroupLost GroupSteady"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := cluster.New(Start, Objects(c.objects...), []*cluster.Group{c.group})
			s.Fleet = ledgerOf(s, 2*time.Hour)
			p, _ := plan.Decide(s, policy.Default(), sawCordons(c.kept, c.objects))
			if diff := cmp.Diff(c.want, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			for about, want := range c.verdict {
				if got := verdictOf(p, ref(about)); got != want {
					t.Errorf("%s: %q, want %q", about, got, want)
				}
			}
		})
	}
}

// known is the snapshot with what a process knows of its machines that began two hours ago.
func known(s *cluster.Snapshot) *cluster.Snapshot {
	s.Fleet = Ledger(s, 2*time.Hour)
	return s
}

// ledgerOf is the ledger of a process that began so long ago and has watched the machines since, and whose nodes that are not Ready, or not
// there, went half an hour ago.
func ledgerOf(s *cluster.Snapshot, since time.Duration) fleet.Ledger {
	began, now := fleet.At(s.Time.Add(-since)), fleet.At(s.Time)
	l := fleet.New(fleet.Usual(), began)
	for _, g := range s.Groups {
		listed := fleet.Listed{Group: fleet.GroupID(g.ID), Asked: began + 1, Counted: true, Capacity: g.Capacity, Whole: true}
		nodes := fleet.Nodes{Group: listed.Group, At: began + 1}
		for _, in := range g.Instances {
			listed.Machines = append(listed.Machines, fleet.Sighted{UID: fleet.UID(in.UID), ID: string(in.ID), State: fleet.Running, Created: began - 1})
			nodes.Seen = append(nodes.Seen, fleet.NodeSeen{Group: listed.Group, UID: fleet.UID(in.UID), At: began + 1, Created: began, Ready: true, Since: began})
		}
		l = l.Observe(began+1, listed, nodes)
	}
	for _, n := range s.Nodes {
		if n.Instance != nil && !cluster.Ready(n.Object) {
			at := fleet.At(s.Time.Add(-30 * time.Minute))
			l = l.Observe(at, fleet.NodeSeen{Group: fleet.GroupID(n.Group), UID: fleet.UID(n.Instance.UID), At: at, Since: at})
		}
	}
	for _, g := range s.Groups {
		for _, in := range g.Instances {
			if in.Node == "" {
				at := fleet.At(s.Time.Add(-30 * time.Minute))
				l = l.Observe(at, fleet.NodeGone{Group: fleet.GroupID(g.ID), UID: fleet.UID(in.UID), At: at})
			}
		}
		listed := fleet.Listed{Group: fleet.GroupID(g.ID), Asked: now - 1, Counted: true, Capacity: g.Capacity, Whole: true}
		for _, in := range g.Instances {
			listed.Machines = append(listed.Machines, fleet.Sighted{UID: fleet.UID(in.UID), ID: string(in.ID), State: fleet.Running, Created: began - 1})
		}
		l = l.Observe(now, listed)
	}
	return l
}
