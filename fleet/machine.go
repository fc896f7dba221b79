package fleet

// Verb is a write to a group.
type Verb uint8

// The writes.
const (
	NoVerb Verb = iota
	Grow        // raise the capacity, or make machines of a group without one
	Start       // start deallocated machines
	Delete      // delete machines
	Park        // deallocate machines
	Empty       // cordon a node for its removal: the budget is charged
)

// Reply is what is known of a write's fate.
type Reply uint8

// The fates, in the order in which they may follow each other.
const (
	Sent     Reply = iota // no answer yet, or none came
	Accepted              // the cloud is at it
	Done                  // the cloud says that it is done
	Refused               // the cloud refused it, or it failed
)

// State is what a list says of a machine.
type State uint8

// The states. Unlisted is that of a machine that no list has shown.
const (
	Unlisted State = iota
	Creating
	Running
	Failed
	Off
	Deleting
)

// Set is what may be true of a machine.
type Set uint8

// Its elements.
const (
	Here    Set = 1 << iota // it runs, or will
	IsOff                   // it is deallocated
	Leaving                 // it is being deleted
	Gone                    // it is no more
)

// Has says whether an element of the other is possible.
func (s Set) Has(of Set) bool { return s&of != 0 }

// Life is what a machine is as a node.
type Life uint8

// The lives. Everything that has no Ready node, does not come, and is not proven to be unregistered is lost.
const (
	Lost         Life = iota // its Node object or its heartbeat went, and nobody asked for that
	Coming                   // it started less than the time for joining ago
	Ready                    // its node is Ready
	Unregistered             // this process has watched since it was made, or the cloud failed to make it, and its node was never Ready in the time for joining
	Excused                  // it is off or on its way out, as the cloud says or sluice asked
)

// machine is what is known of one machine. It stores changes, never when something was seen last: an answer that says nothing new changes
// no machine.
type machine struct {
	uid   UID
	cloud cloudSide
	node  nodeSide
}

// cloudSide is what the cloud says of a machine, and what it was asked to do.
type cloudSide struct {
	ID      string  `json:"id,omitempty"`    // the instance id, by which the cloud is asked
	State   State   `json:"state,omitempty"` // in the newest list that has it
	Created Instant `json:"created,omitempty"`
	Turned  Instant `json:"turned,omitempty"` // when a list first showed that it runs, or is off
	Up      Instant `json:"up,omitempty"`     // when it was made, or started last
	Absent  Instant `json:"absent,omitempty"` // when the first of the whole lists was asked for that lack it one after the other
	Word    Instant `json:"word,omitempty"`   // when the cloud said last that it is leaving
	Back    Instant `json:"back,omitempty"`   // when that was last disproven
	Gone    Instant `json:"gone,omitempty"`   // since when it is gone for certain
	Verb    Verb    `json:"verb,omitempty"`   // the last write that may not show yet: Delete, Park or Start
	VerbAt  Instant `json:"verbAt,omitempty"` // when it was asked for
	Reply   Reply   `json:"reply,omitempty"`
	Again   bool    `json:"again,omitempty"`   // an earlier one like it had no answer: a refusal says nothing about that
	Watched bool    `json:"watched,omitempty"` // the processes before this one have watched it since it was made, without a gap
	Shown   bool    `json:"shown,omitempty"`   // a list has shown the effect of Park or Start
	Ours    bool    `json:"ours,omitempty"`    // a growth of sluice's made it, as far as anybody can tell
	Power   Instant `json:"power,omitempty"`   // when the last such write was sent that a list has shown: what older lists say of power is known not to hold
}

// nodeSide is what Kubernetes says of a machine's node.
type nodeSide struct {
	At        Instant `json:"at,omitempty"` // when what follows last changed
	Ready     bool    `json:"ready,omitempty"`
	Object    bool    `json:"object,omitempty"`  // there is a Node object
	Joined    Instant `json:"joined,omitempty"`  // when its node was first Ready, as far as anybody knows
	Silent    Instant `json:"silent,omitempty"`  // since when it is not Ready, after it was
	Work      bool    `json:"work,omitempty"`    // pods run on it that nobody may stop, or that is not known
	Idle      Instant `json:"idle,omitempty"`    // since when it has none but those that belong to it
	Ended     bool    `json:"ended,omitempty"`   // the last of them ran to their end
	Ambiguous bool    `json:"doubt,omitempty"`   // another machine could be this node as well
	Charged   Instant `json:"charged,omitempty"` // when the removal budget was charged for it
	LostOut   Instant `json:"lostOut,omitempty"` // when it was removed after it was lost
	Known     Instant `json:"known,omitempty"`   // when a person acknowledged its loss
}

