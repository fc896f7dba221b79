package scheduling_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/scheduling"
)

func TestUnmetNamesTheLabelsThatANodeLacks(t *testing.T) {
	have := map[string]string{"zone": "b", "cores": "8", "gpu": "a100"}
	term := func(all ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: all}
	}
	is := func(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: op, Values: values}
	}
	for name, tc := range map[string]struct {
		selector map[string]string
		terms    []corev1.NodeSelectorTerm
		want     string // "impossible" when labels are not all that it takes
	}{
		"nothing is asked":                {want: ""},
		"all is met":                      {selector: map[string]string{"zone": "b"}, terms: []corev1.NodeSelectorTerm{term(is("gpu", corev1.NodeSelectorOpExists))}},
		"a label that is not there":       {selector: map[string]string{"disk": "ssd", "zone": "b"}, want: "disk=ssd"},
		"a label of another value":        {selector: map[string]string{"zone": "a"}, want: "zone=a"},
		"one of one value":                {terms: []corev1.NodeSelectorTerm{term(is("zone", corev1.NodeSelectorOpIn, "a"))}, want: "zone=a"},
		"one of several values":           {terms: []corev1.NodeSelectorTerm{term(is("zone", corev1.NodeSelectorOpIn, "a", "c"))}, want: "zone in (a, c)"},
		"none of several values":          {terms: []corev1.NodeSelectorTerm{term(is("zone", corev1.NodeSelectorOpNotIn, "a", "b"))}, want: "zone not in (a, b)"},
		"a label that must not be there":  {terms: []corev1.NodeSelectorTerm{term(is("gpu", corev1.NodeSelectorOpDoesNotExist))}, want: "no gpu"},
		"any value":                       {terms: []corev1.NodeSelectorTerm{term(is("disk", corev1.NodeSelectorOpExists))}, want: "disk"},
		"a larger number":                 {terms: []corev1.NodeSelectorTerm{term(is("cores", corev1.NodeSelectorOpGt, "8"))}, want: "cores above 8"},
		"a smaller number":                {terms: []corev1.NodeSelectorTerm{term(is("cores", corev1.NodeSelectorOpLt, "8"))}, want: "cores below 8"},
		"selector and affinity":           {selector: map[string]string{"disk": "ssd"}, terms: []corev1.NodeSelectorTerm{term(is("zone", corev1.NodeSelectorOpIn, "a"))}, want: "disk=ssd; zone=a"},
		"the same of both is named once":  {selector: map[string]string{"zone": "a"}, terms: []corev1.NodeSelectorTerm{term(is("zone", corev1.NodeSelectorOpIn, "a"))}, want: "zone=a"},
		"of alternatives the nearest":     {terms: []corev1.NodeSelectorTerm{term(is("x", corev1.NodeSelectorOpExists), is("y", corev1.NodeSelectorOpExists)), term(is("z", corev1.NodeSelectorOpExists))}, want: "z"},
		"a node's name is no label":       {terms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{is("metadata.name", corev1.NodeSelectorOpIn, "n")}}}, want: "impossible"},
		"a term that asks for nothing":    {terms: []corev1.NodeSelectorTerm{{}}, want: "impossible"},
		"a value that cannot be a number": {terms: []corev1.NodeSelectorTerm{term(is("cores", corev1.NodeSelectorOpGt, "many"))}, want: "impossible"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Pod("p", func(p *corev1.Pod) {
				p.Spec.NodeSelector = tc.selector
				if tc.terms != nil {
					p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: tc.terms}}}
				}
			})
			unmet, ok := scheduling.Unmet(p.Class, have)
			var words []string
			for _, r := range unmet {
				words = append(words, r.Words)
			}
			got := strings.Join(words, "; ")
			if !ok {
				got = "impossible"
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
