package fleet

import (
	"cmp"
	"time"

	"sluice.dev/sluice/reason"
)

// Limits are what the policy allows, and what is known of a group besides its machines.
type Limits struct {
	Min, Max     int
	Owned        bool          // the group is this cluster's
	Planned      bool          // the write is only planned: the cloud is asked again before it is sent
	Age          time.Duration // how old the answer may be on which the write rests; 0 for any
	Unregistered int           // how many machines may be unregistered before the group makes no more; 0 for [UsualUnregistered]
	Budget       float64       // percent of a group's nodes that may be emptied or deleted within the window; 0 for [lossPercent]
	Burst        int           // percent of a group that may go within the window after its machines lost their work together; 0 for half, 100 for all
	LostFor      time.Duration // how long a machine has to be lost before it goes
	WorkFor      time.Duration // and how long when its work may still run
}

// Usual limits.
const (
	ReadAge  = time.Minute // how old an answer may be on which a write rests
	WorkLost = time.Hour   // for how long work that may still run keeps a machine that was lost
)

// UsualUnregistered is how many machines may be unregistered before a group makes no more.
const UsualUnregistered = 3

// Target is a machine that is to go.
type Target struct {
	UID    UID
	ID     string // as the list had it
	Idle   bool   // its node has been without work for its time, and is Ready
	Clear  bool   // the caller has looked at its pods just now: none is in the way
	Person bool   // a person named it
	Held   bool   // something keeps it: a person's cordon, an annotation, the cloud's own protection
	Forced bool   // its group's min does not keep it
}

// Refusal is why the safety contract forbids a write.
type Refusal struct {
	Property string // of the contract, as "S-06"
	Code     reason.Code
	UID      UID     // the machine that it is about, "" for the group
	ID       string  // its instance id, as the caller had it
	Until    Instant // when it may be otherwise by itself, never when nobody knows
	facts    []any   // what was compared, as [reason.New] takes it
}

func refuse(property string, code reason.Code, facts ...any) *Refusal {
	return &Refusal{Property: property, Code: code, facts: facts}
}

// until is the refusal, which may end by itself then.
func (r *Refusal) until(at Instant) *Refusal {
	r.Until = at
	return r
}

// about is the refusal, which is about the machine alone.
func (r *Refusal) about(uid UID) *Refusal {
	r.UID = uid
	return r
}

// evidence is why no write may rest on the newest answer about the group.
func (v *View) evidence(c *count, lim Limits) *Refusal {
	switch {
	case c.read == 0 || c.read < v.ledger.began:
		return refuse("S-02", reason.GroupNotRead)
	case c.looked == 0:
		return refuse("S-20", reason.NodesNotListed)
	case lim.Planned && lim.Owned:
	case !c.whole:
		return refuse("S-02", reason.GroupIncomplete)
	case c.read <= c.wrote:
		return refuse("S-02", reason.GroupReadOld, "read", c.read, "cause", "the last write")
	case lim.Age > 0 && v.now.Sub(c.read) > lim.Age:
		return refuse("S-02", reason.GroupReadOld, "read", c.read, "cause", "the last minute")
	case !lim.Owned:
		return refuse("S-22", reason.GroupNotOwned)
	}
	return nil
}

// MayGrow is why the group may not be asked for so many machines, of which adds are new; nil when it may. For a group without a number, to
// is nothing.
func (v *View) MayGrow(id GroupID, to, adds int, lim Limits) *Refusal {
	c := v.count(id)
	if r := v.evidence(c, lim); r != nil {
		return r
	}
	most := lim.Unregistered
	if most == 0 {
		most = UsualUnregistered
	}
	switch {
	case adds <= 0 || c.counted && to <= c.capacity:
		return refuse("S-05", reason.ScaleUpEmpty, "from", c.capacity, "to", to)
	case c.counted && to < c.Stay:
		return refuse("S-01", reason.ScaleUpBelowMachines, "to", to, "machines", c.Stay)
	case c.counted && to-c.Off > lim.Max:
		return refuse("S-06", reason.GroupAboveMax, "machines", to-c.Off, "max", lim.Max)
	case !c.counted && c.Hidden > 0:
		return refuse("S-04", reason.MachinesMissing, "missing", c.Hidden, "machines", c.Machine)
	case !c.counted && c.Run+adds > lim.Max:
		return refuse("S-06", reason.GroupAboveMax, "machines", c.Run+adds, "max", lim.Max)
	case c.Unregistered >= most:
		return refuse("S-35", reason.MachinesUnregistered, "machines", c.Unregistered, "limit", most)
	}
	return nil
}

