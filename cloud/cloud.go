// Package cloud says what sluice asks of a cloud. Growing and shrinking are different verbs, nothing waits for a machine, and
// every answer carries the evidence for itself. Its contract is checked by package cloudtest.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice.dev/sluice/cluster"
)

// Provider is one cloud account's node groups. Implementations are safe for concurrent use, never sleep, and return as soon as
// the cloud has accepted a request: the next read shows its progress. Every error is or wraps an [*Error].
type Provider interface {
	// Groups returns every managed group with its instances, sorted by ID. It may serve a group from a read that is as
	// old as the provider's cache allows; a group that cannot be read is present with Problem set and with what was last
	// known of it. The error is for failures that concern no single group, such as a refused identity; known groups are returned with it.
	Groups(ctx context.Context) ([]*cluster.Group, error)

	// Group reads one group now, complete, past every cache: the evidence for a write. It returns an error rather than a
	// partial answer, also while a write to the group has no answer yet.
	Group(ctx context.Context, id cluster.GroupID) (*cluster.Group, error)

	// SetCapacity asks for n machines in the group. It only ever grows: n below g.Capacity is an error of kind Invalid and sends
	// nothing. Parked machines are started before new ones are made. g is the group as [Provider.Group] read it; when the cloud's version has moved since, the error's kind is Conflict.
	// Where the answer is long in coming the error's kind is Unanswered: Groups shows n as Asked until it comes, and Failure when it is a refusal.
	SetCapacity(ctx context.Context, g *cluster.Group, n int) error

	// DeleteInstances removes the named machines, and lowers the group's capacity by as many. A group may be set to park them instead of
	// deleting them: see [cluster.Group.Parked]. Each is identified by UID as
	// well as by id: when a machine of that id is now another one, the error's kind is Conflict and nothing is sent. An empty list is an
	// error of kind Invalid and sends nothing.
	DeleteInstances(ctx context.Context, g *cluster.Group, machines []cluster.Machine) error
}

// A Leaseholder is a [Provider] that writes of its own accord, and then not when the lease might end before the write arrives (S-23). Lease tells it until
// when nobody else leads; what ends at the zero time does not end.
type Leaseholder interface{ Lease(ends func() time.Time) }

// A Refuser is a [Provider] that also writes of its own accord, for what removals have left. Refused returns what it has not done since it was last
// asked, each refusal once, because it would have broken a promise.
type Refuser interface{ Refused() []Refusal }

// Refusal is a write that a provider has not made.
type Refusal struct {
	At       time.Time
	Property string // of the safety contract
	Resource string // that would have been changed or deleted, as the cloud names it
	Why      string
}

// An Heir is a [Provider] that goes on with what another process has begun, such as the one that led before. TookOver returns the growths that it has come to
// know of in this way since it was last asked, each once.
type Heir interface{ TookOver() []Takeover }

// An Economizer is a [Provider] that asks the cloud less often about groups in a steady state. Attend tells it after each cycle which those are. A group that
// is not named is asked about as usual.
type Economizer interface {
	Attend(groups map[cluster.GroupID]Attention)
}

// A Diagnostician is a [Provider] that asks machines why they do not become nodes: see [cluster.Instance.Diagnosis]. Diagnose tells it after each cycle
// which are late, those first that are late for longest. It asks few of them, rarely, and nobody waits for it.
type Diagnostician interface {
	Diagnose(late []cluster.Machine)
}

// Attention is how often the cloud is asked about a group.
type Attention int

// The kinds of attention.
const (
	Usual  Attention = iota // something is under way, or may be
	Seldom                  // each of its machines runs as a node that is Ready, and nothing is under way
	AtOnce                  // a machine of it has no such node: it is asked about now if it was seldom until now, and then as usual
)

// Takeover is a growth that another process has asked for.
type Takeover struct {
	Group    cluster.GroupID
	Capacity int       // that was asked for
	At       time.Time // when it was asked for, or accepted, by the clock of that process
}

// Kind says what a caller can do about an [Error].
type Kind string

// The kinds of cloud errors.
const (
	Conflict     Kind = "conflict"     // lost a race: read again and plan again, no back-off
	Throttled    Kind = "throttled"    // not before RetryAfter
	Quota        Kind = "quota"        // the account may not have more of this; Error.Quota has the numbers
	Allocation   Kind = "allocation"   // the cloud has no such machine to give now
	Unavailable  Kind = "unavailable"  // the cloud does not offer the size here, or not to this account
	Network      Kind = "network"      // the network has no room for the machine: a subnet is full
	Provisioning Kind = "provisioning" // the machine was given and did not come up
	Unauthorized Kind = "unauthorized" // the identity lacks a right that Message names
	Denied       Kind = "denied"       // a policy or a lock of the account forbids it
	NotFound     Kind = "not-found"    // the group or machine does not exist
	Transient    Kind = "transient"    // try again
	Unanswered   Kind = "unanswered"   // it was sent, and there is no answer yet: Groups tells what came of it
	Invalid      Kind = "invalid"      // a defect of the request: never repeated unchanged
)

// Error is a failed request to the cloud.
type Error struct {
	Kind       Kind
	Group      cluster.GroupID // "" when it concerns no single group
	Code       string          // the cloud's own code, or the provider's where the cloud gave none; never empty
	Message    string          // one sentence that names the thing with its size and zone, and, where there is one, the remedy
	RetryAfter time.Duration   // for Throttled: how long the cloud asked to be left alone; for Conflict: when another read may help, 0 at once
	Quota      *cluster.Quota  // for Quota: the numbers, nil when the cloud gave none

	// Property is that of the safety contract for which the provider itself held the request back, such as S-32; "" for what was sent.
	Property string
}

// Error is the code and the sentence.
func (e *Error) Error() string {
	if e.Code == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// KindOf is the kind of the first [*Error] in err's chain, Transient for any other error, "" for nil.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	default:
		return Transient
	}
}
