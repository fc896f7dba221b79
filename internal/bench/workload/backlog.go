package workload

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Backlog says how large a backlog on a steady cluster is.
type Backlog struct {
	Seed        uint64
	Nodes       int // of the steady cluster
	Pods        int // pending
	Classes     int
	Groups      int  // the steady cluster's 8 and empty ones, at most 59
	Constrained bool // a tenth of the classes uses spread, affinity, anti-affinity and volumes in turn
}

// WholeBacklog is the reference: 100,000 pods of 500 classes wait for 50 groups beside 5,000 nodes.
var WholeBacklog = Backlog{Seed: 1, Nodes: 5000, Pods: 100_000, Classes: 500, Groups: 50}

// World is the steady cluster of the seed with the backlog. Per class are drawn, from the seed plus 1: how many pods, by exponential
// parts of all; then CPU (a base and up to 90 millicores in steps of 10), memory per core, and where it may run: anywhere (4 of 10), in a pool of the
// steady cluster (2), on machines for batch work alone (3), in one zone (1).
func (b Backlog) World() *World {
	w := NewSteadyWorld(b.Seed, b.Nodes)
	w.Groups = append(w.Groups, sized(b.Groups-len(w.Groups))...)
	for i, l := range b.loads() {
		for no := range l.pods {
			w.Pods = append(w.Pods, b.constrain(i, l.Load).Pending(no))
		}
	}
	return w
}

type counted struct {
	*Load
	pods int
}

func (b Backlog) loads() []counted {
	c := NewChance(b.Seed + 1)
	var all []counted
	for i, pods := range parts(c, b.Pods, b.Classes) {
		milli := one[int64](c, 100, 250, 250, 500, 500, 1000, 2000) + int64(10*c.Below(10))
		l := &Load{App: fmt.Sprintf("burst-%04d", i), Namespace: team(i), Milli: milli, MiB: milli * one[int64](c, 1, 2, 4, 6) * 1024 / 1000}
		switch place := c.Below(10); {
		case place < 4:
		case place < 6:
			l.Selects = map[string]string{"agentpool": fmt.Sprintf("pool%d", c.Below(4))}
		case place < 9:
			l.Selects = map[string]string{"agentpool": "batch"}
			l.Tolerates = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
		default:
			l.Selects = map[string]string{corev1.LabelTopologyZone: zoneName(1 + c.Below(3))}
		}
		all = append(all, counted{l, pods})
	}
	return all
}

// constrain gives every tenth class a constraint: spread over zones (then of no pool), over hosts, being in one zone, alone on its host, with
// a volume each, whose claim waits for the scheduler to choose a node.
func (b Backlog) constrain(i int, l *Load) *Load {
	if !b.Constrained || i%10 != 0 || l.Shape != nil {
		return l
	}
	l.Shape = []func(*Load) func(*corev1.PodSpec, int){
		spreadOver(corev1.LabelTopologyZone), spreadOver(corev1.LabelHostname), together, alone, withVolume,
	}[i/10%5](l)
	if i/10%5 == 0 && strings.HasPrefix(l.Selects["agentpool"], "pool") {
		l.Selects = nil // the groups of a pool grow in two zones, and its nodes stand in three
	}
	return l
}

func (l *Load) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": l.App}}
}

// spreadOver keeps the app's pods even over the values of a label, to within one.
func spreadOver(key string) func(*Load) func(*corev1.PodSpec, int) {
	return func(l *Load) func(*corev1.PodSpec, int) {
		return func(s *corev1.PodSpec, _ int) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: l.selector(),
			}}
		}
	}
}

// together keeps the app's pods in one zone.
func together(l *Load) func(*corev1.PodSpec, int) {
	return func(s *corev1.PodSpec, _ int) {
		s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelTopologyZone, LabelSelector: l.selector()},
		}}}
	}
}

// alone keeps the app's pods on different hosts.
func alone(l *Load) func(*corev1.PodSpec, int) {
	return func(s *corev1.PodSpec, _ int) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: l.selector()},
		}}}
	}
}

// withVolume gives each pod a disk of its own, which is made where the pod runs.
func withVolume(l *Load) func(*corev1.PodSpec, int) {
	return func(s *corev1.PodSpec, no int) {
		s.Volumes = append(s.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprintf("data-%s-%05d", l.App, no)},
		}})
	}
}
