package node

import (
	"strings"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Selecting are the budgets that select pods of the class, by namespace and name in that order.
// A class is matched once a cycle, so the work does not grow with its pods. A budget whose selector cannot be read selects nothing.
func (b *budgets) Selecting(c *cluster.Class) []*policyv1.PodDisruptionBudget {
	if b.of == nil {
		b.of = map[*cluster.Class][]*policyv1.PodDisruptionBudget{}
		for _, o := range b.all {
			selector, err := metav1.LabelSelectorAsSelector(o.Spec.Selector)
			if err != nil {
				selector = labels.Nothing()
			}
			b.selectors = append(b.selectors, selector)
		}
	}
	over, ok := b.of[c]
	if ok {
		return over
	}
	for i, o := range b.all {
		if o.Namespace == c.Namespace && b.selectors[i].Matches(labels.Set(c.Labels)) {
			over = append(over, o)
		}
	}
	b.of[c] = over
	return over
}

// NameOf is the budget's "namespace/name".
func NameOf(b *policyv1.PodDisruptionBudget) string { return b.Namespace + "/" + b.Name }

// Disruptions is how many disruptions the budget still allows, as this cycle consumes them.
func (d *View) Disruptions(b *policyv1.PodDisruptionBudget) int32 {
	return b.Status.DisruptionsAllowed - d.disrupted[b]
}

// Disrupt consumes one disruption of each budget that has a say in the pod's eviction.
// The budget's status is that of the snapshot: without this, one cycle would ask for more evictions than the budget allows.
func (d *View) Disrupt(p *cluster.Pod) {
	for _, b := range d.Budgets.Selecting(p.Class) {
		if cluster.Holds(b, p) {
			if d.disrupted == nil {
				d.disrupted = map[*policyv1.PodDisruptionBudget]int32{}
			}
			d.disrupted[b]++
		}
	}
}

// BudgetRefuses says which disruption budget holds the pod now, nil when none does.
func (d *View) BudgetRefuses(p *cluster.Pod) *reason.Reason {
	over := d.Budgets.Selecting(p.Class)
	// The API server refuses each eviction of a pod that two budgets select, whatever they allow (scenario two-budgets).
	if len(over) > 1 {
		names := make([]string, len(over))
		for i, b := range over {
			names[i] = NameOf(b)
		}
		r := reason.New(reason.PodTwoBudgets, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "budgets", strings.Join(names, ", "))
		return &r
	}
	for _, b := range over {
		if allowed := d.Disruptions(b); allowed < 1 && cluster.Holds(b, p) {
			r := reason.New(reason.PodBudget, reason.Pod(p.Namespace, p.Name), "pod", p.String(), "budget", NameOf(b), "allowed", allowed)
			return &r
		}
	}
	return nil
}
