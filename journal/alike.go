package journal

import (
	"fmt"

	"sluice.dev/sluice/cluster"
)

// alike are pods of a class, but for what they share. The class is that of a pod which a line has whole.
type alike struct {
	Class int            `json:"class"` // which of those, from the last full line on, the first is 0
	Pods  []cluster.Mate `json:"pods"`
}

// numbers are those of the classes that lines have whole.
type numbers map[cluster.Key]int

// mates takes the pods out of a change whose class a line has whole, or that follow one of their class in this one.
func (ns numbers) mates(pods *change[*cluster.Pod]) (all []alike) {
	at := map[int]int{} // in all, by class
	var first []*cluster.Pod
	for _, p := range pods.Set {
		n, known := ns[p.Key]
		if !known {
			ns[p.Key] = len(ns)
			first = append(first, p)
			continue
		}
		i, there := at[n]
		if !there {
			i = len(all)
			at[n], all = i, append(all, alike{Class: n})
		}
		all[i].Pods = append(all[i].Pods, p.Mate())
	}
	pods.Set = first
	return all
}

// folded are the classes of the pods that lines have had whole, from the last full line on.
type folded struct {
	classes  cluster.Classes
	numbered []*cluster.Class // nil for the pod of a damaged line
}

// unfold numbers the classes of the pods that a line has whole, and adds those that are alike to them.
func (f *folded) unfold(r *record) error {
	for i, p := range r.Pods.Set {
		if p == nil { // in a damaged line
			f.numbered = append(f.numbered, nil)
			continue
		}
		p = f.classes.Again(p)
		r.Pods.Set[i] = p
		f.numbered = append(f.numbered, p.Class)
	}
	for _, a := range r.Alike {
		if a.Class < 0 || a.Class >= len(f.numbered) || f.numbered[a.Class] == nil {
			return fmt.Errorf("is damaged: it has pods of a class %d that no line has", a.Class)
		}
		for _, m := range a.Pods {
			r.Pods.Set = append(r.Pods.Set, m.Of(f.numbered[a.Class], &f.classes))
		}
	}
	return nil
}
