package grow

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// growByExpanders grows as the operator's chain of expanders has it: it estimates what every group alone would need for all that is
// wanted, lets the chain choose one group, and goes on with what is left until no group helps any more. Cluster-autoscaler does the same,
// one group a loop; here the groups of all rounds are asked for at once.
func (d *Growth) growByExpanders(c *Candidates) {
	ranking := ReadRanking(d.Snapshot.Objects.Ranking())
	ms := d.machines(nil)
	_, widen := c.narrow()
	defer widen()
	for {
		d.fillOpen(c, ms)
		var options []Option
		for i, st := range c.Groups {
			undo := d.Check.Mark()
			if o := d.estimate(c, i, nil); o.Nodes > 0 {
				options = append(options, o)
			}
			undo()
			st.Opened -= len(d.tried)
		}
		if len(options) == 0 {
			if widen() {
				continue
			}
			return
		}
		choice := Expand(options, d.Policy.Growth.Expanders, ranking, d.Memory.Answer, d.Now)
		d.note(choice)
		if choice.Ask != nil {
			d.Ask = choice.Ask
			return
		}
		i := slices.IndexFunc(c.Groups, func(st *Order) bool { return st.ID == choice.Group })
		if i < 0 {
			return
		}
		d.follow(c, i, ms)
	}
}

// fillOpen places pods on nodes that are there or coming and on machines of earlier rounds, until nobody is left whom one of them takes.
func (d *Growth) fillOpen(c *Candidates, ms *machines) {
	for again := true; again; {
		again = d.fillKnown(c)
		for _, w := range c.wanted {
			if w.Left() > 0 && d.fill(ms, w) > 0 {
				again = true
			}
		}
	}
}

// estimate opens machines of one group for all that is wanted, the largest pods first, each pod on the first machine that takes it. With
// keep it hears of every pod that finds a place, and the demands are served; otherwise the caller takes everything back. d.tried are the
// machines that were opened.
func (d *Growth) estimate(c *Candidates, i int, keep func(w *wanted, h scheduling.Handle, n int)) Option {
	st := c.Groups[i]
	o := Option{Group: st.ID}
	total := d.totals()
	row := d.Check.Row()
	d.tried = nil
	for _, w := range c.wanted {
		if w.Left() == 0 || !c.suited(w, i) {
			continue
		}
		left := w.Left()
		take := func() int {
			return row.Fill(w.Of, left, func(h scheduling.Handle, n int) {
				left -= n
				o.take(d, w, n, left)
				if keep != nil {
					keep(w, h, n)
				}
			})
		}
		take()
		for left > 0 {
			more := d.reach(st, w, total, len(d.tried))
			d.tried = append(d.tried, more...)
			row.Append(more...)
			if len(more) == 0 || take() == 0 {
				break
			}
		}
	}
	o.Nodes = len(d.tried)
	o.CapacityMilli = int64(o.Nodes) * st.Template.Status.Capacity.Cpu().MilliValue()
	o.CapacityBytes = int64(o.Nodes) * st.Template.Status.Capacity.Memory().Value()
	o.PriceUSDPerHour = float64(o.Nodes) * st.PriceUSDPerHour
	slices.Sort(o.Pods)
	return o
}

// take counts n pods of a demand in the option, of which left are then left.
func (o *Option) take(d *Growth, w *wanted, n, left int) {
	if len(w.needs) > 1 {
		o.RequestedMilli += int64(n) * w.needs[1]
	}
	if len(w.needs) > 2 {
		o.RequestedBytes += int64(n) * w.needs[2]
	}
	from := len(w.Pods) - left - n
	for _, at := range w.Pods[from : from+n] {
		o.Pods = append(o.Pods, d.Key(at))
	}
}

// trial is what happened on machines that are being tried.
type trial struct {
	d     *Growth
	steps []step
	told  int // machines that it knows of
}

// step is pods of a demand on a machine, or the machine alone, which is new then.
type step struct {
	w *wanted
	h scheduling.Handle
	n int
}

func (t *trial) keep(w *wanted, h scheduling.Handle, n int) {
	t.tellRest()
	t.steps = append(t.steps, step{w, h, n})
}

// tellRest tells of machines that were opened and not told of yet.
func (t *trial) tellRest() {
	for ; t.told < len(t.d.tried); t.told++ {
		t.steps = append(t.steps, step{h: t.d.tried[t.told]})
	}
}

// follow does what the chosen option says. Its machines are spread over groups that are alike, where the operator wants these balanced and
// no pod loses its place by it.
func (d *Growth) follow(c *Candidates, i int, ms *machines) {
	undo := d.Check.Mark()
	t := &trial{d: d}
	o := d.estimate(c, i, t.keep)
	given := d.share(d.alike(c, i), len(d.tried))
	if slices.ContainsFunc(given, func(to *Order) bool { return to != c.Groups[i] }) {
		undo()
		c.Groups[i].Opened -= len(d.tried)
		undo = d.Check.Mark()
		t = &trial{d: d}
		if d.open(c, i, given, t.keep) < len(o.Pods) {
			undo()
			for _, to := range given {
				to.Opened--
			}
			t = &trial{d: d}
			d.estimate(c, i, t.keep)
			given = slices.Repeat(c.Groups[i:i+1], len(d.tried))
		}
	}
	t.tellRest()
	number := map[*Order]int{}
	for _, to := range given {
		number[to]--
	}
	for _, s := range t.steps {
		if s.w != nil {
			d.granted(ms.by[s.h], s.w, s.n)
			continue
		}
		to := given[slices.Index(d.tried, s.h)]
		d.Opened.Set(s.h, to.Incoming)
		d.admit(to, []scheduling.Handle{s.h})
		m := &machine{handle: s.h}
		m.take(to, to.Opened+number[to])
		number[to]++
		ms.add(m)
	}
	d.closeEmpty(ms)
}

