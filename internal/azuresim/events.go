package azuresim

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// EventKind is what a scheduled event does to a machine.
type EventKind string

// The kinds of events.
const (
	Freeze    EventKind = "Freeze"    // pauses for some seconds
	Reboot    EventKind = "Reboot"    // restarts
	Redeploy  EventKind = "Redeploy"  // restarts on another host
	Preempt   EventKind = "Preempt"   // a spot machine is evicted
	Terminate EventKind = "Terminate" // is deleted
)

// eventKinds are the usual notice, how long it lasts (-1: unknown), and what it
// says.
var eventKinds = map[EventKind]struct {
	notice      time.Duration
	seconds     int
	description string
}{
	Freeze:    {15 * time.Minute, 5, "Host server is undergoing maintenance."},
	Reboot:    {15 * time.Minute, -1, "Virtual machine is going to be restarted."},
	Redeploy:  {10 * time.Minute, -1, "Virtual machine is going to be redeployed to another host."},
	Preempt:   {evictionNotice, -1, "Virtual machine is going to be preempted."},
	Terminate: {5 * time.Minute, -1, "Virtual machine is going to be deleted."},
}

// event is a notice to machines about one of them, and what follows from it.
type event struct {
	id                   string
	kind                 EventKind
	source               string // Platform, or User for what somebody asked for
	machine              *instance
	announced, notBefore time.Time
	agreed               bool      // somebody did, before it started
	acknowledged         time.Time // when it starts because of that, which may be to come; zero: nobody agreed
	withdrawn            time.Time // zero: it was not
	before               power     // the machine's, to come back to when it is withdrawn
}

// start is when the event takes effect: as soon as a machine agrees, or else at
// its time.
func (e *event) start() time.Time {
	if !e.acknowledged.IsZero() {
		return e.acknowledged
	}
	return e.notBefore
}

// end is when it leaves the document.
func (e *event) end() time.Time {
	switch {
	case !e.withdrawn.IsZero():
		return e.withdrawn
	case e.kind == Freeze:
		return e.start().Add(time.Duration(eventKinds[Freeze].seconds) * time.Second)
	case e.kind == Reboot || e.kind == Redeploy:
		return later(e.start(), e.machine.power.until)
	}
	return e.start().Add(e.machine.deletion.takes)
}

// events announces events to machines, and has them do what they say.
type events struct {
	store  *store
	seed   uint64
	delays delays
}

