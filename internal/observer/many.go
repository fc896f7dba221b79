package observer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

// What the contract says of what strikes many machines at once: S-19, S-43, S-44 and S-45, in the observer's own numbers.
const (
	lossEvent  = time.Hour        // losses within it are one event, and so long a lost machine stays after one
	together   = 10 * time.Minute // work that leaves within it leaves together
	togetherOf = 10               // of more machines than these
	share      = 5                // percent of the nodes that may be lost within the hour by accident
	slack      = time.Minute      // in which a change may not have been seen yet
)

// body is a machine that is or was a node.
type body struct {
	set, name string
	ready     bool
	since     time.Time // that is so
	joined    time.Time // when its node was Ready first
	lost      time.Time // since when it is no Ready node though nobody asked for that; zero for one that is not lost
	known     bool      // a person acknowledged that
	asked     bool      // sluice, a person or Azure wanted its end, or had it switched off
	there     bool
	cordoned  bool            // its node is on its way out
	work      map[string]bool // pods that work on it, by UID
	left      time.Time       // when the last of them left that did not run to its end; zero: all did, or there are some
	out       time.Time       // when it was removed
	charged   time.Time       // when it was emptied, or removed though it was not seen empty
}

// crowd is all of them, by vmId, and how many Ready nodes each scale set had when.
type crowd struct {
	bodies  map[string]*body
	sizes   map[string][]sized
	events  map[string][]loss // that are not over, by scale set, and for all together under ""
	counted map[string]int    // what the histories contained, by kind
}

// sized is how many nodes there were from a time on.
type sized struct {
	at time.Time
	n  int
}

// loss is one event: more lost within an hour than may be by accident.
type loss struct {
	from     time.Time
	lost, of int
}

func newCrowd() *crowd {
	return &crowd{bodies: map[string]*body{}, sizes: map[string][]sized{}, events: map[string][]loss{}, counted: map[string]int{}}
}

// at is how many nodes a scale set had then; all together for "".
func (c *crowd) at(set string, when time.Time) int {
	n := 0
	for _, s := range c.sizes[set] {
		if s.at.After(when) && n > 0 {
			break
		}
		n = s.n
	}
	return n
}

// tolerable is how many of so many nodes may be lost, or go, at once.
func tolerable(of, percent int) int { return max(1, of*percent/100) }

// look takes in what machines and nodes there are now.
func (c *crowd) look(o *Observer, lived []azuresim.MachineState) {
	now := o.now()
	nodes := map[string]*corev1.Node{}
	for _, n := range kubesim.All[*corev1.Node](o.kube, "") {
		nodes[n.Status.NodeInfo.SystemUUID] = n
	}
	work, ended := map[string]map[string]bool{}, map[string]bool{}
	for _, p := range kubesim.All[*corev1.Pod](o.kube, "") {
		switch {
		case p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed:
			ended[string(p.UID)] = true
		case o.works(p) && p.Spec.NodeName != "":
			if work[p.Spec.NodeName] == nil {
				work[p.Spec.NodeName] = map[string]bool{}
			}
			work[p.Spec.NodeName][string(p.UID)] = true
		}
	}
	for _, b := range c.bodies {
		b.there = false
	}
	counts := map[string]int{}
	for _, m := range lived {
		if m.ScaleSet == "" {
			continue
		}
		set := strings.ToLower(m.ScaleSet)
		b := c.bodies[m.VMID]
		n := nodes[m.VMID]
		if b == nil {
			if n == nil || !ready(n) {
				continue // it never was a node
			}
			b = &body{set: set, name: m.Name, joined: now}
			c.bodies[m.VMID] = b
		}
		b.there = true
		leaves := m.ProvisioningState == "Deleting" || SwitchedOff(m.PowerState) || n != nil && tainted(n, noticeTaint)
		parted := o.set(m.ScaleSet).leaves(m.VMID)
		is := n != nil && ready(n)
		if b.ready != is {
			b.ready, b.since = is, now
		}
		switch {
		case is:
			b.lost, b.known, b.asked = time.Time{}, false, false
			counts[set]++
			counts[""]++
		case leaves || parted && b.lost.IsZero() || n != nil && n.Annotations[asks] != "":
			b.asked = true
		case b.lost.IsZero() && !b.asked && !o.set(m.ScaleSet).started[m.VMID].After(b.since.Add(-lossEvent)):
			b.lost = now
		}
		was := b.cordoned
		if b.cordoned = n != nil && removing(n); b.cordoned && !was && !is && now.Sub(b.since) > slack && n.Annotations[asks] == "" && !leaves {
			if what := o.charge(b, now); what != "" {
				o.breaks("S-19", "%s", what)
			}
		}
		c.idles(b, n, work, ended, now)
	}
	for set, n := range counts {
		if all := c.sizes[set]; len(all) == 0 || all[len(all)-1].n != n {
			c.sizes[set] = append(all, sized{now, n})
		}
	}
	for set := range c.sizes {
		if _, counted := counts[set]; !counted && c.sizes[set][len(c.sizes[set])-1].n != 0 {
			c.sizes[set] = append(c.sizes[set], sized{now, 0})
		}
		c.holds(set)
	}
}

