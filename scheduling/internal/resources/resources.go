// Package resources counts what pods ask for and what nodes have, in kube-scheduler's integers.
//
//	value       what it is
//	Dimension   the number of a resource: pods, cpu, memory, ephemeral-storage, then others as they are met
//	Amount      so much of one resource
//	Need        what one pod asks for of one resource, and what it holds once it runs
//
// Cpu is in thousandths of cores, everything else in whole units. kube-scheduler's NodeResourcesFit compares the same integers.
package resources

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// Dimension numbers a resource. The first four are always there; the others are numbered as they are met.
type Dimension int32

// The dimensions that every world has.
const (
	Pods    Dimension = iota // how many pods a node takes
	CPU                      // thousandths of cores
	Memory                   // bytes
	Storage                  // bytes of ephemeral storage
	Fixed                    // how many dimensions are always there
)

// NotCounted is the dimension of resources that kube-scheduler does not look at.
const NotCounted Dimension = -1

// Dimensions numbers the resources of one world. A number is given once and never changes.
type Dimensions struct {
	of    map[corev1.ResourceName]Dimension
	names []corev1.ResourceName // by dimension
}

// NewDimensions knows the four resources that are always there.
func NewDimensions() *Dimensions {
	d := &Dimensions{of: map[corev1.ResourceName]Dimension{}}
	d.names = append(d.names, corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage)
	for i, name := range d.names {
		d.of[name] = Dimension(i)
	}
	return d
}

// Names are the resources by dimension. The slice must not be changed; later ones may be longer.
func (d *Dimensions) Names() []corev1.ResourceName { return d.names }

// Number is the resource's dimension, [NotCounted] for what kube-scheduler ignores.
func (d *Dimensions) Number(name corev1.ResourceName) Dimension {
	if n, ok := d.of[name]; ok {
		return n
	}
	n := NotCounted
	if util.IsScalarResourceName(name) {
		n = Dimension(len(d.names))
		d.names = append(d.names, name)
	}
	d.of[name] = n
	return n
}

// Amount is so much of a resource.
type Amount struct {
	Dim Dimension
	N   int64
}

// mostCounted is more than any node has. What a pod asks for beyond it counts as that much, so that no sum passes what an int64 holds.
const mostCounted = 1 << 50

// Plenty is more than pods ask for, however many of them come to a node.
const Plenty = 4 * mostCounted

// Append appends the quantities of a list that kube-scheduler counts, without zeros and in no order.
func (d *Dimensions) Append(out []Amount, list corev1.ResourceList) []Amount {
	for name, q := range list {
		dim := d.Number(name)
		var n int64
		switch {
		case q.CmpInt64(mostCounted) > 0:
			n = mostCounted
		case dim == CPU:
			n = min(q.MilliValue(), mostCounted)
		default:
			n = q.Value()
		}
		if dim != NotCounted && n != 0 {
			out = append(out, Amount{dim, n})
		}
	}
	return out
}

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
