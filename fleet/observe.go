package fleet

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Observation is something that was seen of one group, or done to it.
type Observation interface{ group() GroupID }

// Listed is an answer of the cloud about a group.
type Listed struct {
	Group    GroupID
	Asked    Instant // when it was asked for; answers count in that order
	Counted  bool    // the cloud keeps a number of machines for the group
	Capacity int     // that number, machines that are off among them; negative when unknown
	Whole    bool    // the list has all machines
	Machines []Sighted
}

// Sighted is a machine in a list.
type Sighted struct {
	UID     UID
	ID      string
	State   State
	Created Instant // when the cloud made it; never when it does not say
}

// Asked is a write that is about to be sent. It is observed, and recorded, before it is.
type Asked struct {
	Group    GroupID
	At       Instant // tells it from other writes to the group
	Verb     Verb
	Machines []UID  // but for Grow
	Charge   []UID  // for which the budget is charged
	From, To int    // of Grow: machines, those that are off among them
	Token    string // of Grow without a number
}

// Answered is what became of a write, whenever that is known.
type Answered struct {
	Group  GroupID
	Asked  Instant // as [Asked.At]
	At     Instant
	Answer Reply

	Machines []UID // of those that the write named, that the cloud has taken on: the others are refused; nil for all of them
	Absent   []UID // that are not there, as the answer says
}

// NodeSeen is the node of a machine as the API server has it.
type NodeSeen struct {
	Group     GroupID
	UID       UID
	At        Instant
	Created   Instant // of the Node object
	Ready     bool
	Since     Instant // since when it is Ready, or is not
	Work      bool    // pods run on it that nobody may stop
	Pods      bool    // or others that would have to leave it
	Idle      Instant // since when there are none; never for since this was first seen so
	Ended     bool    // the last of them ran to their end
	Charged   bool    // it is cordoned for its removal
	Ambiguous bool    // another machine could be this node as well
}

// NodeGone is a Node object that is there no more.
type NodeGone struct {
	Group GroupID
	UID   UID
	At    Instant
}

// Nodes are all nodes of a group, after a start or where a watch began anew.
type Nodes struct {
	Group GroupID
	At    Instant
	Seen  []NodeSeen // of this group
}

// Same says that two ids turned out to be of one machine.
type Same struct {
	Group  GroupID
	As, Is UID
}

// Acknowledged says that a person knows of the losses of a group.
type Acknowledged struct {
	Group GroupID
	At    Instant
}

func (o Listed) group() GroupID       { return o.Group }
func (o Asked) group() GroupID        { return o.Group }
func (o Answered) group() GroupID     { return o.Group }
func (o NodeSeen) group() GroupID     { return o.Group }
func (o NodeGone) group() GroupID     { return o.Group }
func (o Nodes) group() GroupID        { return o.Group }
func (o Same) group() GroupID         { return o.Group }
func (o Acknowledged) group() GroupID { return o.Group }

// Observe is the ledger after so much was observed by now. Of a group, an answer that was asked for before another one is dropped; writes
// are observed before their answers; nodes may come at any time.
func (l Ledger) Observe(now Instant, all ...Observation) Ledger {
	e := l.edit()
	for _, o := range all {
		g := e.group(o.group())
		switch o := o.(type) {
		case Listed:
			g.list(o, now, l.horizon)
		case Asked:
			g.ask(o, now, l)
		case Answered:
			g.answer(o)
		case NodeSeen:
			g.node(o, l)
		case NodeGone:
			g.nodeGone(o.UID, o.At)
		case Nodes:
			g.nodes(o, l)
		case Same:
			g.same(o)
		case Acknowledged:
			g.acknowledge(o.At, now, l)
		}
	}
	return e.end(now)
}

// edit is a ledger that is being changed.
type edit struct {
	Ledger
	changed map[GroupID]*group
}

func (l Ledger) edit() edit { return edit{l, map[GroupID]*group{}} }

func (e *edit) group(id GroupID) *group {
	g, ok := e.changed[id]
	if !ok {
		g = &group{id: id}
		if was := e.groups[id]; was != nil {
			*g = *was
		}
		g.copied = false
		g.grants = slices.Clone(g.grants)
		e.changed[id] = g
	}
	return g
}

// end is the ledger with all changes, what is too old to matter taken out.
func (e *edit) end(now Instant) Ledger {
	for _, g := range e.changed {
		g.forget(now, e.horizon)
	}
	return e.ledger().latched(now, e.changed)
}

// ledger is the ledger with all changes.
func (e *edit) ledger() Ledger {
	l := e.Ledger
	l.groups = maps.Clone(l.groups)
	if l.groups == nil {
		l.groups = map[GroupID]*group{}
	}
	maps.Copy(l.groups, e.changed)
	return l
}

