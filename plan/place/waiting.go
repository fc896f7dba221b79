package place

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// waiting is pods of one class that no node holds yet.
type waiting struct {
	*cluster.Pod        // one of them
	Claim        *Claim // that they are pretended for, nil when they are there
	Pods         int    // how many there are
}

// NoteAsking notes the pods of gangs that are not whole, for which nodes are kept as long as machines are. Every other pod has its place, or fits no
// node.
func (d *Room) NoteAsking() {
	for _, dm := range d.Demands {
		if g := dm.Gang; g == nil || g.Out == nil || g.Given || dm.Claim != nil && !dm.Claim.Asks || dm.Of.Gated() && !dm.Of.AwaitsCapacity() || d.expendable(dm) {
			continue
		}
		d.Asking = append(d.Asking, waiting{d.Waiting[dm.Eldest], dm.Claim, len(dm.Pods)})
	}
}

// CountedOn says which waiting pod, request or buffer counts on the node, nil when none does.
func (d *Room) CountedOn(node string) *reason.Reason {
	if pod, ok := d.Counted[node]; ok {
		return new(reason.New(reason.NodeCounted, reason.Node(node), "pod", pod))
	}
	if _, ok := d.Booked[node]; ok {
		return new(d.Booked[node])
	}
	return nil
}
