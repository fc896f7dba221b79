package grow

import (
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/packing"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/node"
	"sluice.dev/sluice/plan/place"
)

// mix is a packing problem and what its parts stand for. newMix writes all but found. Its groups are lots: several groups that are alike,
// or one zone of a group.
//
//	index of               used by
//	the candidates' sites  alone
//	problem.Groups         lots, and packing.Machines.Group
//	problem.Classes        classes, and packing.Pods.Class
//
// priced is false where some group has no price and none can be assumed. A price and a weight cannot be compared, so all costs are weights
// then.
type mix struct {
	problem packing.Problem
	alone   []packing.Group // by the candidates' sites: each as a group of its own
	found   packing.Solution
	lots    []lot     // by the problem's groups
	classes []*wanted // by the problem's classes; a demand may be several
	priced  bool      // costs are millionths of a dollar an hour; else they are weights
	assumed assumed   // prices that nobody knows
}

// lot is groups that are one to the problem, as nothing that is wanted tells them apart; or one zone of a group, where something does.
type lot struct {
	groups []*Order
	zone   string // "" for all of the groups
}

// Joint chooses the machines of all groups together, so that they cost least.
type Joint struct {
	*Orders
	limits    *Limits
	additions *Additions
	turns     *turns
	Cost      *action.Cost
}

// grow chooses the mix of machines that costs least, over all groups and all demands at once. Pods that do not depend on others are
// counted. The others are shown to the checker on the machines that were meant for them, and what it does not let stay there goes
// elsewhere.
//
//	step           what happens
//	narrow         sites that come later are taken away
//	addMix         the mix for all pods
//	widen, addMix  a mix for the pods that are left, on all sites; only where that is more
//	account        what it costs, and the least that any growth would
//	weigh          what it was weighed against
func (jt *Joint) grow(c *Candidates) {
	if len(c.Groups) == 0 {
		return
	}
	narrowed, widen := c.narrow()
	b := jt.addMix(c)
	if widen() {
		b = jt.addMix(c)
	}
	jt.account(c, b, narrowed)
	jt.weigh(c, b)
}

// addMix adds the machines of the mix for what is left.
func (jt *Joint) addMix(c *Candidates) *mix {
	b := newMix(jt, c)
	b.found = packing.Solve(b.problem)
	jt.settle(c, b, jt.openMix(b, b.found))
	return b
}

// newMix makes the packing problem for the pods that are left, within the limits that are left now: each group's own (Max), and those over
// several groups (Caps). Priority is the rank, so a limit leaves out the less important pods (scenario limits-by-priority).
func newMix(jt *Joint, c *Candidates) *mix {
	b := &mix{assumed: jt.assumePrices(c.Groups)}
	b.priced = !slices.ContainsFunc(c.Groups, func(st *Order) bool { return b.price(st) <= 0 })
	caps, uses := jt.limits.room()
	b.problem.Caps = caps
	lotOf := b.gather(jt, c, uses)
	b.shareZones(jt)
	for _, w := range c.wanted {
		for _, part := range b.parts(c, w) {
			set := packing.NewSet(len(b.lots))
			some := false
			for i, allowed := range part.sites {
				if allowed {
					set.Add(lotOf[i])
					some = true
				}
			}
			if !some || part.count == 0 {
				continue
			}
			class := packing.Class{Requests: w.needs, Count: part.count, Groups: set, Rank: int(w.Of.Priority())}
			if w.alone {
				class.PerMachine = 1
			}
			b.problem.Classes = append(b.problem.Classes, class)
			b.classes = append(b.classes, w)
		}
	}
	return b
}

