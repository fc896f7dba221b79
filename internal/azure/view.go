package azure

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
)

// reading is what is known of a group: its model and its machines. It does not change once [state.take] has judged it.
type reading struct {
	model    *model
	machines []*machine
	at       time.Time     // when the machines were listed: before the model when that is younger
	asked    fleet.Instant // that, as the ledger has it
	whole    bool          // model and list are complete together, as doubt.go has it
	unknown  *cloud.Error  // why they are not; nil when they are, and for a group that sluice does not manage
}

// unreadable is why nothing can be made of the reading: Azure left out what tells machines apart; nil when it can be read.
func (r *reading) unreadable() error {
	seen := map[string]string{}
	for _, m := range r.machines {
		if m.id == "" || m.resource == "" {
			return errors.New("Azure lists a machine without id or properties")
		}
		if uid, twice := seen[m.id]; twice && uid != m.uid {
			return fmt.Errorf("Azure lists two machines under instance id %s", m.id)
		}
		seen[m.id] = m.uid
	}
	return nil
}

// view is the reading as the contract wants it: Read.At is when the machines shown were listed, Read.Version is the model's.
// What is wrong with a group of operations, and what its next machine will be and cost, is added by the caller.
func (r *reading) view(id cluster.GroupID, blame map[string]*cluster.Failure, known map[string]beyond) *cluster.Group {
	g := &cluster.Group{
		ID: id, Capacity: r.model.capacity, Size: r.model.size, Problem: r.model.unfit, OtherActors: r.model.actors,
		Read: cluster.Read{At: r.at, Complete: r.whole, Version: r.model.version},
	}
	seen := map[string]bool{}
	for _, m := range r.machines {
		if seen[m.id] {
			continue // the list moved under the pages
		}
		seen[m.id] = true
		in := m.instance(id)
		if f := blame[in.UID]; f != nil && in.State == cluster.StateFailed {
			in.Failure = f
		}
		in.Started = known[in.UID].up
		r.place(g, in, m, known[in.UID].does)
	}
	for _, list := range [][]*cluster.Instance{g.Instances, g.Parked} {
		slices.SortFunc(list, func(a, b *cluster.Instance) int { return cmp.Compare(a.ID, b.ID) })
	}
	if r.model.capacity < 0 || g.Capacity < 0 {
		g.Capacity = -1 // not said, or less than the machines that are parked
	}
	return g
}

// instance is the machine as the contract wants it.
func (m *machine) instance(group cluster.GroupID) *cluster.Instance {
	return &cluster.Instance{
		ID: cluster.InstanceID(m.id), Group: group, UID: m.uid, ProviderID: providerID(m.resource),
		ComputerName: m.computerName, PrivateIPs: m.ips, Zone: m.zone, Size: m.size, Created: m.created, State: m.state, Failure: m.failure, Protected: m.protected,
	}
}

// providerID is the machine's id as cloud-provider-azure writes it on nodes: the resource group, and nothing else, in lower case.
func providerID(id string) string {
	segments := strings.Split(id, "/")
	if i := slices.IndexFunc(segments, func(s string) bool { return strings.EqualFold(s, "resourceGroups") }); i >= 0 && i+1 < len(segments) {
		segments[i], segments[i+1] = "resourceGroups", strings.ToLower(segments[i+1])
	}
	return "azure://" + strings.Join(segments, "/")
}
