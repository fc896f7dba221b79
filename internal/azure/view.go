package azure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
)

// reading is what is known of a group: its model and its machines. It does not change once [group.take] has judged it.
type reading struct {
	model    *model
	machines []*machine
	at       time.Time     // when the machines were listed: before the model when that is younger
	asked    fleet.Instant // that, as the ledger has it
	whole    bool          // model and list are complete together, as doubt.go has it
	doubt    *cloud.Error  // why they are not; nil when they are, and for a group that sluice does not manage
}

// view is the reading as the contract wants it: Read.At is when the machines shown were listed, Read.Version is the model's.
// Written is what Azure accepted to do to machines, by UID. What is wrong with a group of operations, and what its
// next machine will be and cost, is added by the caller.
func (r *reading) view(id cluster.GroupID, blame map[string]*cluster.Failure, written map[string]verb) (*cluster.Group, error) {
	g := &cluster.Group{
		ID: id, Capacity: r.model.capacity, Size: r.model.size, Problem: r.model.unfit, OtherHands: r.model.hands,
		Read: cluster.Read{At: r.at, Complete: r.whole, Version: r.model.version},
	}
	seen := map[cluster.InstanceID]string{}
	for _, m := range r.machines {
		in, err := m.instance(id)
		if err != nil {
			return nil, err
		}
		if uid, twice := seen[in.ID]; twice {
			if uid != in.UID {
				return nil, fmt.Errorf("Azure lists two machines under instance id %s", in.ID)
			}
			continue // the list moved under the pages
		}
		seen[in.ID] = in.UID
		if f := blame[in.UID]; f != nil && in.State == cluster.StateFailed {
			in.Failure = f
		}
		r.place(g, in, m, written[in.UID])
	}
	for _, list := range [][]*cluster.Instance{g.Instances, g.Parked} {
		slices.SortFunc(list, func(a, b *cluster.Instance) int { return cmp.Compare(a.ID, b.ID) })
	}
	if r.model.capacity < 0 || g.Capacity < 0 {
		g.Capacity = -1 // not said, or less than the machines that are parked
	}
	return g, nil
}

// instance is the machine as the contract wants it. The error names what Azure left out.
func (m *machine) instance(group cluster.GroupID) (*cluster.Instance, error) {
	if m.id == "" || m.resource == "" {
		return nil, fmt.Errorf("Azure lists a machine without id or properties")
	}
	in := &cluster.Instance{
		ID: cluster.InstanceID(m.id), Group: group, UID: m.uid, ProviderID: providerID(m.resource),
		ComputerName: m.computerName, PrivateIPs: m.ips, Zone: m.zone, Size: m.size, Created: m.created, State: m.state, Failure: m.failure, Protected: m.protected,
	}
	return in, nil
}

// providerID is the machine's id as cloud-provider-azure writes it on nodes: the resource group, and nothing else, in lower case.
func providerID(id string) string {
	segments := strings.Split(id, "/")
	if i := slices.IndexFunc(segments, func(s string) bool { return strings.EqualFold(s, "resourceGroups") }); i >= 0 && i+1 < len(segments) {
		segments[i], segments[i+1] = "resourceGroups", strings.ToLower(segments[i+1])
	}
	return "azure://" + strings.Join(segments, "/")
}
