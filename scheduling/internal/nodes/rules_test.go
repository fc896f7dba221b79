package nodes

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTaintsAndTheCordonAreAskedOnceForEachKind(t *testing.T) {
	tainted := func(effect corev1.TaintEffect) *corev1.Node {
		n := named("n")
		n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: effect}}
		return n
	}
	cordoned := named("n")
	cordoned.Spec.Unschedulable = true
	all := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	for name, c := range map[string]struct {
		node       *corev1.Node
		tolerates  []corev1.Toleration
		taints, in bool // the plugins let the pod pass
	}{
		"a plain node":                        {named("n"), nil, true, true},
		"a taint keeps pods away":             {tainted(corev1.TaintEffectNoSchedule), nil, false, true},
		"one that evicts as well":             {tainted(corev1.TaintEffectNoExecute), nil, false, true},
		"one that is only avoided does not":   {tainted(corev1.TaintEffectPreferNoSchedule), nil, true, true},
		"a pod that tolerates everything":     {tainted(corev1.TaintEffectNoSchedule), all, true, true},
		"a cordon keeps pods away":            {cordoned, nil, true, false},
		"but for those that tolerate its own": {cordoned, all, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable(2)
			rules := NewRules(table)
			twin := c.node.DeepCopy()
			twin.Name = "twin"
			h := enter(table, c.node, twin)
			who := rules.Tolerations(c.tolerates)
			for _, at := range h {
				v := rules.Tolerated(who, at)
				if (v&Taints != 0) != c.taints || (v&Schedule != 0) != c.in {
					t.Errorf("verdict %b", v)
				}
			}
			if table.Taints(h[0]) != table.Taints(h[1]) || rules.Tolerations(slices.Clone(c.tolerates)) != who {
				t.Error("nodes or tolerations that are alike are not of one kind")
			}
		})
	}
}

func TestASelectionReadsOnlyTheLabelsThatItNames(t *testing.T) {
	required := func(r ...corev1.NodeSelectorRequirement) *corev1.PodSpec {
		return &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: r}}},
		}}}
	}
	byName := &corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}},
		}}},
	}}}
	notSSD := corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"ssd"}}
	for name, c := range map[string]struct {
		spec *corev1.PodSpec
		want []string
	}{
		"any node":              {&corev1.PodSpec{}, []string{"a", "b", "c"}},
		"a selector":            {&corev1.PodSpec{NodeSelector: map[string]string{"disk": "ssd"}}, []string{"a", "b"}},
		"an affinity":           {required(notSSD), []string{"c"}},
		"one that nobody reads": {required(corev1.NodeSelectorRequirement{Key: "disk", Operator: "Like", Values: []string{"s"}}), nil},
		"a node by its name":    {byName, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			table := NewTable(3)
			rules := NewRules(table)
			enter(table, named("a", "disk", "ssd", "rack", "1"), named("b", "disk", "ssd", "rack", "2"), named("c"))
			s := rules.Selection(c.spec)
			var got []string
			for _, h := range table.Handles() {
				if rules.Selected(s, h) {
					got = append(got, table.Name(h))
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("selects %v, want %v", got, c.want)
			}
			if c.spec != byName && s != nil && !s.refused && table.Look(s.lens, 0) != table.Look(s.lens, 1) {
				t.Error("a label that is not read tells nodes apart")
			}
		})
	}
}
