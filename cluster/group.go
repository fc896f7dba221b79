package cluster

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/fleet"
)

// GroupID names a node group in flags, tags, events and metrics. It is the cloud's own name for it and keeps its letter case.
type GroupID string

// InstanceID names a machine within its group. A cloud may give the id of a deleted machine to a new one: UID decides.
type InstanceID string

// Group is a set of machines that are made alike and that sluice may grow and shrink.
type Group struct {
	ID       GroupID `json:"id"`
	Min      int     `json:"min"`
	Max      int     `json:"max"`
	Capacity int     `json:"capacity"` // machines the cloud wants the group to have; -1 when unknown

	// Template is a node such as the group's next machine will become: labels, taints, capacity, allocatable. Its name is
	// empty. Nil when nothing is known; then Size says which size the cloud named, and Remedy what an operator can do to tell more.
	Template *corev1.Node `json:"template,omitempty"`
	Size     string       `json:"size,omitempty"`
	Remedy   string       `json:"remedy,omitempty"`

	// Zones are those that the cloud spreads the group's machines over, as in topology.kubernetes.io/zone and in the order in which the cloud
	// prefers them where it has a choice. More than one means that the template's zone is only that of the next machine: see [NextZone] and
	// [InZone]. One or none: all machines are where the template says.
	Zones []string `json:"zones,omitempty"`

	// Reported is what people have told the cloud of the group's next machines besides their size: labels, taints and resources by tags, and
	// where that is known, what the machines are made of. Its keys are [AboutLabel], [AboutTaint], the names of resources, and [AboutModel];
	// its values mean nothing but that one differs from another. Nil when that is not known.
	Reported map[string]string `json:"told,omitzero"`

	Learned *Learned     `json:"learned,omitempty"` // from the group's nodes, set by [New]; an observer gives it back to the next snapshot
	Drift   []Difference `json:"drift,omitempty"`   // between the cloud's template and the learned one, set by [New]

	// Sizes are those that the group could have instead, nil when none are known.
	Sizes *Sizes `json:"-"`

	// PriceUSDPerHour is the list price of one machine, 0 when unknown.
	PriceUSDPerHour float64 `json:"priceUSDPerHour,omitempty"`
	Spot            bool    `json:"spot,omitempty"` // the cloud may take machines away, and asks less for them

	Instances []*Instance `json:"instances,omitempty"` // sorted by ID; all of them only if Read.Complete

	// Parks says that a removal switches machines off instead of deleting them: all but those that failed.
	Parks bool `json:"parks,omitempty"`

	// Parked are machines that a removal switched off instead of deleting them, sorted by ID. They are neither in Instances nor in
	// Capacity; a growth starts them before it makes new ones.
	Parked []*Instance `json:"parked,omitempty"`

	// Departed are machines that the list has no more and that the cloud was seen to delete, or has accepted to, within the last minutes:
	// their UIDs, sorted. Missing are those that complete lists lacked from one to the next though nobody saw them leave. See
	// [Group.Contradicts].
	Departed []string `json:"departed,omitempty"`
	Missing  []string `json:"missing,omitempty"`

	// Taken are the machines that sluice did not ask to go and that went within the last hour: another controller, a person or the cloud did
	// it.
	Taken Taken `json:"taken,omitzero"`

	// Deleted is when the cloud first agreed with itself that the group is there no more, though sluice never deletes one; zero while it is.
	// It has no machine then, and no limits.
	Deleted time.Time `json:"deleted,omitzero"`

	ProviderIDPrefix string `json:"providerIDPrefix,omitempty"` // how provider ids of its machines begin, and of no other's; "" when nobody knows
	HostnamePrefix   string `json:"hostnamePrefix,omitempty"`   // what the hostnames of its machines are before a number of six digits of base 36; "" when they are not so

	Options     Options       `json:"options,omitzero"`      // settings of its own
	Passing     Taints        `json:"passing,omitzero"`      // taints that its template never bears, besides those that are known by themselves
	Patience    time.Duration `json:"patience,omitempty"`    // how long its new nodes have until their startup taints are gone, 0 for [StartupWithin]
	VolumeLimit int           `json:"volumeLimit,omitempty"` // data disks that one machine can attach, 0 when unknown

	// Joined says that a machine of the group is or was a node of this cluster, as far as anybody knows; set by [New].
	Joined bool `json:"joined,omitempty"`

	// Own is the UID of the machine that this process runs on, where it is one of the group's. SignsIn says that machines of the group have
	// the identity by which this process signs in to the cloud.
	Own     string `json:"own,omitempty"`
	SignsIn bool   `json:"signsIn,omitempty"`

	// ControlPlane is why machines of the group are taken for control-plane or etcd nodes, "" when they are not; set by [New]. Such a machine
	// may be a member of etcd and no node, as a server of K3s without an agent is.
	ControlPlane Role `json:"controlPlane,omitempty"`

	// OtherActors are the settings by which the cloud changes machines of the group by itself, in the order of [ActorKinds]; nil when none is
	// known.
	OtherActors []Actor `json:"otherHands,omitempty"`

	Read    Read     `json:"read"`
	Failure *Failure `json:"failure,omitempty"` // the last one of a growth that an accepted operation reported, or that came late; nil when none or superseded
	Problem string   `json:"problem,omitempty"` // why the group cannot be read now, one sentence with the remedy; "" when it can

	// Unanswered says that Problem is no more than that the cloud does not answer, or not now: what was read last may still be so.
	Unanswered bool `json:"unheard,omitempty"`

	// Again is when the cloud is asked about the group anew, while there is a Problem or Read is not complete; zero when nobody knows.
	Again time.Time `json:"again,omitzero"`

	// Asked is the capacity that the cloud was asked for and has not answered about yet, as Problem says then; 0 when there is no such
	// request.
	Asked int `json:"asked,omitempty"`
}

