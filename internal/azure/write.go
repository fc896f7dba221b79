package azure

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

// SetCapacity sends the capacity and nothing else (S-04), on condition that the group is still as g saw it. Any n that is not above
// g.Capacity is refused here.
func (p *Provider) SetCapacity(ctx context.Context, g *cluster.Group, n int) error {
	doing := fmt.Sprintf("resize %s to %d", g.ID, n)
	switch {
	case g.Capacity < 0:
		return &cloud.Error{Kind: cloud.Invalid, Group: g.ID, Code: "CapacityUnknown", Message: doing + ": its present capacity is unknown"}
	case n <= g.Capacity:
		return &cloud.Error{Kind: cloud.Invalid, Group: g.ID, Code: "NoGrowth", Message: fmt.Sprintf("%s: it has %d, and capacity only ever grows", doing, g.Capacity)}
	case g.Read.Version == "":
		return &cloud.Error{Kind: cloud.Conflict, Group: g.ID, Code: "EntityTagMissing", Message: doing + ": it was read without an entity tag, so that a change in between would go unseen"}
	}
	own, kind, fault := p.own(g.ID, doing)
	if fault != nil {
		return fault
	}
	a, err := kind.grow(ctx, own.name, g.Read.Version, n)
	if err != nil {
		return p.refusedGrowth(own, doing, n-g.Capacity, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	own.stamp = p.stamp()
	if !own.confirm(a.model) {
		own.due = all
	}
	p.watch(&operation{Operation: Operation{Group: own.id, Action: doing, Capacity: n, Machines: n - g.Capacity}}, a)
	return nil
}

// DeleteInstances names the machines to Azure. One such operation is in flight for a group at a time, of as many machines as its kind
// removes at once: a longer list is sent in part and answered with a Conflict that says so.
func (p *Provider) DeleteInstances(ctx context.Context, g *cluster.Group, victims []cluster.Machine) error {
	doing := fmt.Sprintf("delete %d machines of %s", len(victims), g.ID)
	ids, fault := verify(g, victims, doing)
	if fault != nil {
		return fault
	}
	own, kind, fault := p.own(g.ID, doing)
	if fault != nil {
		return fault
	}
	if p.busyDeleting(own.id) {
		return &cloud.Error{Kind: cloud.Conflict, Group: own.id, Code: "DeletionUnderWay", Message: doing + ": another deletion in the group is under way"}
	}
	rest := 0
	if most := kind.atOnce(); len(ids) > most {
		ids, rest = ids[:most], len(ids)-most
		doing = fmt.Sprintf("delete %d machines of %s", len(ids), g.ID)
	}
	uids := make([]string, len(ids))
	for i, id := range ids {
		uids[i] = g.Instance(cluster.InstanceID(id)).UID
	}
	a, err := kind.remove(ctx, own.name, ids)
	if err != nil {
		return p.refused(own, doing, err)
	}
	p.mu.Lock()
	own.stamp = p.stamp()
	own.remove(uids)
	p.watch(&operation{Operation: Operation{Group: own.id, Action: doing, Machines: len(ids), UIDs: uids}, deletes: true}, a)
	p.mu.Unlock()
	if rest > 0 {
		return &cloud.Error{Kind: cloud.Conflict, Group: own.id, Code: "DeletionUnderWay", Message: fmt.Sprintf("%s: accepted; the other %d wait until they are gone", doing, rest)}
	}
	return nil
}

// verify finds each machine, by id and UID, among those that g saw, and returns the ids without repetition.
func verify(g *cluster.Group, victims []cluster.Machine, doing string) ([]string, *cloud.Error) {
	if len(victims) == 0 {
		return nil, &cloud.Error{Kind: cloud.Invalid, Group: g.ID, Code: "NoMachineNamed", Message: doing + ": no machine is named, which Azure may read as all"}
	}
	conflict := func(code string, m cluster.Machine, why string) *cloud.Error {
		return &cloud.Error{Kind: cloud.Conflict, Group: g.ID, Code: code, Message: fmt.Sprintf("%s: machine %s %s", doing, m.ID, why)}
	}
	var ids []string
	seen := map[cluster.InstanceID]bool{}
	for _, m := range victims {
		in := g.Instance(m.ID)
		switch {
		case m.ID == "" || m.UID == "":
			return nil, &cloud.Error{Kind: cloud.Invalid, Group: g.ID, Code: "MachineWithoutID", Message: doing + ": a machine without id or unique id is named"}
		case m.Group != g.ID:
			return nil, &cloud.Error{Kind: cloud.Invalid, Group: g.ID, Code: "OtherGroup", Message: fmt.Sprintf("%s: machine %s is one of group %s", doing, m.ID, m.Group)}
		case in == nil:
			return nil, conflict("MachineGone", m, "is not there any more")
		case !strings.EqualFold(in.UID, m.UID):
			return nil, conflict("MachineReplaced", m, "is another one now")
		case in.State == cluster.StateDeleting:
			return nil, conflict("MachineDeleting", m, "is being deleted already")
		case !seen[m.ID]:
			seen[m.ID] = true
			ids = append(ids, string(m.ID))
		}
	}
	return ids, nil
}

// own is the group of that id and its kind, which the read that a write rests on has told.
func (p *Provider) own(id cluster.GroupID, doing string) (*group, kind, *cloud.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch g := p.groups[key(string(id))]; {
	case g == nil:
		return nil, nil, unknown(id)
	case g.reading == nil:
		return nil, nil, &cloud.Error{Kind: cloud.Conflict, Group: id, Code: "NotRead", Message: doing + ": the group was not read before"}
	default:
		return g, g.reading.model.kind, nil
	}
}

func (p *Provider) busyDeleting(id cluster.GroupID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.deletes(id)
}

// deletes says whether a deletion in the group is in flight. Provider.mu is held.
func (p *Provider) deletes(id cluster.GroupID) bool {
	for _, o := range p.operations {
		if o.Group == id && o.deletes {
			return true
		}
	}
	return false
}

// refusedGrowth is a growth by so many machines that was not accepted: of a quota it says how many would be.
func (p *Provider) refusedGrowth(g *group, doing string, machines int, err error) error {
	refusal := p.refused(g, doing, err)
	var e *cloud.Error
	if errors.As(refusal, &e) && e.Quota != nil && e.Quota.Needed > 0 {
		e.Quota.Left = max(0, e.Quota.Limit-e.Quota.Used) * machines / e.Quota.Needed
	}
	return refusal
}

// refused is a write that was not accepted, or whose answer was lost. Where the group may have changed it is read again.
func (p *Provider) refused(g *group, doing string, err error) error {
	e := p.wrap(g.id, doing, err)
	if e.Kind == cloud.NotFound {
		e = p.missing(g.id, g.name)
	}
	if outcomeUnknown(e) {
		e.Message += "; the next cycle reads what came of it"
	}
	var answered *azcore.ResponseError
	var shut *shutError
	if e.Kind == cloud.Conflict || !errors.As(err, &answered) && !errors.As(err, &shut) {
		p.mu.Lock()
		g.due, g.stamp = all, p.stamp()
		p.mu.Unlock()
	}
	return e
}
