package scheduling

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// dimension numbers a resource. The first four are always there; the others are numbered as they are met.
type dimension int32

const (
	dimPods    dimension = iota // how many pods a node takes
	dimCPU                      // thousandths of cores
	dimMemory                   // bytes
	dimStorage                  // bytes
	fixedDimensions
)

// notCounted is the dimension of resources that kube-scheduler does not look at.
const notCounted dimension = -1

// dimensions are the resources of one world.
type dimensions struct {
	of    map[corev1.ResourceName]dimension
	names []corev1.ResourceName
}

func newDimensions() dimensions {
	d := dimensions{of: map[corev1.ResourceName]dimension{}}
	for i, name := range []corev1.ResourceName{corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		d.of[name] = dimension(i)
		d.names = append(d.names, name)
	}
	return d
}

// number is the resource's dimension, notCounted for what kube-scheduler ignores.
func (d *dimensions) number(name corev1.ResourceName) dimension {
	switch name {
	case corev1.ResourcePods:
		return dimPods
	case corev1.ResourceCPU:
		return dimCPU
	case corev1.ResourceMemory:
		return dimMemory
	case corev1.ResourceEphemeralStorage:
		return dimStorage
	}
	if n, ok := d.of[name]; ok {
		return n
	}
	n := notCounted
	if util.IsScalarResourceName(name) {
		n = dimension(len(d.names))
		d.names = append(d.names, name)
	}
	d.of[name] = n
	return n
}

// amount is so much of a resource, in kube-scheduler's unit: thousandths for cpu, whole ones for everything else.
type amount struct {
	dim dimension
	n   int64
}

// mostCounted is more than any node has. What a pod asks for beyond it counts as that much, so that no sum passes what an int64 holds.
const mostCounted = 1 << 50

// amounts are the quantities of a list that kube-scheduler counts, without zeros and in no order.
func (d *dimensions) amounts(list corev1.ResourceList) []amount {
	return d.add(make([]amount, 0, len(list)), list)
}

// add appends such amounts.
func (d *dimensions) add(out []amount, list corev1.ResourceList) []amount {
	for name, q := range list {
		dim := d.number(name)
		var n int64
		switch {
		case q.CmpInt64(mostCounted) > 0:
			n = mostCounted
		case dim == dimCPU:
			n = min(q.MilliValue(), mostCounted)
		default:
			n = q.Value()
		}
		if dim != notCounted && n != 0 {
			out = append(out, amount{dim, n})
		}
	}
	return out
}

// need is what one pod takes of a resource.
type need struct {
	dim   dimension
	asked int64 // free before it comes; 0 is never refused, even where more was given away than there is
	held  int64 // taken once it is there
}

// needs joins what a pod asks for and what it will hold. Every pod takes one of dimPods, which comes first.
func needs(asked, held []amount) []need {
	out := []need{{dimPods, 1, 1}}
	for _, a := range asked {
		if a.dim != dimPods {
			out = append(out, need{dim: a.dim, asked: a.n})
		}
	}
	for _, h := range held {
		if h.dim == dimPods {
			continue
		}
		if i := slices.IndexFunc(out, func(n need) bool { return n.dim == h.dim }); i >= 0 {
			out[i].held = h.n
		} else {
			out = append(out, need{dim: h.dim, held: h.n})
		}
	}
	slices.SortFunc(out, func(a, b need) int { return int(a.dim - b.dim) })
	return out
}

// rooms says how many pods with this need go into what is free.
func (n need) rooms(free int64) int64 {
	switch {
	case n.asked <= 0:
		return unlimited
	case n.asked > free:
		return 0
	case n.held <= 0:
		return unlimited
	}
	return (free-n.asked)/n.held + 1
}

// unlimited is more pods than there will ever be.
const unlimited = 1 << 30