// forget drops machines that are gone, and whose Node objects are, for as long as losses are remembered.
func (g *group) forget(now Instant, h Horizon) {
	old := func(m machine) bool {
		return m.cloud.Gone != 0 && !m.node.Object && now.Sub(max(m.cloud.Gone, m.node.At)) > h.Loss+h.List
	}
	if slices.ContainsFunc(g.machines, old) {
		g.own()
		g.machines = slices.DeleteFunc(g.machines, old)
	}
}

// list takes in an answer of the cloud.
func (g *group) list(o Listed, now Instant, h Horizon) {
	o.Asked = min(o.Asked, now)
	if o.Asked <= g.asked {
		return
	}
	g.asked, g.counted = o.Asked, o.Counted
	g.whole = o.Whole && (!o.Counted || o.Capacity >= 0)
	if o.Counted && o.Capacity >= 0 {
		g.capacity = o.Capacity
	}
	listed := make([]bool, len(g.machines), len(g.machines)+len(o.Machines))
	var fresh []Sighted
	for _, s := range o.Machines {
		i, ok := g.find(s.UID)
		if !ok {
			fresh = append(fresh, s)
			continue
		}
		listed[i] = true
		g.found(i, s, o.Asked, h)
	}
	if g.whole {
		seldom := o.Asked.Sub(cmp.Or(g.read, g.earlier)) >= h.List
		g.read = o.Asked
		for i := range listed {
			if !listed[i] {
				g.lack(i, o.Asked, seldom, h)
			}
		}
		g.settle(o.Asked, seldom, h)
	}
	for _, s := range fresh {
		created := min(s.Created, o.Asked)
		if created == 0 {
			created = o.Asked
		}
		m := g.change(s.UID)
		m.cloud = cloudSide{ID: s.ID, State: s.State, Created: created, Turned: o.Asked, Up: created, Ours: g.owed(created, h)}
		if s.State == Deleting {
			m.cloud.Word = o.Asked
		}
	}
}

// found takes in that a list has a machine.
func (g *group) found(i int, s Sighted, asked Instant, h Horizon) {
	c := g.machines[i].cloud
	if c.Gone != 0 {
		if asked.Sub(c.Gone) <= h.List && (!c.leaves() || s.State == Deleting || asked.Sub(c.Word) <= h.List) {
			return // an old list
		}
		if c.Gone = 0; s.State != Deleting {
			c.Back = asked
		}
	}
	c.ID, c.Absent = s.ID, 0
	if c.Created == 0 {
		c.Created = s.Created
		if c.Created == 0 {
			c.Created = asked
		}
		c.Up = max(c.Up, c.Created)
	}
	if c.Verb == Park && c.Reply == Done && s.State == Creating && asked.Sub(c.Up) > h.List { // somebody starts it: no old list can have it so
		c.Verb, c.Reply, c.Again, c.Shown, c.Power = NoVerb, Sent, false, false, 0
	}
	if c.Power != 0 && asked.Sub(c.Power) <= h.List && s.State != Deleting && (c.State == Off) != (s.State == Off) {
		s.State = c.State // an old list
	}
	if c.State == Creating && s.State == Running && max(c.Turned, c.Up) < g.machines[i].node.Silent {
		c.Turned = asked // somebody has made it anew
	}
	if c.State == Unlisted || (c.State == Off) != (s.State == Off) {
		if c.State == Off && c.Verb != Start && c.Verb != Park {
			c.Up = asked // somebody started it
		}
		if !c.held(s.State, asked, h) {
			c.Turned = asked
		}
	}
	switch {
	case s.State == Deleting:
		if (!c.leaves() || c.State != Deleting) && (c.Back == 0 || asked.Sub(c.Back) > h.List) {
			c.Word = asked // and no list from before it was taken back
		}
	case c.leaves() && asked.Sub(c.Word) > h.List:
		c.Back = asked
	}
	c.show(s.State, asked, h)
	c.State = s.State
	g.set(i, c)
}

// held says whether what the list shows of the machine's power is older than the write that changed it.
func (c *cloudSide) held(s State, asked Instant, h Horizon) bool {
	return (c.Verb == Park && s != Off || c.Verb == Start && s == Off) && asked.Sub(c.VerbAt) <= h.List
}

// show ends a write that a list shows, or should.
func (c *cloudSide) show(s State, asked Instant, h Horizon) {
	if c.Verb == NoVerb || asked <= c.VerbAt || s == Deleting {
		return
	}
	if asked.Sub(c.VerbAt) > h.List {
		if c.Verb != Delete || !c.leaves() {
			c.Verb, c.Reply, c.Again, c.Shown = NoVerb, Sent, false, false
		}
		return
	}
	if c.Verb != Delete && !c.Again && (c.Verb == Park) == (s == Off) && asked.Sub(c.before()) > h.List {
		c.Shown, c.Power = true, c.VerbAt // neither an older list nor an earlier write of the kind could have it so
	}
}

