// Package timeline is the memory of the last hours and days: numbers of every cycle, what happened in sentences, the lives of machines, and
// stretches of which there is no record. A running process feeds it with its journal entries; the same entries, read from a journal, make the
// same timeline.
package timeline

import (
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Point is what one cycle showed in numbers, or several that follow one another: then Waiting, Stuck and Coming are the largest of them, Grown,
// Removed, Refused and Guarded their sums, and all else is that of the last one.
type Point struct {
	Time     time.Time               `json:"time"` // when the cluster was observed, UTC
	Cycle    uint64                  `json:"cycle"`
	Waiting  int                     `json:"waiting"`  // pending pods that are sluice's to place
	Stuck    int                     `json:"stuck"`    // of them those that nothing helps
	Nodes    int                     `json:"nodes"`    // of managed groups, but for those whose machine is parked
	Coming   int                     `json:"coming"`   // machines that are requested or there, and no node yet
	ByGroup  map[cluster.GroupID]int `json:"byGroup"`  // Nodes of each group; shared between points while equal, nobody changes it
	USD      float64                 `json:"usd"`      // per hour, list price of the machines whose price is known
	Unpriced int                     `json:"unpriced"` // machines whose price is unknown
	Grown    int                     `json:"grown"`    // machines that accepted requests add
	Removed  int                     `json:"removed"`  // machines that accepted requests delete or park
	Refused  int                     `json:"refused"`  // requests that Azure refused, also after it had accepted them
	Guarded  int                     `json:"guarded"`  // writes that the safety contract kept from being sent
}

// Telling is one sentence of what happened, as sluice log says it.
type Telling struct {
	Time     time.Time    `json:"time"`
	Cycle    uint64       `json:"cycle"`
	Kind     string       `json:"kind"` // see the kinds of package report
	Sentence string       `json:"sentence"`
	About    []reason.Ref `json:"about,omitempty"` // all things that it concerns: nodes, machines, pods, groups
}

// SpanKind is what a machine does in a stretch of its life.
type SpanKind string

// The kinds of a [Span]. What runs outweighs what is done: a node that drains while a Job's pod runs to its end has a SpanJob.
const (
	SpanBoot     SpanKind = "boot"     // it is no Ready node yet
	SpanJob      SpanKind = "job"      // a pod of a Job runs; What is "namespace/name" of the Job
	SpanPods     SpanKind = "pods"     // other pods run, daemons aside
	SpanIdle     SpanKind = "idle"     // a candidate for removal, or nothing but daemons runs; What is the code of the verdict's first reason
	SpanDraining SpanKind = "draining" // it is cordoned, drained or deleted; What is the code of the verdict's first reason
	SpanParked   SpanKind = "parked"   // it is switched off, to be started again
	SpanSilent   SpanKind = "silent"   // its node was Ready and is not; What is the Job whose pod is there, "" for none
)

// Span is a stretch of a machine's life. That which goes on ends with the last cycle.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Kind SpanKind  `json:"kind"`
	What string    `json:"what,omitempty"`
}

// Life is one machine from request to end.
type Life struct {
	Group    cluster.GroupID    `json:"group"`
	Instance cluster.InstanceID `json:"instance"`
	UID      string             `json:"uid"`
	Node     string             `json:"node,omitempty"` // "" while it was none
	Zone     string             `json:"zone,omitempty"`
	Size     string             `json:"size,omitempty"`

	Requested time.Time   `json:"requested,omitzero"` // when Azure accepted the request that it is of; zero when that was not seen
	Created   time.Time   `json:"created,omitzero"`   // as Azure has it, zero when it does not say
	Joined    time.Time   `json:"joined,omitzero"`    // when its node was first seen Ready, or was made if that was before the record; zero when it never was
	Gone      time.Time   `json:"gone,omitzero"`      // when a complete list first lacked it; zero while it is there
	Why       string      `json:"why,omitempty"`      // it went, or is being deleted: a sentence
	Code      reason.Code `json:"code,omitempty"`     // of Why; see [SpotTaken] and [ByAnother]
	Spans     []Span      `json:"spans"`              // in their order, at most 40, of a gone one 30: of more, short ones are put together with their neighbours
}

// Codes of lives that ended without sluice's doing, beside those of package reason.
const (
	SpotTaken reason.Code = "SpotTaken" // a spot machine went, and sluice had not asked for it
	ByAnother reason.Code = "ByAnother" // another machine did
)

// Gap is a stretch of time without a record.
type Gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Why  string    `json:"why"`
}

// Found is a thing whose name is like what was looked for.
type Found struct {
	Ref   reason.Ref      `json:"ref"`
	Group cluster.GroupID `json:"group,omitempty"` // of a node or a machine
	Node  string          `json:"node,omitempty"`  // of a pod or a machine
	Gone  time.Time       `json:"gone,omitzero"`   // when it was no longer there; zero while it is
}
