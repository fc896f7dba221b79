package fit

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

// A pod that waits for a node on which the scheduler has made room counts there for pods of no higher priority, beside those that run: a pod
// is welcome when it is so with the nominated ones in their place and without them. It counts no more once it is placed somewhere.

// Nominate says which pods of the snapshot wait for a node.
func (j *Judge) Nominate(pods []*cluster.Pod) {
	j.nominated = map[nodes.Handle][]nodes.Entry{}
	for _, p := range pods {
		h, ok := j.Nodes.Handle(p.Nominated())
		if cl := j.Classes.Of(p.Class); ok && !cl.Absent {
			j.nominated[h] = append(j.nominated[h], nodes.Entry{Pod: p, Class: cl.ID, N: 1})
		}
	}
}

// Awaits says whether pods wait for a node that is there.
func (j *Judge) Awaits() bool { return len(j.nominated) > 0 }

// Settle takes a pod that is placed out of those that wait for a node. It returns the node and those who waited there; none when it did not.
func (j *Judge) Settle(p *cluster.Pod) (h nodes.Handle, before []nodes.Entry) {
	if !j.Awaits() || p == nil || p.Nominated() == "" {
		return 0, nil
	}
	h, ok := j.Nodes.Handle(p.Nominated())
	i := slices.IndexFunc(j.nominated[h], func(e nodes.Entry) bool { return same(e.Pod, p) })
	if !ok || i < 0 {
		return 0, nil
	}
	before = j.nominated[h]
	j.nominated[h] = slices.Concat(before[:i], before[i+1:])
	return h, before
}

// Unsettle has these pods wait for the node again.
func (j *Judge) Unsettle(h nodes.Handle, before []nodes.Entry) { j.nominated[h] = before }

// waiting are the pods that wait for the node and that pods of the kind must yield to, but for the pod itself.
func (j *Judge) waiting(k *classes.Kind, h nodes.Handle, p *cluster.Pod) (all []nodes.Entry) {
	if !j.Awaits() {
		return nil
	}
	for _, e := range j.nominated[h] {
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