// gather makes lots of groups that are alike to all that is wanted, and returns each site's lot. Fewer groups make a smaller problem, and
// [Joint.share] divides the machines of a lot later.
//
//	site                                                                    its lot
//	of a group whose zones differ for what is wanted                        its own, with its zone
//	another site of a group whose zones do not differ                       that of the group's first site
//	of a group that suits a demand which depends on other pods              its own: its zone may matter to them
//	with the same room, cost, tie, uses and welcome pods as an earlier one  that one's; what both may add is summed up
//	any other                                                               its own
func (b *mix) gather(jt *Joint, c *Candidates, uses func(*Order) []int64) []int {
	type key struct{ room, welcome string }
	known := map[key]int{}
	lotOf := make([]int, len(c.sites))
	apart := c.apart()
	for i, s := range c.sites {
		g := packing.Group{Capacity: c.free[i], Cost: b.cost(s.Order), Tie: b.tie(s.Order), Max: jt.limits.MostMore(s.Order), Uses: uses(s.Order)}
		b.alone = append(b.alone, g)
		if i > 0 && c.sites[i-1].group == s.group && !apart[s.group] {
			lotOf[i] = lotOf[i-1]
			continue
		}
		one := lot{groups: []*Order{s.Order}}
		var welcome strings.Builder
		own := apart[s.group]
		if own {
			one.zone = s.zone
			g.Tie++ // a group that is of one zone alone keeps what it promises
		}
		for _, w := range c.wanted {
			welcome.WriteByte("01"[node.Btoi(w.suits[i])])
			own = own || w.depends && w.suits[i]
		}
		k := key{place.Words(g.Capacity, []int64{g.Cost, g.Tie}, g.Uses), welcome.String()}
		if at, ok := known[k]; ok && !own {
			b.lots[at].groups = append(b.lots[at].groups, s.Order)
			b.problem.Groups[at].Max += g.Max
			lotOf[i] = at
			continue
		}
		if !own {
			known[k] = len(b.lots)
		}
		lotOf[i] = len(b.lots)
		b.lots = append(b.lots, one)
		b.problem.Groups = append(b.problem.Groups, g)
	}
	return lotOf
}

// apart says of every group whether its zones differ for what is wanted: in the pods that they suit, or in the room that daemons leave
// there. The latter it notes as uneven in the Order.
func (c *Candidates) apart() []bool {
	apart := make([]bool, len(c.Groups))
	for i, s := range c.sites {
		if i == 0 || c.sites[i-1].group != s.group {
			continue
		}
		s.uneven = s.uneven || !slices.Equal(c.free[i], c.free[i-1])
		apart[s.group] = apart[s.group] || s.uneven || slices.ContainsFunc(c.wanted, func(w *wanted) bool {
			return w.zonal && (w.suits[i] || w.suits[i-1])
		})
	}
	return apart
}

// shareZones limits the zones of a group together to what the group may add. Each zone is a group of the problem with the whole group's
// Max, so without this cap three zones would add three times as much. The cap is one more of the problem's Caps, of which a machine uses
// one.
func (b *mix) shareZones(jt *Joint) {
	limit := map[*Order]int{}
	for i, l := range b.lots {
		if l.zone == "" {
			continue
		}
		st := l.groups[0]
		k, known := limit[st]
		if !known {
			k = len(b.problem.Caps)
			limit[st] = k
			b.problem.Caps = append(b.problem.Caps, int64(jt.limits.MostMore(st)))
		}
		g := &b.problem.Groups[i]
		g.Uses = append(g.Uses, make([]int64, k+1-len(g.Uses))...)
		g.Uses[k] = 1
	}
}

// cost is what a machine of the group costs in the mix: its price, or how large it is where none is known, so that least is
// wasted.
func (b *mix) cost(st *Order) int64 {
	if b.priced {
		return int64(math.Round(b.price(st) * 1e6))
	}
	return int64(math.Round(place.Weight(st.Template.Status.Allocatable) * 1e6))
}

// tie decides between mixes of equal cost: many small machines rather than few large ones, since they are empty sooner. It is a cost
// squared, and the sum of squares is least for the small ones.
//
// Of machines alike, those that the cloud may take away come first (scenario spot-first). Where no price tells them apart, a spot machine
// is still the cheaper. The factor of 4 leaves room below the square for what matters less: 2 for a machine that is not spot, and 1 that
// gather adds for a zone of a group whose zones differ.
func (b *mix) tie(st *Order) int64 {
	thousandths := b.cost(st) / 1000
	tie := 4 * thousandths * thousandths
	if !st.Spot {
		tie += 2
	}
	return tie
}

// part is some of a demand's pods with the sites that may run them.
type part struct {
	count int
	sites []bool
}

