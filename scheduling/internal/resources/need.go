package resources

import (
	"cmp"
	"slices"
)

// Need is what one pod takes of a resource.
type Need struct {
	Dim   Dimension
	Asked int64 // free before it comes; 0 is never refused, even where more was given away than there is
	Held  int64 // taken once it is there
}

// Needs joins what a pod asks for and what it will hold, in the order of dimensions. Every pod takes one of [Pods], which comes first.
func Needs(asked, held []Amount) []Need {
	out := []Need{{Pods, 1, 1}}
	for _, a := range asked {
		if a.Dim != Pods {
			out = append(out, Need{Dim: a.Dim, Asked: a.N})
		}
	}
	for _, h := range held {
		if h.Dim == Pods {
			continue
		}
		if i := slices.IndexFunc(out, func(n Need) bool { return n.Dim == h.Dim }); i >= 0 {
			out[i].Held = h.N
		} else {
			out = append(out, Need{Dim: h.Dim, Held: h.N})
		}
	}
	slices.SortFunc(out, func(a, b Need) int { return cmp.Compare(a.Dim, b.Dim) })
	return out
}

// Held is what a pod with these needs takes of a resource once it is there.
func Held(needs []Need, of Dimension) int64 {
	for _, n := range needs {
		if n.Dim == of {
			return n.Held
		}
	}
	return 0
}

// Exceeds says whether the pod asks for more than is free.
func (n *Need) Exceeds(free int64) bool { return n.Asked > 0 && n.Asked > free }

// Unlimited is more pods than there will ever be.
const Unlimited = 1 << 30

// Times says how many pods with this need, one after the other, go into what is free.
func (n *Need) Times(free int64) int64 {
	switch {
	case n.Asked <= 0:
		return Unlimited
	case n.Asked > free:
		return 0
	case n.Held <= 0:
		return Unlimited
	}
	return (free-n.Asked)/n.Held + 1
}
