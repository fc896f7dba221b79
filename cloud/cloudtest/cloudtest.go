// Package cloudtest checks what every [cloud.Provider] promises. A provider's tests call [Run] with a way to open it on a cloud of its
// own, real or simulated.
package cloudtest

import (
	"context"
	"errors"
	"testing"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// Actors are what others do to the cloud under a provider, and what an observer of the cloud sees.
type Actors interface {
	// Writes counts the requests so far that reached the cloud and would change it, refused ones included.
	Writes() int

	// Resize changes a group's capacity as a person would, behind the provider's back.
	Resize(id cluster.GroupID, n int)

	// Settle lets the cloud finish all that it is doing, and the provider's cache run out.
	Settle()
}

// Run checks the contract. Open gives a provider on a fresh cloud with at least two groups, each of at least three running machines and
// with room for three more; it is called once for every promise.
func Run(t *testing.T, open func(t *testing.T) (cloud.Provider, Actors)) {
	t.Helper()
	hold(t, open, []promise{
		{"groups come sorted, complete and with evidence", groupsComeComplete},
		{"one group is read as all groups are", groupMatchesGroups},
		{"what is returned belongs to the caller", answersBelongToTheCaller},
		{"an unknown group is not found", unknownGroupIsNotFound},
		{"growing adds machines and keeps the others", growingAdds},
		{"growing never shrinks", growingNeverShrinks},
		{"growing from an old version conflicts and changes nothing", oldVersionConflicts},
		{"deleting removes the named machines and no other", deletingRemovesTheNamed},
		{"a deletion that was accepted shows in the next answer", deletionShowsAtOnce},
		{"deleting spares a machine that took the id of another", reusedIDIsKept},
		{"deleting a machine that is not there conflicts", absentMachineConflicts},
		{"deleting nothing is invalid", deletingNothingIsInvalid},
		{"deleting from another group sends nothing", foreignMachineIsRefused},
		{"calls may overlap", callsMayOverlap},
	})
}

// Parking checks what a provider promises of groups whose removals switch machines off. Open is as for [Run], and every group is such a one.
func Parking(t *testing.T, open func(t *testing.T) (cloud.Provider, Actors)) {
	t.Helper()
	hold(t, open, []promise{
		{"a removed machine is parked and no capacity", removingParks},
		{"growing starts parked machines before it makes new ones", growingStartsParked},
		{"a parked machine is not removed again", parkedIsNotRemoved},
		{"growing to what there is sends nothing, whatever is parked", parkedIsNoGrowth},
		{"a removal that was accepted shows in the next answer", deletionShowsAtOnce},
		{"removing nothing is invalid", deletingNothingIsInvalid},
	})
}

type promise struct {
	name string
	hold func(*trial)
}

func hold(t *testing.T, open func(t *testing.T) (cloud.Provider, Actors), promises []promise) {
	t.Helper()
	for _, promise := range promises {
		t.Run(promise.name, func(t *testing.T) {
			p, actors := open(t)
			promise.hold(&trial{T: t, Provider: p, Actors: actors})
		})
	}
}

// trial is one promise under test, with what every check needs.
type trial struct {
	*testing.T
	cloud.Provider
	Actors
}

// first is the first group, read now.
func (t *trial) first() *cluster.Group {
	t.Helper()
	return t.fresh(t.all()[0].ID)
}

func (t *trial) all() []*cluster.Group {
	t.Helper()
	gs, err := t.Groups(context.Background())
	if err != nil {
		t.Fatalf("Groups: %v", err)
	}
	if len(gs) < 2 {
		t.Fatalf("Groups returned %d groups, and open promises at least two", len(gs))
	}
	return gs
}

func (t *trial) fresh(id cluster.GroupID) *cluster.Group {
	t.Helper()
	g, err := t.Group(context.Background(), id)
	if err != nil {
		t.Fatalf("Group(%s): %v", id, err)
	}
	if !g.Usable() {
		t.Fatalf("Group(%s) returned what decisions may not rest on, and no error: %+v", id, g)
	}
	return g
}

// refuses wants a call to end with an error of the kind, with a code, and without a request that changes anything.
func (t *trial) refuses(want cloud.Kind, call func() error) {
	t.Helper()
	before := t.Writes()
	err := call()
	if got := cloud.KindOf(err); got != want {
		t.Errorf("the error is %v of kind %q, want kind %q", err, got, want)
	}
	if e := (*cloud.Error)(nil); errors.As(err, &e) && e.Code == "" {
		t.Errorf("the error %v has no code", err)
	}
	if sent := t.Writes() - before; sent != 0 {
		t.Errorf("%d requests that change the cloud were sent, want none", sent)
	}
}

// settled is the group once the cloud has finished.
func (t *trial) settled(id cluster.GroupID) *cluster.Group {
	t.Helper()
	t.Settle()
	t.all()
	return t.fresh(id)
}

// uids are the machines of a group, by UID.
func uids(g *cluster.Group) map[string]cluster.InstanceID {
	m := map[string]cluster.InstanceID{}
	for _, i := range g.Instances {
		m[i.UID] = i.ID
	}
	return m
}
