package scheduling

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"sluice.dev/sluice/cluster"
)

// Requirement is what a pod wants of one label of its node.
type Requirement struct {
	Key   string
	Words string // such as "disk=ssd", "zone in (a, b)", "no gpu"
}

// Unmet are the requirements of the class's node selector and required node affinity that nodes with these labels do not meet, sorted by
// their keys. Of alternatives they are those of the one that lacks least, the first of several. It says false when other labels are not all
// that it takes: the class names its node, or asks for something that cannot be read.
func Unmet(of *cluster.Class, have map[string]string) ([]Requirement, bool) {
	var selector corev1.NodeSelectorTerm
	for key, value := range of.Spec.NodeSelector {
		selector.MatchExpressions = append(selector.MatchExpressions,
			corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
	}
	unmet, _ := lacking(selector, have)
	possible := true
	if a := of.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		var least []Requirement
		possible = false
		for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			lacks, ok := lacking(t, have)
			if ok && (!possible || len(lacks) < len(least)) {
				least, possible = lacks, true
			}
		}
		unmet = append(unmet, least...)
	}
	slices.SortFunc(unmet, func(a, b Requirement) int { return strings.Compare(a.Words, b.Words) })
	return slices.Compact(unmet), possible
}

// lacking are the requirements of one term that the labels do not meet; false when the term asks for more than labels, or for nothing.
func lacking(t corev1.NodeSelectorTerm, have map[string]string) ([]Requirement, bool) {
	if len(t.MatchFields) > 0 || len(t.MatchExpressions) == 0 {
		return nil, false
	}
	var lacks []Requirement
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: have}}
	for _, e := range t.MatchExpressions {
		one := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{e}}
		s, err := nodeaffinity.NewNodeSelector(&corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{one}})
		if err != nil {
			return nil, false
		}
		if !s.Match(node) {
			lacks = append(lacks, Requirement{e.Key, inWords(e)})
		}
	}
	return lacks, true
}

// inWords is the requirement as an operator would say it.
func inWords(e corev1.NodeSelectorRequirement) string {
	list := strings.Join(e.Values, ", ")
	switch e.Operator {
	case corev1.NodeSelectorOpIn:
		if len(e.Values) == 1 {
			return e.Key + "=" + list
		}
		return e.Key + " in (" + list + ")"
	case corev1.NodeSelectorOpNotIn:
		return e.Key + " not in (" + list + ")"
	case corev1.NodeSelectorOpGt:
		return e.Key + " above " + list
	case corev1.NodeSelectorOpLt:
		return e.Key + " below " + list
	case corev1.NodeSelectorOpDoesNotExist:
		return "no " + e.Key
	}
	return e.Key
}
