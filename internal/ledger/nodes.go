package ledger

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
)

// See writes into the book what a snapshot says of the nodes of groups, what has changed since the one before or all of it, and returns what the book says
// then; of a nil book nothing.
func (b *Book) See(s *cluster.Snapshot, allowed *policy.Policy) fleet.Ledger {
	if b == nil {
		return fleet.Ledger{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := look{ledger: b.ledger, at: b.at(), now: s, before: b.seen, allowed: allowed}
	b.ledger, b.seen = b.ledger.Observe(l.at, append(l.observations(), l.acknowledged()...)...), s
	return b.ledger
}

// acknowledged are the acknowledgements that are new.
func (l *look) acknowledged() (all []fleet.Observation) {
	var before cluster.Acknowledged
	if l.before != nil {
		before = l.before.Objects.Acknowledged()
	}
	now := l.now.Objects.Acknowledged()
	for _, g := range l.now.Groups {
		if at := now.Of(g.ID); at.After(before.Of(g.ID)) {
			all = append(all, fleet.Acknowledged{Group: fleet.GroupID(g.ID), At: min(fleet.At(at), l.at)})
		}
	}
	return all
}

// look is one look at the nodes of a snapshot.
type look struct {
	ledger      fleet.Ledger
	at          fleet.Instant
	now, before *cluster.Snapshot // before is nil for the first
	allowed     *policy.Policy
}

// observations are what the ledger is to take in: of groups that it has not seen the nodes of all of them, of others what has changed.
func (l *look) observations() (all []fleet.Observation) {
	seen := map[cluster.GroupID][]fleet.NodeSeen{}
	known := func(id cluster.GroupID) bool { return l.before != nil && l.before.Group(id) != nil }
	if l.before != nil {
		for _, was := range l.before.Nodes {
			is := l.now.Node(was.Name())
			if is == was {
				continue
			}
			var still []identity // of another machine, too, the kubelet may write the same object on
			if is != nil && is.Object.UID == was.Object.UID {
				still = l.identify(is)
			}
			for _, m := range l.identify(was) {
				if known(cluster.GroupID(m.Group)) && !slices.Contains(still, m) {
					all = append(all, fleet.NodeGone{Group: m.Group, UID: m.UID, At: l.at})
				}
			}
		}
	}
	for _, n := range l.now.Nodes {
		if n.Group == "" {
			continue
		}
		whole := !known(n.Group)
		var was *cluster.Node
		if l.before != nil {
			was = l.before.Node(n.Name())
		}
		if was == n && !whole {
			continue
		}
		for _, m := range l.identify(n) {
			o := l.node(n, was)
			o.Group, o.UID, o.Ambiguous = m.Group, m.UID, len(n.Suspects) > 0 && !n.Outlived()
			if whole {
				seen[n.Group] = append(seen[n.Group], o)
			} else {
				all = append(all, o)
			}
			if other := l.twin(n, m.UID); other != "" {
				all = append(all, fleet.Same{Group: m.Group, As: other, Is: m.UID})
			}
		}
	}
	for _, g := range l.now.Groups {
		if !known(g.ID) {
			all = append(all, fleet.Nodes{Group: fleet.GroupID(g.ID), At: l.at, Seen: seen[g.ID]})
		}
	}
	return all
}

// identity is a machine that a node is, or could be.
type identity struct {
	Group fleet.GroupID
	UID   fleet.UID
}

// identify is the machine that the node is, or those that it could be; none when nothing tells.
func (l *look) identify(n *cluster.Node) (all []identity) {
	switch {
	case n.Instance != nil:
		return []identity{{fleet.GroupID(n.Instance.Group), fleet.UID(n.Instance.UID)}}
	case n.Parked.UID != "":
		return []identity{{fleet.GroupID(n.Parked.Group), fleet.UID(n.Parked.UID)}}
	case len(n.Suspects) > 0 && !n.Outlived():
		for _, in := range n.Suspects {
			all = append(all, identity{fleet.GroupID(in.Group), fleet.UID(in.UID)})
		}
		return all
	}
	was := n.Was()
	if was.UID == "" || was.Group == "" {
		return nil
	}
	id := fleet.GroupID(was.Group)
	if other := fleet.UID(cluster.Swapped(was.UID)); l.ledger.Knows(id, other) && !l.ledger.Knows(id, fleet.UID(was.UID)) {
		return []identity{{id, other}}
	}
	return []identity{{id, fleet.UID(was.UID)}}
}

// twin is another id under which the ledger has the machine of the node, from a time when no list had it; "" for none.
func (l *look) twin(n *cluster.Node, uid fleet.UID) fleet.UID {
	own := strings.ToLower(n.Object.Status.NodeInfo.SystemUUID)
	if n.Instance == nil || own == "" || fleet.UID(own) == uid || fleet.UID(cluster.Swapped(own)) != uid || !l.ledger.Knows(fleet.GroupID(n.Instance.Group), fleet.UID(own)) {
		return ""
	}
	return fleet.UID(own)
}

// node is what is seen of a node; was is the same node before, nil for none.
func (l *look) node(n, was *cluster.Node) fleet.NodeSeen {
	o := fleet.NodeSeen{At: l.at, Created: fleet.At(n.Object.CreationTimestamp.Time), Ready: cluster.Ready(n.Object), Since: since(n.Object)}
	at := policy.On(n, l.now.Group(n.Group), l.now.Objects.Budgets)
	for _, p := range n.Pods {
		if l.allowed.Belongs(p, at, l.now.Time) {
			continue
		}
		o.Pods = true
		if why, keeps := l.allowed.Keeps(p, at, l.now.Time); keeps && policy.Work(why.Code) {
			o.Work = true
			break
		}
	}
	if !o.Pods && was != nil && was.Object.UID == n.Object.UID {
		o.Ended = l.ended(was)
	}
	removal, on := cluster.RemovalOf(n.Object)
	o.Charged = on && removal.Empties() && !removal.Since.IsZero()
	return o
}

// since is since when the node is Ready, or is not; never when it does not say.
func since(n *corev1.Node) fleet.Instant {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return fleet.At(c.LastTransitionTime.Time)
		}
	}
	return 0
}

// works says whether the pod is more than what belongs to its node.
func (l *look) works(p *cluster.Pod, n *cluster.Node) bool {
	return !l.allowed.Belongs(p, policy.On(n, l.now.Group(n.Group), l.now.Objects.Budgets), l.now.Time)
}

// ended says whether all work that the node had has run to its end.
func (l *look) ended(was *cluster.Node) bool {
	for _, p := range was.Pods {
		if !l.works(p, was) {
			continue
		}
		i, found := slices.BinarySearchFunc(l.now.Objects.Pods, p, func(a, b *cluster.Pod) int {
			if c := strings.Compare(a.Namespace, b.Namespace); c != 0 {
				return c
			}
			return strings.Compare(a.Name, b.Name)
		})
		if !found || l.now.Objects.Pods[i].UID != p.UID || !l.now.Objects.Pods[i].Finished() {
			return false
		}
	}
	return true
}
