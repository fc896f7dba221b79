package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
	"sluice.dev/sluice/scheduling"
)

// begin notes what limits the groups, and adds what the operator's floors and pods that no node takes ask for. Pods that are left get the reason of every group.
func (d *growing) begin() {
	d.passOverYoung()
	d.ceilings = NewCeilings(d.s, d.allowed, d.m, func(g *cluster.Group) int { return d.believed(d.groups[g.ID].groupState) })
	d.raiseFloors()
	if wanting := d.wanting(); len(wanting) > 0 {
		d.explainStuck(d.growPastLate(wanting))
	}
}

// request makes one request of what each group adds.
func (d *growing) request() {
	for _, g := range d.s.Groups {
		st := d.groups[g.ID]
		if st.adding == 0 {
			continue
		}
		from, to := g.Capacity, d.believed(st.groupState)+st.adding
		pods, claims := d.served(st)
		if len(claims) > 0 {
			whom := reason.New(reason.GroupGrowsFor, reason.Group(string(g.ID)), "from", from, "to", to, "max", g.Max, "whom", strings.Join(claims, ", "))
			st.because = slices.Insert(st.because, 0, whom)
		}
		if len(pods) > 0 || len(st.because) == 0 {
			asked := reason.New(reason.GroupGrows, reason.Group(string(g.ID)), "from", from, "to", to, "max", g.Max, "pods", len(pods))
			st.because = slices.Insert(st.because, 0, asked)
		}
		d.grows = append(d.grows, SetCapacity{
			Group: g.ID, From: from, To: to, Adds: st.adding, Pods: pods, Zones: st.zonesAfter(), Because: st.because[0],
		})
	}
}

// growFor chooses the machines for what is wanted.
func (d *growing) growFor(c *candidates) {
	if d.allowed.Growth.Joint() {
		d.growJointly(c)
	} else {
		d.growByExpanders(c)
	}
	c.noteFull(d)
}

// passOverYoung leaves out pods that are too young to be a reason to grow.
func (d *growing) passOverYoung() {
	for _, dm := range d.wanting() {
		if dm.claim != nil {
			continue
		}
		if _, young := d.allowed.Young(d.waiting[dm.pods[len(dm.pods)-1]], d.now); !young {
			continue // the youngest of them is old enough
		}
		for dm.left() > 0 {
			p := d.waiting[dm.pods[len(dm.pods)-1]]
			until, young := d.allowed.Young(p, d.now)
			if !young {
				break
			}
			d.wake(until)
			own := &demand{of: dm.of, pods: dm.pods[len(dm.pods)-1:]}
			d.serve(own, 1, PodIgnored, reason.New(reason.PodYoung, reason.Ref{}, "age", d.now.Sub(p.Created()), "delay", until.Sub(p.Created())))
			dm.pods = dm.pods[:len(dm.pods)-1]
		}
	}
}

// candidates are the groups that may grow for what is wanted, and which of them would do for whom.
type candidates struct {
	groups []*growGroup
	sites  []site    // by group
	first  []int     // by group: the place of its first site
	free   [][]int64 // by site: what an empty machine has left beside its daemons, by dimension
	wanted []*wanted
}

// site is where machines of a group come up: one of the zones of a group that spans several, or all there is of another.
type site struct {
	*growGroup
	group int    // among the candidates
	fails bool   // none of the group's nodes is Ready: see [decision.failing]
	zone  string // "" of a group that spans none
}

// label is the label of a machine that comes up there.
func (s site) label(key string) string { return s.node(s.zone).Labels[key] }

// wanted is a demand before any group grows for it.
type wanted struct {
	*demand
	needs   []int64 // of one pod, by dimension
	suits   []bool  // by site: an empty machine would do for such a pod, whoever else is near
	fits    []bool  // by site: it would take such a pod as things stand
	depends bool    // on where other pods are
	alone   bool    // no two of them share a machine
	zonal   bool    // it matters in which zone of a group its machine comes up

	at    map[*growGroup]int // that grow for some of them, for how many
	grown int                // pods that went to machines which are being added
}

