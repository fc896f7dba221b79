package world

import (
	"cmp"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

// tellGone tells of machines that have left the list.
func (w *world) tellGone() {
	sort.Slice(w.gone, func(i, j int) bool { return w.gone[i].Name < w.gone[j].Name })
	for _, m := range w.gone {
		w.out.say(w.elapsed(), "machine", m.Name, "gone", "")
	}
	w.gone = nil
}

// nodeSeen is a node as it was told last.
type nodeSeen struct {
	ready   bool
	noticed bool // something is announced to its machine
	found   bool
}

// podSeen is a pod as it was told last.
type podSeen struct {
	name     string // as the transcript has it
	quiet    bool   // a daemon: not told at all
	state    string
	node     string
	homeless bool // the scheduler had found no node
}

// tellCluster tells what changed on nodes and pods since it was last asked, and whether any of it turns sluice's loop: the
// causes are those of kube.Observer's triggers.
func (w *world) tellCluster() {
	w.tellNodes()
	w.tellPods()
	w.tellRequests()
}

func (w *world) tellNodes() {
	version := w.cluster.ResourceVersion("nodes")
	if version == w.toldNodes {
		return
	}
	w.toldNodes = version
	for _, n := range w.nodes {
		n.found = false
	}
	for _, n := range kubesim.All[*corev1.Node](w.cluster, "") {
		was, ready := w.nodes[n.Name], cluster.Ready(n)
		if was == nil {
			was = &nodeSeen{}
			w.nodes[n.Name] = was
			w.stirred = true
		}
		if was.ready != ready {
			w.stirred = true
			if ready {
				w.fact("node", n.Name, "ready", "")
			} else {
				w.fact("node", n.Name, "not-ready", "")
			}
		}
		if noticed := cluster.Noticed(n); noticed != was.noticed {
			was.noticed, w.stirred = noticed, true
		}
		was.ready, was.found = ready, true
	}
	for _, name := range sortedKeys(w.nodes) {
		if !w.nodes[name].found {
			delete(w.nodes, name)
			w.stirred = true
			w.fact("node", name, "deleted", "")
		}
	}
}

// changedPods are the pods that are new or otherwise than they were told, and the UIDs, sorted, of those that were told and are gone. It costs what has
// changed, but for the first time and when very much has.
func (w *world) changedPods() (there []*corev1.Pod, gone []string) {
	there, left, version, remembered := kubesim.Changed[*corev1.Pod](w.cluster, w.toldPods)
	w.toldPods = version
	if remembered {
		for _, p := range left {
			if w.pods[string(p.UID)] != nil {
				gone = append(gone, string(p.UID))
			}
		}
		slices.Sort(gone)
		return there, gone
	}
	there = kubesim.All[*corev1.Pod](w.cluster, "")
	found := make(map[string]bool, len(there))
	for _, p := range there {
		found[string(p.UID)] = true
	}
	for _, uid := range sortedKeys(w.pods) {
		if !found[uid] {
			gone = append(gone, uid)
		}
	}
	return there, gone
}

func (w *world) tellPods() {
	pods, gone := w.changedPods()
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { // as they came and found room, so that they are numbered so
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(homelessLast(a), homelessLast(b)))
	})
	for _, p := range pods {
		uid := string(p.UID)
		was := w.pods[uid]
		if was == nil {
			was = &podSeen{name: p.Namespace + "/" + p.Name, quiet: record(p).Daemon()}
			w.pods[uid] = was
			if p.GenerateName != "" {
				w.names.pod(p.Namespace, p.Name, w.controllerOf(p))
			}
		}
		state, text := stateOf(p)
		if homeless := p.Spec.NodeName == "" && (record(p).Unschedulable() || record(p).AwaitsCapacity()); homeless != was.homeless {
			was.homeless = homeless
			w.stirred = w.stirred || homeless
		}
		if state != was.state {
			if state == "finished" || state == "failed" {
				w.stirred, w.worked = true, w.now()
			}
			if state != "waiting" && state != "leaving" && !was.quiet {
				w.fact("pod", was.name, state, text)
			}
		}
		was.state, was.node = state, p.Spec.NodeName
	}
	for _, uid := range gone {
		was := w.pods[uid]
		delete(w.pods, uid)
		switch was.state {
		case "finished", "failed":
			continue
		case "evicted", "preempted", "deleted", "leaving":
		default:
			if !was.quiet {
				if node := w.nodes[was.node]; was.node != "" && node == nil {
					w.fact("pod", was.name, "lost", "with node "+was.node)
				} else {
					w.fact("pod", was.name, "deleted", "")
				}
			}
		}
		w.stirred = true
	}
}

// homelessLast sorts pods that have a node before those that have none.
func homelessLast(p *corev1.Pod) string {
	if p.Spec.NodeName == "" {
		return "~"
	}
	return p.Spec.NodeName
}

// stateOf is what a pod does, in one word, and the sentence to it.
func stateOf(p *corev1.Pod) (state, text string) {
	switch {
	case p.Status.Phase == corev1.PodSucceeded:
		return "finished", "on " + p.Spec.NodeName
	case p.Status.Phase == corev1.PodFailed:
		return "failed", "on " + p.Spec.NodeName
	case p.DeletionTimestamp != nil && preempted(p):
		return "preempted", "from " + p.Spec.NodeName
	case p.DeletionTimestamp != nil && evicted(p):
		return "evicted", "from " + p.Spec.NodeName
	case p.DeletionTimestamp != nil:
		return "deleted", ""
	case p.Status.Phase == corev1.PodRunning:
		return "running", "on " + p.Spec.NodeName
	}
	return "waiting", ""
}

func evicted(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// preempted reports whether the scheduler deleted the pod for a more important one.
func preempted(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Reason == corev1.PodReasonPreemptionByScheduler {
			return true
		}
	}
	return false
}

// controllerOf is the name of what made the pod: its Deployment rather than that one's ReplicaSet.
func (w *world) controllerOf(p *corev1.Pod) string {
	owner := metav1.GetControllerOf(p)
	if owner == nil {
		return p.GenerateName
	}
	if owner.Kind == "ReplicaSet" {
		if rs, ok := findReplicaSet(w.cluster, p.Namespace, owner.Name); ok {
			if above := metav1.GetControllerOf(rs); above != nil {
				return above.Name
			}
		}
	}
	return owner.Name
}

// fact tells what happened in the world, once sluice runs.
func (w *world) fact(kind, name, outcome, text string) {
	if w.sluice != nil {
		w.out.say(w.elapsed(), kind, name, outcome, text)
	}
}

// record is the pod as decisions read it.
func record(p *corev1.Pod) *cluster.Pod { return cluster.NewPods(p)[0] }
