package nodes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodedeclaredfeatures"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"

	"sluice.dev/sluice/scheduling/internal/plugins"
)

// Verdict is what plugins say of a kind of nodes, 0 for not asked yet.
type Verdict uint8

// The bits of a verdict.
const (
	asked    Verdict = 1 << iota
	Taints           // TaintToleration lets the pod pass
	Schedule         // NodeUnschedulable does
	selected         // NodeAffinity does
	declared         // NodeDeclaredFeatures does
)

// Rules asks kube-scheduler's plugins what depends on a pod's spec and a node object alone. They are asked once for each part of a spec
// and each kind of node: nodes that look the same to this part.
type Rules struct {
	table         *Table
	ctx           context.Context
	unschedulable fwk.FilterPlugin
	taints        fwk.FilterPlugin
	affinity      plugins.Prepared
	features      plugins.Prepared
	tolerations   map[string]*Tolerations
	selections    map[string]*Selection
	demands       map[string]*Demand
}

// NewRules makes the plugins.
func NewRules(t *Table) *Rules {
	return &Rules{
		table: t, ctx: plugins.Quiet(), tolerations: map[string]*Tolerations{}, selections: map[string]*Selection{},
		demands:       map[string]*Demand{},
		unschedulable: plugins.Make[fwk.FilterPlugin](nodeunschedulable.New, nil, nil),
		taints:        plugins.Make[fwk.FilterPlugin](tainttoleration.New, nil, nil),
		affinity:      plugins.Make[plugins.Prepared](nodeaffinity.New, &config.NodeAffinityArgs{}, nil),
		features:      plugins.Make[plugins.Prepared](nodedeclaredfeatures.New, nil, nil),
	}
}

// Known is how much the rules have to remember.
func (r *Rules) Known() int { return len(r.tolerations) + len(r.selections) + len(r.demands) }

// Tolerations are what pods tolerate, with an answer for each kind of taints.
type Tolerations struct {
	ID      int32
	All     []corev1.Toleration
	pod     *corev1.Pod
	answers answers // by kind of taints
}

// Tolerations is the shared record of these tolerations.
func (r *Rules) Tolerations(all []corev1.Toleration) *Tolerations {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Tolerations: all}}
	key := plugins.Encoded(&pod.Spec)
	if t, ok := r.tolerations[key]; ok {
		return t
	}
	t := &Tolerations{ID: int32(len(r.tolerations)), All: all, pod: pod}
	r.tolerations[key] = t
	return t
}

// Tolerated is what the plugins about taints and the cordon say.
func (r *Rules) Tolerated(t *Tolerations, h Handle) Verdict {
	return t.answers.of(r.table.Taints(h), func() Verdict {
		return r.filter(r.taints, nil, t.pod, h, Taints) | r.filter(r.unschedulable, nil, t.pod, h, Schedule)
	})
}

// answers are verdicts by the kinds of nodes, 0 for a kind that was not asked about.
type answers []Verdict

// of is the verdict about a kind, asked for once.
func (a *answers) of(kind int32, ask func() Verdict) Verdict {
	if *a = Reach(*a, kind, 0); (*a)[kind] == 0 {
		(*a)[kind] = asked | ask()
	}
	return (*a)[kind]
}

// filter is the bit when the plugin lets the pod onto the node, else 0.
func (r *Rules) filter(p fwk.FilterPlugin, s fwk.CycleState, pod *corev1.Pod, h Handle, bit Verdict) Verdict {
	if p.Filter(r.ctx, s, pod, plugins.Bare(r.table.Object(h))).IsSuccess() {
		return bit
	}
	return 0
}

// Selection is a node selector together with required node affinity.
type Selection struct {
	ID      int32
	pod     *corev1.Pod
	state   fwk.CycleState
	refused bool             // the plugin refuses all nodes, whatever they are
	only    sets.Set[string] // the names of the only nodes that can match; nil when there may be others
	lens    *Lens
	answers answers // by the lens's kinds
}

// Selection is the shared record of what the spec wants of nodes, nil for nothing.
func (r *Rules) Selection(s *corev1.PodSpec) *Selection {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: s.NodeSelector}}
	var required *corev1.NodeSelector
	if s.Affinity != nil && s.Affinity.NodeAffinity != nil {
		required = s.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	if required == nil && len(s.NodeSelector) == 0 {
		return nil
	}
	if required != nil {
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
	}
	key := plugins.Encoded(&pod.Spec)
	if known, ok := r.selections[key]; ok {
		return known
	}
	sel := &Selection{ID: int32(len(r.selections)), pod: pod, state: framework.NewCycleState()}
	result, status := r.affinity.PreFilter(r.ctx, sel.state, pod, nil)
	if sel.refused = !status.IsSuccess() && !status.IsSkip(); !sel.refused && result != nil && result.NodeNames != nil {
		sel.only = result.NodeNames
	}
	sel.lens = r.table.Lens(Mentioned(s.NodeSelector, required))
	r.selections[key] = sel
	return sel
}

// Selected says whether the selection, nil for any node, matches the node.
func (r *Rules) Selected(s *Selection, h Handle) bool {
	if s == nil {
		return true
	}
	if s.refused || s.only != nil && !s.only.Has(r.table.Name(h)) {
		return false
	}
	v := s.answers.of(r.table.Look(s.lens, h), func() Verdict { return r.filter(r.affinity, s.state, s.pod, h, selected) })
	return v&selected != 0
}

// Pass says whether the rules let pods with these tolerations and this selection onto the node.
func (r *Rules) Pass(t *Tolerations, s *Selection, h Handle) bool {
	const passed = Taints | Schedule
	return r.Tolerated(t, h)&passed == passed && r.Selected(s, h)
}

// Repels says whether the taint keeps pods away, rather than only being avoided.
func Repels(t *corev1.Taint) bool {
	return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
}
