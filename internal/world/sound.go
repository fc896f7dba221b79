package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/fleet/fleettest"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/ledger"
	"sluice.dev/sluice/internal/observer"
)

// LedgerSound is the promise that what is true of a machine is in the set that the process's ledger holds possible.
const LedgerSound = "L-1"

// sound judges the ledger of the process by what azuresim has, not by what it answers.
type sound struct {
	clock    *simClock
	config   *configuration
	groups   *nodeGroups
	machines *machines
	api      *apiServer
	procs    *processes
	observer *observer.Observer

	facts  map[string]*fact         // by vmId, of machines that are or were there
	told   map[string]fleet.Instant // when the last whole list of a group was asked for that told the truth, by the world's clock
	off    time.Duration            // how far the clocks of processes have been from the world's at most: a record has the times of the one that wrote it
	due    bool                     // the process has turned since it was judged
	broken map[string]bool          // machines of which it was said already that nobody holds the truth possible
}

// moment is how far apart the process's instants may be that the world's clock does not tell apart.
const moment = time.Second

// fact is what is true of a machine.
type fact struct {
	group, name string
	vmid        fleet.UID
	state       fleet.Set
	changed     fleet.Instant
	asked       fleet.Instant // when this process last asked for another state; never for not since it began
	own         bool          // it is so by this process's write
}

// begins forgets what the process before has heard, and what it did, too, where it left no record.
func (s *sound) begins(record bool) {
	s.off = max(s.off, s.procs.main.reading().Sub(s.clock.now()).Abs())
	s.told, s.broken = map[string]fleet.Instant{}, map[string]bool{}
	for _, f := range s.facts {
		if !record {
			f.asked, f.own = 0, false
		}
	}
	s.procs.main.book.Watch(func(all []fleet.Observation) { s.hears(s.procs.main.book, all) })
}

// hears notes the lists that the process was told. A list tells the truth when no fault has struck it.
func (s *sound) hears(book *ledger.Book, all []fleet.Observation) {
	if book != s.procs.main.book {
		return // an answer to a process that has ended
	}
	ahead := s.procs.main.reading().Sub(s.clock.now())
	for _, o := range all {
		l, is := o.(fleet.Listed)
		if !is || !l.Whole {
			continue
		}
		asked := l.Asked.Add(-ahead)
		if began := fleet.At(s.observer.Honest(string(l.Group))); began != 0 && began.Add(moment) >= asked {
			s.told[strings.ToLower(string(l.Group))] = asked
		}
	}
}

// acted notes a write that may have changed machines. A deletion that was accepted makes one that stays for all that a stranger's act.
func (s *sound) acted(guest bool, at time.Time, named []azuresim.MachineState, removal bool) {
	for _, m := range named {
		f := s.facts[m.VMID]
		if f == nil {
			continue
		}
		if !guest {
			f.asked = fleet.At(at)
		}
		if removal || guest {
			f.changed, f.own = fleet.At(at), false
		}
	}
}

// truthOf is what a machine is, and what it may be taken for while it passes from one state to another.
func truthOf(m azuresim.MachineState) (is, seems fleet.Set) {
	switch {
	case m.ProvisioningState == "Deleting":
		return fleet.Leaving, fleet.Leaving
	case m.PowerState == "deallocating":
		return fleet.IsOff, fleet.IsOff | fleet.Here
	case m.PowerState == "deallocated":
		return fleet.IsOff, fleet.IsOff
	}
	return fleet.Here, fleet.Here
}

// look takes in what there is now.
func (s *sound) look() {
	now := fleet.At(s.clock.now())
	there := map[string]bool{}
	for _, m := range s.machines.listed {
		there[m.VMID] = true
		f := s.facts[m.VMID]
		is, seems := truthOf(m.MachineState)
		if f == nil {
			f = &fact{group: strings.ToLower(m.ScaleSet), name: m.said, vmid: fleet.UID(strings.ToLower(m.VMID)), state: is, changed: fleet.At(m.TimeCreated)}
			s.facts[m.VMID] = f
		}
		f.becomes(is, now)
		f.state = seems
	}
	for id, f := range s.facts {
		if !there[id] {
			f.becomes(fleet.Gone, now)
		}
	}
}

// becomes notes another state. What follows the process's own write is its own act, and so is that the machine is gone in the end.
func (f *fact) becomes(is fleet.Set, now fleet.Instant) {
	if f.state.Has(is) {
		return
	}
	f.own = f.asked != 0 || is == fleet.Gone && f.state == fleet.Leaving && f.own
	f.state, f.changed, f.asked = is, now, 0
}

// judge says after each turn of the process of which machines the ledger does not hold the truth possible. While two processes lead nobody asks: each knows of the other's
// writes by the record alone; nor while the API server is silent, or tells of kubelets as an older store has them, which are believed for a minute.
func (s *sound) judge() {
	s.look()
	if !s.due || s.procs.main.killed != "" {
		return
	}
	s.due = false
	if s.procs.rival != nil && !s.procs.rival.idle() || s.api.silent != nil || !s.api.restored.IsZero() && s.clock.now().Sub(s.api.restored) < time.Minute {
		return
	}
	now, view, h := fleet.At(s.clock.now()), s.procs.main.book.View(), ledger.Horizon(s.config.policy)
	for _, id := range slices.Sorted(maps.Keys(s.facts)) {
		f := s.facts[id]
		group := s.group(f.group)
		if group == "" || s.broken[id] {
			continue
		}
		may, told := view.May(group, f.vmid), s.told[f.group]
		truth := fleettest.Truth{State: f.state, Changed: f.changed, Own: f.own, Reported: told.Add(-moment - s.off)}
		switch {
		case may == 0 && (f.state.Has(fleet.Gone|fleet.Leaving) || told.Sub(f.changed) < moment): // no list since could show it
		case may != 0 && truth.Sound(may, now, h):
		default:
			s.broken[id] = true
			s.observer.Break(LedgerSound, fmt.Sprintf("machine %s is %04b since %s, and the ledger holds %04b possible", f.name, f.state, clock(f.changed.Time().Sub(start)), may))
		}
	}
}

// group is the id of a scale set's group; "" when sluice does not manage it.
func (s *sound) group(name string) fleet.GroupID {
	g, _ := s.groups.named(name)
	return fleet.GroupID(g.Name)
}
