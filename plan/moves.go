package plan

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// stays says why a node's pods keep it where it is, nil when each may be evicted and has somewhere to go. Then the checker holds
// the moves, and st.moves undoes them. Pods already on their way out are not asked.
func (d *decision) stays(st *nodeState, destinations []string) *reason.Reason {
	for _, p := range st.movers {
		if p.DeletionTimestamp != nil {
			continue
		}
		if why, keeps := d.allowed.Keeps(p, d.now); keeps {
			return &why
		}
		if why := d.budgetRefuses(p); why != nil {
			return why
		}
	}
	st.moves = append(st.moves, d.check.Remove(st.Name()))
	for _, p := range st.movers {
		if p.DeletionTimestamp != nil {
			continue
		}
		moved := p.DeepCopy()
		moved.Spec.NodeName = ""
		to := ""
		var why []reason.Reason
		for _, name := range destinations {
			if name == st.Name() {
				continue
			}
			refused := d.check.Refusals(moved, name)
			if len(refused) == 0 {
				to = name
				break
			}
			why = refused
		}
		if to == "" {
			d.back(st)
			words := "no other node is Ready"
			if len(why) > 0 {
				words = why[0].String()
			}
			r := reason.New(reason.PodNowhereToGo, reason.Pod(p.Namespace, p.Name), "pod", cluster.Key(p), "why", words)
			return &r
		}
		st.moves = append(st.moves, d.check.Place(moved, to))
	}
	return nil
}

// back undoes the pretended moves of a node's pods.
func (d *decision) back(st *nodeState) {
	for i := len(st.moves) - 1; i >= 0; i-- {
		st.moves[i]()
	}
	st.moves = nil
}

// budgetsOf are the disruption budgets that select a pod, by "namespace/name" in that order.
func (d *decision) budgetsOf(p *corev1.Pod) []string {
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

func (d *decision) budgetRefuses(p *corev1.Pod) *reason.Reason {
	for _, key := range d.budgetsOf(p) {
		if d.budgets[key] < 1 {
			r := reason.New(reason.PodBudget, reason.Pod(p.Namespace, p.Name), "pod", cluster.Key(p), "budget", key, "allowed", d.budgets[key])
			return &r
		}
	}
	return nil
}
