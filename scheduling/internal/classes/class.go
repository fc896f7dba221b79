package classes

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/relations"
	"sluice.dev/sluice/scheduling/internal/resources"
	"sluice.dev/sluice/scheduling/internal/storage"
)

// Class is what is known of a [cluster.Class].
type Class struct {
	ID      int32
	Of      *cluster.Class
	Spec    *Spec
	Volumes *storage.Pods
	Absent  bool // expendable: its pods count nowhere

	// live is how many pods of the class that count the snapshot has, and 1 more once it was asked about. A checker that is made anew knows
	// the class from then on, so one that follows earlier ones must judge by it from then on and not before.
	live int
	hits []*relations.Selector // that match its pods, in order; see [Classes.Current]
	seen int                   // selectors that hits takes into account
	owns []*relations.Counter  // what its pods' anti-affinity counts in
	kind *Kind                 // of its pods when they were asked about last, nil when they never were
}

// enliven has so many pods more of the class be there.
func (cl *Class) enliven(n int) {
	before := cl.live > 0
	if cl.live += n; before == (cl.live > 0) {
		return
	}
	for _, k := range cl.owns {
		k.Live(!before)
	}
}

// Free says whether pods of the class neither mind other pods nor are minded by them: they have no anti-affinity, no host ports, and nobody
// counts them.
func (cl *Class) Free() bool {
	return len(cl.owns)+len(cl.Spec.Ports) == 0 &&
		!slices.ContainsFunc(cl.hits, func(s *relations.Selector) bool { return len(s.Counters())+len(s.Owners()) > 0 })
}

// Held is what one pod takes of a resource once it is there; nothing when it is absent.
func (cl *Class) Held(of resources.Dimension) int64 {
	if cl.Absent {
		return 0
	}
	return resources.Held(cl.Spec.Needs, of)
}
