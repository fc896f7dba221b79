package journal

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/policy"
)

// Version is the version of the line format. A reader refuses lines of a newer one.
const Version = 1

// record is one line.
type record struct {
	Version    int                                   `json:"v"`
	Cycle      uint64                                `json:"cycle"`
	Time       time.Time                             `json:"time"`
	Full       bool                                  `json:"full,omitempty"` // starts from nothing rather than from the line before
	DryRun     bool                                  `json:"dryRun,omitempty"`
	Nodes      change[*corev1.Node]                  `json:"nodes,omitzero"`
	Pods       change[*corev1.Pod]                   `json:"pods,omitzero"`
	DaemonSets change[*appsv1.DaemonSet]             `json:"daemonSets,omitzero"`
	Budgets    change[*policyv1.PodDisruptionBudget] `json:"budgets,omitzero"`
	Namespaces change[*corev1.Namespace]             `json:"namespaces,omitzero"`
	Groups     []*cluster.Group                      `json:"groups,omitempty"`
	Policy     *policy.Policy                        `json:"policy,omitempty"` // nil when as before
	Before     plan.Memory                           `json:"before"`
	Plan       plan.Plan                             `json:"plan"`
	Results    []plan.Result                         `json:"results,omitempty"`
}

// change is what became of one kind of object since the line before.
type change[T object] struct {
	Set  []T      `json:"set,omitempty"`  // new or changed, whole
	Gone []string `json:"gone,omitempty"` // "namespace/name", or "name"
}

// IsZero lets a line leave out a kind that did not change.
func (c change[T]) IsZero() bool { return len(c.Set) == 0 && len(c.Gone) == 0 }

func key(o metav1.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}

// between is what turns before into after. Objects that are the same pointer have not changed.
func between[T object](before, after []T) change[T] {
	old := make(map[string]T, len(before))
	for _, o := range before {
		old[key(o)] = o
	}
	var c change[T]
	for _, o := range after {
		k := key(o)
		if was, ok := old[k]; !ok || was != o {
			c.Set = append(c.Set, o)
		}
		delete(old, k)
	}
	for _, o := range before { // in their order, so that equal histories give equal lines
		if _, gone := old[key(o)]; gone {
			c.Gone = append(c.Gone, key(o))
		}
	}
	return c
}
