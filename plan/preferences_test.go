package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/internal/fidelity"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// wish changes a pod that is labelled app=s by something that it prefers.
func wishes() map[string]func(*corev1.Pod) {
	alike := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "s"}}
	spread := func(topology string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: alike,
			}}
		}
	}
	term := func(topology string) []corev1.WeightedPodAffinityTerm {
		return []corev1.WeightedPodAffinityTerm{{Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: topology, LabelSelector: alike}}}
	}
	return map[string]func(*corev1.Pod){
		"a zone each": spread(corev1.LabelTopologyZone),
		"a node each": spread(corev1.LabelHostname),
		"a node without another": func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: term(corev1.LabelHostname)}}
		},
		"a zone with others": func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: term(corev1.LabelTopologyZone)}}
		},
		"nodes of the dear group": func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{
				Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "group", Operator: corev1.NodeSelectorOpIn, Values: []string{"dear"}}}},
			}}}}
		},
	}
}

func TestAPreferenceBuysNoMachine(t *testing.T) {
	rather := corev1.Taint{Key: "rather", Value: "not", Effect: corev1.TaintEffectPreferNoSchedule}
	groups := func() []*cluster.Group {
		cheap, dear := priced("cheap", "4", 1), priced("dear", "4", 3)
		cheap.Template.Labels = map[string]string{corev1.LabelTopologyZone: "1", "group": "cheap"}
		dear.Template.Labels = map[string]string{corev1.LabelTopologyZone: "2", "group": "dear"}
		cheap.Template.Spec.Taints = []corev1.Taint{rather}
		return []*cluster.Group{cheap, dear}
	}
	there := Node("there", inZone, func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{rather} })
	for name, wish := range wishes() {
		for _, expanders := range [][]policy.Expander{nil, {policy.Price}} {
			t.Run(fmt.Sprintf("%s %v", name, expanders), func(t *testing.T) {
				allowed := policy.Default()
				if expanders != nil {
					allowed.Growth.Expanders = expanders
				}
				for n, want := range map[int][]string{4: {}, 8: {"grow cheap 0 -> 1"}, 12: {"grow cheap 0 -> 2"}} {
					objects := append(pods(n, Labelled("app", "s"), wish), there)
					p, _ := plan.Decide(cluster.New(Start, Objects(objects...), groups()), allowed, memory.Memory{})
					if diff := cmp.Diff(want, told(p)); diff != "" {
						t.Errorf("%d pods, of which a node takes 4 (-want +got):\n%s", n, diff)
					}
				}
			})
		}
	}
}

// TestPlansForPodsWithoutPreferencesAreTheSame takes everything that is preferred, and nothing that is required, out of 300 random worlds.
func TestPlansForPodsWithoutPreferencesAreTheSame(t *testing.T) {
	seeds, _, err := fidelity.Seeds(300)
	if err != nil {
		t.Fatal(err)
	}
	grew := 0
	for _, seed := range seeds {
		w := fidelity.Draw(seed, "preferences", "spread-schedule-anyway", "taints", "node-affinity", "pod-affinity", "pod-anti-affinity", "spread")
		p, _ := plan.Decide(w.Snapshot(), policy.Default(), memory.Memory{})
		indifferent, _ := plan.Decide(withoutPreferences(w).Snapshot(), policy.Default(), memory.Memory{})
		if diff := cmp.Diff(told(indifferent), told(p)); diff != "" {
			t.Errorf("SLUICE_WORLD=%d: actions (-without +with preferences):\n%s", seed, diff)
		}
		if len(p.Actions) > 0 {
			grew++
		}
	}
	if len(seeds) > 1 && grew < len(seeds)/4 {
		t.Errorf("only %d of %d worlds grew", grew, len(seeds))
	}
}

// withoutPreferences is the world without anything that scheduling only prefers.
func withoutPreferences(w *fidelity.World) *fidelity.World {
	soft := func(c corev1.TopologySpreadConstraint) bool { return c.WhenUnsatisfiable == corev1.ScheduleAnyway }
	out := *w
	out.Pods = nil
	for _, p := range w.Pods {
		p = p.DeepCopy()
		p.Spec.TopologySpreadConstraints = slices.DeleteFunc(p.Spec.TopologySpreadConstraints, soft)
		if a := p.Spec.Affinity; a != nil {
			if a.NodeAffinity != nil {
				a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
			}
			if a.PodAffinity != nil {
				a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
			}
			if a.PodAntiAffinity != nil {
				a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = nil
			}
		}
		out.Pods = append(out.Pods, p)
	}
	return &out
}
