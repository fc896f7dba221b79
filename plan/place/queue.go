package place

import (
	"slices"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// Queue is the pods that wait, and what becomes of each.
//
// Waiting has three parts, and PodVerdicts the same ones:
//
//	from   to                     pods                                                 added by
//	0      len(Snapshot.Pending)  that wait in the cluster, oldest first               newQueue
//	there  Driven more            that leave machines which stop: see [Room.expelled]  [Room.Collect]
//	there  the end                virtual ones                                         [Room.Claims]
//
// A pod is known by its place here. So nothing is ever taken out, and the order does not change within a cycle.
type Queue struct {
	Waiting     []*cluster.Pod   // pods that no node holds, oldest first; then virtual ones
	Driven      int              // pods behind those that wait in the cluster which a notice of the cloud drives off their nodes
	PodVerdicts []action.Verdict // by waiting; their subjects are there from the start
	blank       []reason.Reason  // see [Queue.Reasons]
}

// newQueue notes which pods wait, and what they are called. There is to be room for so many further verdicts.
func newQueue(pending []*cluster.Pod, further int) *Queue {
	// Clip has the first append copy the list: it is the snapshot's, which nobody may change.
	q := &Queue{Waiting: slices.Clip(pending), PodVerdicts: make([]action.Verdict, len(pending), len(pending)+further)}
	for i, p := range pending {
		q.PodVerdicts[i].Subject = reason.Ref{Kind: reason.KindPod, Name: p.String()}
	}
	return q
}

// line adds a pod behind those that wait.
func (q *Queue) line(p *cluster.Pod, about reason.Ref) {
	q.Waiting = append(q.Waiting, p)
	q.PodVerdicts = append(q.PodVerdicts, action.Verdict{Subject: about})
}

// Key is a waiting pod's "namespace/name".
func (q *Queue) Key(at int) string { return q.PodVerdicts[at].Subject.Name }

// Serve gives the next n pods of the demand a verdict. The reasons are about the pod where they are about nothing else.
func (q *Queue) Serve(dm *Demand, n int, outcome action.Outcome, because ...reason.Reason) {
	those := dm.Pods[dm.Served : dm.Served+n]
	dm.Served += n
	all := q.Reasons(n * len(because))
	for i, at := range those {
		v := &q.PodVerdicts[at]
		own := all[i*len(because) : (i+1)*len(because) : (i+1)*len(because)]
		copy(own, because)
		for j := range own {
			if own[j].About == (reason.Ref{}) {
				own[j].About = v.Subject
			}
		}
		v.Outcome, v.Because = outcome, own
	}
}

// ServeAlike gives the next n pods of the demand one verdict, whose reasons they share.
// Package grow calls it for pods that are stuck, which may be many.
func (q *Queue) ServeAlike(dm *Demand, n int, outcome action.Outcome, because []reason.Reason) {
	for _, at := range dm.Pods[dm.Served : dm.Served+n] {
		v := &q.PodVerdicts[at]
		v.Outcome, v.Because = outcome, because
	}
	dm.Served += n
}

// Reasons are so many to be filled in. They share their memory with others, not their room to grow.
// With tens of thousands of verdicts this saves an allocation for each.
func (q *Queue) Reasons(n int) []reason.Reason {
	if len(q.blank) < n {
		q.blank = make([]reason.Reason, max(n, 512))
	}
	all := q.blank[:n:n]
	q.blank = q.blank[n:]
	return all
}
