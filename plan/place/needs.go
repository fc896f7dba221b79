package place

import (
	"maps"

	"sluice.dev/sluice/reason"
)

// Needs says why nodes are needed, by their names.
//
//	field    written by                                             its node
//	Counted  placing; package remove, for gangs that are not whole  is not cordoned (S-16)
//	Rescues  rescueNodes                                            is uncordoned in this cycle
//	Booked   placing of virtual pods                                is not cordoned
//	Spared   rescueNodes for virtual pods; headroom                 is uncordoned in this cycle, unless a person asked for its drain
//
// A pod counts on one node, the node of its place, so one pod keeps one node (scenario pending-pod-holds-one-node).
type Needs struct {
	Counted map[string]string        // the first pod that counts on it
	Rescues map[string]string        // cordoned nodes that a pending pod takes back, with the pod
	Booked  map[string]reason.Reason // nodes on which pods of requests and buffers have a place, with why they stay
	Spared  map[string]reason.Reason // cordoned nodes that headroom, requests and buffers take back
}

// Clone shares no map with these.
// It is for trials, which are taken back.
func (n *Needs) Clone() Needs {
	return Needs{maps.Clone(n.Counted), maps.Clone(n.Rescues), maps.Clone(n.Booked), maps.Clone(n.Spared)}
}

// countOn notes that the pod counts on the node, unless another one does already.
func (n *Needs) countOn(node, pod string) {
	if _, known := n.Counted[node]; !known {
		n.Counted[node] = pod
	}
}

// KeepFor notes that a node stays for the sake of the claim's pods.
func (n *Needs) KeepFor(c *Claim, node string) {
	if _, known := n.Booked[node]; known {
		return
	}
	why := c.Keeps
	why.About = reason.Node(node)
	n.Booked[node] = why
}

// CountedOn says which waiting pod, request or buffer counts on the node, nil when none does.
func (n *Needs) CountedOn(node string) *reason.Reason {
	if pod, ok := n.Counted[node]; ok {
		return new(reason.New(reason.NodeCounted, reason.Node(node), "pod", pod))
	}
	if _, ok := n.Booked[node]; ok {
		return new(n.Booked[node])
	}
	return nil
}

// TakenBack says whether a node is given back for somebody's sake.
func (n *Needs) TakenBack(node string) bool {
	_, rescued := n.Rescues[node]
	_, spared := n.Spared[node]
	return rescued || spared
}
