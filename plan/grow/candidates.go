package grow

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/scheduling"
)

// Candidates are the groups that may grow for what is wanted, and which of them would do for whom. Blocked groups are not among them. There
// are three kinds of index:
//
//	index of  used by                          meaning
//	Groups    first, site.group                a group; its sites stand side by side, in the order of their turns
//	sites     free, wanted.suits, wanted.fits  a group, or one zone of a group that spans several
//	wanted                                     a demand; those that come first are served first
type Candidates struct {
	Groups []*Order
	sites  []site    // by group
	first  []int     // by group: the place of its first site
	free   [][]int64 // by site: what an empty machine has left beside its daemons, by dimension
	wanted []*wanted
}

// site is where machines of a group come up: one of the zones of a group that spans several, or all there is of another.
type site struct {
	*Order
	group int    // among the candidates
	fails bool   // none of the group's nodes is Ready: see [Failures.Failing]
	zone  string // "" of a group that spans none
}

// wanted is a demand, and what an empty machine of each site says of its pods. suits ignores all other pods, since others of the same
// demand may yet come to the site; fits counts them as they stand now. For a demand that does not depend on other pods both are the same.
//
//	field        written by
//	suits, fits  [Growth.Candidates]; leave and allow replace both together
//	depends      the checker, and noteSharedPorts
//	zonal        noteZonal, after passRefused has narrowed the sites
//	at, grown    [Joint.granted]; nil and 0 until a machine is added for some of the pods
type wanted struct {
	*place.Demand
	needs   []int64 // of one pod, by dimension
	suits   []bool  // by site: an empty machine would do for such a pod, whoever else is near
	fits    []bool  // by site: it would take such a pod as things stand
	depends bool    // on where other pods are
	alone   bool    // no two of them share a machine
	zonal   bool    // it matters in which zone of a group its machine comes up

	at    map[*Order]int // that grow for some of them, for how many
	grown int            // pods that went to machines which are being added
}

// label is the label of a machine that comes up there.
func (s site) label(key string) string { return s.Node(s.zone).Labels[key] }

// noteZonal marks the demands for which the zones of a group differ. It compares each site with the one before: where two sites of a group
// differ, two neighbours do.
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

// tells says whether counting pods is not enough: some depend on others or mind zones, or daemons leave different room in zones of a group.
// Then [Joint.settle] shows the pods to the checker, and the bound of the solution is no bound of what they cost.
func (c *Candidates) tells() bool {
	return slices.ContainsFunc(c.wanted, func(w *wanted) bool { return w.depends || w.zonal }) ||
		slices.ContainsFunc(c.Groups, func(st *Order) bool { return st.uneven })
}

// suited says whether an empty machine of the group would do for such a pod in at least one of its zones, whoever else is near.
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

// noteSharedPorts marks demands that ask for a host port which another demand asks for as well. Otherwise the packing would count pods of
// both onto one machine, and nobody would show them to the checker.
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

// noteFull marks groups that are at their max and would have done for pods that went elsewhere or nowhere. Their verdict says so then.
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
			if (w.Left() > 0 || elsewhere > 0) && c.suited(w, i) {
				st.want()
			}
		}
	}
}

// Candidates asks an empty machine of every group that may grow, in each of its zones, about every demand: so many questions as sites times
// demands. deliver leaves out groups whose machines are late (see [Late.waitsForLate]).
//
// The order of the steps matters. The checker has to know the templates before it says who depends on others: a daemon may refuse a pod,
// and there may be no pod of it yet (scenario daemon-refuses-pod). Shared ports make a demand depend, and fits is asked only of those that
// do.
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
		d.Machines.Template(s.Incoming, s.zone) // whose daemons, of which there may be no pod yet, are among those that pods mind
	}
	for _, dm := range wanting {
		c.wanted = append(c.wanted, &wanted{
			Demand: dm, needs: d.Check.Needs(dm.Of), depends: d.Check.Depends(dm.Of), suits: make([]bool, len(c.sites)), fits: make([]bool, len(c.sites)),
		})
	}
	c.noteSharedPorts()
	for i, s := range c.sites {
		d.Machines.OnEmpty(s.Incoming, s.zone, func(h scheduling.Handle) {
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

// leave leaves to a demand the sites for which some is true, and says whether that changes it. It changes nothing where none of these would
// do: a demand never loses its last site by it.
func (w *wanted) leave(some func(i int) bool) bool {
	suits, fits := make([]bool, len(w.suits)), make([]bool, len(w.fits))
	for i := range w.suits {
		suits[i] = w.suits[i] && some(i)
		fits[i] = w.fits[i] && suits[i]
	}
	if !slices.Contains(suits, true) || slices.Equal(suits, w.suits) {
		return false
	}
	w.allow(suits, fits)
	return true
}

// allow sets the sites that would do for the demand's pods, and those that take them as things stand.
func (w *wanted) allow(suits, fits []bool) { w.suits, w.fits = suits, fits }

// keep goes on with these demands alone.
func (c *Candidates) keep(rest []*wanted) { c.wanted = rest }