// open opens one machine for each mention of a group and shows them to all that group i was estimated for. It returns how many pods found a
// place; d.tried are the machines.
func (d *Growth) open(c *Candidates, i int, groups []*Order, keep func(w *wanted, h scheduling.Handle, n int)) (placed int) {
	d.tried = nil
	for _, to := range groups {
		d.tried = append(d.tried, d.OpenMachines(to.Incoming, 1, place.NewName)...)
	}
	row := d.Check.Row(d.tried...)
	for _, w := range c.wanted {
		if w.Left() > 0 && c.suited(w, i) {
			placed += row.Fill(w.Of, w.Left(), func(h scheduling.Handle, n int) { keep(w, h, n) })
		}
	}
	return placed
}

// alike are the group and those that are similar to it and would take the same pods, where the operator wants such groups balanced.
func (d *Growth) alike(c *Candidates, i int) []*Order {
	like := []*Order{c.Groups[i]}
	if !d.Policy.Growth.Balance.Similar {
		return like
	}
	for j, st := range c.Groups {
		same := j != i && Similar(c.likeness(i), c.likeness(j), d.Policy.Growth.Balance)
		for _, w := range c.wanted {
			same = same && (!c.suited(w, i) || c.suited(w, j))
		}
		if same {
			like = append(like, st)
		}
	}
	return like
}

// likeness is what the group of that index is compared by.
func (c *Candidates) likeness(i int) Likeness {
	at, _ := c.sitesOf(i)
	free := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(c.free[at][1], resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(c.free[at][2], resource.BinarySI),
	}
	st := c.Groups[i]
	return Likeness{Node: st.Template, Free: free, Size: st.Size, Learned: st.Group.Learned != nil}
}

// note keeps what the expanders said of groups.
func (d *Growth) note(choice Choice) {
	if st := d.Groups[choice.Group]; st != nil && st.Weighed == nil {
		st.Weighed = choice.Because
	}
	for _, r := range choice.Dropped {
		if st := d.Groups[cluster.GroupID(r.About.Name)]; st != nil && r.About.Kind == reason.KindGroup {
			st.PassedOver = &r
		} else {
			d.Complaints = append(d.Complaints, r)
		}
	}
}

// trial notes all that placing pods changes. The undo, which holds once, gives it back as it was.
func (d *Growth) trial() (undo func()) {
	unplace := d.Check.Mark()
	seen, placed, was := *d.View, *d.Room, *d
	if d.Witness != nil {
		d.Witness = &hearsay{to: d.Witness}
	}
	placed.PodVerdicts = slices.Clone(d.PodVerdicts)
	placed.Opened, placed.Counted, placed.Rescues = slices.Clone(d.Opened), maps.Clone(d.Counted), maps.Clone(d.Rescues)
	placed.Spared, placed.Booked = maps.Clone(d.Spared), maps.Clone(d.Booked)
	all := slices.Concat(d.Demands, d.Later)
	demands := make([]place.Demand, len(all))
	for i, dm := range all {
		demands[i] = *dm
	}
	rooms, orders := make([]place.Incoming, len(d.Listed)), make([]Order, len(d.Listed))
	for i, st := range d.Listed {
		rooms[i], orders[i] = *st.Incoming, *st
	}
	return func() {
		unplace()
		for i, dm := range all {
			*dm = demands[i]
		}
		for i, st := range d.Listed {
			rooms[i].Templates = st.Templates // they hold whatever is placed
			*st = orders[i]
			*st.Incoming = rooms[i]
		}
		*d.View, *d.Room, *d = seen, placed, was
	}
}

// hearsay keeps what a witness is to hear until it is certain.
type hearsay struct {
	to   place.Witness
	tell []func()
}

// Opens is told later.
func (h *hearsay) Opens(machine string, g cluster.GroupID) {
	h.tell = append(h.tell, func() { h.to.Opens(machine, g) })
}

// Closes is told later.
func (h *hearsay) Closes(machine string) { h.tell = append(h.tell, func() { h.to.Closes(machine) }) }

// Places is told later.
func (h *hearsay) Places(p *cluster.Pod, node string) {
	h.tell = append(h.tell, func() { h.to.Places(p, node) })
}

// tellAll tells the witness what came of the last trial.
func (d *Growth) tellAll() {
	if h, waits := d.Witness.(*hearsay); waits {
		for _, tell := range h.tell {
			tell()
		}
		d.Witness = h.to
	}
}
