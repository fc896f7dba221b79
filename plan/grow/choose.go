package grow

import (
	"strings"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Begin notes what limits the groups, and adds what the operator's floors and pods that no node takes ask for. Pods that are left get the
// reason of every group.
func (d *Growth) Begin() {
	d.passOverYoung()
	d.Limits.ceilings = NewCeilings(d.Snapshot, d.Policy, d.Memory, func(g *cluster.Group) int { return d.Believed(d.Groups[g.ID].GroupFacts) })
	d.raiseFloors()
	if wanting := d.Wanting(); len(wanting) > 0 {
		d.Stuck.ExplainStuck(d.growPastLate(wanting))
	}
}

// Request makes one request of what each group adds.
func (d *Growth) Request() {
	d.turns.TellTurns()
	for _, g := range d.Snapshot.Groups {
		st := d.Groups[g.ID]
		if st.Adding == 0 {
			continue
		}
		from, to := g.Capacity, d.Believed(st.GroupFacts)+st.Adding
		pods, claims := d.served(st)
		if len(claims) > 0 {
			whom := reason.New(reason.GroupGrowsFor, reason.Group(string(g.ID)), "from", from, "to", to, "max", g.Max, "whom", strings.Join(claims, ", "))
			st.first(whom)
		}
		if len(pods) > 0 || len(st.Because) == 0 {
			asked := reason.New(reason.GroupGrows, reason.Group(string(g.ID)), "from", from, "to", to, "max", g.Max, "pods", len(pods))
			st.first(asked)
		}
		d.Grows = append(d.Grows, action.SetCapacity{
			Group: g.ID, From: from, To: to, Adds: st.Adding, Pods: pods, Zones: st.ZonesAfter(), Because: st.Because[0],
		})
	}
}

// GrowFor chooses the machines for what is wanted.
func (d *Growth) GrowFor(c *Candidates) {
	if d.Policy.Growth.Joint() {
		d.Joint.grow(c)
	} else {
		d.Chain.grow(c)
	}
	c.noteFull(d.Orders)
}

// passOverYoung leaves out pods that are too young to be a reason to grow.
func (d *Growth) passOverYoung() {
	for _, dm := range d.Wanting() {
		if dm.Claim != nil {
			continue
		}
		if _, young := d.Policy.Young(d.Waiting[dm.Pods[len(dm.Pods)-1]], d.Now); !young {
			continue // the youngest of them is old enough
		}
		for dm.Left() > 0 {
			p := d.Waiting[dm.Pods[len(dm.Pods)-1]]
			until, young := d.Policy.Young(p, d.Now)
			if !young {
				break
			}
			d.Wake(until)
			own := &place.Demand{Of: dm.Of, Pods: dm.Pods[len(dm.Pods)-1:]}
			d.Serve(own, 1, action.PodIgnored, reason.New(reason.PodYoung, reason.Ref{}, "age", d.Now.Sub(p.Created()), "delay", until.Sub(p.Created())))
			dm.Pods = dm.Pods[:len(dm.Pods)-1]
		}
	}
}

// growPastLate chooses machines of groups none of which is late first. What these leave has room on the machines that are late, and then
// asks their groups.
func (d *Growth) growPastLate(wanting []*place.Demand) *Candidates {
	some := false
	for _, st := range d.Groups {
		some = some || len(st.Late) > 0
	}
	c := d.Candidates(wanting, some)
	d.Bursts.gather(c)
	d.GrowFor(c)
	if !some || d.Chain.Ask != nil {
		return c
	}
	d.Arrivals.PlaceOnLate()
	if wanting = d.Wanting(); len(wanting) == 0 {
		return c
	}
	c = d.Candidates(wanting, false)
	d.GrowFor(c)
	return c
}

// raiseFloors adds the machines that groups lack to the capacity that the operator holds them to, as far as their limits let them. Pods
// that want a machine go there first: what comes anyway costs nothing more.
func (d *Growth) raiseFloors() {
	var open []scheduling.Handle
	for _, g := range d.Snapshot.Groups {
		st := d.Groups[g.ID]
		floor, has := d.Policy.Floor(g, d.Now), d.Believed(st.GroupFacts)
		if has >= floor || st.BlockedRead() != nil {
			continue
		}
		about := reason.Group(string(g.ID))
		if st.Blocked != nil {
			st.lacks(reason.New(reason.GroupShort, about, "lacks", floor-has, "min", floor)) // the group's verdict says by what
			continue
		}
		var short *reason.Reason
		st.raised, short = d.Limits.asFarAs(st, floor-has)
		if st.raised > 0 {
			open = append(open, d.Additions.Adopt(st, st.raised)...)
			st.Grows(reason.New(reason.GroupRaised, about, "from", has, "to", has+st.raised, "min", floor))
		}
		if short != nil {
			st.lacks(reason.New(reason.GroupShort, about, "lacks", floor-has-st.raised, "min", floor), *short)
		}
	}
	if len(open) > 0 {
		d.PlaceOn(d.Check.Row(open...), d.Demands, func(dm *place.Demand, h scheduling.Handle, n int) {
			d.Place(dm, n, h)
			d.Additions.grant(dm, n, d.Opened.Of(h).ID)
		})
	}
}
