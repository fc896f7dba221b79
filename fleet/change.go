package fleet

import "slices"

// Change is what turns one ledger into another, for a journal. It is written as JSON, and holds all that a decision may rest on.
type Change struct {
	Horizon *Horizon      `json:"horizon,omitempty"` // nil when as before
	Began   Instant       `json:"began,omitempty"`
	Since   Instant       `json:"since,omitempty"`
	Latch   latch         `json:"latch,omitzero"`
	Groups  []groupChange `json:"groups,omitempty"` // those that differ, sorted
	Gone    []GroupID     `json:"gone,omitempty"`   // groups that are known no more
}

// groupChange is a group whole but for its machines, and those of them that differ.
type groupChange struct {
	ID       GroupID         `json:"id"`
	Asked    Instant         `json:"asked,omitempty"`
	Read     Instant         `json:"read,omitempty"`
	Earlier  Instant         `json:"earlier,omitempty"`
	Whole    bool            `json:"whole,omitempty"`
	Counted  bool            `json:"counted,omitempty"`
	Capacity int             `json:"capacity,omitempty"`
	Wrote    Instant         `json:"wrote,omitempty"`
	Looked   Instant         `json:"looked,omitempty"`
	Grants   []grant         `json:"grants,omitempty"`
	Settled  Instant         `json:"settled,omitempty"`
	Latch    latch           `json:"latch,omitzero"`
	Machines []machineChange `json:"machines,omitempty"`
	Gone     []UID           `json:"gone,omitempty"`
}

// machineChange is a machine whole.
type machineChange struct {
	UID   UID       `json:"uid"`
	Cloud cloudSide `json:"cloud,omitzero"`
	Node  nodeSide  `json:"node,omitzero"`
}

// Change is what turns an earlier ledger, zero for none, into this one.
func (l Ledger) Change(before Ledger) Change {
	c := Change{Began: l.began, Since: l.since, Latch: l.latch}
	if l.horizon != before.horizon {
		c.Horizon = &l.horizon
	}
	for _, id := range l.Groups() {
		if g, was := l.groups[id], before.groups[id]; g != was {
			c.Groups = append(c.Groups, g.since(was))
		}
	}
	for _, id := range before.Groups() {
		if l.groups[id] == nil {
			c.Gone = append(c.Gone, id)
		}
	}
	return c
}

func (g *group) since(was *group) groupChange {
	if was == nil {
		was = &group{}
	}
	c := groupChange{g.id, g.asked, g.read, g.earlier, g.whole, g.counted, g.capacity, g.wrote, g.looked, g.grants, g.settled, g.latch, nil, nil}
	if len(g.machines) == len(was.machines) && (len(g.machines) == 0 || &g.machines[0] == &was.machines[0]) {
		return c
	}
	for _, m := range g.machines {
		if old := was.machine(m.uid); old == nil || *old != m {
			c.Machines = append(c.Machines, machineChange{m.uid, m.cloud, m.node})
		}
	}
	for _, m := range was.machines {
		if g.machine(m.uid) == nil {
			c.Gone = append(c.Gone, m.uid)
		}
	}
	return c
}

// Apply is the ledger after the change.
func (l Ledger) Apply(c Change) Ledger {
	e := l.edit()
	if c.Horizon != nil {
		e.horizon = *c.Horizon
	}
	e.began, e.since, e.latch = c.Began, c.Since, c.Latch
	for _, s := range c.Groups {
		g := e.group(s.ID)
		*g = group{s.ID, s.Asked, s.Read, s.Earlier, s.Whole, s.Counted, s.Capacity, s.Wrote, s.Looked, s.Grants, s.Settled, s.Latch, g.machines, g.copied}
		for _, m := range s.Machines {
			*g.change(m.UID) = machine{m.UID, m.Cloud, m.Node}
		}
		if len(s.Gone) > 0 {
			g.own()
			g.machines = slices.DeleteFunc(g.machines, func(m machine) bool { return slices.Contains(s.Gone, m.uid) })
		}
	}
	after := e.ledger()
	for _, id := range c.Gone {
		delete(after.groups, id)
	}
	return after
}
