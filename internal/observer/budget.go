package observer

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// emptied is when a pod was last evicted from a node of a scale set.
type emptied struct {
	set string
	at  time.Time
}

// overspends holds an eviction from one more node of a scale set than its budget lets be emptied within the window, whoever evicted from the
// others (S-19). A pod that somebody has deleted leaves
// anyway. The budget is that of the scale set as it was when the node was cordoned, if it has become smaller since. What a person has asked for is his business, and counts; so does what leaves a machine that Azure has announced to stop. Where two
// processes believe that they lead, each knows what it has emptied itself, and of the other's what stands on nodes: nothing is asked then.
func (c *change) overspends() string {
	if c.node != nil && c.cordons() && c.accepted() {
		c.o.sizes[string(c.node.UID)] = c.size(c.setOf(c.node))
	}
	if c.o.rules.Budget == nil || c.pod == nil || c.Subresource != "eviction" || !c.accepted() || !c.o.works(c.pod) || c.pod.DeletionTimestamp != nil {
		return ""
	}
	n, there := kubesim.Find[*corev1.Node](c.o.kube, "", c.pod.Spec.NodeName)
	if !there {
		return ""
	}
	set, window := c.setOf(n), c.o.rules.Window()
	if set == "" || window == 0 || c.o.rules.Several {
		return ""
	}
	if b := c.o.crowd.bodies[n.Status.NodeInfo.SystemUUID]; b != nil && c.Time.Sub(b.charged) >= c.o.rules.Window() {
		b.charged = c.Time
	}
	was, known := c.o.emptied[string(n.UID)]
	c.o.emptied[string(n.UID)] = emptied{set, c.Time}
	if known && c.Time.Sub(was.at) < window || n.Annotations[asks] != "" || n.Annotations[ownPrefix+"notice"] != "" {
		return ""
	}
	others, nodes := 0, max(c.size(set), c.o.sizes[string(n.UID)])
	for uid, e := range c.o.emptied {
		if uid != string(n.UID) && e.set == set && c.Time.Sub(e.at) < window {
			others++
		}
	}
	if budget := c.o.rules.Budget(nodes); others >= budget {
		return fmt.Sprintf("node %s is emptied and so are %d others of %s within %s, of which %d of %d may be", n.Name, others, set, window, budget, nodes)
	}
	return ""
}

// size is how many nodes a scale set has whose machines are there.
func (c *change) size(set string) int {
	size := 0
	for _, n := range kubesim.All[*corev1.Node](c.o.kube, "") {
		if c.setOf(n) == set {
			size++
		}
	}
	return size
}

// setOf is the scale set of the machine that the node is, "" when none is.
func (c *change) setOf(n *corev1.Node) string {
	for _, m := range c.lived {
		if m.VMID == n.Status.NodeInfo.SystemUUID {
			return strings.ToLower(m.ScaleSet)
		}
	}
	return ""
}
