package grow

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Totals is what the whole cluster has, with machines that are coming and those that this cycle adds. It is a value: a copy may be added to
// without changing the original, so Add copies Gpus before it writes. Gpus has the order of Kinds.
type Totals struct {
	nodes int
	Milli int64 // thousandths of cores
	Bytes int64 // of memory
	Kinds []policy.GPUTotal
	Gpus  []int64 // by kind; never changed
}

// TotalsOf is nothing yet. kinds are the GPUs that have a limit; others are not counted.
func TotalsOf(kinds []policy.GPUTotal) Totals {
	return Totals{Kinds: kinds, Gpus: make([]int64, len(kinds))}
}

// Add counts so many nodes like n; a negative count takes them off. nil is a node of unknown size, which counts as a node alone.
func (t *Totals) Add(n *corev1.Node, count int) {
	t.nodes += count
	if n != nil {
		t.Milli += int64(count) * n.Status.Capacity.Cpu().MilliValue()
		t.Bytes += int64(count) * n.Status.Capacity.Memory().Value()
		for i, of := range t.Kinds {
			if has := cluster.GPUsOf(n, of.Kind); has > 0 {
				t.Gpus = slices.Clone(t.Gpus)
				t.Gpus[i] += int64(count) * has
			}
		}
	}
}