// parts divides the pods of a demand as their constraints would. It is a guess that only decides for whom machines are meant: settle shows
// the pods to the checker.
//
//	pods                                  parts
//	do not depend on others               one, with all sites
//	have to be near others in a topology  one, with the sites of the cheapest domain
//	have to be spread over a topology     one for each domain, as even as they go; domains that take such a pod now come first
//	both                                  spread over the domains within the cheapest one
func (b *mix) parts(c *Candidates, w *wanted) []part {
	if !w.depends {
		return []part{{w.Left(), w.suits}}
	}
	suits := w.suits
	if key := nearKey(w.Of.Spec); key != "" {
		suits = b.together(c, w, key)
	}
	key, skew := spreads(w.Of)
	if key == "" {
		return []part{{w.Left(), suits}}
	}
	var domains, later []string // later: those that take no such pod as things stand
	for i, at := range c.sites {
		switch v := at.label(key); {
		case !suits[i] || slices.Contains(domains, v):
		case w.fits[i]:
			domains = append(domains, v)
		case !slices.Contains(later, v):
			later = append(later, v)
		}
	}
	later = slices.DeleteFunc(later, func(v string) bool { return slices.Contains(domains, v) })
	slices.Sort(domains)
	slices.Sort(later)
	domains = append(domains, later...)
	parts := make([]part, len(domains))
	for j, v := range domains {
		parts[j] = part{w.Left()*(j+1)/len(domains) - w.Left()*j/len(domains), make([]bool, len(c.sites))}
		if w.Left() < skew*len(domains) { // one domain may stay without any, so that each may have as many as that
			parts[j].count = min(skew, max(0, w.Left()-skew*j))
		}
		for i, at := range c.sites {
			parts[j].sites[i] = suits[i] && at.label(key) == v
		}
	}
	return parts
}

// spreads is the first topology, wider than a node, over which such pods must be spread from each other, and their largest skew; "" for
// none. A constraint that selects other pods alone is left out: it may forbid domains, but it does not part these pods (scenario
// spread-selects-nobody).
func spreads(of *cluster.Class) (key string, skew int) {
	for _, t := range of.Spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable != corev1.DoNotSchedule || t.TopologyKey == corev1.LabelHostname {
			continue
		}
		if s, err := metav1.LabelSelectorAsSelector(t.LabelSelector); err == nil && s.Matches(labels.Set(of.Labels)) {
			return t.TopologyKey, int(t.MaxSkew)
		}
	}
	return "", 0
}

// nearKey is the first topology, wider than a node, in which such pods must be near others.
func nearKey(spec *corev1.PodSpec) string {
	if a := spec.Affinity; a != nil && a.PodAffinity != nil {
		for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if t.TopologyKey != corev1.LabelHostname {
				return t.TopologyKey
			}
		}
	}
	return ""
}

// together are the sites of the one domain in which the demand costs least, of those in which it fits as things stand. Machines that come
// up only because of another zone's turn are part of the cost. Where it fits nowhere yet, all sites stay: the pods that it has to be near
// may get their places first.
func (b *mix) together(c *Candidates, w *wanted, key string) []bool {
	best, domain := math.Inf(1), ""
	for i, at := range c.sites {
		if !w.fits[i] {
			continue
		}
		fit := c.onOne(i, w)
		machines := (int64(w.Left()) + fit - 1) / fit
		if cost := float64(int64(at.Reaches(at.zone, int(machines))) * b.cost(at.Order)); cost < best {
			best, domain = cost, at.label(key)
		}
	}
	if math.IsInf(best, 1) {
		return w.suits
	}
	out := make([]bool, len(c.sites))
	for i, at := range c.sites {
		out[i] = w.suits[i] && at.label(key) == domain
	}
	return out
}

// onOne is how many of the demand's pods that are left an empty machine of the site would hold by what they ask for, at least one.
func (c *Candidates) onOne(at int, w *wanted) int64 {
	if w.alone {
		return 1
	}
	fit := int64(w.Left())
	for dim, need := range w.needs {
		if need > 0 {
			fit = min(fit, c.free[at][dim]/need)
		}
	}
	return max(1, fit)
}

// openMix opens the machines of a solution and puts the pods on them that do not depend on others; the others are noted as meant. Machines
// of groups over zones are opened after all others, as zones take turns, and some of them may be left out: see seat.
func (jt *Joint) openMix(b *mix, s packing.Solution) []*machine {
	var open []*machine
	var spanning []*seats
	seating := map[*Order]int{} // machines meant for groups that span zones, which are not added yet
	for _, m := range s.Machines {
		l := b.lots[m.Group]
		for _, st := range jt.share(l.groups, m.Count, seating) {
			one := &machine{}
			for _, p := range m.Pods {
				w := b.classes[p.Class]
				if w.depends {
					one.meant = append(one.meant, meant{w, p.Count})
					continue
				}
				one.plain = append(one.plain, meant{w, p.Count})
			}
			if st.Rotation != nil {
				seating[st]++
				spanning = seated(spanning, st, l.zone, one)
				continue
			}
			one.open(jt.additions.Adopt(st, 1)[0])
			one.take(st, st.Opened-1)
			open = append(open, one)
		}
	}
	for _, own := range spanning {
		open = append(open, jt.seat(own)...)
	}
	for _, m := range open {
		for _, p := range m.plain {
			jt.Check.PlaceMany(p.Of, p.n, m.handle)
			jt.granted(m, p.wanted, p.n)
		}
	}
	return open
}

