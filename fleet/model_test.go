package fleet_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/fleet"
)

var histories = flag.Int("histories", 200, "random histories to play against the model")

// What the model goes by. These are the contract's numbers, not the package's.
const (
	stale     = 10 * time.Minute // lists and capacities may be so old, or lack a machine for so long
	noticed   = time.Minute      // a node that is silent is known to be
	joining   = 15 * time.Minute
	budgetFor = 10 * time.Minute
	lossFor   = time.Hour
	lowest    = 1
	highest   = 60
)

// vm is a machine as it is.
type vm struct {
	uid     fleet.UID
	id      string
	state   fleet.Set // Here, IsOff, Leaving or Gone
	created fleet.Instant
	changed fleet.Instant // its state
	ends    fleet.Instant // while it is leaving: when it is gone

	joins  fleet.Instant // when its kubelet first reports, never for one that never does
	joined bool
	object bool          // a Node object
	was    bool          // its node was Ready
	since  fleet.Instant // that is so
	silent bool          // its kubelet does not report
	work   bool
	lost   fleet.Instant    // since when it is no Ready node though nobody wanted that
	wanted bool             // its end, by sluice or the cloud
	known  bool             // a person acknowledged the loss
	lacks  fleet.Instant    // since when lists lack it
	shown  [2]fleet.Instant // when each process had it last in a list
	by     int              // which process changed it last, -1 for none
}

func (v *vm) alive() bool { return v.state == fleet.Here || v.state == fleet.IsOff }
func (v *vm) ready() bool { return v.state == fleet.Here && v.joined && v.object && !v.silent }

// cloudThen is what a list could show of an earlier time.
type cloudThen struct {
	at       fleet.Instant
	capacity int
	machines []fleet.Sighted
}

// world is the truth, and two ledgers that know some of it.
type world struct {
	t        *testing.T
	r        *rand.Rand
	now      fleet.Instant
	vms      map[fleet.UID]*vm
	born     int
	capacity int
	past     []cloudThen
	capLie   fleet.Instant // since when the capacity is not told as it is
	ledgers  [2]fleet.Ledger
	read     [2]fleet.Instant // when each had its last whole list
	record   []byte
	forgot   fleet.Instant   // when the record was lost last
	charged  []fleet.Instant // removals that count
	base     map[fleet.Instant]int
	outs     []fleet.Instant // removals of machines that were lost together
	log      []string
	counts   map[string]int
	broken   string
}

const start = fleet.Instant(1_800_000_000_000)

func newModel(t *testing.T, seed uint64) *world {
	w := &world{
		t: t, r: rand.New(rand.NewPCG(seed, 1)), now: start, vms: map[fleet.UID]*vm{}, base: map[fleet.Instant]int{}, counts: map[string]int{}, // #nosec G404 -- a history is the same each time
	}
	n := 2 + w.r.IntN(40)
	for range n {
		v := w.make()
		v.joined, v.object, v.was, v.since, v.work = true, true, true, w.now, w.r.IntN(2) == 0
	}
	w.capacity = n
	w.snap()
	for i := range w.ledgers {
		w.ledgers[i] = fleet.New(fleet.Usual(), w.now)
	}
	w.relist(0)
	w.relist(1)
	return w
}

func (w *world) fail(format string, args ...any) {
	if w.broken == "" {
		w.broken = fmt.Sprintf(format, args...)
	}
}

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%s ", w.now.Sub(start).Round(time.Second))+fmt.Sprintf(format, args...))
}

func (w *world) make() *vm {
	v := &vm{uid: fleet.UID(fmt.Sprintf("vm-%03d", w.born)), id: fmt.Sprint(w.born), state: fleet.Here, created: w.now, changed: w.now, lacks: w.now, by: -1}
	if w.r.IntN(5) == 0 { // an id that was another's
		for _, o := range w.sorted() {
			if o.state == fleet.Gone && w.unused(o.id) {
				v.id = o.id
				break
			}
		}
	}
	w.born++
	w.vms[v.uid] = v
	if w.r.IntN(8) > 0 {
		v.joins = w.now.Add(time.Duration(30+w.r.IntN(240)) * time.Second)
	}
	return v
}

func (w *world) unused(id string) bool {
	for _, v := range w.vms {
		if v.id == id && v.state != fleet.Gone {
			return false
		}
	}
	return true
}

func (w *world) sorted() []*vm {
	return slices.SortedFunc(maps.Values(w.vms), func(a, b *vm) int { return strings.Compare(string(a.uid), string(b.uid)) })
}

// pick is a machine of which that is so, nil for none.
func (w *world) pick(so func(*vm) bool) *vm {
	all := slices.DeleteFunc(w.sorted(), func(v *vm) bool { return !so(v) })
	if len(all) == 0 {
		return nil
	}
	return all[w.r.IntN(len(all))]
}

