package plan

import (
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// growGroups chooses the machines to add for pods that no node takes, over all groups in one decision: round by round the group
// that gives the most room asked for its money, until every pod has a place or no group can hold what is left. Each group that
// grows does so by one request.
func (d *decision) growGroups() {
	left := d.homeless
	refusals := newRefusals()
	served := map[cluster.GroupID][]string{}
	for len(left) > 0 {
		best, ok := d.bestOption(left, refusals)
		if !ok {
			break
		}
		left = d.adopt(best, left, served)
	}
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		if st.adding == 0 {
			continue
		}
		about := reason.Group(string(g.ID))
		from, to := g.Capacity, d.believed(st)+st.adding
		pods := served[g.ID]
		sort.Strings(pods)
		d.grows = append(d.grows, SetCapacity{
			Group: g.ID, From: from, To: to, Adds: st.adding, Pods: pods,
			Because: reason.New(reason.GroupGrows, about, "from", from, "to", to, "max", g.Max, "pods", len(pods)),
		})
	}
	for _, p := range left {
		about := reason.Pod(p.Namespace, p.Name)
		because := append([]reason.Reason{reason.New(reason.NoGroupFits, about)}, refusals.of(d.classes.class(p), d.s.Groups)...)
		d.judge(about, PodStuck, because...)
	}
}

// believed is the capacity that a new request builds on: the last read's, or an accepted request's that it does not show yet.
func (d *decision) believed(st *groupState) int {
	if m := d.m.Groups[st.ID]; m.Requested.After(st.Read.At) {
		return max(st.Capacity, m.Capacity)
	}
	return st.Capacity
}

// podWeight is what a pod weighs beside its requests, so that pods that ask for nothing count as well.
const podWeight = 1.0 / 1024 // exact in binary, so that equal options compare as equal

// option is a number of machines that one group could add, and the pods they would hold.
type option struct {
	group    *groupState
	machines int
	asked    float64 // the weight of what the pods ask for
	cost     float64 // of the machines: by price, or by their own weight where not every price is known
}

// better says whether o gives more of what is asked for its cost than other; equals are decided by the group's name.
func (o option) better(other option) bool {
	a, b := o.asked*other.cost, other.asked*o.cost
	switch {
	case a != b:
		return a > b
	case o.cost != other.cost:
		return o.cost < other.cost
	}
	return o.group.ID < other.group.ID
}

func (d *decision) bestOption(pods []*cluster.Pod, refusals *refusals) (option, bool) {
	priced := true
	for _, g := range d.s.Groups {
		priced = priced && (g.Template == nil || g.PriceUSDPerHour > 0)
	}
	var best option
	found := false
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		o := d.tryGroup(st, pods, refusals, nil)
		if o.machines == 0 {
			continue
		}
		o.cost = float64(o.machines) * g.PriceUSDPerHour
		if !priced {
			o.cost = float64(o.machines) * weight(g.Template.Status.Allocatable)
		}
		if !found || o.better(best) {
			best, found = o, true
		}
	}
	return best, found
}

// adopt adds the option's machines for good, places its pods on them and returns the pods that are left.
func (d *decision) adopt(o option, pods []*cluster.Pod, served map[cluster.GroupID][]string) []*cluster.Pod {
	placed := map[*cluster.Pod]bool{}
	d.tryGroup(o.group, pods, newRefusals(), func(p *cluster.Pod) {
		placed[p] = true
		served[o.group.ID] = append(served[o.group.ID], p.String())
		about := reason.Pod(p.Namespace, p.Name)
		d.judge(about, PodGrows, reason.New(reason.NeedsMachine, about, "group", o.group.ID))
	})
	var left []*cluster.Pod
	for _, p := range pods {
		if !placed[p] {
			left = append(left, p)
		}
	}
	return left
}

