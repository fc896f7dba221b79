package cluster

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Controller is one that makes its pods again when they are evicted, as far as decisions read it: that it exists, and how many pods it is
// to have.
type Controller struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	Replicas  *int32    `json:"replicas,omitempty"` // that it is to have; nil where nobody asks
}

// Equal says whether two records say the same.
func (c *Controller) Equal(o *Controller) bool {
	return c.Namespace == o.Namespace && c.Name == o.Name && c.UID == o.UID && (c.Replicas == nil) == (o.Replicas == nil) &&
		(c.Replicas == nil || *c.Replicas == *o.Replicas)
}

// Controllers are the controllers of Kubernetes' own that make evicted pods again, but for Jobs: whether their pods may be evicted is said
// by the policy and by the pods. Every slice is sorted by namespace and name.
type Controllers struct {
	Known                  bool          `json:"known,omitempty"` // somebody follows them
	ReplicaSets            []*Controller `json:"replicaSets,omitempty"`
	ReplicationControllers []*Controller `json:"replicationControllers,omitempty"`
	StatefulSets           []*Controller `json:"statefulSets,omitempty"`
}

// IsZero says whether nobody follows any.
func (cs Controllers) IsZero() bool {
	return !cs.Known && len(cs.ReplicaSets)+len(cs.ReplicationControllers)+len(cs.StatefulSets) == 0
}

// Same says whether both are the same lists, and not only equal ones.
func (cs Controllers) Same(o Controllers) bool {
	return cs.Known == o.Known && sameSlice(cs.ReplicaSets, o.ReplicaSets) && sameSlice(cs.ReplicationControllers, o.ReplicationControllers) &&
		sameSlice(cs.StatefulSets, o.StatefulSets)
}

// Of is the controller that such pods name, nil when there is none of that UID. It is known only of the kinds that are followed, while
// somebody follows them.
func (cs Controllers) Of(c *Class) (found *Controller, known bool) {
	owner := c.Owner()
	if owner == nil || !cs.Known {
		return nil, false
	}
	var all []*Controller
	switch owner.APIVersion + " " + owner.Kind {
	case "apps/v1 ReplicaSet":
		all = cs.ReplicaSets
	case "v1 ReplicationController":
		all = cs.ReplicationControllers
	case "apps/v1 StatefulSet":
		all = cs.StatefulSets
	default:
		return nil, false
	}
	at, there := slices.BinarySearchFunc(all, owner.Name, func(o *Controller, name string) int {
		return cmp.Or(strings.Compare(o.Namespace, c.Namespace), strings.Compare(o.Name, name))
	})
	if !there || all[at].UID != owner.UID {
		return nil, true
	}
	return all[at], true
}