// MayStart is why the machines, which are off, may not be started; nil when they may. A start may be asked for again.
func (v *View) MayStart(id GroupID, machines []UID, lim Limits) *Refusal {
	c := v.count(id)
	if r := v.evidence(c, lim); r != nil {
		return r
	}
	run := c.Run
	for _, uid := range machines {
		m := c.machine(uid)
		if m == nil || m.may() != IsOff && !(m.cloud.State == Off && m.cloud.Absent == 0 && m.may() == IsOff|Here && m.cloud.pending(Start)) {
			return refuse("S-11", reason.MachineNotOff).about(uid)
		}
		if !m.may().Has(Here) {
			run++
		}
	}
	if run > lim.Max {
		return refuse("S-06", reason.GroupAboveMax, "machines", run, "max", lim.Max)
	}
	return nil
}

// MayRemove is why the machines may not be deleted, or deallocated, together; nil when they may.
func (v *View) MayRemove(id GroupID, verb Verb, targets []Target, lim Limits) *Refusal {
	b := v.Batch(id, lim)
	for _, t := range targets {
		if r := b.Add(verb, t); r != nil {
			return r
		}
	}
	return nil
}

// Batch is machines of one group that are to go together. A nil one knows no contract: it refuses nothing.
type Batch struct {
	view *View
	*count
	limits Limits
	sum    tally
}

// tally counts machines that are to go. Those that were asked to go before, and nobody knows whether they do, count where the min is at
// stake.
type tally struct {
	serves, ready int // Ready nodes for which the min holds, and Ready nodes
	here, sure    int // machines that may be there for which the min holds, and those that are
	lost          int
	charged       int
	burst         int // that lost their work with others
}

// plus is the two together, the other one so many times.
func (a tally) plus(b tally, n int) tally {
	return tally{
		a.serves + n*b.serves, a.ready + n*b.ready, a.here + n*b.here, a.sure + n*b.sure,
		a.lost + n*b.lost, a.charged + n*b.charged, a.burst + n*b.burst,
	}
}

// Batch is no machines of the group yet; nil of a nil view.
func (v *View) Batch(id GroupID, lim Limits) *Batch {
	if v == nil {
		return nil
	}
	return &Batch{view: v, count: v.count(id), limits: lim}
}

// May is why the machine may not go with the others; nil when it may.
func (b *Batch) May(verb Verb, t Target) *Refusal {
	if b == nil {
		return nil
	}
	v, c, lim := b.view, b.count, b.limits
	if r := v.evidence(c, lim); r != nil {
		return r
	}
	switch {
	case c.counted && c.capacity < c.Sure+c.Off:
		return refuse("S-05", reason.CapacityBelowMachines, "capacity", c.capacity, "machines", c.Sure+c.Off)
	case 10*c.Hidden > 3*c.Machine:
		return refuse("S-20", reason.MachinesMissing, "missing", c.Hidden, "machines", c.Machine)
	case c.objectsLost > tolerance(c.before, 30):
		return refuse("S-20", reason.NodeObjectsMissing, "missing", c.objectsLost, "nodes", c.before)
	}
	if r := v.mayGo(c, c.machine(t.UID), verb, t, lim); r != nil {
		r.UID, r.ID = t.UID, t.ID
		return r
	}
	all := b.sum.plus(b.counts(verb, t), 1)
	return cmp.Or(b.keeps(all), v.mayLose(c, all.lost), v.mayCharge(c, all.charged, lim), v.mayPace(c, all.burst, lim))
}

// Needs is why the group's min keeps one of so many machines such as this one, if they go with the others; nil when it can do without them.
func (b *Batch) Needs(verb Verb, t Target, n int) *Refusal {
	if b == nil {
		return nil
	}
	return b.keeps(b.sum.plus(b.counts(verb, t), n))
}

// keeps is why the group's min keeps some of those.
func (b *Batch) keeps(all tally) *Refusal {
	switch least := b.limits.Min; {
	case all.serves > 0 && b.Ready-all.ready < least:
		return refuse("S-44", reason.GroupMinReady, "ready", b.Ready-all.ready, "min", least)
	case all.here > 0 && b.Sure-all.sure < least:
		return refuse("S-06", reason.GroupMinMachines, "machines", b.Sure-all.sure, "min", least)
	}
	return nil
}