// before is when the machine came into the state of power that its last write was to end.
func (c *cloudSide) before() Instant {
	if c.Verb == Park {
		return max(c.Up, c.Created)
	}
	return c.Turned
}

// lack takes in that a whole list has no such machine. Where lists were asked for seldom, nobody knows that those in between lacked it as
// well.
func (g *group) lack(i int, asked Instant, seldom bool, h Horizon) {
	m := g.machines[i]
	c := m.cloud
	if c.State == Unlisted && !c.leaves() && m.node.Ready {
		return
	}
	if c.Absent == 0 || seldom {
		c.Absent = asked
	}
	silent := max(m.node.Silent, c.Up, c.Created)
	switch {
	case c.Gone != 0, m.node.Ready:
	case c.leaves() && asked > c.Word, asked.Sub(c.Absent) >= h.List && asked.Sub(silent) >= h.List:
		c.Gone = asked
	}
	g.set(i, c)
}

// set changes the cloud's side of a machine, if it is another.
func (g *group) set(i int, c cloudSide) {
	if g.machines[i].cloud != c {
		g.own()
		g.machines[i].cloud = c
	}
}

// ask takes in a write before it is sent.
func (g *group) ask(o Asked, now Instant, l Ledger) {
	if o.Verb != Empty {
		g.wrote = max(g.wrote, o.At)
	}
	if o.Verb == Grow {
		again := slices.ContainsFunc(g.grants, func(r grant) bool {
			return r.To == o.To && r.Token == o.Token && r.counts()
		})
		g.grants = append(g.grants, grant{At: o.At, From: o.From, To: o.To, Token: o.Token, Again: again, Owed: o.To - o.From})
	}
	for _, uid := range o.Machines {
		m := g.change(uid)
		c := &m.cloud
		lost := m.lost(now, l.began, l.horizon) != 0
		if c.Verb == Delete && c.Reply == Sent && o.Verb != Delete {
			continue // a deletion without an answer is not replaced
		}
		again := c.Verb == o.Verb && (c.Reply != Refused || c.Again)
		switch o.Verb {
		case Start:
			c.Up = o.At
		case Delete, Park:
			if lost {
				m.node.LostOut = o.At
			}
		}
		if o.Verb != Empty {
			c.Verb, c.VerbAt, c.Reply, c.Again, c.Shown = o.Verb, o.At, Sent, again, false
		}
	}
	for _, uid := range o.Charge {
		g.change(uid).node.Charged = o.At
	}
}

// answer takes in what became of a write.
func (g *group) answer(o Answered) {
	for i := range g.grants {
		if r := &g.grants[i]; r.At == o.Asked {
			if r.Reply == Sent && o.Answer == Refused && !r.Again {
				r.Owed = 0 // one that fails later may have made some that failed
			}
			r.Reply = max(r.Reply, o.Answer)
		}
	}
	several := g.writes(o.Asked) > 1
	for i := range g.machines {
		m := g.machines[i]
		c := m.cloud
		if c.VerbAt != o.Asked || c.Verb == NoVerb {
			continue
		}
		answer := o.Answer
		if o.Machines != nil && !slices.Contains(o.Machines, m.uid) {
			answer = Refused
		}
		switch {
		case answer != Refused:
			c.Reply = max(c.Reply, answer)
			if c.Verb == Delete && (!c.leaves() || c.Word < o.Asked) {
				c.Word = max(o.At, c.Back+1)
			}
		case c.begun(o.Asked): // the operation failed
			c.failed(o, several)
		case c.Again:
		default:
			c.Verb, c.Reply, c.Shown = NoVerb, Sent, false
		}
		if c.Verb == NoVerb && m.node.LostOut == o.Asked {
			g.own()
			g.machines[i].node.LostOut = 0
		}
		g.set(i, c)
	}
	for _, uid := range o.Absent {
		if i, ok := g.find(uid); ok {
			c := g.machines[i].cloud
			c.Word = max(o.At, c.Back+1)
			g.set(i, c)
		}
	}
}

// begun says whether the cloud was at a write, as its answer said or a list has shown.
func (c *cloudSide) begun(asked Instant) bool {
	switch {
	case c.Reply == Accepted || c.Shown:
		return true
	case c.Verb == Delete:
		return c.State == Deleting && c.Word >= asked
	}
	return (c.Verb == Park) == (c.State == Off)
}

