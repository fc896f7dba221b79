package plan

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/packing"
	"sluice.dev/sluice/scheduling"
)

// growJointly chooses the mix of machines that costs least, over all groups and all demands at once. Pods that do not mind each other are
// counted; the others are shown to the checker on the machines that were meant for them, and what it does not let stay there goes
// elsewhere.
func (d *decision) growJointly(c *candidates) {
	if len(c.groups) == 0 {
		return
	}
	b := newMix(d, c)
	b.found = packing.Solve(b.problem)
	d.settle(c, b, d.openMix(b, b.found))
	d.account(c, b, b.found)
	d.weigh(c, b)
}

// mix is a packing problem and what its parts stand for.
type mix struct {
	problem packing.Problem
	alone   []packing.Group // by the candidates' groups: each as a group of its own
	found   packing.Solution
	lots    [][]*groupState // groups that are one to the problem, as nothing that is wanted tells them apart
	classes []*wanted       // by the problem's classes; a demand may be several
	priced  bool            // costs are millionths of a dollar an hour; else they are weights
}

func newMix(d *decision, c *candidates) *mix {
	b := &mix{priced: true}
	for _, st := range c.groups {
		b.priced = b.priced && st.PriceUSDPerHour > 0
	}
	caps, uses := d.room()
	b.problem.Caps = caps
	lotOf := b.gather(d, c, uses)
	for _, w := range c.wanted {
		for _, part := range b.parts(c, w) {
			set := packing.NewSet(len(b.lots))
			some := false
			for i, allowed := range part.groups {
				if allowed {
					set.Add(lotOf[i])
					some = true
				}
			}
			if !some || part.count == 0 {
				continue
			}
			class := packing.Class{Requests: w.needs, Count: part.count, Groups: set, Rank: int(w.of.Priority())}
			if w.alone {
				class.PerMachine = 1
			}
			b.problem.Classes = append(b.problem.Classes, class)
			b.classes = append(b.classes, w)
		}
	}
	return b
}

// gather makes lots of groups that are alike to all that is wanted: the same room, cost and limits' share, and the same pods welcome. It
// returns each group's lot. Where pods depend on each other a group is a lot of its own, since its zone may matter to them.
func (b *mix) gather(d *decision, c *candidates, uses func(*groupState) []int64) []int {
	type key struct{ room, welcome string }
	known := map[key]int{}
	lotOf := make([]int, len(c.groups))
	for i, st := range c.groups {
		g := packing.Group{Capacity: c.free[i], Cost: b.cost(st), Tie: b.tie(st), Max: d.mostMore(st), Uses: uses(st)}
		b.alone = append(b.alone, g)
		var welcome strings.Builder
		own := false
		for _, w := range c.wanted {
			welcome.WriteByte("01"[btoi(w.suits[i])])
			own = own || w.depends && w.suits[i]
		}
		k := key{words(g.Capacity, []int64{g.Cost, g.Tie}, g.Uses), welcome.String()}
		if lot, ok := known[k]; ok && !own {
			b.lots[lot] = append(b.lots[lot], st)
			b.problem.Groups[lot].Max += g.Max
			lotOf[i] = lot
			continue
		}
		known[k] = len(b.lots)
		lotOf[i] = len(b.lots)
		b.lots = append(b.lots, []*groupState{st})
		b.problem.Groups = append(b.problem.Groups, g)
	}
	return lotOf
}

