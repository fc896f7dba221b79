package scheduling

import (
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/cluster"
)

// question is a pod as the plugins are asked about it, with what they prepared for it.
type question struct {
	record *cluster.Pod
	pod    *corev1.Pod        // what is asked: the pod without the node that it runs on now
	info   *framework.PodInfo // what is placed: the pod itself

	state *framework.CycleState
	skip  [asked]bool        // the plugin has nothing to say about the pod
	no    [asked]*fwk.Status // the plugin refuses the pod whatever the node

	spreads    bool // has constraints that forbid
	affine     bool // requires to be near pods, or away from pods
	spreadAt   epochs
	affinityAt epochs

	// alone are the spread constraints one by one, prepared when a refusal must say which of them it was.
	alone []lone
}

// epochs name states of the checker's world: the same number always means the same state, also after an undo.
type epochs struct {
	pods      uint64 // which pods run where
	repelling uint64 // which pods with required anti-affinity run where
	nodes     uint64 // which nodes there are
}

// question is the prepared pod, fit for the world as it is pretended now. Pods are told apart by pointer: they never change.
func (c *Checker) question(p *cluster.Pod) *question {
	q := c.known(p)
	if q.state == nil {
		c.prepare(q, p)
	}
	if q.spreads && (q.spreadAt.pods != c.now.pods || q.spreadAt.nodes != c.now.nodes) {
		c.before(q, askSpread)
		q.spreadAt, q.alone = c.now, nil
	}
	// Pods come near or away only because of pods: a node that joins or leaves with no pods changes nothing here.
	if q.affinityAt.repelling != c.now.repelling || q.affine && q.affinityAt.pods != c.now.pods {
		c.before(q, askPodAffinity)
		q.affinityAt = c.now
	}
	return q
}

// known is the pod's question, of which only info is sure to be set.
func (c *Checker) known(p *cluster.Pod) *question {
	q, ok := c.questions[p]
	if !ok {
		// An affinity term that cannot be parsed is left out, as kube-scheduler does for pods that run.
		info, _ := framework.NewPodInfo(p.Object())
		q = &question{record: p, info: info}
		c.questions[p] = q
		c.records[info.Pod] = p
	}
	return q
}

// prepare does what depends on the pod alone, and leaves what depends on others marked as never done: epochs begin at 1.
func (c *Checker) prepare(q *question, p *cluster.Pod) {
	q.state = framework.NewCycleState()
	q.pod = q.info.Pod
	if c.snapshot.Node(p.Node) != nil {
		unbound := *q.pod
		unbound.Spec.NodeName = ""
		q.pod = &unbound
	}
	for _, t := range p.Spec.TopologySpreadConstraints {
		q.spreads = q.spreads || t.WhenUnsatisfiable == corev1.DoNotSchedule
	}
	if a := p.Spec.Affinity; a != nil {
		q.affine = a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 ||
			a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
	}
	for i := range c.filters {
		switch {
		case i == askSpread:
			q.skip[i] = !q.spreads
		case i == askPodAffinity:
		default:
			c.before(q, i)
		}
	}
}

// before lets a plugin prepare for the pod.
func (c *Checker) before(q *question, i int) {
	q.skip[i], q.no[i] = c.prefilter(q.state, i, q.pod)
}

func (c *Checker) prefilter(state fwk.CycleState, i int, p *corev1.Pod) (skip bool, no *fwk.Status) {
	f := &c.filters[i]
	if f.before == nil {
		return false, nil
	}
	// The nodes that a PreFilter may name are those that the same plugin's Filter lets pass.
	_, status := f.before.PreFilter(c.ctx, state, p, c.infos)
	switch {
	case status.IsSkip():
		return true, nil
	case !status.IsSuccess():
		return false, status
	}
	return false, nil
}
