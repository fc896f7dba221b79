package plan

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// stays says why a node's pods keep it where it is, nil when each may be evicted and has somewhere to go. The checker then holds
// the moves, and st.moves undoes them. Pods already on their way out are not asked. A disruption budget that refuses is the last
// reason to be told: it may pass, and means that nothing else holds the pods; the moves are held then, too.
func (d *decision) stays(st *nodeState, destinations []string) *reason.Reason {
	var held *reason.Reason
	for _, p := range st.movers {
		if p.Leaving() {
			continue
		}
		if why, keeps := d.allowed.Keeps(p, d.now); keeps {
			return &why
		}
		if why := d.budgetRefuses(p); why != nil && held == nil {
			held = why
		}
	}
	st.moves = append(st.moves, d.check.Remove(st.Name()), d.check.Add(cordoned(st.Object), daemons(st.Node)...))
	for _, p := range st.movers {
		if p.Leaving() {
			continue
		}
		i := slices.IndexFunc(destinations, func(name string) bool { return d.check.Fits(p, name) })
		if i < 0 {
			words := "no other node can take pods"
			if len(destinations) > 0 {
				words = d.check.Refusals(p, destinations[len(destinations)-1])[0].String()
			}
			d.back(st)
			r := reason.New(reason.PodNowhereToGo, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "why", words)
			return &r
		}
		st.moves = append(st.moves, d.check.Place(p, destinations[i]))
	}
	return held
}

// cordoned is the node as it is while its pods leave: it takes none, and still counts as a place to spread over.
func cordoned(n *corev1.Node) *corev1.Node {
	out := n.DeepCopy()
	out.Spec.Unschedulable = true
	return out
}

// back undoes the pretended moves of a node's pods.
func (d *decision) back(st *nodeState) {
	for i := len(st.moves) - 1; i >= 0; i-- {
		st.moves[i]()
	}
	st.moves = nil
}

// budgetsOf are the disruption budgets that select a pod, by "namespace/name" in that order.
func (d *decision) budgetsOf(p *cluster.Pod) []string {
	var keys []string
	for _, b := range d.s.Objects.Budgets {
		if b.Namespace != p.Namespace {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		keys = append(keys, b.Namespace+"/"+b.Name)
	}
	return keys
}

// budgetRefuses says which disruption budget holds the pod now, nil when none does.
func (d *decision) budgetRefuses(p *cluster.Pod) *reason.Reason {
	keys := d.budgetsOf(p)
	if len(keys) > 1 {
		r := reason.New(reason.PodTwoBudgets, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "budgets", strings.Join(keys, ", "))
		return &r
	}
	for _, key := range keys {
		if d.budgets[key] < 1 {
			r := reason.New(reason.PodBudget, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "budget", key, "allowed", d.budgets[key])
			return &r
		}
	}
	return nil
}