// tryGroup fills machines of one group with pods, opening a new one when none that is open takes the next pod. With keep nil it
// only pretends; otherwise machines and pods stay in the checker, the group's count rises and keep hears of every pod placed.
// A pod that a new machine refuses leaves its reasons in refusals.
func (d *decision) tryGroup(st *groupState, pods []*cluster.Pod, refusals *refusals, keep func(*cluster.Pod)) option {
	o := option{group: st}
	if st.blocked != nil {
		for _, p := range pods {
			refusals.note(d.classes.class(p), st.ID, *st.blocked)
		}
		return o
	}
	var undo func() // of the first machine; it takes back all that followed
	var open []string
	done := searched{}
	base := d.totals()
	for _, p := range pods {
		c := d.classes.class(p)
		if refusals.final(c, st.ID) {
			continue
		}
		i := done.first(c, len(open), func(i int) bool { return d.check.Fits(p, open[i]) })
		if i < 0 {
			if limit := d.limit(st, base, o.machines); limit != nil {
				refusals.note(c, st.ID, *limit)
				continue
			}
			name := fmt.Sprintf("new:%s:%d", st.ID, st.adding+o.machines)
			drop := d.addFuture(st.Group, name)
			if why := d.check.Refusals(p, name); len(why) > 0 {
				drop()
				refusals.never(c, st.ID, why)
				continue
			}
			if undo == nil {
				undo = drop
			}
			open = append(open, name)
			o.machines++
			i = len(open) - 1
		}
		d.check.Place(p, open[i])
		o.asked += weight(scheduling.Requests(p)) + podWeight
		if keep != nil {
			keep(p)
		}
	}
	if keep != nil {
		st.adding += o.machines
		return o
	}
	if undo != nil {
		undo()
	}
	return o
}

// limit says why the group may not add one machine beyond extra more than it already adds, nil when it may (S-06). total is what
// the cluster has without the extra ones.
func (d *decision) limit(st *groupState, total totals, extra int) *reason.Reason {
	g := d.allowed.Growth
	about := reason.Group(string(st.ID))
	because := func(r reason.Reason) *reason.Reason { return &r }
	if capacity := d.believed(st); capacity+st.adding+extra >= st.Max {
		st.wanted = true
		return because(reason.New(reason.GroupAtMax, about, "capacity", capacity+st.adding+extra, "max", st.Max))
	}
	if b := d.m.Groups[st.ID].Backoff; b.Until.After(d.now) && d.believed(st)+st.adding+extra >= b.Ceiling {
		return because(d.backingOff(st.ID, b))
	}
	total.add(st.Template, extra)
	if g.MaxNodes > 0 && total.nodes+1 > g.MaxNodes {
		return because(reason.New(reason.ClusterNodesLimit, about, "nodes", total.nodes, "limit", g.MaxNodes))
	}
	total.add(st.Template, 1)
	if g.MaxCores > 0 && total.milli > g.MaxCores*1000 {
		return because(reason.New(reason.ClusterCoresLimit, about, "cores", (total.milli-st.Template.Status.Capacity.Cpu().MilliValue())/1000, "limit", g.MaxCores))
	}
	if g.MaxMemoryGiB > 0 && total.bytes > g.MaxMemoryGiB<<30 {
		return because(reason.New(reason.ClusterMemoryLimit, about, "memory", (total.bytes-st.Template.Status.Capacity.Memory().Value())>>30, "limit", g.MaxMemoryGiB))
	}
	return nil
}

// totals is what the whole cluster has, with machines that are coming and those that this cycle adds.
type totals struct {
	nodes int
	milli int64 // thousandths of cores
	bytes int64 // of memory
}

func (t *totals) add(n *corev1.Node, count int) {
	t.nodes += count
	if n != nil {
		t.milli += int64(count) * n.Status.Capacity.Cpu().MilliValue()
		t.bytes += int64(count) * n.Status.Capacity.Memory().Value()
	}
}

// totals counts as the guard does: nodes, and for every group what its capacity promises beyond its nodes.
func (d *decision) totals() totals {
	var t totals
	joined := map[cluster.GroupID]int{}
	for _, n := range d.s.Nodes {
		t.add(n.Object, 1)
		if n.Instance != nil {
			joined[n.Group]++
		}
	}
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		t.add(g.Template, max(0, d.believed(st)-joined[g.ID])+st.adding)
	}
	return t
}