func words(lists ...[]int64) string {
	var b strings.Builder
	for _, l := range lists {
		for _, n := range l {
			for range 8 {
				b.WriteByte(byte(n))
				n >>= 8
			}
		}
	}
	return b.String()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// cost is what a machine of the group costs in the mix: its price, or how large it is where not every price is known, so that least is
// wasted.
func (b *mix) cost(st *groupState) int64 {
	if b.priced {
		return int64(math.Round(st.PriceUSDPerHour * 1e6))
	}
	return int64(math.Round(weight(st.Template.Status.Allocatable) * 1e6))
}

// tie decides between mixes of equal cost: many small machines rather than few large ones, since they are empty sooner. It is a cost
// squared, which the small ones have least of. Of machines alike those that the cloud may take away come first: where their price is not
// known, as weights do not tell, it is still the lower one.
func (b *mix) tie(st *groupState) int64 {
	thousandths := b.cost(st) / 1000
	tie := 2 * thousandths * thousandths
	if !st.Spot {
		tie++
	}
	return tie
}

// part is some of a demand's pods with the groups that may run them.
type part struct {
	count  int
	groups []bool
}

// parts divides the pods of a demand as their constraints would: over the domains that they have to be spread over, or into the one in
// which they have to be together. It is a guess that only decides for whom machines are meant.
func (b *mix) parts(c *candidates, w *wanted) []part {
	if !w.depends {
		return []part{{w.left(), w.suits}}
	}
	suits := w.suits
	if key := nearKey(w.of.Spec); key != "" {
		suits = b.together(c, w, key)
	}
	key := spreadKey(w.of.Spec)
	if key == "" {
		return []part{{w.left(), suits}}
	}
	var domains []string
	for i, st := range c.groups {
		if v := st.Template.Labels[key]; suits[i] && !slices.Contains(domains, v) {
			domains = append(domains, v)
		}
	}
	slices.Sort(domains)
	parts := make([]part, len(domains))
	for j, v := range domains {
		parts[j] = part{w.left()*(j+1)/len(domains) - w.left()*j/len(domains), make([]bool, len(c.groups))}
		for i, st := range c.groups {
			parts[j].groups[i] = suits[i] && st.Template.Labels[key] == v
		}
	}
	return parts
}

// spreadKey is the first topology, wider than a node, over which such pods must be spread.
func spreadKey(spec *corev1.PodSpec) string {
	for _, t := range spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == corev1.DoNotSchedule && t.TopologyKey != corev1.LabelHostname {
			return t.TopologyKey
		}
	}
	return ""
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

// together are the groups of the one domain in which the demand costs least, of those in which it is welcome as things stand.
func (b *mix) together(c *candidates, w *wanted, key string) []bool {
	best, domain := math.Inf(1), ""
	for i, st := range c.groups {
		if !w.fits[i] {
			continue
		}
		fit := c.onOne(i, w)
		machines := (int64(w.left()) + fit - 1) / fit
		if cost := float64(machines * b.cost(st)); cost < best {
			best, domain = cost, st.Template.Labels[key]
		}
	}
	if math.IsInf(best, 1) {
		return w.suits
	}
	out := make([]bool, len(c.groups))
	for i, st := range c.groups {
		out[i] = w.suits[i] && st.Template.Labels[key] == domain
	}
	return out
}

// onOne is how many of the demand's pods that are left an empty machine of the group would hold by what they ask for, at least one.
func (c *candidates) onOne(group int, w *wanted) int64 {
	if w.alone {
		return 1
	}
	fit := int64(w.left())
	for dim, need := range w.needs {
		if need > 0 {
			fit = min(fit, c.free[group][dim]/need)
		}
	}
	return max(1, fit)
}

// machine is one that is being added.
type machine struct {
	handle scheduling.Handle
	of     *groupState
	pods   int
	plain  []meant // pods that do not mind others, which are there already
	meant  []meant // pods that do, to be shown to the checker
}

type meant struct {
	*wanted
	n int
}

// openMix opens the machines of a solution and puts the pods on them that do not mind each other.
func (d *decision) openMix(b *mix, s packing.Solution) []*machine {
	var open []*machine
	for _, m := range s.Machines {
		for _, st := range d.share(b.lots[m.Group], m.Count) {
			one := &machine{of: st, handle: d.adopt(st, 1)[0]}
			for _, p := range m.Pods {
				w := b.classes[p.Class]
				if w.depends {
					one.meant = append(one.meant, meant{w, p.Count})
					continue
				}
				one.plain = append(one.plain, meant{w, p.Count})
			}
			open = append(open, one)
		}
	}
	for _, m := range open {
		for _, p := range m.plain {
			d.check.PlaceMany(p.of, p.n, m.handle)
			d.granted(m, p.wanted, p.n)
		}
	}
	return open
}

// granted counts pods of a demand on a machine that is being added.
func (d *decision) granted(m *machine, w *wanted, n int) {
	m.pods += n
	if w.at == nil {
		w.at = map[*groupState]int{}
	}
	w.at[m.of] += n
	w.grown += n
	d.place(w.demand, n, m.handle)
	d.grant(w.demand, n, m.of.ID)
}

// share divides machines over groups that are alike: one by one to the group that has the fewest, so that zones stay balanced; where zones
// are the same and nobody asked for balance, to the first that may grow.
func (d *decision) share(lot []*groupState, n int) []*groupState {
	if len(lot) == 1 {
		return slices.Repeat(lot, n)
	}
	balance := d.allowed.Growth.Balance.Similar || slices.ContainsFunc(lot, func(st *groupState) bool {
		return st.Template.Labels[corev1.LabelTopologyZone] != lot[0].Template.Labels[corev1.LabelTopologyZone]
	})
	shares := make([]Share, len(lot))
	for i, st := range lot {
		shares[i] = Share{st.ID, d.believed(st) + st.adding, d.mostMore(st)}
		if !balance {
			shares[i].Capacity = -math.MaxInt32 * (len(lot) - i) // the first ones stay the smallest
		}
	}
	out := make([]*groupState, 0, n)
	for i, more := range Spread(n, shares) {
		out = append(out, slices.Repeat(lot[i:i+1], more)...)
	}
	return out
}

// further adds one machine that takes a pod of the demand, of the group that costs least for each pod that would fit an empty one; nil
// when there is none.
func (d *decision) further(c *candidates, b *mix, w *wanted) *machine {
	type choice struct {
		st   *groupState
		cost float64
	}
	var choices []choice
	for i, st := range c.groups {
		if !w.suits[i] {
			continue
		}
		choices = append(choices, choice{st, float64(b.cost(st)) / float64(c.onOne(i, w))})
	}
	slices.SortStableFunc(choices, func(x, y choice) int {
		return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(btoi(y.st.Spot), btoi(x.st.Spot)))
	})
	total := d.totals()
	for _, x := range choices {
		if d.limit(x.st, total, 0) != nil {
			continue
		}
		takes := false
		d.onEmpty(x.st, func(h scheduling.Handle) { takes = d.check.Room(w.of, h) > 0 })
		if takes {
			return &machine{of: x.st, handle: d.adopt(x.st, 1)[0]}
		}
	}
	return nil
}