// granted counts n pods of a demand on a machine that is being added. The checker has them there already. The pods are the next ones of the
// demand, so the zonal grant is noted before Serve moves Served on.
func (jt *Joint) granted(m *machine, w *wanted, n int) {
	m.pods += n
	if w.at == nil {
		w.at = map[*Order]int{}
	}
	w.at[m.of] += n
	w.grown += n
	jt.Place(w.Demand, n, m.handle)
	if w.zonal && m.zone != "" {
		m.zonal = append(m.zonal, granted{w.Demand, w.Served, n})
	}
	jt.additions.grant(w.Demand, n, m.of.ID)
}

// share divides n machines over groups that are alike: one by one to the group that has the fewest. seating has the machines that are meant
// for groups over zones, and not added yet; nil for none. The result names a group for each machine, and is shorter than n where the groups
// may not add as many.
//
//	groups                                                             how
//	the operator wants similar groups balanced, or their zones differ  by size, so that zones stay balanced
//	else                                                               the first takes all that it may add, then the next
func (jt *Joint) share(lot []*Order, n int, seating map[*Order]int) []*Order {
	if len(lot) == 1 {
		return slices.Repeat(lot, n)
	}
	balance := jt.Policy.Growth.Balance.Similar || slices.ContainsFunc(lot, func(st *Order) bool {
		return !st.Spans() && st.Template.Labels[corev1.LabelTopologyZone] != lot[0].Template.Labels[corev1.LabelTopologyZone]
	})
	shares := make([]Share, len(lot))
	for i, st := range lot {
		shares[i] = Share{st.ID, jt.Believed(st.GroupFacts) + st.Adding + seating[st], jt.limits.MostMore(st) - seating[st]}
		if !balance {
			shares[i].Capacity = -math.MaxInt32 * (len(lot) - i) // the first ones stay the smallest
		}
	}
	out := make([]*Order, 0, n)
	for i, more := range Spread(n, shares) {
		out = append(out, slices.Repeat(lot[i:i+1], more)...)
	}
	return out
}

// account says what the growth costs, and the least that any would, both in USD an hour. It says nothing where a price is unknown or
// assumed. Machines of floors are left out.
//
//	the mix                                        the least is
//	asked all sites, and counting pods was enough  the bound that the solution has
//	else                                           what relaxed proves for the pods that are on added machines
//
// In the second case the solution knows nothing of the sites that were taken away, and its pods may have found room on nodes instead.
func (jt *Joint) account(c *Candidates, b *mix, narrowed bool) {
	if !b.priced || len(b.assumed) > 0 {
		return
	}
	spent, cost := 0.0, int64(0)
	for _, st := range c.Groups {
		n := st.Adding - st.raised
		spent += float64(n) * st.PriceUSDPerHour
		cost += int64(n) * b.cost(st)
	}
	if spent == 0 {
		return
	}
	bound := b.found.Bound
	if narrowed || c.tells() {
		bound = b.relaxed(c, cost)
	}
	jt.Cost = &action.Cost{USDPerHour: spent, LeastUSDPerHour: min(spent, float64(bound)/1e6)}
}

// relaxedEffort is what [mix.relaxed] spends, as [packing.Problem.Effort] has it.
const relaxedEffort = 20

// relaxed is the least that the pods on added machines would cost if they did not mind each other, in the unit of the mix. It heeds the
// limits with which this mix began; those with which a mix before it began are not known here. Pods that found a place on nodes in the
// meantime cost nothing and raise no bound. cost is what the machines cost.
func (b *mix) relaxed(c *Candidates, cost int64) int64 {
	p := packing.Problem{Groups: b.alone, Caps: b.problem.Caps, Effort: relaxedEffort}
	for _, w := range c.wanted {
		set, some := packing.NewSet(len(c.sites)), false
		for i, suits := range w.suits {
			if suits {
				set.Add(i)
				some = true
			}
		}
		if n := w.grown; some && n > 0 {
			class := packing.Class{Requests: w.needs, Count: n, Groups: set}
			if w.alone {
				class.PerMachine = 1
			}
			p.Classes = append(p.Classes, class)
		}
	}
	return packing.Bound(p, cost)
}