// Add has the machine go with the others, whatever the contract says; it returns that.
func (b *Batch) Add(verb Verb, t Target) *Refusal {
	if b == nil {
		return nil
	}
	r := b.May(verb, t)
	b.sum = b.sum.plus(b.counts(verb, t), 1)
	return r
}

// Lost is how many lost machines of the group stay.
func (b *Batch) Lost() int { return b.count.Lost - b.sum.lost }

// Copy is the same batch, to be changed by itself.
func (b *Batch) Copy() *Batch {
	if b == nil {
		return nil
	}
	c := *b
	return &c
}

// Drop takes back that the machine goes.
func (b *Batch) Drop(verb Verb, t Target) {
	if b != nil {
		b.sum = b.sum.plus(b.counts(verb, t), -1)
	}
}

// counts is what the machine counts for.
func (b *Batch) counts(verb Verb, t Target) (n tally) {
	m, l := b.machine(t.UID), b.view.ledger
	if m == nil {
		return n
	}
	one := func(so bool) int {
		if so {
			return 1
		}
		return 0
	}
	life, again := m.life(b.view.now, l.began, l.horizon), m.cloud.pending(verb)
	n.serves, n.here = one(life == Ready && !t.Forced), one(m.may().Has(Here) && !t.Forced)
	n.ready, n.sure = one(life == Ready && m.stays()), one(m.sure(m.may()))
	n.charged = one(!m.free(t, life) && !within(m.node.Charged, b.view.now, l.horizon.Window))
	n.lost = one(life == Lost && !again)
	n.burst = one(m.node.Idle != 0 && !m.node.Ended && !t.Person && !again)
	return n
}

// MayEmpty is why the machine's node may not be emptied of its pods; nil when it may.
func (v *View) MayEmpty(id GroupID, uid UID, lim Limits) *Refusal {
	return v.Batch(id, lim).MayEmpty(uid)
}

// MayEmpty is why the machine's node may not be emptied of its pods beside the machines that go; nil when it may.
func (b *Batch) MayEmpty(uid UID) *Refusal {
	if b == nil {
		return nil
	}
	if m := b.machine(uid); m == nil || within(m.node.Charged, b.view.now, b.view.ledger.horizon.Window) {
		return nil
	}
	return b.view.mayCharge(b.count, b.sum.charged+1, b.limits)
}

// MayDeleteNode is why the machine's Node object may not be deleted; nil when it may. A machine that is off keeps its own. Of several ids
// that the machine may be known under, at least one has to be known, and none as anything but gone.
func (v *View) MayDeleteNode(id GroupID, ids ...UID) *Refusal {
	c, known := v.count(id), false
	for _, uid := range ids {
		m := c.machine(uid)
		if m == nil {
			continue
		}
		if known = true; m.may() != Gone {
			if !m.may().Has(Here | IsOff) {
				return refuse("S-14", reason.MachineLeaving).about(uid)
			}
			return refuse("S-14", reason.MachineNotGone).about(uid)
		}
	}
	if !known {
		return refuse("S-14", reason.MachineNotListed)
	}
	return nil
}

// mayGo is why a machine may not go, whatever goes with it.
func (v *View) mayGo(c *count, m *machine, verb Verb, t Target, lim Limits) *Refusal {
	switch {
	case m == nil || m.cloud.State == Unlisted || m.cloud.Absent != 0:
		return refuse("S-11", reason.MachineNotListed)
	case m.cloud.ID != t.ID:
		return refuse("S-11", reason.InstanceIDReused)
	case m.cloud.State == Deleting || !m.may().Has(Here|IsOff):
		return refuse("S-11", reason.MachineLeaving)
	case m.cloud.Verb != NoVerb && m.cloud.Verb != verb && !m.cloud.Shown:
		return refuse("S-11", reason.MachineWritePending)
	case t.Held:
		return refuse("S-18", reason.MachineProtected)
	case t.Person:
		return nil
	case m.node.Ambiguous:
		return refuse("S-12", reason.NodeMatchesSeveral)
	}
	switch m.life(v.now, v.ledger.began, v.ledger.horizon) {
	case Ready:
		switch {
		case m.node.Work && !t.Clear:
			return refuse("S-15", reason.MachineHasWork)
		case !t.Idle && !t.Clear && m.node.Charged == 0:
			return refuse("S-19", reason.MachineNotIdle)
		}
	case Coming:
		return refuse("S-35", reason.MachineStarting).until(m.cloud.Up.Add(v.ledger.horizon.Provision))
	case Lost:
		if t.Clear && m.node.Charged != 0 && m.node.Charged <= m.node.Silent && !v.latch(c).holds() {
			return nil // it was being emptied before, and its pods had their time
		}
		return v.mayLoseOne(c, m, lim)
	}
	return nil
}

