package guard_test

import (
	"errors"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/policy"
)

// told is a machine to which the cloud has announced its end in five minutes, as its agent sees it.
func told() guard.Local {
	notice := cluster.Notice{ID: "event-1", Kind: "Terminate", Deadline: Start.Add(5 * time.Minute)}
	local := guard.Local{
		Time: Start, Name: "agents_0", Machine: cluster.Instance{UID: "vm-0", ComputerName: "agents-0"}, Asked: Start.Add(-time.Second),
		Notices: []guard.Heard{{Notice: notice, Machines: []string{"agents_0"}}},
		Node:    Node("agents-0", Noticed(notice)),
		Pods:    []*cluster.Pod{Pod("web", On("agents-0")), Pod("ds", On("agents-0"), OwnedBy("DaemonSet", "ds"))},
	}
	local.Node.Status.NodeInfo.SystemUUID = "vm-0"
	return local
}

func TestAMachineMakesNoWriteThatIsNotItsOwn(t *testing.T) {
	var (
		announce = guard.Announce{Node: "agents-0", UID: "uid-agents-0", Notice: "event-1"}
		withdraw = guard.Withdraw{Node: "agents-0", UID: "uid-agents-0"}
		expel    = guard.Expel{Namespace: "default", Pod: "web", UID: "uid-web", Node: "agents-0"}
		agree    = guard.Agree{Notice: "event-1", Node: "agents-0"}
		tell     = guard.Tell{Node: "agents-0", UID: "uid-agents-0"}
	)
	silent := func(e *guard.Local) { e.Notices = nil }
	empty := func(e *guard.Local) { e.Pods = e.Pods[1:] }
	job := func(e *guard.Local) { e.Pods[0] = Pod("web", On("agents-0"), OwnedBy("Job", "render")) }
	for name, c := range map[string]struct {
		write   guard.Write
		changes []func(*guard.Local)
		want    string // the property, "" when the write may happen
	}{
		"an announcement":                            {announce, nil, ""},
		"an announcement in a dry run":               {announce, []func(*guard.Local){func(e *guard.Local) { e.DryRun = true }}, "S-24"},
		"an announcement of what nobody announced":   {announce, []func(*guard.Local){silent}, "S-42"},
		"an announcement to another machine":         {announce, []func(*guard.Local){func(e *guard.Local) { e.Notices[0].Machines = []string{"agents_1"} }}, "S-42"},
		"an announcement on the node of another one": {announce, []func(*guard.Local){func(e *guard.Local) { e.Machine.UID = "vm-1" }}, "S-12"},
		"an announcement on a node of another life":  {announce, []func(*guard.Local){func(e *guard.Local) { e.Node.UID = "reborn" }}, "S-14"},
		"an announcement without a look at the node": {announce, []func(*guard.Local){func(e *guard.Local) { e.Node = nil }}, "S-12"},
		"a withdrawal":                               {withdraw, []func(*guard.Local){silent}, ""},
		"a withdrawal of what stands":                {withdraw, nil, "S-42"},
		"a withdrawal on an old document":            {withdraw, []func(*guard.Local){silent, func(e *guard.Local) { e.Asked = Start.Add(-time.Minute) }}, "S-20"},
		"an eviction":                                {expel, nil, ""},
		"an eviction though nothing is announced":    {expel, []func(*guard.Local){func(e *guard.Local) { e.Node = Node("agents-0") }}, "S-42"},
		"an eviction for a pause of a second": {expel, []func(*guard.Local){func(e *guard.Local) {
			e.Node = Node("agents-0", Noticed(cluster.Notice{ID: "event-1", Kind: "Freeze"}))
		}}, "S-42"},
		"an eviction of a pod of another life":         {expel, []func(*guard.Local){func(e *guard.Local) { e.Pods[0].UID = "reborn" }}, "S-15"},
		"an eviction of a daemon's pod":                {guard.Expel{Namespace: "default", Pod: "ds", UID: "uid-ds", Node: "agents-0"}, nil, "S-15"},
		"an eviction of a Job's pod while it has time": {expel, []func(*guard.Local){job}, "S-15"},
		"an eviction of a Job's pod at last":           {expel, []func(*guard.Local){job, func(e *guard.Local) { e.Time = Start.Add(5*time.Minute - 35*time.Second) }}, ""},
		"an eviction from another node":                {guard.Expel{Namespace: "default", Pod: "web", UID: "uid-web", Node: "agents-1"}, nil, "S-14"},
		"an agreement":                                 {agree, []func(*guard.Local){empty}, ""},
		"an agreement while there is work":             {agree, nil, "S-15"},
		"an agreement that speaks for others":          {agree, []func(*guard.Local){empty, func(e *guard.Local) { e.Notices[0].Machines = []string{"agents_0", "agents_1"} }}, "S-42"},
		"an agreement for another machine alone":       {agree, []func(*guard.Local){empty, func(e *guard.Local) { e.Notices[0].Machines = []string{"agents_1"} }}, "S-42"},
		"an agreement that the node does not show":     {agree, []func(*guard.Local){empty, func(e *guard.Local) { e.Node = Node("agents-0") }}, "S-42"},
		"an agreement on an old document":              {agree, []func(*guard.Local){empty, func(e *guard.Local) { e.Asked = Start.Add(-time.Minute) }}, "S-20"},
		"an Event":                                     {tell, nil, ""},
		"an Event on a node that is not its own":       {tell, []func(*guard.Local){func(e *guard.Local) { e.Machine.UID = "vm-1" }}, ""},
		"an Event in a dry run":                        {tell, []func(*guard.Local){func(e *guard.Local) { e.DryRun = true }}, "S-24"},
		"a growth of its group":                        {guard.Grow{Group: "agents", From: 1, To: 2}, nil, "S-42"},
	} {
		t.Run(name, func(t *testing.T) {
			e := told()
			for _, change := range c.changes {
				change(&e)
			}
			err := guard.CheckLocal(c.write, e, policy.Default())
			var refusal *guard.Refusal
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (!errors.As(err, &refusal) || refusal.Property != c.want):
				t.Errorf("check = %v, want a refusal by %s", err, c.want)
			}
		})
	}
}

func TestALeaderMakesNoWriteOfAMachine(t *testing.T) {
	err := guard.Check(guard.Expel{Namespace: "default", Pod: "web"}, guard.Evidence{Newest: &cluster.Snapshot{}}, policy.Default())
	if err == nil {
		t.Error("a write that only a machine may make by itself passed")
	}
}