// Role is what says that machines are of the control plane, one clause.
type Role string

// What says so.
const (
	RoleOfNode     Role = "has control-plane nodes"                                  // or the description of the next one has the label of such a role
	RoleOfOwn      Role = "has the machine that sluice runs on, which is no node"    // as beside a server of K3s without an agent
	RoleOfIdentity Role = "has sluice's own identity, which no group of workers has" // as servers have beside which it runs
)

// Read is the evidence behind what is known of a group.
type Read struct {
	At       time.Time `json:"at"`                // when the machines that are shown were listed, UTC; zero when the group was never read
	Complete bool      `json:"complete"`          // capacity is known and the instance list is whole
	Version  string    `json:"version,omitempty"` // the cloud's version tag of the group, sent back with a write
}

// Taken counts machines that went by another hand. The zero value is none.
type Taken struct {
	Machines int       `json:"machines"`
	First    time.Time `json:"first"` // when a read first showed the first of them leaving or gone, UTC
	Last     time.Time `json:"last"`  // the same of the last of them
}

// Actor is a setting by which the cloud restarts or deletes machines without a drain, or chooses what they are.
type Actor struct {
	Kind   ActorKind `json:"kind"`
	Does   string    `json:"does"`   // the setting and what it does, one clause
	Remedy string    `json:"remedy"` // what to set instead, one clause
}

// ActorKind is what such a setting has the cloud do.
type ActorKind string

// The kinds of [Actor].
const (
	HandUpdatesModel ActorKind = "model-updates"
	HandUpdatesOS    ActorKind = "os-updates"
	HandRepairs      ActorKind = "repairs"
	HandZones        ActorKind = "zone-rebalancing"
	HandSizes        ActorKind = "size-mix"
)

// ActorKinds are all of them.
var ActorKinds = []ActorKind{HandUpdatesModel, HandUpdatesOS, HandRepairs, HandZones, HandSizes}

// State is what a machine does now.
type State string

// The states of a machine. A stopped machine is no capacity, nor is a failed one that is off.
const (
	StateCreating State = "creating"
	StateRunning  State = "running"
	StateDeleting State = "deleting"
	StateFailed   State = "failed"
	StateStopped  State = "stopped"
)

