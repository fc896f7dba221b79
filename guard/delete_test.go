package guard_test

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
)

// coming deletes one that is still coming and leaves another such beside the group's min.
func coming() *world {
	w := cleaning()
	w.groups[0].Min = 3
	for _, at := range []int{2, 3} {
		w.groups[0].Instances[at].State = cluster.StateCreating
	}
	return w
}

// working deletes one of three and leaves, with the group's min of two, one whose node is Ready though the cloud has it still coming.
func working() *world {
	w := deleting()
	w.groups[0].Min, w.groups[0].Instances[2].State = 2, cluster.StateCreating
	return w
}

// relist lists another machine than is known for this write: the id belongs to one with that unique id by now.
func (w *world) relist(at int, uid string) {
	fresh, other := *w.groups[0], *w.groups[0].Instances[at]
	other.UID = uid
	fresh.Instances = slices.Clone(fresh.Instances)
	fresh.Instances[at] = &other
	w.evidence.Group = &fresh
}

// succeeded deletes the Node object of a machine that nobody saw leave, when a younger one has its name.
func succeeded() *world {
	w := missing()
	w.groups[0].Instances = append(w.groups[0].Instances, Machine("9", "agents-1", Born(Start.Add(-time.Minute)), func(in *cluster.Instance) { in.Group = "agents" }))
	w.groups[0].Capacity++
	return w
}

// succeededSoon does so of a node that has been there for minutes alone, and has just fallen silent, in a group that parks.
func succeededSoon() *world {
	w := succeeded()
	w.groups[0].Parks = true
	w.objects.Nodes[1] = lost(Silent(Start.Add(-time.Second)), func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(Start.Add(-3 * time.Minute)) })
	return w
}
