package azuresim

import (
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
)

const maxCapacity = 1000 // instances of a scale set, Azure's limit

// maxPlaced is the limit of a scale set in a single placement group.
const maxPlaced = 100

// checkCapacity holds a capacity against the limits of the set's model.
func (ss *scaleSet) checkCapacity(n int) *problem {
	limit := maxCapacity
	if single, _ := dig(ss.model, "properties", "singlePlacementGroup").(bool); single && !ss.flexible() {
		limit = maxPlaced
	}
	if n <= limit {
		return nil
	}
	return bad("InvalidParameter", "The value of parameter sku.capacity is invalid: the capacity %d of Virtual Machine Scale Set '%s' is more than the limit of %d.",
		n, ss.name, limit).target("sku.capacity")
}

// checkModel refuses a model, as a write has made it of the one before, that
// Azure would refuse.
func (ss *scaleSet) checkModel(before map[string]any, capacity int) *problem {
	single := func(model map[string]any) any { return dig(model, "properties", "singlePlacementGroup") }
	switch {
	case ss.flexible() && strings.Contains(strings.ToLower(text(ss.model, "identity", "type")), "systemassigned"):
		return bad("InvalidParameter", "System assigned identity is not supported for Virtual Machine Scale Sets with flexible orchestration.").target("identity.type")
	case single(before) == false && single(ss.model) == true:
		return fail(http.StatusConflict, "PropertyChangeNotAllowed", "Changing property 'singlePlacementGroup' from false to true is not allowed.").target("singlePlacementGroup")
	}
	return ss.checkCapacity(capacity)
}

// overprovisioned is the share of extra instances of a growth.
const overprovisioned = 0.2

// vanish is how long the extra instances outlive the creation of the others:
// long enough for their kubelets to register (assumed).
const vanish = time.Minute

// overprovision starts more instances than a growth needs, if the set's model
// says so. They vanish when those that are needed are up.
func (s *Server) overprovision(ss *scaleSet, needed []*instance, now time.Time) {
	if on, _ := dig(ss.model, "properties", "overprovision").(bool); !on || ss.flexible() || len(needed) == 0 {
		return
	}
	last := now
	for _, i := range needed {
		last = later(last, i.settledAt())
	}
	for range int(math.Ceil(overprovisioned * float64(len(needed)))) {
		i := s.birth(ss, now)
		i.extra = true
		i.kill(last.Add(vanish))
	}
}

// resize makes the live instances n, as a write of sku.capacity does. It grows by
// creating instances; it shrinks by choosing victims itself, which is the danger
// of absolute writes. It answers quota, or the operation that was begun.
func (s *Server) resize(ss *scaleSet, n int, kind string, now time.Time) (*operation, *problem) {
	live := ss.live(now)
	if p := s.checkQuota(ss.demand(n-len(live)), now); p != nil {
		return nil, p
	}
	if p := s.checkSpot(ss, n-len(live)); p != nil {
		return nil, p
	}
	var o operation
	for range n - len(live) {
		i := s.birth(ss, now)
		s.strikeNewborn(i, kind)
		s.allot(i, now)
		o.creates = append(o.creates, i)
	}
	s.overprovision(ss, o.creates, now)
	for _, i := range ss.victims(len(live)-n, now) {
		s.doom(&o, i, kind, now)
	}
	return s.begin(ss, now, o), nil
}

// doom starts the deletion of an instance as part of an operation.
func (s *Server) doom(o *operation, i *instance, kind string, now time.Time) {
	i.kill(now)
	o.deletes = true
	if s.strikeDoomed(i, kind) {
		o.until = later(o.until, now.Add(i.deathTime))
		return
	}
	switch {
	case !i.deleteFailAt.IsZero():
		o.until = later(o.until, i.deleteFailAt)
		o.errors = append(o.errors, i.deleteFailure)
	case i.goneAt.IsZero():
		o.endless = true
	default:
		o.until = later(o.until, i.goneAt)
	}
}

// victims are the n instances Azure removes when capacity is lowered: it first
// balances the zones, then takes the highest id or, by the scale-in policy, the
// oldest or the newest. It knows nothing of what runs on them, and spares only
// the protected.
func (ss *scaleSet) victims(n int, now time.Time) []*instance {
	byZone := map[string][]*instance{} // candidates, the next victim last
	oldest := ss.scaleInPolicy() == "OldestVM"
	weight := map[string]int{}
	for _, i := range ss.live(now) {
		weight[i.zone]++
		if !i.protection.FromScaleIn && !i.protection.FromScaleSetActions {
			byZone[i.zone] = append(byZone[i.zone], i)
		}
	}
	for _, list := range byZone {
		if oldest {
			slices.Reverse(list)
		}
	}
	before := func(a, b *instance) bool { return (a.number < b.number) == oldest }

	var victims []*instance
	for len(victims) < n {
		var next *instance
		for _, list := range byZone {
			if len(list) == 0 {
				continue
			}
			c := list[len(list)-1]
			if next == nil || weight[c.zone] > weight[next.zone] ||
				weight[c.zone] == weight[next.zone] && before(c, next) {
				next = c
			}
		}
		if next == nil {
			break
		}
		victims = append(victims, next)
		weight[next.zone]--
		byZone[next.zone] = byZone[next.zone][:len(byZone[next.zone])-1]
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