// Expected says whether a machine in this state is capacity now or is to become so.
func (s State) Expected() bool { return s == StateCreating || s == StateRunning }

// Instance is one machine of a group.
type Instance struct {
	ID           InstanceID `json:"id"`
	Group        GroupID    `json:"group"`
	UID          string     `json:"uid"`                    // unique for ever, unlike ID; lower case
	ProviderID   string     `json:"providerID"`             // as a node of it would carry it; compare with [SameProviderID]
	ComputerName string     `json:"computerName,omitempty"` // the machine's own host name
	PrivateIPs   []string   `json:"privateIPs,omitempty"`
	Size         string     `json:"size,omitempty"` // "" when the cloud does not say; [Group.Size] may be another one by now
	Zone         string     `json:"zone,omitempty"` // as in topology.kubernetes.io/zone
	Created      time.Time  `json:"created,omitzero"`
	Started      time.Time  `json:"started,omitzero"` // when it was last known to be switched off, if it has been since
	Passed       bool       `json:"passed,omitempty"` // parked, and a growth does not start it now: its last start was refused, a request starts no more machines, or a person has cordoned its node
	State        State      `json:"state"`
	Failure      *Failure   `json:"failure,omitempty"`   // why it failed, for StateFailed
	Off          bool       `json:"off,omitempty"`       // it is switched off, too, for StateFailed
	Protected    bool       `json:"protected,omitempty"` // a person has told the cloud to keep it: it is not removed (S-18)

	Diagnosis *Diagnosis `json:"diagnosis,omitempty"` // what it says itself, where it is late and no node; nil when nobody asked, or for all others

	Node string `json:"-"` // the node it became, "" for none; set by [New]
}

// Stopped says whether the machine is switched off, and no capacity (S-38).
func (i *Instance) Stopped() bool { return i.State == StateStopped || i.Off }

// Split is how the group comes to n machines: the parked ones that are started, and how many are made.
func (g *Group) Split(n int) (starts []*Instance, makes int) {
	for _, in := range g.Parked {
		if !in.Passed && len(starts) < n-g.Capacity {
			starts = append(starts, in)
		}
	}
	return starts, n - g.Capacity - len(starts)
}

// UpSince is when the machine was made, or last known to be switched off before it came back; zero when nobody knows.
func (i *Instance) UpSince() time.Time {
	if i.Started.After(i.Created) {
		return i.Started
	}
	return i.Created
}

// WaitedSince is [fleet.View.Waits]; a machine that no ledger has is waited for since it is up.
func (i *Instance) WaitedSince(ledger *fleet.View) (since time.Time, again bool) {
	if ledger != nil {
		if since, again := ledger.Waits(fleet.GroupID(i.Group), fleet.UID(i.UID)); since != 0 {
			return since.Time(), again
		}
	}
	return i.UpSince(), false
}

// Diagnosis is what a machine that does not become a node says of itself, as the cloud keeps it. Its texts are the machine's own: cleaned and
// bounded, and not to be believed. No decision rests on them.
type Diagnosis struct {
	At       time.Time `json:"at"`                 // when the cloud was asked last
	Cause    string    `json:"cause,omitempty"`    // one clause; "" when the texts show no known one
	Remedy   string    `json:"remedy,omitempty"`   // of the cause, one clause
	Statuses []string  `json:"statuses,omitempty"` // of what the cloud installs on it, where they are not good
	Lines    []string  `json:"lines,omitempty"`    // of its boot log, in their order
	Problem  string    `json:"problem,omitempty"`  // why there is no boot log, one sentence with the remedy; "" when there is one
}

