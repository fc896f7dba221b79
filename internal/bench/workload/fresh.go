package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OneClass is so many pending pods of one class beside one empty group: 50 of them fill a machine of 32 cores.
func OneClass(pods int) *World {
	w := begin()
	g := newGroup("agents", SizeOf("Standard_D32s_v5"), pool{name: "agents", zone: 1})
	g.Max = 2000
	w.Groups = append(w.Groups, g)
	w.pend(&Load{App: "web", Namespace: team(0), Milli: 620, MiB: 2048}, pods)
	return w
}

// Alike is so many pending pods of one class, 900 millicores and 3 GiB each, beside an empty group of each of eight sizes.
func Alike(pods int) *World {
	w := begin()
	for i, name := range []string{
		"Standard_D4s_v5", "Standard_D8s_v5", "Standard_D16s_v5", "Standard_D32s_v5",
		"Standard_E16s_v5", "Standard_E32s_v5", "Standard_F16s_v2", "Standard_F32s_v2",
	} {
		s := SizeOf(name)
		g := newGroup(s.slug(), s, pool{name: "general", zone: 1 + i%3})
		g.Max = 5000
		w.Groups = append(w.Groups, g)
	}
	w.pend(&Load{App: "web", Namespace: team(0), Milli: 900, MiB: 3072}, pods)
	return w
}

// Diverse is so many pending pods, a fifth each plain, spread over zones, spread over hosts, with others of their app in one zone, and alone on their
// host, beside so many empty groups, one for each of [Shapes] of the seed, whose zones take turns. For each pod are drawn its app, of
// seven of its kind, its CPU and its memory.
func Diverse(seed uint64, pods, shapes int) *World {
	w := begin()
	for i, s := range Shapes(seed, shapes) {
		w.Groups = append(w.Groups, newGroup(fmt.Sprintf("shape-%03d", i), s, pool{name: "general", zone: 1 + i%3}))
	}
	kinds := []struct {
		name  string
		shape func(*Load) func(*corev1.PodSpec, int)
	}{
		{"plain", nil},
		{"zones", spreadOver(corev1.LabelTopologyZone)},
		{"hosts", spreadOver(corev1.LabelHostname)},
		{"together", together},
		{"alone", alone},
	}
	c := NewChance(seed)
	for no := range pods {
		k := kinds[no*len(kinds)/pods]
		l := &Load{
			App: fmt.Sprintf("%s-%c", k.name, 'a'+c.Below(7)), Namespace: team(0),
			Milli: one[int64](c, 100, 250, 500, 1000, 1500), MiB: one[int64](c, 128, 256, 512, 1024, 2048, 4096),
		}
		if k.shape != nil {
			l.Shape = k.shape(l)
		}
		w.Pods = append(w.Pods, l.Pending(no))
	}
	return w
}

// Unlike is so many pending pods, no two of which ask for the same, beside 50 empty groups: 17 sizes in three zones but one. For each pod
// are drawn its CPU, 100 to 8,099 millicores, and its memory, 128 to 32,895 MiB, again while another pod asks for that. Every second pod
// tolerates batch machines.
func Unlike(seed uint64, pods int) *World {
	w := begin()
	w.Groups = append(w.Groups, sized(50)...)
	c := NewChance(seed)
	type ask struct{ milli, mib int64 }
	taken := map[ask]bool{}
	for no := range pods {
		var a ask
		for a = (ask{}); a == (ask{}) || taken[a]; {
			a = ask{int64(100 + c.Below(8000)), int64(128 + c.Below(32768))}
		}
		taken[a] = true
		l := &Load{App: "job", Namespace: team(0), Milli: a.milli, MiB: a.mib}
		if no%2 == 1 {
			l.Tolerates = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
		}
		w.Pods = append(w.Pods, l.Pending(no))
	}
	return w
}

// pend adds so many pending pods.
func (w *World) pend(l *Load, pods int) {
	for no := range pods {
		w.Pods = append(w.Pods, l.Pending(no))
	}
}

// Stuck is so many pending pods that no machine of 50 empty groups can hold, no two for the same reason: each selects a label of its own, and every second
// one asks for more memory than any machine has.
func Stuck(pods int) *World {
	w := begin()
	w.Groups = append(w.Groups, sized(50)...)
	for no := range pods {
		l := &Load{App: "stuck", Namespace: team(0), Milli: 500, MiB: 512, Selects: map[string]string{"tenant": fmt.Sprintf("t%06d", no)}}
		if no%2 == 1 {
			l.MiB = int64(4<<20 + no)
		}
		w.Pods = append(w.Pods, l.Pending(no))
	}
	return w
}

// Exclusive is so many jobs of two pods beside 50 empty groups, each as JobSet places it exclusively: its pods keep together in one host's domain,
// and away from those of every other job.
func Exclusive(jobs int) *World {
	w := begin()
	w.Groups = append(w.Groups, sized(50)...)
	for no := range jobs {
		l := &Load{App: fmt.Sprintf("job-%05d", no), Namespace: team(0), Milli: 500, MiB: 512}
		l.Shape = func(s *corev1.PodSpec, _ int) {
			other := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpExists}, {Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{l.App}},
			}}
			s.Affinity = &corev1.Affinity{
				PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{TopologyKey: corev1.LabelHostname, LabelSelector: l.selector()},
				}},
				PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{TopologyKey: corev1.LabelHostname, LabelSelector: other},
				}},
			}
		}
		w.pend(l, 2)
	}
	return w
}