// leaves says whether the cloud's word that the machine leaves stands.
func (c *cloudSide) leaves() bool { return c.Word > c.Back }

// goes says whether the cloud said that the machine leaves, or was asked to have it leave.
func (c *cloudSide) goes() bool { return c.leaves() || c.pending(Delete) || c.pending(Park) }

// pending says whether the write may not show yet.
func (c *cloudSide) pending(v Verb) bool { return c.Verb == v }

// showsPower says whether the machine is as its last write of power was to have it: a list has shown so, or the cloud said that the only
// one is done.
func (c *cloudSide) showsPower() bool { return c.Shown || c.Reply == Done && !c.Again }

// may is what may be true of the machine.
func (m *machine) may() Set {
	c := &m.cloud
	if c.Gone != 0 {
		return Gone
	}
	var s Set
	switch {
	case c.leaves():
		s = Leaving | Gone
	case c.State == Unlisted, c.State == Deleting: // that was disproven since
		s = Here | IsOff | Leaving | Gone
	case c.State == Off:
		s = IsOff
	default:
		s = Here
	}
	switch {
	case s == Leaving|Gone:
	case c.pending(Delete):
		s |= Leaving | Gone
	case c.pending(Park) && c.showsPower():
		s = IsOff
	case c.pending(Start) && c.showsPower():
		s = Here
	case c.pending(Park) || c.pending(Start):
		s |= Here | IsOff
	}
	if c.Absent != 0 {
		s |= Leaving | Gone
	}
	if m.node.Ready {
		if s.Has(IsOff) || s == Gone {
			s |= Here
		}
		s &^= IsOff | Gone
	}
	return s
}

// sure says whether the machine is there for certain. A node may be Ready for some seconds more when a list has its machine off already.
func (m *machine) sure(may Set) bool { return may == Here && m.cloud.State != Off }

// stays says whether the newest list has the machine of a Ready node at work, and nothing says that it leaves.
func (m *machine) stays() bool {
	c := &m.cloud
	return !m.node.Ambiguous && c.Absent == 0 && c.State != Off && c.State != Deleting && !c.goes()
}

// life is what the machine is as a node now.
func (m *machine) life(now, began Instant, h Horizon) Life {
	c, n := &m.cloud, &m.node
	switch {
	case n.Ready:
		return Ready
	case m.excused():
		return Excused
	case c.State == Failed && n.Joined == 0 && !n.Object:
		return Unregistered // the cloud failed to make it
	case now.Sub(c.Up) < h.Provision && c.Up > max(n.Silent, n.Known): // what a person knows to be lost comes in no longer time either
		return Coming
	case n.Joined == 0 && (c.Created >= began || c.Watched):
		return Unregistered
	}
	return Lost
}

// excused says whether the silence of the machine is what the cloud or sluice wanted. A machine that fell silent before that is lost all
// the same.
func (m *machine) excused() bool {
	c, silent := &m.cloud, m.node.Silent
	switch {
	case c.State == Off && !c.pending(Start):
		return true
	case silent == 0:
		return c.goes() || c.Gone != 0
	}
	return c.leaves() && c.Word <= silent || c.asked(silent)
}

// asked says whether sluice asked for the machine's end before it fell silent.
func (c *cloudSide) asked(silent Instant) bool {
	return (c.Verb == Delete || c.Verb == Park) && c.VerbAt <= silent
}

// lost is when the machine was lost, never for one that is not. One that the cloud deleted after it was lost stays one that was lost.
func (m *machine) lost(now, began Instant, h Horizon) Instant {
	if m.life(now, began, h) != Lost {
		return 0
	}
	return m.fell(began)
}

// fell is since when a machine that is lost may be so: of one that nobody saw Ready, since this process began.
func (m *machine) fell(began Instant) Instant {
	if m.node.Silent != 0 {
		return max(m.node.Silent, m.cloud.Up)
	}
	return max(began, m.cloud.Up, m.node.At)
}

// loss is when the machine was lost, also for one that sluice removed after that; never for one that is a Ready node again.
func (m *machine) loss(now, began Instant, h Horizon) Instant {
	if lost := m.lost(now, began, h); lost != 0 || m.node.LostOut == 0 || m.node.Ready {
		return lost
	}
	return min(m.fell(began), m.node.LostOut)
}

// wasNode says whether the machine was a Ready node at that time.
func (m *machine) wasNode(at Instant) bool {
	n := &m.node
	return n.Joined != 0 && n.Joined <= at && (n.Silent == 0 || n.Silent >= at)
}
