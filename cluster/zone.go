package cluster

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Spans says whether the group's machines are spread over several zones.
func (g *Group) Spans() bool { return len(g.Zones) > 1 }

// InZones counts the machines that the group has in each zone, parked ones too, but not those that are being deleted, as a cloud counts
// when it balances zones. Machines whose zone is not known yet are under "".
func (g *Group) InZones() map[string]int {
	count := map[string]int{}
	for _, list := range [][]*Instance{g.Instances, g.Parked} {
		for _, in := range list {
			if in.State != StateDeleting {
				count[in.Zone]++
			}
		}
	}
	return count
}

// NextZone is where a cloud that balances zones puts the next machine: the zone that has the fewest, of several the first in their order;
// "" when there is no zone.
func NextZone(zones []string, count map[string]int) string {
	if len(zones) == 0 {
		return ""
	}
	return slices.MinFunc(zones, func(a, b string) int { return count[a] - count[b] })
}

// InZone is a template as it holds for a machine that comes up in that zone: each of its labels that ends in "/zone" and says the zone of
// the template names this zone instead. A template that is of the zone already is returned as it is; neither it nor the result may be
// changed.
func InZone(template *corev1.Node, zone string) *corev1.Node {
	was := template.Labels[corev1.LabelTopologyZone]
	if was == zone {
		return template
	}
	out := *template
	out.Labels = maps.Clone(template.Labels)
	for key, value := range template.Labels {
		if strings.HasSuffix(key, "/zone") && value == was {
			out.Labels[key] = zone
		}
	}
	return &out
}
