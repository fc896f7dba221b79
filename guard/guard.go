// Package guard is the one door to the outside: every write to Azure or Kubernetes is checked here, against evidence read for
// it, right before it is sent. A refusal names the property of the safety contract that forbids the write; docs/safety.md has
// the contract. The guard trusts no plan: it looks at the write and the evidence alone.
package guard

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Write is a change that somebody is about to make.
type Write interface{ isWrite() }

// Grow raises a group's capacity. From is the capacity that the decision rested on.
type Grow struct {
	Group    cluster.GroupID
	From, To int
}

// Delete removes machines of one group by name.
type Delete struct {
	Group    cluster.GroupID
	Machines []Target
}

// Target is a machine to delete and the node it is believed to be, "" for a machine that never became one.
type Target struct {
	cluster.Machine
	Node string
}

// Cordon taints a node so that nothing new lands on it.
type Cordon struct {
	Node    string
	UID     types.UID
	Machine cluster.Machine
	Why     string // as [cluster.Removal] has it
}

// Mark cordons the node of a machine that is parked, or takes over the removal that another sluice has begun.
type Mark struct {
	Node    string
	UID     types.UID
	Machine cluster.Machine
	Parked  bool
}

// Uncordon takes that taint, or that mark, back.
type Uncordon struct {
	Node string
	UID  types.UID
}

// CandidateTaint has the scheduler prefer other nodes.
type CandidateTaint struct {
	Node string
	UID  types.UID
}

// CandidateUntaint takes that taint back.
type CandidateUntaint struct {
	Node string
	UID  types.UID
}

// Evict asks the eviction API to remove a pod from a cordoned node.
type Evict struct {
	Namespace, Pod string
	UID            types.UID
	Node           string
}

// DeleteNode deletes the Node object of a machine that is gone, and the attachments of volumes to it.
type DeleteNode struct {
	Node        string
	UID         types.UID
	Machine     cluster.Machine
	Attachments []cluster.Attachment
}

// OpenGate takes sluice's scheduling gate off a pod. Node is one that it fits.
type OpenGate struct {
	Namespace, Pod string
	UID            types.UID
	Node           string
}

// Answer writes into the status of a ProvisioningRequest or CapacityBuffer.
type Answer struct {
	Namespace, Name string
	UID             types.UID
}

func (Grow) isWrite()             {}
func (Delete) isWrite()           {}
func (Cordon) isWrite()           {}
func (Mark) isWrite()             {}
func (Uncordon) isWrite()         {}
func (CandidateTaint) isWrite()   {}
func (CandidateUntaint) isWrite() {}
func (Evict) isWrite()            {}
func (DeleteNode) isWrite()       {}
func (OpenGate) isWrite()         {}
func (Answer) isWrite()           {}

// Evidence is what is known at the moment of the write.
type Evidence struct {
	DryRun    bool              // nothing may be changed at all (S-24)
	Started   time.Time         // when this process began to read; older reads are not evidence (S-02)
	Decided   *cluster.Snapshot // what the decision rested on
	Newest    *cluster.Snapshot // what is known now; at least as new as Decided
	Group     *cluster.Group    // for writes to a group: read past every cache, for this write; nil otherwise
	LastWrite time.Time         // when this process last wrote to that group; zero when never
	Counted   map[string]string // nodes on which pending pods count, with one of the pods, as the decision found them (S-16)
	Silent    time.Duration     // for how long the API server has said nothing (S-20)
	Leads     time.Time         // until when nobody else leads; zero when there is nobody else (S-23)
	Answer    time.Duration     // how long the request may take at most
	Opposed   *Opposition       // others who keep changing the group's capacity the other way; nil for none (S-36)
	Fleet     *fleet.View       // what is known of machines; nil when nobody keeps a ledger of them
	Unseen    map[string]bool   // nodes that this process has written to, and Newest does not show them as they are since (S-20)

	// Looked are the nodes of machines to be removed, by name, as the API server answered when it was asked for this write: of a machine that
	// was not seen as a node, the one with its computer name; and where a control-plane node is to go, all of the control plane. Newest is as
	// old as the last word of a watch, and what has come or been said since must hold as well.
	Looked map[string]*corev1.Node
}

