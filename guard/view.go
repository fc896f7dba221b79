package guard

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// What a view may lack.
const (
	maxSilence = time.Minute // of the API server
)

// Opposition is what others have done against this process's changes of a group's capacity.
type Opposition struct {
	Times int       // how often
	Until time.Time // until when the group is left alone for it
}

// checkPair holds everything in a cluster that is not the one to which the operator's node groups belong.
func checkPair(e Evidence, allowed *policy.Policy) error {
	switch is := e.Newest.Objects.ID(); {
	case allowed.ClusterID == "" || is == allowed.ClusterID:
		return nil
	case is == "":
		return refuse("S-22", reason.ClusterMismatch, reason.Ref{}, "cluster", "unknown", "wanted", allowed.ClusterID)
	default:
		return refuse("S-22", reason.ClusterMismatch, reason.Ref{}, "cluster", is, "wanted", allowed.ClusterID)
	}
}

// checkOwn holds a group whose machines may be another cluster's, unless the operator has said which cluster they belong to.
func checkOwn(id cluster.GroupID, e Evidence, allowed *policy.Policy) error {
	g := e.Newest.Group(id)
	if allowed.ClusterID != "" || g == nil {
		return nil
	}
	if was := e.Decided.Group(id); was != nil && was.Joined {
		return nil
	}
	if n := g.Foreign(e.Fleet); n > 0 {
		return refuse("S-22", reason.GroupForeign, reason.Group(string(id)), "machines", n, "cluster", e.Newest.Objects.ID())
	}
	return nil
}

// checkView holds what removes something while the API server says nothing, and everything that could take effect when another process
// leads already.
func checkView(w Write, e Evidence) error {
	if !e.Leads.IsZero() && e.Newest.Time.Add(e.Answer).After(e.Leads) {
		return refuse("S-23", reason.LeaseTooShort, reason.Ref{}, "ends", stamp(e.Leads), "limit", e.Answer)
	}
	switch w.(type) {
	case Delete, Cordon, Evict, Expel, DeleteNode:
		if e.Silent > maxSilence {
			return refuse("S-20", reason.APIServerSilent, reason.Ref{}, "silent", e.Silent.Truncate(time.Second), "limit", maxSilence)
		}
	}
	return nil
}

// checkSeen holds what rests on a node of which Newest shows a state from before this process's own last write to it: a node that was taken
// uncordoned a moment ago may have work by now.
func checkSeen(node string, e Evidence) error {
	if e.Unseen[node] {
		return refuse("S-20", reason.NodeNotRead, reason.Node(node))
	}
	return nil
}
