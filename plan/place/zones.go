package place

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// TopologiesOf are the labels by whose values such pods have to be spread, near others or away from them.
// Constraints that the scheduler may break are left out, as they buy no machine (scenario preferences-buy-nothing).
func TopologiesOf(spec *corev1.PodSpec) []string {
	var keys []string
	for _, t := range spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == corev1.DoNotSchedule {
			keys = append(keys, t.TopologyKey)
		}
	}
	if a := spec.Affinity; a != nil {
		if a.PodAffinity != nil {
			for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				keys = append(keys, t.TopologyKey)
			}
		}
		if a.PodAntiAffinity != nil {
			for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				keys = append(keys, t.TopologyKey)
			}
		}
	}
	return keys
}

// rotate finds the order in which the group's machines come up, nil for a group that spans no zones.
//
//	machine                   zone
//	listed, coming, not late  what the list says; where it says nothing, by turn: the zones of [Arrivals.expected]
//	parked                    its own: a growth starts parked machines before it makes new ones
//	beyond those              by turn: see [cluster.NextZone]
func (mc *Machines) rotate(st *Incoming, coming []string) *rotation {
	if !st.Spans() || st.Template == nil {
		return nil
	}
	has := st.InZones()
	delete(has, "") // these take their turns
	r := &rotation{Zones: mc.zonesOf(st), has: has, count: maps.Clone(has), nodes: map[string]*corev1.Node{}}
	for _, zone := range coming {
		if zone != "" {
			r.known = append(r.known, zone)
		}
	}
	for _, in := range st.Parked {
		r.known = append(r.known, in.Zone)
	}
	return r
}

// zonesOf are the zones in which the group's next machines are expected: all of its zones but those that are passed over, while another is
// left.
// Package grow writes Astray when machines came up elsewhere (scenario zone-deviates). If all zones are passed over, none is.
func (mc *Machines) zonesOf(st *Incoming) []string {
	zones := slices.DeleteFunc(slices.Clone(st.Zones), func(zone string) bool {
		until := mc.Memory.Groups[st.ID].Astray[zone].Until
		mc.Wake(until)
		return until.After(mc.Now)
	})
	if len(zones) == 0 {
		return st.Zones
	}
	return zones
}
