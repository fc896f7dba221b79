package place

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Incoming is a group and its machines that are coming or being added.
type Incoming struct {
	*node.GroupFacts
	Coming     int                             // machines that are expected and have no Ready node yet
	Taken      *reason.Reason                  // which of these waits for the node of an earlier one of its name to go; nil when none does
	Late       []*cluster.Instance             // machines without a node that come late, if they come
	Templates  map[string]*scheduling.Template // what machines are opened like, by zone, "" for a group that spans none; once one was
	Opened     int                             // machines that were opened, to name them and to know whose turn it is
	expects    int                             // of these, those that are coming; see [comingName]
	unanswered int                             // of these, those that the cloud was asked for and has not answered about
	Rotation   *rotation                       // of its zones, nil where it spans none
	awaited    reason.Reason                   // why pods have their place on a machine that is coming, once one has
	asks       reason.Reason                   // the same of one that the cloud was asked for
}
