package scheduling

import (
	"context"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Checker answers for a snapshot's cluster and for what might become of it. It is not safe for concurrent use.
//
// What-ifs ([Checker.Place], [Checker.Evict], [Checker.Remove], [Checker.Add]) stack up. Each returns an undo that takes back
// this what-if and all that came after it; the checker then answers exactly as before. An undo whose what-if is already taken
// back does nothing.
type Checker struct {
	snapshot *cluster.Snapshot
	ctx      context.Context // silences the plugins' logger; nothing else is in it
	filters  filters

	// names and infos are parallel and sorted by name. names is never changed in place, so it may be handed out.
	names []string
	infos []fwk.NodeInfo
	nodes map[string]*framework.NodeInfo // the same as infos; a NodeInfo is never changed once it is in here

	repelling int // pods with required anti-affinity on all nodes
	now       epochs
	last      uint64 // the highest epoch ever given out

	questions map[*cluster.Pod]*question
	records   map[*corev1.Pod]*cluster.Pod // by the object that stands for one on a node
	journal   []whatIf
}

// whatIf is a change that was made, and what takes it back.
type whatIf struct {
	epoch  uint64 // unique
	revert func()
}

// NewChecker makes a checker of the cluster as the snapshot saw it. The snapshot's objects are shared and never changed; nobody
// else may change them while the checker is in use.
func NewChecker(s *cluster.Snapshot) *Checker {
	c := &Checker{
		snapshot:  s,
		ctx:       logr.NewContext(context.Background(), logr.Discard()),
		names:     make([]string, 0, len(s.Nodes)),
		infos:     make([]fwk.NodeInfo, 0, len(s.Nodes)),
		nodes:     make(map[string]*framework.NodeInfo, len(s.Nodes)),
		now:       epochs{1, 1, 1},
		last:      1,
		questions: make(map[*cluster.Pod]*question, len(s.Objects.Pods)),
		records:   make(map[*corev1.Pod]*cluster.Pod, len(s.Objects.Pods)),
	}
	for _, n := range s.Nodes {
		info := c.info(n.Object, n.Pods)
		c.names = append(c.names, n.Name())
		c.infos = append(c.infos, info)
		c.nodes[n.Name()] = info
		c.repelling += len(info.PodsWithRequiredAntiAffinity)
	}
	c.filters = newFilters(c.ctx, newHandle(c, s))
	return c
}

// info is the scheduler's view of a node with these pods.
func (c *Checker) info(n *corev1.Node, pods []*cluster.Pod) *framework.NodeInfo {
	info := framework.NewNodeInfo()
	info.SetNode(n)
	for _, p := range pods {
		info.AddPodInfo(c.known(p).info)
	}
	return info
}

// Refusals says why the pod cannot run on the node, all causes in kube-scheduler's order; nil when it can. Each is about the
// node. A pod that runs on a node of the snapshot is judged as the pod that would replace it, free to go elsewhere; what it
// uses where it runs still counts there until it is evicted. A node that is not present refuses everything.
//
// Answers are remembered by the pod's pointer, so a pod must not be changed between questions.
func (c *Checker) Refusals(p *cluster.Pod, node string) []reason.Reason {
	info, ok := c.nodes[node]
	if !ok {
		return []reason.Reason{reason.New(reason.SchedulerRefused, reason.Node(node), "plugin", "NodeName", "message", "there is no such node")}
	}
	q := c.question(p)
	var refusals []reason.Reason
	for i := range c.filters {
		if q.skip[i] {
			continue
		}
		status := q.no[i]
		if status == nil {
			status = c.filters[i].ask.Filter(c.ctx, q.state, q.pod, info)
		}
		if !status.IsSuccess() {
			refusals = c.explain(refusals, q, i, info, status)
		}
	}
	return refusals
}

// Fits says whether [Checker.Refusals] would be nil, without saying why not: it stops at the first refusal and prints nothing,
// which is about ten times faster for a pod that does not fit.
func (c *Checker) Fits(p *cluster.Pod, node string) bool {
	info, ok := c.nodes[node]
	if !ok {
		return false
	}
	q := c.question(p)
	for i := range c.filters {
		if !q.skip[i] && (q.no[i] != nil || !c.filters[i].ask.Filter(c.ctx, q.state, q.pod, info).IsSuccess()) {
			return false
		}
	}
	return true
}

// Nodes are the names of all nodes present now, real and pretended, sorted. The slice must not be changed; later what-ifs do
// not change it either.
func (c *Checker) Nodes() []string { return c.names }

// Pods are the pods on the node now: those of the snapshot by namespace and name, then those placed, in the order of placing.
// Nil when the node has none or is not present. The slice belongs to the caller.
func (c *Checker) Pods(node string) []*cluster.Pod {
	info, ok := c.nodes[node]
	if !ok || len(info.Pods) == 0 {
		return nil
	}
	pods := make([]*cluster.Pod, len(info.Pods))
	for i, p := range info.Pods {
		pods[i] = c.records[p.GetPod()]
	}
	return pods
}

// Node is the node object of that name, real or pretended; nil when it is not present.
func (c *Checker) Node(name string) *corev1.Node { return c.nodes[name].Node() }