// Schedule announces an event to a machine, by resource id or name, and carries
// it out after a notice; a negative notice is the usual one of its kind, and zero
// none at all, as when hardware fails. It returns the event's id. A Preempt is for
// spot machines.
func (s *Server) Schedule(vm string, kind EventKind, notice time.Duration) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	s.remember(now)
	err = s.store.onInstance(vm, now, func(i *instance) error {
		e, err := s.compute().events.forewarn(i, kind, notice, now)
		if err == nil {
			id = e.id
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("schedule %s of %q: %w", kind, vm, err)
	}
	return id, nil
}

// Announcement is an event that is not over, as who knows all of Azure sees it.
type Announcement struct {
	ID           string
	Kind         EventKind
	Machine      string // by name
	ComputerName string
	Starts       time.Time // when it takes effect
}

// Announcements lists the events that are neither over nor withdrawn, in the order
// in which they were announced.
func (s *Server) Announcements() []Announcement {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	var all []Announcement
	for _, e := range s.store.events {
		if !reached(e.end(), now) {
			all = append(all, Announcement{e.id, e.kind, e.machine.name(), e.machine.computerName(), e.start()})
		}
	}
	return all
}

// forewarn announces an event of the platform.
func (es events) forewarn(i *instance, kind EventKind, notice time.Duration, now time.Time) (*event, error) {
	usual, ok := eventKinds[kind]
	switch {
	case !ok:
		return nil, fmt.Errorf("unknown kind %q of event: use Freeze, Reboot, Redeploy, Preempt or Terminate", kind)
	case kind == Preempt && !i.spot():
		return nil, errors.New("it is not spot")
	case i.powerState(now) == "deallocated" || i.powerState(now) == "stopped":
		return nil, errors.New("it is switched off, and nothing is announced to such a machine")
	case notice < 0:
		notice = usual.notice
	}
	return es.announce(i, kind, "Platform", notice, now), nil
}

// Withdraw takes back an event that has not started: it leaves the document, and
// nothing happens.
func (s *Server) Withdraw(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	n := slices.IndexFunc(s.store.events, func(e *event) bool { return strings.EqualFold(e.id, id) })
	switch {
	case n < 0:
		return fmt.Errorf("withdraw event %q: there is none", id)
	case !s.store.events[n].pending(now):
		return fmt.Errorf("withdraw event %q: it has started or is over", id)
	case s.store.events[n].source == "User":
		return fmt.Errorf("withdraw event %q: somebody deleted the machine", id)
	}
	s.remember(now)
	s.compute().events.withdraw(s.store.events[n], now)
	return nil
}

// pending reports whether an event has neither started nor been withdrawn.
func (e *event) pending(now time.Time) bool { return !reached(e.start(), now) && e.withdrawn.IsZero() }

func (es events) withdraw(e *event, now time.Time) {
	e.withdrawn = now
	if i := e.machine; !i.deletion.underWay(now) { // somebody may have deleted it meanwhile
		i.power, i.deletion.at, i.deletion.goneAt = e.before, time.Time{}, time.Time{}
	}
	es.release(e.machine, now)
}

// agree starts an event before its time, or as soon as it may.
func (es events) agree(e *event, now time.Time) {
	if e.agreed = true; e.kind == Terminate {
		es.release(e.machine, now)
		return
	}
	e.acknowledged = now
	es.carryOut(e)
}

// release starts the Terminate events of a machine's group that were agreed to.
// One that was announced before, and that nobody has agreed to, holds up those
// behind it until it starts at its own time.
func (es events) release(i *instance, now time.Time) {
	at := now
	for _, e := range es.store.events {
		switch {
		case e.kind != Terminate || !i.sees(e.machine) || !e.pending(now):
		case !e.agreed:
			at = later(at, e.notBefore)
		case at.Before(e.start()):
			e.acknowledged = at
			es.carryOut(e)
		}
	}
}

// announce tells a machine of an event, and schedules what it does.
func (es events) announce(i *instance, kind EventKind, source string, notice time.Duration, now time.Time) *event {
	e := &event{
		id: guid(es.seed, "event", i.vmID, now.UnixNano(), len(es.store.events)), kind: kind, source: source, machine: i,
		announced: now, notBefore: now.Add(notice), before: i.power,
	}
	es.store.events = append(es.store.events, e)
	if source == "Platform" {
		es.carryOut(e)
	}
	return e
}

// carryOut schedules what an event does to its machine.
func (es events) carryOut(e *event) {
	i, at := e.machine, e.start()
	switch e.kind {
	case Preempt:
		if i.profile("evictionPolicy") != "Delete" {
			i.power = power{during: "deallocating", after: "deallocated", since: at, until: at.Add(i.deletion.takes)}
			return
		}
		i.deletion.begin(at)
	case Terminate:
		if e.source == "User" { // the delete was accepted before
			i.deletion.lastWord, i.deletion.goneAt = at, at.Add(i.deletion.takes)
			return
		}
		i.deletion.begin(at)
	case Reboot, Redeploy:
		boot := es.delays.ofBoot(i.vmID + "@" + strconv.FormatInt(at.UnixNano(), 10))
		i.power = power{during: "starting", after: "running", since: at, until: at.Add(boot)}
	}
}

var minutes = regexp.MustCompile(`^PT(\d+)M$`)

// terminateNotice is how long a machine hears of its deletion beforehand: by the
// profile that it was created with, never for spot.
func (i *instance) terminateNotice() time.Duration {
	profile := dig(i.model, "properties", "scheduledEventsProfile", "terminateNotificationProfile")
	if i.uniform() {
		profile = dig(i.set.model, "properties", "virtualMachineProfile", "scheduledEventsProfile", "terminateNotificationProfile")
	}
	enabled, _ := dig(profile, "enable").(bool)
	if !enabled || i.spot() || i.uniform() && i.taken.version != i.set.version {
		return 0
	}
	m := minutes.FindStringSubmatch(text(profile, "notBeforeTimeout"))
	if m == nil {
		return eventKinds[Terminate].notice
	}
	n, _ := strconv.Atoi(m[1]) // digits
	return time.Duration(n) * time.Minute
}

// sees reports whether a machine's document shows another one's events: those of
// its scale set and availability set, each of which is one group here. In a set of
// GPU machines with a single fault domain every machine sees its own alone.
func (i *instance) sees(other *instance) bool {
	switch {
	case i == other:
		return true
	case i.set != nil && i.set == other.set:
		domains, _ := dig(i.set.model, "properties", "platformFaultDomainCount").(float64)
		return domains != 1 || !strings.HasPrefix(strings.ToLower(i.placement.size), "standard_n")
	}
	set := i.profile("availabilitySet", "id")
	return set != "" && strings.EqualFold(set, other.profile("availabilitySet", "id"))
}