func (w *world) snap() {
	s := cloudThen{at: w.now, capacity: w.capacity}
	for _, v := range w.sorted() {
		state := map[fleet.Set]fleet.State{fleet.Here: fleet.Running, fleet.IsOff: fleet.Off, fleet.Leaving: fleet.Deleting}[v.state]
		if v.state != fleet.Gone {
			s.machines = append(s.machines, fleet.Sighted{UID: v.uid, ID: v.id, State: state, Created: v.created})
		}
	}
	w.past = append(w.past, s)
	for len(w.past) > 1 && w.now.Sub(w.past[1].at) > stale {
		w.past = w.past[1:]
	}
}

// list asks the cloud for one of the ledgers. The answer may be old, may lack machines, and may say another capacity.
func (w *world) list(i int) {
	w.now++
	then := w.past[len(w.past)-1]
	if w.r.IntN(3) == 0 {
		then = w.past[w.r.IntN(len(w.past))]
	}
	o := fleet.Listed{Group: pool, Asked: w.now, Counted: true, Capacity: then.capacity, Whole: true}
	lie := w.r.IntN(6)
	shown := map[fleet.UID]bool{}
	for _, s := range then.machines {
		lacks := lie == 0 || lie == 1 && w.r.IntN(2) == 0
		if v := w.vms[s.UID]; lacks && v.alive() && !w.mayLack(v) {
			lacks = false
		}
		if !lacks {
			o.Machines = append(o.Machines, s)
			shown[s.UID] = true
		}
	}
	for _, v := range w.sorted() { // an older list lacks what is new, for as long as lists may be old
		switch {
		case shown[v.uid] || !v.alive():
		case w.mayLack(v):
		default:
			o.Machines = append(o.Machines, fleet.Sighted{UID: v.uid, ID: v.id, State: fleet.Running, Created: v.created})
			if v.state == fleet.IsOff {
				o.Machines[len(o.Machines)-1].State = fleet.Off
			}
		}
	}
	switch {
	case lie == 2 && (w.capLie == 0 || w.now.Sub(w.capLie) < stale):
		o.Capacity = w.r.IntN(w.capacity + 1)
	case lie == 3:
		o.Whole = false
		o.Machines = o.Machines[:w.r.IntN(len(o.Machines)+1)]
	}
	switch {
	case o.Capacity == w.capacity:
		w.capLie = 0
	case w.capLie == 0:
		w.capLie = w.now
	case w.now.Sub(w.capLie) >= stale:
		o.Capacity, w.capLie = w.capacity, 0
	}
	w.ledgers[i] = w.ledgers[i].Observe(w.now, o)
	for _, s := range o.Machines {
		w.vms[s.UID].shown[i] = w.now
	}
	if o.Whole {
		w.read[i] = w.now
	}
}

// mayLack says whether a list may lack the machine: for ten minutes from when one first does, then lists are right for ten.
func (w *world) mayLack(v *vm) bool {
	if v.lacks == 0 || w.now.Sub(v.lacks) >= 2*stale {
		v.lacks = w.now
	}
	return w.now.Sub(v.lacks) < stale
}

func (w *world) seen(v *vm) fleet.NodeSeen {
	o := fleet.NodeSeen{Group: pool, UID: v.uid, At: w.now, Created: v.created, Ready: v.ready(), Since: v.since, Work: v.work}
	if !v.work {
		o.Idle, o.Ended = w.now, true
	}
	return o
}

// relist gives a ledger all nodes.
func (w *world) relist(i int) {
	o := fleet.Nodes{Group: pool, At: w.now}
	for _, v := range w.sorted() {
		if v.object && v.joined {
			o.Seen = append(o.Seen, w.seen(v))
		}
	}
	w.ledgers[i] = w.ledgers[i].Observe(w.now, o)
}

// node tells both ledgers of a node.
func (w *world) node(v *vm) {
	if v.ready() != v.was {
		v.since, v.was = w.now, v.ready()
	}
	for i := range w.ledgers {
		if v.object && v.joined {
			w.ledgers[i] = w.ledgers[i].Observe(w.now, w.seen(v))
		} else {
			w.ledgers[i] = w.ledgers[i].Observe(w.now, fleet.NodeGone{Group: pool, UID: v.uid, At: w.now})
		}
	}
	switch {
	case v.ready():
		v.lost, v.known = 0, false
	case v.joined && v.lost == 0 && !v.wanted:
		v.lost = w.now
	}
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for _, v := range w.sorted() {
		switch {
		case v.state == fleet.Leaving && w.now >= v.ends:
			v.state, v.changed, v.by = fleet.Gone, w.now, -1
		case v.state == fleet.Here && !v.joined && v.joins != 0 && w.now >= v.joins:
			v.joined, v.object, v.silent = true, true, false
			w.node(v)
		}
		if v.state != fleet.Here && v.joined && v.object && !v.silent {
			v.silent = true
			w.node(v)
		}
	}
	w.snap()
}