// account says what the growth costs, and the least that any would.
func (d *decision) account(c *candidates, b *mix, s packing.Solution) {
	if !b.priced {
		return
	}
	spent, cost := 0.0, int64(0)
	for _, st := range c.groups {
		n := st.adding - st.raised
		spent += float64(n) * st.PriceUSDPerHour
		cost += int64(n) * b.cost(st)
	}
	if spent == 0 {
		return
	}
	bound := s.Bound
	if slices.ContainsFunc(c.wanted, func(w *wanted) bool { return w.depends }) {
		bound = b.relaxed(c, cost)
	}
	d.cost = &Cost{USDPerHour: spent, LeastUSDPerHour: min(spent, float64(bound)/1e6)}
}

// relaxedEffort is what [mix.relaxed] spends, as [packing.Problem.Effort] has it.
const relaxedEffort = 20

// relaxed is the least that pods cost which went to machines that are being added, were they not to mind each other: within the limits as
// they were before. Pods that found a place on nodes in the meantime cost nothing and raise no bound. Cost is what the machines cost.
func (b *mix) relaxed(c *candidates, cost int64) int64 {
	p := packing.Problem{Groups: b.alone, Caps: b.problem.Caps, Effort: relaxedEffort}
	for _, w := range c.wanted {
		set, some := packing.NewSet(len(c.groups)), false
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
