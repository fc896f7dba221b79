package grow

import (
	"strings"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Begin adds what the operator's floors and pods without room ask for. Pods have been offered the nodes that are there or coming before.
// The order of the steps matters:
//
//	step           why there
//	passOverYoung  a pod that is too young must not be counted below
//	ceilings       each round of [Rounds] begins with none of them used
//	raiseFloors    what a floor buys anyway costs nothing more for pods
//	growPastLate   machines for pods that are left
//	ExplainStuck   pods that are left now get the reason of every group
func (d *Growth) Begin() {
	d.passOverYoung()
	d.Limits.ceilings = NewCeilings(d.Snapshot, d.Policy, d.Memory, func(g *cluster.Group) int { return d.Believed(d.Groups[g.ID].GroupFacts) })
	d.raiseFloors()
	if wanting := d.Wanting(); len(wanting) > 0 {
		d.Stuck.ExplainStuck(d.growPastLate(wanting))
	}
}

// Request makes one action of what each group adds, whoever it adds it for. From is the capacity that was last read, since the write is
// conditional on it; To builds on what the group is believed to have. The first of the reasons stands on the action: of pods, then of
// requests and buffers, then of the operator's settings.
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

// passOverYoung gives pods that are too young to be a reason to grow their verdict (scenario new-pod-delay), and wakes the loop when they
// are old enough. Room that needs no new machine has been offered to them before. The pods of a demand are in the order of age and ask for
// the same delay, so the young ones are at its end. Virtual pods have no age that counts.
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
			// Serve takes pods from the front of a demand; this one is at the end, so it is served by a demand of its own and cut off.
			own := &place.Demand{Of: dm.Of, Pods: dm.Pods[len(dm.Pods)-1:]}
			d.Serve(own, 1, action.PodIgnored, reason.New(reason.PodYoung, reason.Ref{}, "age", d.Now.Sub(p.Created()), "delay", until.Sub(p.Created())))
			dm.Pods = dm.Pods[:len(dm.Pods)-1]
		}
	}
}

// growPastLate chooses machines for pods. Where machines of some group are late:
//
//	turn    pods go to                                      scenario
//	first   machines of the groups that deliver             late-next-group
//	second  the late machines, in case they come after all  late-only-group
//	third   machines of all groups, the late ones too
//
// It returns the candidates that were asked last, which know the pods that are still left. While a server of an expander is asked, all
// turns after the first wait for its answer.
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

// raiseFloors adds the machines that groups lack to the capacity that the operator holds them to ([policy.Policy.Floor]). Pods that wait go
// to these machines before others are chosen for them.
//
//	the group                                     what happens
//	has as many, or nothing may be written to it  nothing
//	may not grow for another reason               GroupShort; the verdict of the group has the other reason
//	may add some of them                          these, and GroupShort with the limit
//	may add all                                   all
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