// idles notes when the work of a node went, and how.
func (c *crowd) idles(b *body, n *corev1.Node, work map[string]map[string]bool, ended map[string]bool, now time.Time) {
	if n == nil {
		b.work = nil
		return
	}
	is := work[n.Name]
	if len(is) > 0 {
		b.left = time.Time{}
	} else if len(b.work) > 0 && b.charged.IsZero() {
		for uid := range b.work {
			if !ended[uid] {
				b.left = now
			}
		}
	}
	b.work = is
}

// holds finds the event of a scale set, or of all together for "", and ends those that are accounted for.
func (c *crowd) holds(set string) {
	var all []*body
	open := false
	for _, b := range c.bodies {
		if (set == "" || b.set == set) && !b.lost.IsZero() && !b.known {
			all = append(all, b)
			open = open || b.there
		}
	}
	if !open {
		delete(c.events, set)
		return
	}
	if len(c.events[set]) > 0 {
		return
	}
	slices.SortFunc(all, func(a, b *body) int { return a.lost.Compare(b.lost) })
	for i, first := range all {
		n := 0
		for _, b := range all[i:] {
			if b.lost.Sub(first.lost) < lossEvent {
				n++
			}
		}
		if of := c.at(set, first.lost.Add(-time.Second)); n > tolerable(of, share) {
			c.events[set] = []loss{{first.lost, n, of}}
			c.counted["losses of many at once"]++
			return
		}
	}
}

// acknowledge takes in that a person knows of the losses of a scale set, or of all for "".
func (c *crowd) acknowledge(set string) {
	for _, b := range c.bodies {
		if set == "" || b.set == strings.ToLower(set) {
			b.known = b.known || !b.lost.IsZero()
		}
	}
	for name := range c.sizes {
		c.holds(name)
	}
}

// Acknowledged tells that a person knows of the losses of a scale set; of all for "".
func (o *Observer) Acknowledged(set string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.crowd.acknowledge(set)
}

// manyLaws judge a removal that Azure has accepted by what it takes with it.
var manyLaws = []azureLaw{
	{"S-43", (*write).losesTogether},
	{"S-44", func(w *write) string {
		if !w.removes || !w.accepted() || w.o.rules.Several {
			return ""
		}
		gone, stay := 0, 0
		c := w.o.crowd
		for _, m := range w.lived {
			b := c.bodies[m.VMID]
			if !strings.EqualFold(m.ScaleSet, w.ScaleSet) || m.ProvisioningState == "Deleting" || SwitchedOff(m.PowerState) || b == nil {
				continue
			}
			named := slices.ContainsFunc(w.named, func(n azuresim.MachineState) bool { return n.VMID == m.VMID })
			leaving := w.set.leaves(m.VMID) && w.Time.Sub(w.set.parted[m.VMID]) < oldest // one that is there later has survived its deletion
			switch {
			case named && b.ready && (w.o.rules.Forced == nil || !w.o.rules.Forced(m)):
				gone++
			case !named && (b.ready && !leaving || w.Time.Sub(b.since) < slack):
				stay++
			}
		}
		if gone > 0 && stay < w.least {
			return fmt.Sprintf("%d Ready nodes of %s were removed, and %d stay (min %d)", gone, w.ScaleSet, stay, w.least)
		}
		return ""
	}},
	{"S-45", (*write).paces},
	{"S-19", (*write).overBudget},
}

// bodiesOf are the named machines that were nodes and are no repetition.
func (w *write) bodiesOf(such func(*body) bool) (all []*body) {
	for _, m := range w.named {
		b := w.o.crowd.bodies[m.VMID]
		if b != nil && !w.set.leaves(m.VMID) && m.ProvisioningState != "Deleting" && !SwitchedOff(m.PowerState) && such(b) && !w.person(m) {
			all = append(all, b)
		}
	}
	return all
}

// leaves says whether the machine's removal was accepted, and no start since.
func (s *set) leaves(vmid string) bool {
	at, parted := s.parted[vmid]
	return parted && !s.started[vmid].After(at)
}

