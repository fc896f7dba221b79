package azuresim

import (
	"cmp"
	"slices"
	"time"
)

// resize makes the live instances n, as a write of sku.capacity does. It grows by
// creating instances; it shrinks by choosing victims itself, which is the danger
// of absolute writes. It answers quota, or the operation that was begun.
func (c compute) resize(ss *scaleSet, n int, kind string, now time.Time) (*operation, *problem) {
	live := ss.live(now)
	if n > len(live) {
		if p := c.store.skus.check(ss.size(), ss.name, ss.subscription, ss.location, ss.zones()); p != nil {
			return nil, p
		}
	}
	if n < len(live) && c.beliefs.LowerRefused {
		return nil, concurrentRequest()
	}
	if p := c.capacity.checkQuota(ss.demand(n-len(live)), now); p != nil {
		return nil, p
	}
	if p := c.capacity.checkSpot(ss, n-len(live)); p != nil {
		return nil, p
	}
	var o operation
	for range n - len(live) {
		i := c.birth(ss, now)
		c.strikeNewborn(i, kind, now)
		c.allot(i, now)
		o.creates = append(o.creates, i)
	}
	c.overprovision(ss, o.creates, now)
	for _, i := range ss.victims(len(live)-n, now) {
		c.doom(&o, i, kind, now)
	}
	return c.store.operations.begin(c.seed, ss, now, o), nil
}

// doom starts the deletion of an instance as part of an operation.
func (c compute) doom(o *operation, i *instance, kind string, now time.Time) {
	told, runs, gone := i.deletion.underWay(now) && !i.deletion.lastWord.IsZero(), i.powerState(now) == "running", i.deletion.goneAt
	i.deletion.begin(now)
	o.deletes = true
	if told { // a second delete does not shorten its notice
		i.deletion.goneAt = gone
		o.doomed = append(o.doomed, i)
	} else if notice := i.terminateNotice(); notice > 0 && runs {
		c.events.carryOut(c.events.announce(i, Terminate, "User", notice, now))
		o.doomed = append(o.doomed, i)
	}
	if c.strikeDoomed(i, kind) {
		o.until = later(o.until, now.Add(i.deletion.takes))
		return
	}
	switch {
	case !i.deletion.failAt.IsZero():
		o.until = later(o.until, i.deletion.failAt)
		o.errors = append(o.errors, i.deletion.failure)
	case i.deletion.goneAt.IsZero():
		o.doomed = append(o.doomed, i)
	case i.deletion.lastWord.IsZero():
		o.until = later(o.until, i.deletion.goneAt)
	}
}

// victims are the n instances Azure removes when capacity is lowered: it first
// balances the zones, and by the default policy the fault domains in them; then
// it takes the highest id or, by the other policies, the oldest or the newest. It
// knows nothing of what runs on them, and spares only the protected.
func (ss *scaleSet) victims(n int, now time.Time) []*instance {
	type domain struct {
		zone  string
		fault int
	}
	policy := ss.scaleInPolicy()
	zones, domains := map[string]int{}, map[domain]int{}
	var candidates []*instance
	for _, i := range ss.live(now) {
		zones[i.placement.zone]++
		domains[domain{i.placement.zone, i.placement.faultDomain}]++
		if !i.protection.FromScaleIn && !i.protection.FromScaleSetActions {
			candidates = append(candidates, i)
		}
	}
	before := func(a, b *instance) int { // the next victim first
		order := cmp.Compare(zones[b.placement.zone], zones[a.placement.zone])
		switch policy {
		case "OldestVM":
			return cmp.Or(order, a.created.Compare(b.created), a.number-b.number)
		case "NewestVM":
			return cmp.Or(order, b.created.Compare(a.created), b.number-a.number)
		}
		return cmp.Or(order, domains[domain{b.placement.zone, b.placement.faultDomain}]-domains[domain{a.placement.zone, a.placement.faultDomain}], b.number-a.number)
	}
	var victims []*instance
	for len(victims) < n && len(candidates) > 0 {
		next := slices.MinFunc(candidates, before)
		victims = append(victims, next)
		zones[next.placement.zone]--
		domains[domain{next.placement.zone, next.placement.faultDomain}]--
		candidates = slices.DeleteFunc(candidates, func(i *instance) bool { return i == next })
	}
	return victims
}

func (ss *scaleSet) scaleInPolicy() string {
	rules, _ := dig(ss.model, "properties", "scaleInPolicy", "rules").([]any)
	if len(rules) == 0 {
		return "Default"
	}
	rule, _ := rules[0].(string)
	return rule
}
