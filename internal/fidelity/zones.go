package fidelity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// span spreads a group over two or three zones, in any order: its next machine is where it has the fewest.
func (d *draft) span(g *cluster.Group) {
	for _, i := range d.rand.Perm(len(zones))[:d.between(2, len(zones))] {
		g.Zones = append(g.Zones, zones[i])
	}
	enterZone(g.Template, g.Zones[0])
}

// place chooses the zone of a node of a group that spans zones: mostly as a cloud that balances them does, now and then another one.
func (d *draft) place(g *cluster.Group) string {
	if d.chance(0.3) {
		return pick(d, g.Zones...)
	}
	return turn(g, 0)
}

// expect has a group that spans zones await machines: some are listed, in the zone of their turn or in another one, and some are only counted.
func (d *draft) expect(g *cluster.Group) {
	for i := range d.between(0, 2) {
		if d.chance(0.5) {
			g.Capacity++
			continue
		}
		name := fmt.Sprintf("%s-coming-%d", g.ID, i)
		g.Instances = append(g.Instances, &cluster.Instance{
			ID: cluster.InstanceID(name), Group: g.ID, UID: "machine-" + name, ProviderID: "azure:///" + name, ComputerName: name,
			Zone: d.place(g), Created: Start.Add(-hour / 60), State: cluster.StateCreating,
		})
		g.Capacity++
	}
	enterZone(g.Template, turn(g, 0))
}

// enterZone puts a node into a zone.
func enterZone(n *corev1.Node, zone string) { n.Labels[corev1.LabelTopologyZone] = zone }

// turn is the zone of a machine of the group whose zone nobody knows yet, so many of them before it: each goes where the group has the fewest, of
// several zones to the first.
func turn(g *cluster.Group, before int) string {
	has := map[string]int{}
	for _, in := range g.Instances {
		has[in.Zone]++
	}
	for {
		least := g.Zones[0]
		for _, zone := range g.Zones {
			if has[zone] < has[least] {
				least = zone
			}
		}
		if before == 0 {
			return least
		}
		has[least]++
		before--
	}
}

// unjoined are the machines that are listed and have no node, in their order.
func unjoined(g *cluster.Group) []*cluster.Instance {
	var all []*cluster.Instance
	for _, in := range g.Instances {
		if in.State == cluster.StateCreating {
			all = append(all, in)
		}
	}
	return all
}

// zoneAfter is the zone of the machine that is opened after so many others: first come those that are listed already.
func zoneAfter(g *cluster.Group, opened int) string {
	listed := unjoined(g)
	if opened < len(listed) {
		return listed[opened].Zone
	}
	return turn(g, opened-len(listed))
}
