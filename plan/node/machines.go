package node

import (
	"strings"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// NeverJoined says that a machine has had its time and is no node.
func (d *View) NeverJoined(about reason.Ref, in *cluster.Instance) reason.Reason {
	code := reason.MachineNeverJoined
	if d.lost[in.UID] {
		code = reason.MachineLost
	}
	return reason.New(code, about, "age", d.Waited(in), "limit", d.Policy.Growth.Provision)
}

// NameTaken says which node of an earlier machine has the machine's name, nil when none has: a server of K3s lets no second one of a name join.
func (d *View) NameTaken(in *cluster.Instance) *reason.Reason {
	n := d.Suspect(in)
	if n == nil || !n.Replaced() {
		return nil
	}
	about := reason.Instance(string(in.Group), string(in.ID))
	if held := Finalized(n); held != "" {
		return new(reason.New(reason.MachineNameHeld, about, "node", n.Name(), "finalizers", held))
	}
	return new(reason.New(reason.MachineNameTaken, about, "node", n.Name()))
}

// Suspect is a node that could be this machine although it is not joined to it, nil when there is none (S-12). A node that is joined to
// its one machine could be no other, unless it has its name, and one that could be none of those listed belongs to a group by its name alone.
func (d *View) Suspect(in *cluster.Instance) *cluster.Node {
	if n := d.Snapshot.Node(strings.ToLower(in.ComputerName)); n != nil && n.Instance != nil && n.CouldBe(in) {
		return n
	}
	for _, n := range d.Memo.Doubtful {
		if n.CouldBe(in) {
			return n
		}
	}
	return nil
}
