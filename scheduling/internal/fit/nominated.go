package fit

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

// nominated is the pods that wait for a node on which the scheduler has made room. Such a pod counts there for pods of no higher priority,
// beside those that run: a pod is welcome when it is so with the nominated ones in their place and without them. It counts no more once it
// is placed somewhere.
type nominated struct {
	by map[nodes.Handle][]nodes.Entry // nil when nobody waits; its lists are never changed
}

// Nominate says which pods of the snapshot wait for a node.
func (j *Judge) Nominate(pods []*cluster.Pod) {
	j.waits.forget()
	for _, p := range pods {
		h, ok := j.Nodes.Handle(p.Nominated())
		if cl := j.Classes.Of(p.Class); ok && !cl.Absent {
			j.waits.add(h, nodes.Entry{Pod: p, Class: cl.ID, N: 1})
		}
	}
}

// Awaits says whether pods wait for a node that is there.
func (j *Judge) Awaits() bool { return len(j.waits.by) > 0 }

// Settle takes a pod that is placed out of those that wait for a node. It returns the node and those who waited there; none when it did not.
func (j *Judge) Settle(p *cluster.Pod) (h nodes.Handle, before []nodes.Entry) {
	if !j.Awaits() || p == nil || p.Nominated() == "" {
		return 0, nil
	}
	h, ok := j.Nodes.Handle(p.Nominated())
	if !ok {
		return 0, nil
	}
	return h, j.waits.without(h, p)
}

// Unsettle has these pods wait for the node again.
func (j *Judge) Unsettle(h nodes.Handle, before []nodes.Entry) { j.waits.set(h, before) }

func (n *nominated) forget() { n.by = nil }

func (n *nominated) add(h nodes.Handle, e nodes.Entry) {
	if n.by == nil {
		n.by = map[nodes.Handle][]nodes.Entry{}
	}
	n.by[h] = append(n.by[h], e)
}

func (n *nominated) set(h nodes.Handle, all []nodes.Entry) { n.by[h] = all }

// without takes a pod out. It returns those who waited before, nil when it was not among them.
func (n *nominated) without(h nodes.Handle, p *cluster.Pod) []nodes.Entry {
	before := n.by[h]
	i := slices.IndexFunc(before, func(e nodes.Entry) bool { return same(e.Pod, p) })
	if i < 0 {
		return nil
	}
	n.by[h] = slices.Concat(before[:i], before[i+1:])
	return before
}

// at says whether somebody waits for the node.
func (n *nominated) at(h nodes.Handle) bool { return len(n.by) > 0 && len(n.by[h]) > 0 }

// before are the pods that wait for the node and that pods of the kind must yield to, but for the pod itself.
func (n *nominated) before(k *classes.Kind, h nodes.Handle, p *cluster.Pod) (all []nodes.Entry) {
	if len(n.by) == 0 {
		return nil
	}
	for _, e := range n.by[h] {
		if e.Pod.Priority() >= k.Class.Of.Priority() && (p == nil || !same(e.Pod, p)) {
			all = append(all, e)
		}
	}
	return all
}

// same says whether two records are about one pod.
func same(a, b *cluster.Pod) bool {
	return a == b || a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID
}