// candidates asks an empty machine of every group, in each of its zones, about every demand: of those that deliver, where others are to be left out.
func (d *growing) candidates(wanting []*demand, deliver bool) *candidates {
	c := &candidates{}
	for _, g := range d.s.Groups {
		if st := d.groups[g.ID]; st.blocked == nil && !(deliver && d.waitsForLate(st)) {
			c.first = append(c.first, len(c.sites))
			fails := d.failing(st) > 0
			for _, zone := range st.sites() {
				c.sites = append(c.sites, site{st, len(c.groups), fails, zone})
			}
			c.groups = append(c.groups, st)
		}
	}
	for _, s := range c.sites {
		d.template(s.placeGroup, s.zone) // whose daemons, of which there may be no pod yet, are among those that pods mind
	}
	for _, dm := range wanting {
		c.wanted = append(c.wanted, &wanted{
			demand: dm, needs: d.check.Needs(dm.of), depends: d.check.Depends(dm.of), suits: make([]bool, len(c.sites)), fits: make([]bool, len(c.sites)),
		})
	}
	c.noteSharedPorts()
	for i, s := range c.sites {
		d.onEmpty(s.placeGroup, s.zone, func(h scheduling.Handle) {
			c.free = append(c.free, d.check.Free(h))
			for _, w := range c.wanted {
				pod := d.check.Ask(w.of)
				w.suits[i] = pod.Suits(h)
				w.fits[i] = w.suits[i] && (!w.depends || pod.Fits(h))
				w.alone = w.alone || w.suits[i] && pod.Alone(h)
			}
		})
	}
	d.passRefused(c)
	c.noteZonal()
	return c
}

// noteZonal marks pods for whom the zones of a group are not all one.
func (c *candidates) noteZonal() {
	for i, s := range c.sites {
		first := i - 1
		if i == 0 || c.sites[first].group != s.group {
			continue
		}
		for _, w := range c.wanted {
			w.zonal = w.zonal || w.suits[i] != w.suits[first] || w.fits[i] != w.fits[first] || w.depends && w.suits[i] &&
				slices.ContainsFunc(topologiesOf(w.of.Spec), func(key string) bool { return s.label(key) != c.sites[first].label(key) })
		}
	}
}

// tells says whether there is more to the candidates than how many pods a machine holds: pods that mind others or zones, or zones that daemons
// take more room in than in others.
func (c *candidates) tells() bool {
	return slices.ContainsFunc(c.wanted, func(w *wanted) bool { return w.depends || w.zonal }) ||
		slices.ContainsFunc(c.groups, func(st *growGroup) bool { return st.uneven })
}

// suited says whether an empty machine of the group of that index would do for such a pod in one of its zones, whoever else is near.
func (c *candidates) suited(w *wanted, group int) bool {
	from, to := c.sitesOf(group)
	return slices.Contains(w.suits[from:to], true)
}

// sitesOf are the places of the group's sites among all, the second one beyond them.
func (c *candidates) sitesOf(group int) (from, to int) {
	if to = len(c.sites); group+1 < len(c.first) {
		to = c.first[group+1]
	}
	return c.first[group], to
}

// noteSharedPorts marks pods that ask for a host port which others ask for as well: these cannot share a machine.
func (c *candidates) noteSharedPorts() {
	by := map[int32][]*wanted{}
	for _, w := range c.wanted {
		for port := range hostPorts(w.of.Spec) {
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

// onEmpty asks about an empty machine of the group in that zone, alone and for the moment.
func (d *placing) onEmpty(st *placeGroup, zone string, ask func(h scheduling.Handle)) {
	undo := d.check.Mark()
	ask(d.check.Open(d.template(st, zone), "new machine of "+string(st.ID)))
	undo()
}

// noteFull marks groups that are at their max and would have done for pods that went elsewhere or nowhere.
func (c *candidates) noteFull(d *growing) {
	for i, st := range c.groups {
		if d.believed(st.groupState)+st.adding < st.Max {
			continue
		}
		for _, w := range c.wanted {
			elsewhere := len(w.at)
			if w.at[st] > 0 {
				elsewhere--
			}
			st.wanted = st.wanted || (w.left() > 0 || elsewhere > 0) && c.suited(w, i)
		}
	}
}

// adopt adds so many machines of a group for good.
func (d *growing) adopt(st *growGroup, n int) []scheduling.Handle {
	handles := d.openMachines(st.placeGroup, n, newName)
	d.admit(st, handles)
	return handles
}

// admit adds machines of a group for good that are open already.
func (d *growing) admit(st *growGroup, machines []scheduling.Handle) {
	st.adding += len(machines)
	d.ceilings.Take(st.Group, len(machines))
	d.tellOpen(st.ID, machines...)
}

// grant gives the next n pods of a demand a place on a machine that is being added.
func (d *growing) grant(dm *demand, n int, g cluster.GroupID) {
	if n == 0 {
		return
	}
	st := d.groups[g]
	if st.needed.Code == "" {
		st.needed = reason.New(reason.NeedsMachine, reason.Ref{}, "group", g)
	}
	st.serves = append(st.serves, granted{dm, dm.served, n})
	d.serve(dm, n, PodGrows, st.needed)
}

// believed is the capacity that a new request builds on: the last read's, or an accepted request's that it does not show yet.
func (d *view) believed(st *groupState) int {
	if m := d.m.Groups[st.ID]; m.Requested.After(st.Read.At) {
		return max(st.Promised(), m.Capacity)
	}
	return st.Promised()
}