// lose has machines lose their Node objects or their kubelets' voice.
func (w *world) lose(n int, objects bool) {
	w.counts[fmt.Sprintf("lose objects=%v many=%v", objects, n > 2)]++
	w.say("lose %d, objects %v", n, objects)
	for range n {
		v := w.pick(func(v *vm) bool { return v.ready() })
		if v == nil {
			return
		}
		if objects {
			v.object = false
		} else {
			v.silent = true
		}
		w.node(v)
	}
}

// write is one write of a ledger's process: it reads, merges the other's record, asks, records, and sends.
func (w *world) write(i int, may func(*fleet.View) *fleet.Refusal, asked fleet.Asked, apply func()) bool {
	w.list(i)
	l, news, err := w.ledgers[i].Merge(w.record, w.now)
	if w.record != nil && err != nil {
		w.fail("the record cannot be read: %v", err)
	}
	if w.record != nil {
		w.ledgers[i] = l
	}
	if news || may(w.ledgers[i].At(w.now)) != nil {
		return false
	}
	w.now++
	asked.Group, asked.At = pool, w.now
	w.ledgers[i] = w.ledgers[i].Observe(w.now, asked)
	w.record = w.ledgers[i].Record(w.now)
	answer := fleet.Answered{Group: pool, Asked: asked.At, At: w.now, Answer: fleet.Accepted}
	w.say("%d: verb %d machines %v to %d", i, asked.Verb, asked.Machines, asked.To)
	switch w.r.IntN(6) {
	case 0:
		answer.Answer = fleet.Refused
	case 1: // it is done, and nobody hears of it
		apply()
		return true
	case 2: // it is lost
		for _, uid := range asked.Machines {
			w.vms[uid].wanted = w.vms[uid].wanted || asked.Verb == fleet.Delete // as far as anybody knows
		}
		return true
	default:
		apply()
	}
	w.ledgers[i] = w.ledgers[i].Observe(w.now, answer)
	return true
}

var allowed = fleet.Limits{Min: lowest, Max: highest, Owned: true, Age: time.Minute, LostFor: 20 * time.Minute, WorkFor: time.Hour}

func (w *world) alive() (n int) {
	for _, v := range w.vms {
		if v.alive() {
			n++
		}
	}
	return n
}

// leave has a machine begin to leave.
func (w *world) leave(v *vm, by int) {
	v.by = by
	if v.alive() {
		v.state, v.changed, v.ends, v.wanted = fleet.Leaving, w.now, w.now.Add(time.Duration(20+w.r.IntN(300))*time.Second), true
		w.capacity = max(0, w.capacity-1)
	}
}

func (w *world) grow(i int) {
	b := w.ledgers[i].At(w.now).Bounds(pool)
	to := b.Stay + 1 + w.r.IntN(4)
	if w.r.IntN(4) == 0 {
		to = w.r.IntN(highest)
	}
	w.write(i, func(v *fleet.View) *fleet.Refusal { return v.MayGrow(pool, to, 1, allowed) },
		fleet.Asked{Verb: fleet.Grow, To: to}, func() {
			if to < w.alive() && w.now.Sub(w.forgot) > stale {
				w.fail("S-01: asked for %d, there are %d", to, w.alive())
			}
			for w.alive() < to {
				w.make()
			}
			w.capacity = max(w.capacity, to)
			w.counts["grown"]++
		})
}

func (w *world) remove(i int, verb fleet.Verb) {
	var all []*vm
	for range 1 + w.r.IntN(4) {
		if v := w.pick(func(v *vm) bool { return v.state != fleet.Gone && !slices.Contains(all, v) }); v != nil {
			all = append(all, v)
		}
	}
	var targets []fleet.Target
	asked := fleet.Asked{Verb: verb}
	for _, v := range all {
		targets = append(targets, fleet.Target{UID: v.uid, ID: v.id, Idle: !v.work})
		asked.Machines = append(asked.Machines, v.uid)
		if !v.ready() || v.work {
			asked.Charge = append(asked.Charge, v.uid)
		}
	}
	if len(all) == 0 {
		return
	}
	w.write(i, func(v *fleet.View) *fleet.Refusal { return v.MayRemove(pool, verb, targets, allowed) }, asked, func() { w.removed(all, verb, i) })
}

func (w *world) deleteNode(i int) {
	v := w.pick(func(v *vm) bool { return true })
	if r := w.ledgers[i].At(w.now).MayDeleteNode(pool, v.uid); r == nil && v.alive() {
		w.fail("S-14: the Node object of %s goes, and its machine is there", v.uid)
	} else if r == nil {
		w.counts["node deleted"]++
	}
}