// Options are settings that a group carries itself; a nil field leaves it to the policy.
type Options struct {
	Threshold    *float64       `json:"threshold,omitempty"`    // share of CPU or memory requested at or below which a node is underused
	GPUThreshold *float64       `json:"gpuThreshold,omitempty"` // the same of GPUs, for nodes that have some
	Unneeded     *time.Duration `json:"unneeded,omitempty"`     // how long a node must have been idle or underused before it goes
	Unready      *time.Duration `json:"unready,omitempty"`      // how long a node must have been not Ready before it goes
	Headroom     *Headroom      `json:"headroom,omitempty"`     // room that the group keeps free
	Schedules    []Schedule     `json:"schedules,omitempty"`    // limits for hours of the week; of several in force the last wins
	Ceilings     []Ceiling      `json:"ceilings,omitempty"`     // all of them hold
	DaemonWork   []PodSelector  `json:"daemonWork,omitempty"`   // pods of daemons that are work as a Job's, on its nodes
}

// Failure is what a cloud said about something it did not do.
type Failure struct {
	At      time.Time `json:"at"`
	Kind    string    `json:"kind"` // the cloud error's kind, such as "quota" or "allocation"
	Code    string    `json:"code"` // the cloud's own code
	Message string    `json:"message"`
	Quota   *Quota    `json:"quota,omitempty"` // of kind "quota": the numbers, nil when the cloud gave none

	// Rest is how long the group is left alone for it, where that is known to be enough; 0 leaves it to the policy.
	Rest time.Duration `json:"rest,omitempty"`
}

// Quota is what an account may have of something, in the cloud's own unit, such as cores.
type Quota struct {
	Name   string `json:"name"` // as the cloud words it
	Limit  int    `json:"limit"`
	Used   int    `json:"used"`
	Needed int    `json:"needed"` // by the request that was refused
	Left   int    `json:"left"`   // machines of the group that still fit in; -1 when unknown
}

// SameProviderID compares provider ids as clouds do: letter case carries no meaning. Two empty ids are not the same.
func SameProviderID(a, b string) bool { return a != "" && strings.EqualFold(a, b) }

// Instance is the instance with that id, nil when the group lists none.
func (g *Group) Instance(id InstanceID) *Instance {
	for _, i := range g.Instances {
		if i.ID == id {
			return i
		}
	}
	return nil
}

// Live counts the machines that are or will be capacity: creating or running.
func (g *Group) Live() int {
	n := 0
	for _, i := range g.Instances {
		if i.State.Expected() {
			n++
		}
	}
	return n
}

// Usable says whether decisions may rest on what is known of the group.
func (g *Group) Usable() bool {
	return g.Problem == "" && g.wasUsable()
}

// Promised is the capacity that the group has, or will have if the cloud does what it was asked for.
func (g *Group) Promised() int { return max(g.Capacity, g.Asked) }

// AwaitsAnswer says whether nothing but a growth without an answer keeps decisions from resting on what is known of the group.
func (g *Group) AwaitsAnswer() bool { return g.Asked > 0 && g.wasUsable() }

// Lapsed says whether nothing but the cloud's silence keeps decisions from resting on what is known of the group.
func (g *Group) Lapsed() bool { return g.Unanswered && g.wasUsable() }

func (g *Group) wasUsable() bool {
	return g.Read.Complete && g.Capacity >= 0 && g.Capacity >= g.Standing()
}

// Deleting counts the machines that the cloud is deleting. They are listed still and count as capacity no more.
func (g *Group) Deleting() int {
	n := 0
	for _, i := range g.Instances {
		if i.State == StateDeleting {
			n++
		}
	}
	return n
}

// Standing counts the machines listed that are not being deleted, whatever else they do.
func (g *Group) Standing() int { return len(g.Instances) - g.Deleting() }

// Stopped counts the machines listed that somebody has switched off and that are no capacity (S-38).
func (g *Group) Stopped() int {
	n := 0
	for _, i := range g.Instances {
		if i.Stopped() {
			n++
		}
	}
	return n
}

// Present counts the machines that its capacity and its list both vouch for, without those that are switched off. While a read lags behind
// a removal, one of the two counts more.
func (g *Group) Present() int { return min(g.Capacity, g.Standing()-g.Stopped()) }
