package grow

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Chain asks the operator's expanders, one after the other. It works where --expander is set and has no least-cost; else [Joint] does.
//
//	field       written by
//	tried       estimate and open; valid until the next call of either
//	Ask         grow; nil when no server is to be asked. Else nothing more is bought for pods and buffers in this cycle
//	Complaints  note; told in the verdict of each group
type Chain struct {
	*Orders
	limits     *Limits
	additions  *Additions
	turns      *turns
	joint      *Joint
	tried      []scheduling.Handle // machines that the last estimate opened
	Ask        *action.AskExpander // what to ask before pods that are left can be helped
	Complaints []reason.Reason     // of expanders that could not do what they are there for
}

// grow adds machines as the operator's chain of expanders has it. Cluster-autoscaler does the same, one group a loop; here the groups of
// all rounds are asked for at once (scenario expander-priority-full). A round:
//
//	step                  what happens
//	fillOpen              pods that are left go to nodes that are there or coming, and to machines of earlier rounds
//	estimate              each group alone opens machines for all pods that are left, and takes them back
//	no group helps        the sites that come later are let in once; then the chain ends
//	Expand                the chain chooses a group; no group ends the chain
//	Expand asks a server  the chain ends, and goes on when the answer is there; machines of earlier rounds stay
//	follow                the chosen group's machines are added
//
// Each round adds a machine for at least one pod, so the loop ends.
func (ch *Chain) grow(c *Candidates) {
	ranking := ReadRanking(ch.Snapshot.Objects.Ranking())
	ms := ch.joint.machines(nil)
	_, widen := c.narrow()
	// The sites that narrow has taken away are given back, since noteFull asks for all.
	defer widen()
	for {
		ch.fillOpen(c, ms)
		var options []Option
		for i, st := range c.Groups {
			undo := ch.Check.Mark()
			if o := ch.estimate(c, i, nil); o.Nodes > 0 {
				options = append(options, o)
			}
			// undo takes the machines out of the checker and leaves their numbers: Opened is set back by hand.
			undo()
			st.Opened -= len(ch.tried)
		}
		if len(options) == 0 {
			if widen() {
				continue
			}
			return
		}
		choice := Expand(options, ch.Policy.Growth.Expanders, ranking, ch.Memory.Answer, ch.Now)
		ch.note(choice)
		if choice.Ask != nil {
			ch.Ask = choice.Ask
			return
		}
		i := slices.IndexFunc(c.Groups, func(st *Order) bool { return st.ID == choice.Group })
		// A server of an expander may want no group to grow (scenario expander-grpc).
		if i < 0 {
			return
		}
		ch.follow(c, i, ms)
	}
}

// fillOpen places pods on nodes that are there or coming and on machines of earlier rounds, until none of them takes a pod that is left. A
// pod of an earlier round may be the one that another pod has to be near, so all are tried again.
func (ch *Chain) fillOpen(c *Candidates, ms *machines) {
	for again := true; again; {
		again = ch.joint.fillKnown(c)
		for _, w := range c.wanted {
			if w.Left() > 0 && ch.joint.fill(ms, w) > 0 {
				again = true
			}
		}
	}
}

// estimate opens machines of group i for all that is wanted, in the order of the demands: of one priority the largest pods first. Each pod
// goes to the first machine that takes it. ch.tried are the machines that it opened.
//
// Without keep it is a question: no demand is served, and the caller takes the machines back. With keep it calls keep for pods that find a
// place, n on each machine. It asks [Limits] for each machine, so the option holds no more than the group may add.
func (ch *Chain) estimate(c *Candidates, i int, keep func(w *wanted, h scheduling.Handle, n int)) Option {
	st := c.Groups[i]
	o := Option{Group: st.ID}
	total := ch.limits.totals()
	row := ch.Check.Row()
	ch.tried = nil
	for _, w := range c.wanted {
		if w.Left() == 0 || !c.suited(w, i) {
			continue
		}
		left := w.Left()
		take := func() int {
			return row.Fill(w.Of, left, func(h scheduling.Handle, n int) {
				left -= n
				o.take(ch.Orders, w, n, left)
				if keep != nil {
					keep(w, h, n)
				}
			})
		}
		take()
		for left > 0 {
			more := ch.turns.reach(st, w, total, len(ch.tried))
			ch.tried = append(ch.tried, more...)
			row.Append(more...)
			// A machine that reach opened takes one of the pods; the second condition keeps the loop from running for ever if it does not.
			if len(more) == 0 || take() == 0 {
				break
			}
		}
	}
	o.Nodes = len(ch.tried)
	o.CapacityMilli = int64(o.Nodes) * st.Template.Status.Capacity.Cpu().MilliValue()
	o.CapacityBytes = int64(o.Nodes) * st.Template.Status.Capacity.Memory().Value()
	o.PriceUSDPerHour = float64(o.Nodes) * st.PriceUSDPerHour
	slices.Sort(o.Pods)
	return o
}

