package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

// overZones has the cloud spread a group's machines over all three zones: the template's zone is only that of the next machine.
func overZones(g *cluster.Group) *cluster.Group {
	g.Zones = []string{zoneName(1), zoneName(2), zoneName(3)}
	return g
}

// Zoned is so many pending pods beside 17 empty groups, one of each size and each over three zones. Of every ten pods, in turn, four may
// run anywhere, three spread over zones, two select a zone and one keeps with its app's others in one zone. There are 50 apps.
func Zoned(pods int) *World {
	w := begin()
	for _, s := range sizes {
		w.Groups = append(w.Groups, overZones(newGroup(s.slug(), s, pool{name: "general", zone: 1})))
	}
	const apps = 50
	loads := make([]*Load, apps)
	for i := range loads {
		l := &Load{App: fmt.Sprintf("zoned-%02d", i), Namespace: team(i), Milli: int64(250 * (1 + i%4)), MiB: int64(512 * (1 + i%3))}
		switch kind := i % 10; {
		case kind < 4:
		case kind < 7:
			l.Shape = spreadOver(corev1.LabelTopologyZone)(l)
		case kind < 9:
			l.Selects = map[string]string{corev1.LabelTopologyZone: zoneName(1 + i%3)}
		default:
			l.Shape = together(l)
		}
		loads[i] = l
	}
	for no := range pods {
		w.Pods = append(w.Pods, loads[no%apps].Pending(no/apps))
	}
	return w
}

// Karpenter is a backlog of the mix that Karpenter's own scheduling benchmark makes, beside so many empty groups. A sixth each is plain,
// spread over zones, spread over hosts, with others of its label on one host, with others of its label in one zone, and of one app whose
// pods keep off each other's hosts. Of each pod are drawn its label, of seven, its CPU and its memory; a spread counts the pods of a label
// that is drawn for itself, most often another one than the pod's. Group i has machines of i+1 cores, twice as many GiB and room for ten
// times as many pods.
func Karpenter(seed uint64, pods, types int) *World {
	w := begin()
	for i := range types {
		cores := int64(i + 1)
		size := Size{fmt.Sprintf("Type_%d", i), cores, 2048 * cores, 0.04 * float64(cores)}
		g := overZones(newGroup(fmt.Sprintf("type-%03d", i), size, pool{name: "general", zone: 1}))
		room := *resource.NewQuantity(10*cores, resource.DecimalSI)
		g.Template.Status.Capacity[corev1.ResourcePods], g.Template.Status.Allocatable[corev1.ResourcePods] = room, room
		g.VolumeLimit = 0
		w.Groups = append(w.Groups, g)
	}
	c := NewChance(seed)
	for no := range pods {
		kind := no % 6
		mine, counted := letter(c), letter(c)
		l := &Load{
			App: "generic-" + mine, Namespace: team(0),
			Milli: one[int64](c, 100, 250, 500, 1000, 1500), MiB: one[int64](c, 100, 256, 512, 1024, 2048, 4096),
		}
		foreign := &Load{App: "generic-" + counted}
		switch kind {
		case 1:
			l.Shape = spreadOver(corev1.LabelTopologyZone)(foreign)
		case 2:
			l.Shape = spreadOver(corev1.LabelHostname)(foreign)
		case 3:
			l.App = "host-" + mine
			l.Shape = func(s *corev1.PodSpec, _ int) { s.Affinity = with(l.selector(), corev1.LabelHostname) }
		case 4:
			l.App = "zone-" + mine
			l.Shape = together(l)
		case 5:
			l.App = "apart"
			l.Shape = alone(l)
		}
		w.Pods = append(w.Pods, l.Pending(no))
	}
	return w
}

func letter(c *Chance) string { return string(rune('a' + c.Below(7))) }

func with(others *metav1.LabelSelector, where string) *corev1.Affinity {
	return &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: where, LabelSelector: others},
	}}}
}