// failed takes in that an operation failed which the cloud had accepted. A machine may be off or running then, and one of several may be
// gone.
func (c *cloudSide) failed(o Answered, several bool) {
	if c.Verb == Delete {
		if c.Word >= o.Asked {
			c.Back, c.Gone = max(o.At, c.Word), 0
		}
		if c.Reply = Sent; !several && !c.Again {
			c.Verb, c.Shown = NoVerb, false
		}
		return
	}
	if c.Verb == Start {
		c.Turned = o.At
	}
	c.VerbAt, c.Reply, c.Shown = o.At, Sent, false
}

// writes is how many machines a write is about that may not show yet.
func (g *group) writes(asked Instant) int {
	n := 0
	for i := range g.machines {
		if c := &g.machines[i].cloud; c.VerbAt == asked && c.Verb != NoVerb {
			n++
		}
	}
	return n
}

// node takes in the node of a machine.
func (g *group) node(o NodeSeen, l Ledger) {
	i, ok := g.find(o.UID)
	if !ok {
		g.change(o.UID)
		i, _ = g.find(o.UID)
	}
	m := g.machines[i]
	c, n := m.cloud, m.node
	if o.At < n.At {
		return
	}
	since := o.Since
	if since == 0 || since > o.At {
		since = o.At
	}
	switch {
	case o.Work || o.Pods:
		n.Idle, n.Ended = 0, false
	case o.Idle != 0:
		n.Idle, n.Ended = o.Idle, o.Ended
	case n.Idle == 0:
		calm := !n.Object
		if g.looked == 0 {
			calm = l.since < l.began // else its record would say that work was taken away
		}
		n.Idle, n.Ended = o.At, o.Ended || calm
	}
	n.Object, n.Work, n.Ambiguous = true, o.Work, o.Ambiguous
	if o.Charged && n.Charged == 0 {
		n.Charged = o.At
	}
	switch {
	case o.Ready:
		if !n.Ready && c.Verb == Park && c.Reply != Sent && n.Silent > c.VerbAt {
			c.Verb, c.Reply, c.Shown, c.Turned, c.Up = NoVerb, Sent, false, o.At, max(c.Up, n.Silent) // somebody started it again
		}
		if c.leaves() && o.At.Sub(c.Word) > l.horizon.List {
			c.Back = o.At
		}
		if c.Gone != 0 {
			c.Gone, c.Back = 0, max(o.At, c.Word)
		}
		if n.Joined == 0 {
			n.Joined = since
		}
		n.Ready, n.Silent = true, 0
	case n.Ready || n.Joined != 0 && since > n.Silent:
		n.Ready, n.Silent = false, since // the record of an earlier process may know of an earlier time only
	}
	if n.Ready != m.node.Ready || n.Object != m.node.Object {
		n.At = o.At
	}
	if n != m.node {
		g.own()
		g.machines[i].node = n
	}
	g.set(i, c)
}

// nodeGone takes in that a machine has no Node object.
func (g *group) nodeGone(uid UID, at Instant) {
	i, ok := g.find(uid)
	if !ok {
		return
	}
	n := g.machines[i].node
	if !n.Object && !n.Ready || at < n.At {
		return
	}
	if n.Joined != 0 && n.Silent == 0 {
		n.Silent = at
	}
	n.At, n.Ready, n.Object, n.Work, n.Ambiguous = at, false, false, true, false
	if !g.machines[i].cloud.goes() { // else it is one of those that lost their work together
		n.Idle, n.Ended = 0, false
	}
	g.own()
	g.machines[i].node = n
}

// nodes takes in all nodes of the group.
func (g *group) nodes(o Nodes, l Ledger) {
	seen := make(map[UID]bool, len(o.Seen))
	for _, n := range o.Seen {
		seen[n.UID] = true
		g.node(n, l)
	}
	for i := range g.machines {
		if m := &g.machines[i]; m.node.Object && !seen[m.uid] {
			g.nodeGone(m.uid, o.At)
		}
	}
	g.looked = max(g.looked, o.At)
}

// same joins what is known under two ids.
func (g *group) same(o Same) {
	i, ok := g.find(o.As)
	if !ok || o.As == o.Is {
		return
	}
	as := g.machines[i]
	m := g.change(o.Is)
	*m = join(*m, as)
	m.uid = o.Is
	i, _ = g.find(o.As)
	g.machines = slices.Delete(g.machines, i, i+1)
}

// acknowledge takes in that a person knows of the losses.
func (g *group) acknowledge(at, now Instant, l Ledger) {
	for i := range g.machines {
		if m := &g.machines[i]; m.cloud.Gone == 0 && m.loss(now, l.began, l.horizon) > m.node.Known {
			g.own()
			g.machines[i].node.Known = at
		}
	}
}

// tolerance is how many of so many machines may go, or be lost, at once: a share in percent, at least one.
func tolerance(of, percent int) int { return max(1, of*percent/100) }

// within says whether at lies in the time before now.
func within(at, now Instant, d time.Duration) bool { return at != 0 && now.Sub(at) < d }