// Refusal is a write that did not happen. It is no failure of anything: it says that the write would have broken a promise.
type Refusal struct {
	Property string        // of the safety contract, such as "S-01"
	Reason   reason.Reason // with the property among its facts
}

// Error is the sentence, which ends with the property.
func (r *Refusal) Error() string { return r.Reason.String() }

// refuse is a refusal by a property, with a code of package reason, what it is about, and facts as name and value. Each call stands on one
// line, where hack/mutations finds it.
func refuse(property string, code reason.Code, about reason.Ref, facts ...any) error {
	return refuseFor(property, reason.New(code, about, facts...))
}

// refuseFor is a refusal for what package policy says.
func refuseFor(property string, why reason.Reason) error { return &Refusal{property, why.By(property)} }

// refuseAs is a refusal of the ledger of machines.
func refuseAs(r *fleet.Refusal, group cluster.GroupID) error {
	return &Refusal{r.Property, r.Reason(fleet.GroupID(group), reason.Ref{})}
}

// Check says whether the write may happen: nil, or the [*Refusal] of the first property that forbids it. It has no side effects.
func Check(w Write, e Evidence, allowed *policy.Policy) error {
	if e.DryRun {
		return refuse("S-24", reason.DryRun, reason.Ref{})
	}
	if err := checkPair(e, allowed); err != nil {
		return err
	}
	if err := checkView(w, e); err != nil {
		return err
	}
	switch w := w.(type) {
	case Grow:
		return checkGrow(w, e, allowed)
	case Delete:
		return checkDelete(w, e, allowed)
	case Cordon:
		return checkCordon(w, e, allowed)
	case Mark:
		return checkMark(w, e)
	case CandidateTaint:
		return checkCandidateTaint(w, e)
	case Uncordon: // which gives room back, as the next one does, and takes nothing from anybody
		return checkOwner(w.Node, e, allowed)
	case CandidateUntaint:
		return checkOwner(w.Node, e, allowed)
	case OpenGate:
		return checkOpenGate(w, e)
	case Answer:
		return nil // says what is so
	case Evict:
		return checkEvict(w, e, allowed)
	case Expel:
		return checkExpel(w, e, allowed)
	case AnswerNotice:
		return checkAnswer(w, e, allowed)
	case DeleteNode:
		return checkDeleteNode(w, e)
	}
	return refuse("S-24", reason.WriteUnknown, reason.Ref{}, "write", fmt.Sprintf("%T", w))
}

// checkEvidence holds what every write to a group rests on: one complete read of that group, made after the start and after
// the last write to it (S-01, S-02).
func checkEvidence(id cluster.GroupID, e Evidence) error {
	g, about := e.Group, reason.Group(string(id))
	switch {
	case g == nil || g.ID != id:
		return refuse("S-02", reason.GroupNotRead, about)
	case !g.Read.Complete || g.Problem != "":
		return refuse("S-02", reason.GroupIncomplete, about)
	case g.Read.At.Before(e.Started):
		return refuse("S-02", reason.GroupReadOld, about, "read", stamp(g.Read.At), "cause", "sluice started")
	case paused(id, e) != nil:
		return paused(id, e)
	case g.Read.At.Before(e.LastWrite):
		return refuse("S-01", reason.GroupReadOld, about, "read", stamp(g.Read.At), "cause", "the last write")
	case e.Opposed != nil:
		return refuse("S-36", reason.GroupOpposed, about, "times", e.Opposed.Times, "until", e.Opposed.Until.UTC().Format(time.RFC3339))
	}
	if n := g.Contradicts(e.Newest.Nodes); n != nil {
		return refuse("S-02", reason.GroupContradicted, about, "node", n.Name())
	}
	return nil
}

// paused holds what touches a group that somebody has paused.
func paused(id cluster.GroupID, e Evidence) error {
	if until, paused := e.Newest.Objects.Pauses().Of(id, e.Newest.Time); paused {
		return refuse("S-18", reason.GroupPaused, reason.Group(string(id)), "until", until)
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }
