package nodes

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	declaredfeatures "k8s.io/component-helpers/nodedeclaredfeatures"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/scheduling/internal/plugins"
)

// A kubelet declares which of the newer features it has, and NodeDeclaredFeatures keeps pods that need one of them off nodes whose kubelet
// does not declare it. A kubelet that declares nothing has none of them: those of before 1.35 declare nothing.

// unproven is the kind of machines whose kubelet has not declared anything yet.
const unproven = -1

// Demand is the features that pods need of their node's kubelet.
type Demand struct {
	ID       int32
	features []string // sorted, at least one
	pod      *corev1.Pod
	state    fwk.CycleState
	answers  answers // by kind of what kubelets declare
}

// Demand is the shared record of the features that the spec needs, nil for none.
func (r *Rules) Demand(s *corev1.PodSpec) *Demand {
	needs := needed(s)
	if len(needs) == 0 {
		return nil
	}
	key := strings.Join(needs, "\x00")
	if known, ok := r.demands[key]; ok {
		return known
	}
	d := &Demand{ID: int32(len(r.demands)), features: needs, pod: &corev1.Pod{Spec: *s}, state: framework.NewCycleState()}
	if _, status := r.features.PreFilter(r.ctx, d.state, d.pod, nil); status.IsSkip() {
		d = nil // its feature gate is off
	}
	r.demands[key] = d
	return d
}

// noVersion is below every version in which a feature need not be declared any more.
var noVersion = version.MustParseGeneric("0.0")

// needed are the features that the spec needs, sorted. They tell specs apart and give words; whether a node has them is for the plugin to
// say.
func needed(s *corev1.PodSpec) []string {
	set, err := declaredfeatures.DefaultFramework.InferForPodScheduling(&declaredfeatures.PodInfo{Spec: s}, noVersion)
	plugins.Must("infer features", err)
	names, err := declaredfeatures.DefaultFramework.Unmap(set)
	plugins.Must("name features", err)
	slices.Sort(names)
	return names
}

// Declared says whether the node's kubelet declares what is demanded, nil for nothing. That of a machine may be [Template.Unproven].
func (r *Rules) Declared(d *Demand, h Handle) bool {
	kind := r.table.Features(h)
	if d == nil || kind == unproven {
		return true
	}
	v := d.answers.of(kind, func() Verdict { return r.filter(r.features, d.state, d.pod, h, declared) })
	return v&declared != 0
}

// Undeclared are the features that pods need and that the node's kubelet does not declare, sorted.
func (d *Demand) Undeclared(n *corev1.Node) []string {
	return slices.DeleteFunc(slices.Clone(d.features), func(f string) bool { return slices.Contains(n.Status.DeclaredFeatures, f) })
}
