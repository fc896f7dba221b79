package observer

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// storm counts the evictions of an owner's pods from a node during one way out of it.
type storm struct{ times, most int }

// storms holds more evictions of an owner's pods from a node than it has had of them there at once: they come back, and evicting them is in vain (S-15).
func (c *change) storms() string {
	if c.pod == nil || c.Subresource != "eviction" || !c.accepted() || c.pod.DeletionTimestamp != nil {
		return ""
	}
	owner := metav1.GetControllerOf(c.pod)
	n, there := kubesim.Find[*corev1.Node](c.o.kube, "", c.pod.Spec.NodeName)
	if owner == nil || !there {
		return ""
	}
	way := n.Annotations[ownPrefix+"notice"]
	for _, t := range n.Spec.Taints {
		if t.Key == removalTaint {
			way = t.Value
		}
	}
	key := string(n.UID) + " " + way + " " + string(owner.UID)
	has := 1 // the one that is evicted, which may be gone already
	for _, p := range kubesim.All[*corev1.Pod](c.o.kube, c.pod.Namespace) {
		if by := metav1.GetControllerOf(p); p.Spec.NodeName == n.Name && p.UID != c.pod.UID && by != nil && by.UID == owner.UID {
			has++
		}
	}
	s := c.o.storms[key]
	s.times, s.most = s.times+1, max(s.most, has)
	c.o.storms[key] = s
	if s.times > s.most {
		return fmt.Sprintf("pods of %s %s were evicted from node %s %d times, which had %d at most", owner.Kind, owner.Name, n.Name, s.times, s.most)
	}
	return ""
}