func (w *world) startParked(i int) {
	v := w.pick(func(v *vm) bool { return v.state == fleet.IsOff })
	if v == nil {
		return
	}
	w.write(i, func(view *fleet.View) *fleet.Refusal { return view.MayStart(pool, []fleet.UID{v.uid}, allowed) },
		fleet.Asked{Verb: fleet.Start, Machines: []fleet.UID{v.uid}}, func() {
			if v.state == fleet.IsOff {
				v.state, v.changed, v.wanted, v.by = fleet.Here, w.now, false, i
				v.joined, v.joins = false, w.now.Add(2*time.Minute)
				w.counts["started"]++
			}
		})
}

func (w *world) kill(i int) {
	w.counts["kill"]++
	l := fleet.New(fleet.Usual(), w.now)
	if w.r.IntN(5) == 0 {
		w.counts["record lost"]++
		w.record, w.forgot = nil, w.now
		for _, v := range w.vms {
			v.by = -1
		}
	}
	if w.record != nil {
		l, _, _ = l.Merge(w.record, w.now)
	}
	w.ledgers[i], w.read[i] = l, 0
	for _, v := range w.vms {
		v.shown[i] = 0
	}
	w.list(i)
	w.relist(i)
	w.say("%d: killed, record %v", i, w.record != nil)
}

// step is one random event.
func (w *world) step() {
	i := 0
	if w.r.IntN(6) == 0 {
		i = 1
	}
	switch w.r.IntN(24) {
	case 0, 1:
		w.grow(i)
	case 2, 3, 4, 5:
		w.remove(i, fleet.Delete)
	case 6:
		w.remove(i, fleet.Park)
	case 7:
		w.startParked(i)
	case 8, 9:
		w.deleteNode(i)
	case 10:
		w.lose(1, w.r.IntN(2) == 0)
	case 11:
		if w.r.IntN(4) == 0 {
			w.lose(1+w.r.IntN(40), w.r.IntN(2) == 0)
		}
	case 12:
		if v := w.pick(func(v *vm) bool { return v.state == fleet.Here && v.joined && !v.ready() }); v != nil { // it is back
			v.object, v.silent = true, false
			w.node(v)
		}
	case 13, 14:
		if v := w.pick((*vm).ready); v != nil {
			v.work = !v.work
			w.node(v)
		}
	case 15:
		if v := w.pick((*vm).alive); v != nil && w.r.IntN(3) == 0 {
			w.say("the cloud takes %s", v.uid)
			w.leave(v, -1)
		}
	case 16:
		if w.r.IntN(4) == 0 {
			w.kill(i)
		}
	case 17:
		if w.r.IntN(20) == 0 {
			w.say("acknowledged")
			for k := range w.ledgers {
				w.ledgers[k] = w.ledgers[k].Observe(w.now, fleet.Acknowledged{Group: pool, At: w.now})
			}
			for _, v := range w.vms {
				v.known = v.known || v.lost != 0
			}
		}
	case 18, 19:
		w.list(i)
	default:
		w.pass(time.Duration(5+w.r.IntN(300)) * time.Second)
	}
	if w.r.IntN(10) < 7 { // each process writes what the other has written as well
		if w.record != nil {
			w.ledgers[0], _, _ = w.ledgers[0].Merge(w.record, w.now)
		}
		w.record = w.ledgers[0].Record(w.now)
	}
	w.snap()
	w.sound()
}

// TestHistoriesAgainstACloudThatLies plays random histories of a group in a cloud whose lists are old, partial or empty, whose answers get
// lost, whose machines and Node objects vanish, with processes that are killed and two that lead at once.
func TestHistoriesAgainstACloudThatLies(t *testing.T) {
	counts := map[string]int{}
	failed := 0
	kinds := map[string]int{}
	for seed := range uint64(*histories) {
		w := newModel(t, seed)
		for range 400 {
			if w.step(); w.broken != "" {
				break
			}
		}
		if w.broken == "" {
			w.live()
		}
		if w.broken != "" {
			kind, _, _ := strings.Cut(w.broken, ":")
			kinds[kind]++
			if failed++; kinds[kind] <= 2 {
				t.Errorf("history %d: %s\n  %s", seed, w.broken, strings.Join(w.log[max(0, len(w.log)-12):], "\n  "))
			}
		}
		for what, n := range w.counts {
			counts[what] += n
		}
	}
	if failed > 0 {
		t.Errorf("%d of %d histories broke", failed, *histories)
	}
	for _, what := range []string{"grown", "kill", "record lost", "node deleted", "started", "removed ready=true lost=false", "removed ready=false lost=true", "lose objects=true many=true"} {
		if counts[what] == 0 {
			t.Errorf("no history has %q", what)
		}
	}
	t.Log(counts, kinds)
}
