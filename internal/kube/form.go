package kube

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

// form says how objects of one kind are told apart once they are kept as a T.
type form[T comparable] struct {
	name func(T) name
	uid  func(T) types.UID
	same func(a, b T) bool
	note func(before, after T, now time.Time) // notes in after when it was heard of, before anybody else has it; before is the zero T when there is none. May be nil
}

// whole keeps API objects as they are after [Trim].
func whole[T interface {
	object
	comparable
}]() form[T] {
	return form[T]{
		name: func(o T) name { return nameOf(o) },
		uid:  func(o T) types.UID { return o.GetUID() },
		same: func(a, b T) bool { return equality.Semantic.DeepEqual(a, b) },
	}
}

// records keeps pods as records.
func records() form[*cluster.Pod] {
	return form[*cluster.Pod]{
		name: func(p *cluster.Pod) name { return name{p.Namespace, p.Name} },
		uid:  func(p *cluster.Pod) types.UID { return p.UID },
		same: (*cluster.Pod).Equal,
		note: func(before, after *cluster.Pod, now time.Time) { after.Hear(before, now) },
	}
}

// asIs keeps an object itself.
func asIs[T object](o T) T { return o }

// classes makes records of the pods that one observer follows. It forgets classes that no pod has any more when they are many.
type classes struct {
	table cluster.Classes
	kept  int // when it last forgot some
}

// spareClasses is how many classes more than twice those in use may be remembered.
const spareClasses = 1000

func (c *classes) record(o *corev1.Pod) *cluster.Pod { return c.table.Pod(o) }

// tidy forgets classes; held are the pods that are followed.
func (c *classes) tidy(held map[name]*cluster.Pod) {
	if c.table.Len() > 2*c.kept+spareClasses {
		c.table.Keep(maps.Values(held))
		c.kept = c.table.Len()
	}
}