// take counts n pods of a demand in the option; left are left after them. The needs of a pod have thousandths of cores at 1 and bytes of
// memory at 2, as [scheduling.Checker.Needs] has them.
func (o *Option) take(d *Orders, w *wanted, n, left int) {
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

// trial is what happened on machines that are being tried, in order. It is written down first and carried out by follow afterwards, since
// follow may drop one way of placing the pods for another. A trial of the whole cycle is [Growth.trial].
type trial struct {
	d     *Chain
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

// follow adds the machines of the chosen option. Where the operator wants like groups balanced, the machines are spread over them:
//
//	case                                                what follow adds
//	no other group is alike, or none gets a machine     the machines of the option
//	the machines of all like groups take the same pods  machines of these groups
//	some pod would lose its place                       the machines of the option, all of the chosen group
//
// A machine of another group may be in another zone, which a pod may mind: so the pods are placed again on the machines as they are.
func (ch *Chain) follow(c *Candidates, i int, ms *machines) {
	undo := ch.Check.Mark()
	t := &trial{d: ch}
	o := ch.estimate(c, i, t.keep)
	given := ch.joint.share(ch.alike(c, i), len(ch.tried), nil)
	if slices.ContainsFunc(given, func(to *Order) bool { return to != c.Groups[i] }) {
		undo()
		c.Groups[i].Opened -= len(ch.tried)
		undo = ch.Check.Mark()
		t = &trial{d: ch}
		if ch.open(c, i, given, t.keep) < len(o.Pods) {
			undo()
			for _, to := range given {
				to.Opened--
			}
			t = &trial{d: ch}
			ch.estimate(c, i, t.keep)
			given = slices.Repeat(c.Groups[i:i+1], len(ch.tried))
		}
	}
	t.tellRest()
	// Opened counts these machines already. number goes from minus the number of a group's machines up to 0, so Opened+number is each
	// machine's place in the order of opening.
	number := map[*Order]int{}
	for _, to := range given {
		number[to]--
	}
	for _, s := range t.steps {
		if s.w != nil {
			ch.joint.granted(ms.by[s.h], s.w, s.n)
			continue
		}
		to := given[slices.Index(ch.tried, s.h)]
		ch.Opened.Set(s.h, to.Incoming)
		ch.additions.admit(to, []scheduling.Handle{s.h})
		m := &machine{handle: s.h}
		m.take(to, to.Opened+number[to])
		number[to]++
		ms.add(m)
	}
	// A machine that no pod uses is given up, unless a zone's turn depends on it.
	ch.joint.closeEmpty(ms)
}

// open opens one machine for each mention of a group, and shows them to all demands that group i suits. It returns how many pods found a
// place. ch.tried are the machines. It asks no limit: share heeds each group's own, and the limits of the cluster were asked for as many
// machines of group i.
func (ch *Chain) open(c *Candidates, i int, groups []*Order, keep func(w *wanted, h scheduling.Handle, n int)) (placed int) {
	ch.tried = nil
	for _, to := range groups {
		ch.tried = append(ch.tried, ch.Machines.OpenMachines(to.Incoming, 1, place.NewName)...)
	}
	row := ch.Check.Row(ch.tried...)
	for _, w := range c.wanted {
		if w.Left() > 0 && c.suited(w, i) {
			placed += row.Fill(w.Of, w.Left(), func(h scheduling.Handle, n int) { keep(w, h, n) })
		}
	}
	return placed
}

// alike are group i and the groups that are similar to it and suit all pods that it suits; group i alone where the operator does not want
// such groups balanced.
func (ch *Chain) alike(c *Candidates, i int) []*Order {
	like := []*Order{c.Groups[i]}
	if !ch.Policy.Growth.Balance.Similar {
		return like
	}
	for j, st := range c.Groups {
		same := j != i && Similar(c.likeness(i), c.likeness(j), ch.Policy.Growth.Balance)
		for _, w := range c.wanted {
			same = same && (!c.suited(w, i) || c.suited(w, j))
		}
		if same {
			like = append(like, st)
		}
	}
	return like
}

// likeness is what group i is compared by. Of a group over several zones it is what the first of its sites leaves free.
func (c *Candidates) likeness(i int) Likeness {
	at, _ := c.sitesOf(i)
	free := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(c.free[at][1], resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(c.free[at][2], resource.BinarySI),
	}
	st := c.Groups[i]
	return Likeness{Node: st.Template, Free: free, Size: st.Size, Learned: st.Group.Learned != nil}
}

// note keeps what the expanders said: of a group with the group, else as a complaint. A group keeps the reason of the first round that it
// was chosen in.
func (ch *Chain) note(choice Choice) {
	if st := ch.Groups[choice.Group]; st != nil && st.Weighed == nil {
		st.weigh(choice.Because)
	}
	for _, r := range choice.Dropped {
		if st := ch.Groups[cluster.GroupID(r.About.Name)]; st != nil && r.About.Kind == reason.KindGroup {
			st.PassedOver = &r
		} else {
			ch.Complaints = append(ch.Complaints, r)
		}
	}
}