// mayLoseOne is why a lost machine may not be deleted yet.
func (v *View) mayLoseOne(c *count, m *machine, lim Limits) *Refusal {
	lost := m.lost(v.now, v.ledger.began, v.ledger.horizon)
	until := lost.Add(lim.LostFor)
	if m.node.Work || !m.node.Object {
		until = max(until, lost.Add(lim.WorkFor))
	}
	if v.latch(c).holds() {
		until = max(until, lost.Add(v.ledger.horizon.Loss))
	}
	if m.node.Joined == 0 { // it was lost before anybody remembers, and others may have been, too, and removed
		until = max(until, v.ledger.since.Add(v.ledger.horizon.Loss))
	}
	if lost > m.node.Known && v.now < until {
		return refuse("S-43", reason.MachineLostRecently).until(until)
	}
	return nil
}

// mayLose is why no lost machine may go now: many were lost together. One of a group goes in each further hour.
func (v *View) mayLose(c *count, lost int) *Refusal {
	t := v.latch(c)
	if lost == 0 || !t.holds() {
		return nil
	}
	last := max(t.From, v.ledger.since)
	for i := range c.machines {
		last = max(last, c.machines[i].node.LostOut)
	}
	until := last.Add(v.ledger.horizon.Loss)
	if lost > 1 { // the first of them goes now at the earliest
		until = max(last, v.now).Add(v.ledger.horizon.Loss)
	}
	if lost > 1 || v.now < until {
		return refuse("S-43", reason.NodesLostTogether, "lost", t.Lost, "limit", tolerance(t.Of, lossPercent)).until(until)
	}
	return nil
}

// free says whether the budget does not count the machine: it was seen empty, a person named it, or the cloud failed to make it.
func (m *machine) free(t Target, life Life) bool {
	return t.Person || life == Ready && t.Idle || m.cloud.State == Failed && m.node.Joined == 0 && life != Lost
}

// Charged are those of the machines for which the budget is charged when they go, and was not within the window. That of a lost one is
// charged anew each time that it is asked to go: the window counts from when it goes, not from when it was to go first.
func (v *View) Charged(id GroupID, targets []Target) (all []UID) {
	c := v.count(id)
	for _, t := range targets {
		m := c.machine(t.UID)
		if m == nil {
			continue
		}
		life := m.life(v.now, v.ledger.began, v.ledger.horizon)
		if !m.free(t, life) && (life == Lost || !within(m.node.Charged, v.now, v.ledger.horizon.Window)) {
			all = append(all, t.UID)
		}
	}
	return all
}

// mayCharge is why so many machines more may not be emptied or deleted now.
func (v *View) mayCharge(c *count, n int, lim Limits) *Refusal {
	h := v.ledger.horizon
	if n == 0 || h.Window == 0 {
		return nil
	}
	budget := tolerance(c.base, lossPercent)
	if lim.Budget > 0 {
		budget = max(1, int(lim.Budget*float64(c.base)/100))
	}
	if since := v.ledger.since; v.now.Add(-h.Window) < since {
		return refuse("S-19", reason.EmptiedUnknown, "since", since, "limit", budget, "window", h.Window).until(since.Add(h.Window))
	}
	if c.charged+n > budget {
		r := refuse("S-19", reason.EmptiedBudget, "leaving", c.charged+n, "limit", budget)
		for i := range c.machines {
			if at := c.machines[i].node.Charged; within(at, v.now, h.Window) && (r.Until == 0 || at.Add(h.Window) < r.Until) {
				r.Until = at.Add(h.Window)
			}
		}
		if r.Until == 0 { // those that go with it are counted from now on
			r.Until = v.now.Add(h.Window)
		}
		return r
	}
	return nil
}

// mayPace is why so many machines more that lost their work together may not go now.
func (v *View) mayPace(c *count, n int, lim Limits) *Refusal {
	percent := lim.Burst
	if percent == 0 {
		percent = 50
	}
	if n == 0 || !c.paced || percent >= 100 {
		return nil
	}
	if may := tolerance(c.half, percent); c.leaving+n > may {
		return refuse("S-45", reason.RemovalPaced, "leaving", c.leaving+n, "limit", may)
	}
	return nil
}