// person says whether a person has named the machine, by its node.
func (w *write) person(m azuresim.MachineState) bool {
	return slices.ContainsFunc(kubesim.All[*corev1.Node](w.o.kube, ""), func(n *corev1.Node) bool {
		return n.Status.NodeInfo.SystemUUID == m.VMID && n.Annotations[asks] != ""
	})
}

// losesTogether holds machines that were lost with many others.
func (w *write) losesTogether() string {
	if !w.removes || !w.accepted() || w.o.rules.Several {
		return ""
	}
	c := w.o.crowd
	set := strings.ToLower(w.ScaleSet)
	event := append(slices.Clone(c.events[set]), c.events[""]...)
	lost := w.bodiesOf(func(b *body) bool { return !b.lost.IsZero() && !b.known && w.Time.Sub(b.since) > slack })
	if len(event) == 0 || len(lost) == 0 {
		return ""
	}
	if lost[0].lost.Before(event[0].from) {
		return "" // it was lost before
	}
	if ago := w.Time.Sub(event[0].from); ago < lossEvent-slack {
		return fmt.Sprintf("machine %s was removed %s after %d of %d nodes were lost together", lost[0].name, ago, event[0].lost, event[0].of)
	}
	if len(lost) > 1 {
		return fmt.Sprintf("%d machines of %s were removed at once after %d of %d nodes were lost together", len(lost), set, event[0].lost, event[0].of)
	}
	for _, id := range slices.Sorted(maps.Keys(c.bodies)) {
		if b := c.bodies[id]; b != lost[0] && b.set == set && !b.out.IsZero() && !b.lost.IsZero() && w.Time.Sub(b.out) < lossEvent-slack {
			return fmt.Sprintf("machine %s was removed %s after %s, which was lost with it", lost[0].name, w.Time.Sub(b.out), b.name)
		}
	}
	return ""
}

// paces holds machines whose pods were taken from them together.
func (w *write) paces() string {
	if !w.removes || !w.accepted() || w.o.rules.Several {
		return ""
	}
	left := w.bodiesOf(func(b *body) bool { return b.ready && !b.left.IsZero() })
	if len(left) == 0 {
		return ""
	}
	c, set := w.o.crowd, strings.ToLower(w.ScaleSet)
	first := left[0].left
	for _, b := range left {
		if b.left.Before(first) {
			first = b.left
		}
	}
	n, gone := 0, len(left)
	for _, b := range c.bodies {
		switch {
		case b.set != set || b.left.IsZero() || b.left.Sub(first).Abs() >= together/2:
			continue
		case !b.out.IsZero() && w.Time.Sub(b.out) < together-slack:
			gone++
		}
		n++
	}
	of := max(c.at(set, first.Add(-time.Second)), c.at(set, first.Add(-slack)))
	if n > togetherOf && 2*n > of && gone > max(1, of/2) {
		return fmt.Sprintf("%d machines of %s were removed within %s, of %d of %d that lost their pods together", gone, set, together, n, of)
	}
	return ""
}

// overBudget holds more removals within the window than the budget allows, of machines that were not seen empty.
func (w *write) overBudget() (broken string) {
	if !w.removes || !w.accepted() {
		return ""
	}
	for _, b := range w.bodiesOf(func(b *body) bool { return !b.ready && w.Time.Sub(b.since) > slack }) {
		if what := w.o.charge(b, w.Time); what != "" {
			broken = what
		}
	}
	return broken
}

// charge charges the budget for a machine, once within the window, and says when that is overdrawn.
func (o *Observer) charge(b *body, now time.Time) string {
	if o.rules.Window == nil || o.rules.Window() == 0 {
		return ""
	}
	window := o.rules.Window()
	if !b.charged.IsZero() && now.Sub(b.charged) < window {
		return ""
	}
	b.charged = now
	n := 0
	for _, other := range o.crowd.bodies {
		if other.set == b.set && !other.charged.IsZero() && now.Sub(other.charged) < window-slack {
			n++
		}
	}
	of := max(o.crowd.at(b.set, now.Add(-window)), o.crowd.at(b.set, now.Add(slack-window)))
	if may := o.rules.Budget(of); n > may && !o.rules.Several {
		return fmt.Sprintf("%d machines of %s that were not seen empty go within %s, of which %d of %d may", n, b.set, window, may, of)
	}
	return ""
}

// takes notes what a removal that was accepted takes away.
func (c *crowd) takes(w *write) {
	if !w.removes || !w.accepted() {
		return
	}
	for _, b := range w.bodiesOf(func(*body) bool { return true }) {
		b.out = w.Time
		switch {
		case !b.lost.IsZero():
			c.counted["lost machines removed"]++
		case b.ready && len(b.work) == 0:
			c.counted["idle machines removed"]++
		default:
			c.counted["other machines removed"]++
		}
	}
}
