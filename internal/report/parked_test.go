package report

import (
	"slices"
	"strings"
	"testing"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

func TestParkedMachinesAreNotCalledDeleted(t *testing.T) {
	leaves := Machine("1", "agents-1", In(cluster.StateDeleting))
	parks := Group("agents", 0, 5, Machine("0", "agents-0"), leaves)
	parks.Parks, parks.Capacity, parks.Parked = true, 1, []*cluster.Instance{Machine("7", "agents-7")}
	seen := cluster.New(Start, Objects(Node("agents-0"), Node("agents-1")), []*cluster.Group{parks})
	p, _ := plan.Decide(seen, policy.Default(), memory.Memory{})
	entry := journal.Entry{Cycle: 1, Seen: seen, Plan: p}
	for about, want := range map[reason.Ref]string{
		reason.Node("agents-1"):        "machine 1 is being parked",
		reason.Instance("agents", "1"): "parking machine of group agents",
		reason.Instance("agents", "7"): "parked machine of group agents: switched off",
		reason.Group("agents"):         "machines listed: 2, parked: 1",
	} {
		var b strings.Builder
		if err := Explain(&b, entry, about); err != nil {
			t.Errorf("%s: %v", about, err)
		}
		if got := b.String(); !strings.Contains(got, want) || strings.Contains(got, "delet") {
			t.Errorf("%s: want %q and nothing deleted:\n%s", about, want, got)
		}
	}
}

// TestAMachineThatIsParkedIsNotSaidToBeDeleted in logs and answers: it is switched off and kept. One that never became a node is deleted.
func TestAMachineThatIsParkedIsNotSaidToBeDeleted(t *testing.T) {
	for _, parks := range []bool{true, false} {
		g := Group("agents", 0, 5, Machine("0", "agents-0"), Machine("1", "agents-1"))
		g.Parks = parks
		entry := journal.Entry{Seen: cluster.New(Start, Objects(Node("agents-0")), []*cluster.Group{g}), Plan: action.Plan{Actions: []action.Action{action.DeleteInstances{Group: "agents", Machines: []action.Leaving{
			{Machine: cluster.Machine{Group: "agents", ID: "0"}, Node: "agents-0"}, {Machine: cluster.Machine{Group: "agents", ID: "1"}},
		}}}}}
		want := []string{"DeleteInstances", "DeleteInstances"}
		if parks {
			want[0] = "ParkInstances"
		}
		var got []string
		for _, d := range Deeds(entry) {
			got = append(got, d.Action)
		}
		if !slices.Equal(got, want) {
			t.Errorf("parks %t: %v, want %v", parks, got, want)
		}
	}
}
