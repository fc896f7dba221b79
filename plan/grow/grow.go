// Package grow chooses the machines to add: for floors, for pods without room, for buffers and for headroom, each group by one request.
//
//	step      rule
//	limits    max, backoff, breaker, ceilings, limits of the whole cluster: which groups may grow, and by how much
//	wait      pods that are too young, bursts that still arrive, late machines of other groups
//	choose    the mix that costs least, or the operator's chain of expanders
//	gangs     whole or not at all: half gangs are taken back
//	explain   why each group does not help a pod that is left over
package grow

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// Begin notes what limits the groups, and adds what the operator's floors and pods that no node takes ask for. Pods that are left get the reason of every group.
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
			st.Because = slices.Insert(st.Because, 0, whom)
		}
		if len(pods) > 0 || len(st.Because) == 0 {
			asked := reason.New(reason.GroupGrows, reason.Group(string(g.ID)), "from", from, "to", to, "max", g.Max, "pods", len(pods))
			st.Because = slices.Insert(st.Because, 0, asked)
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

// label is the label of a machine that comes up there.
func (s site) label(key string) string { return s.Node(s.zone).Labels[key] }

// Candidates asks an empty machine of every group, in each of its zones, about every demand: of those that deliver, where others are to be left out.
func (d *Growth) Candidates(wanting []*place.Demand, deliver bool) *Candidates {
	c := &Candidates{}
	for _, g := range d.Snapshot.Groups {
		if st := d.Groups[g.ID]; st.Blocked == nil && !(deliver && d.Late.waitsForLate(st)) {
			c.first = append(c.first, len(c.sites))
			fails := d.Failures.Failing(st) > 0
			for _, zone := range st.Sites() {
				c.sites = append(c.sites, site{st, len(c.Groups), fails, zone})
			}
			c.Groups = append(c.Groups, st)
		}
	}
	for _, s := range c.sites {
		d.Template(s.Incoming, s.zone) // whose daemons, of which there may be no pod yet, are among those that pods mind
	}
	for _, dm := range wanting {
		c.wanted = append(c.wanted, &wanted{
			Demand: dm, needs: d.Check.Needs(dm.Of), depends: d.Check.Depends(dm.Of), suits: make([]bool, len(c.sites)), fits: make([]bool, len(c.sites)),
		})
	}
	c.noteSharedPorts()
	for i, s := range c.sites {
		d.OnEmpty(s.Incoming, s.zone, func(h scheduling.Handle) {
			c.free = append(c.free, d.Check.Free(h))
			for _, w := range c.wanted {
				pod := d.Check.Ask(w.Of)
				w.suits[i] = pod.Suits(h)
				w.fits[i] = w.suits[i] && (!w.depends || pod.Fits(h))
				w.alone = w.alone || w.suits[i] && pod.Alone(h)
			}
		})
	}
	d.Stuck.passRefused(c)
	c.noteZonal()
	return c
}

// noteZonal marks pods for whom the zones of a group are not all one.
func (c *Candidates) noteZonal() {
	for i, s := range c.sites {
		first := i - 1
		if i == 0 || c.sites[first].group != s.group {
			continue
		}
		for _, w := range c.wanted {
			w.zonal = w.zonal || w.suits[i] != w.suits[first] || w.fits[i] != w.fits[first] || w.depends && w.suits[i] &&
				slices.ContainsFunc(place.TopologiesOf(w.Of.Spec), func(key string) bool { return s.label(key) != c.sites[first].label(key) })
		}
	}
}

// tells says whether there is more to the candidates than how many pods a machine holds: pods that mind others or zones, or zones that daemons
// take more room in than in others.
func (c *Candidates) tells() bool {
	return slices.ContainsFunc(c.wanted, func(w *wanted) bool { return w.depends || w.zonal }) ||
		slices.ContainsFunc(c.Groups, func(st *Order) bool { return st.uneven })
}

// suited says whether an empty machine of the group of that index would do for such a pod in one of its zones, whoever else is near.
func (c *Candidates) suited(w *wanted, group int) bool {
	from, to := c.sitesOf(group)
	return slices.Contains(w.suits[from:to], true)
}

// sitesOf are the places of the group's sites among all, the second one beyond them.
func (c *Candidates) sitesOf(group int) (from, to int) {
	if to = len(c.sites); group+1 < len(c.first) {
		to = c.first[group+1]
	}
	return c.first[group], to
}

// noteSharedPorts marks pods that ask for a host port which others ask for as well: these cannot share a machine.
func (c *Candidates) noteSharedPorts() {
	by := map[int32][]*wanted{}
	for _, w := range c.wanted {
		for port := range hostPorts(w.Of.Spec) {
			by[port] = append(by[port], w)
		}
	}
	for _, those := range by {
		for _, w := range those {
			w.depends = w.depends || len(those) > 1
		}
	}
}

// hostPorts are the ports of their node that pods ask for.
func hostPorts(spec *corev1.PodSpec) map[int32]bool {
	var ports map[int32]bool
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range list {
			for _, p := range list[i].Ports {
				if p.HostPort > 0 {
					if ports == nil {
						ports = map[int32]bool{}
					}
					ports[p.HostPort] = true
				}
			}
		}
	}
	return ports
}

// noteFull marks groups that are at their max and would have done for pods that went elsewhere or nowhere.
func (c *Candidates) noteFull(d *Orders) {
	for i, st := range c.Groups {
		if d.Believed(st.GroupFacts)+st.Adding < st.Max {
			continue
		}
		for _, w := range c.wanted {
			elsewhere := len(w.at)
			if w.at[st] > 0 {
				elsewhere--
			}
			st.Wanted = st.Wanted || (w.Left() > 0 || elsewhere > 0) && c.suited(w, i)
		}
	}
}
