package guard

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Emptied is a node that this process has begun to empty of pods.
type Emptied struct {
	Node  types.UID
	Group cluster.GroupID
	At    time.Time // of the last step: its cordon, or an eviction

	Machine string // its unique id; "" when none is known
}

// checkBudget holds nodes that would be emptied of pods beyond what their group's budget allows within its window, whatever for: those count that
// this process has emptied, that are on their way and were so before this one, and, for as long as the window goes back before the start, all
// that an earlier process may have emptied. What had to be empty of pods when it was put on its way, before the start, was counted by that process. A person's own wish
// does not wait, and counts for the others; so does a machine that the cloud has announced to take: see [Expel].
func checkBudget(n *cluster.Node, e Evidence, allowed *policy.Policy) error {
	r := allowed.Removal
	if r.Window == 0 || !works(n, e, allowed) || n.Object.Annotations[cluster.DrainAnnotation] != "" {
		return nil
	}
	since := e.Newest.Time.Add(-r.Window)
	emptied := map[types.UID]bool{}
	for _, d := range e.Emptied {
		if d.Group == n.Group && d.At.After(since) {
			emptied[d.Node] = true
		}
	}
	if emptied[n.Object.UID] {
		return nil // it counts already
	}
	removal, on := cluster.RemovalOf(n.Object)
	on = on && removal.Why != cluster.RunsDry
	if started := e.Started; started.After(since) && !(on && removal.Empties() && !removal.Since.After(started)) {
		return refuse("S-19", "what was emptied of group %s before the start at %s is not known, and its budget is one of %s", n.Group, stamp(started), r.Window)
	}
	nodes := e.Newest.Size(n.Group)
	for _, other := range e.Newest.Nodes {
		if other.Group == n.Group && other != n && other.Parked.UID == "" && empties(other, e, allowed) && (!on || before(other, n)) {
			emptied[other.Object.UID] = true
		}
	}
	if budget := r.Budget(nodes); len(emptied) >= budget {
		return refuse("S-19", "%d nodes of group %s were emptied within %s, its budget is %d of %d", len(emptied), n.Group, r.Window, budget, nodes)
	}
	return nil
}

// Emptying says of a write whether it begins to empty a node of pods, or goes on with it: [Evidence.Emptied] has it from then on.
func Emptying(w Write, e Evidence, allowed *policy.Policy) (Emptied, bool) {
	var n *cluster.Node
	switch w := w.(type) {
	case Cordon:
		if n = e.Newest.Node(w.Node); w.Why == cluster.RunsDry || n == nil || !spends(n, e, allowed) {
			return Emptied{}, false
		}
	case Evict:
		if n = e.Newest.Node(w.Node); n == nil || podOf(n, w) == nil || allowed.Belongs(podOf(n, w), e.on(n), e.Newest.Time) {
			return Emptied{}, false
		}
	case Expel:
		if n = e.Newest.Node(w.Node); n == nil {
			return Emptied{}, false
		}
	default:
		return Emptied{}, false
	}
	emptied := Emptied{Node: n.Object.UID, Group: n.Group, At: e.Newest.Time}
	if n.Instance != nil {
		emptied.Machine = n.Instance.UID
	}
	return emptied, true
}

// works says whether pods are on the node that would have to leave it.
func works(n *cluster.Node, e Evidence, allowed *policy.Policy) bool {
	for _, p := range n.Pods {
		if !allowed.Belongs(p, e.on(n), e.Newest.Time) && !p.Finished() && !p.Overstayed(e.Newest.Time) {
			return true
		}
	}
	return false
}

// empties says whether the node is on its way out, and pods have to leave it for that.
func empties(n *cluster.Node, e Evidence, allowed *policy.Policy) bool {
	removal, on := cluster.RemovalOf(n.Object)
	return on && removal.Why != cluster.RunsDry && works(n, e, allowed)
}

// before says whether a node was put on its way before another one.
func before(a, b *cluster.Node) bool {
	was, is := removedSince(a), removedSince(b)
	return was.Before(is) || was.Equal(is) && a.Name() < b.Name()
}

func removedSince(n *cluster.Node) time.Time {
	removal, _ := cluster.RemovalOf(n.Object)
	return removal.Since
}
