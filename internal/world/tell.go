package world

import (
	"cmp"
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

// tellGone tells of machines that have left the list.
func (ms *machines) tellGone() {
	sort.Slice(ms.gone, func(i, j int) bool { return ms.gone[i].Name < ms.gone[j].Name })
	for _, m := range ms.gone {
		ms.out.say(ms.clock.elapsed(), "machine", m.Name, "gone", "")
	}
	ms.gone = nil
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

// clusterNews tells what is new of nodes, pods, requests and buffers, and keeps what was told last.
type clusterNews struct {
	clock   *simClock
	cluster *kubesim.Cluster
	out     *transcript

	nodes      map[string]*nodeSeen // by name
	pods       map[string]*podSeen  // by UID
	conditions map[string]string    // of requests and buffers, as they were told last
	asking     int                  // requests and buffers that there were last
	worked     time.Time            // when a pod last came to its end
	stirred    bool                 // something happened that turns the loop, and nobody has noted when

	toldNodes, toldPods uint64 // up to which resource versions nodes and pods were told
}

// tell tells what changed on nodes and pods since it was last asked, and whether any of it turns sluice's loop: the
// causes are those of kube.Observer's triggers.
func (ns *clusterNews) tell() {
	ns.tellNodes()
	ns.tellPods()
	ns.tellRequests()
}

func (ns *clusterNews) tellNodes() {
	version := ns.cluster.ResourceVersion("nodes")
	if version == ns.toldNodes {
		return
	}
	ns.toldNodes = version
	for _, n := range ns.nodes {
		n.found = false
	}
	for _, n := range kubesim.All[*corev1.Node](ns.cluster, "") {
		was, ready := ns.nodes[n.Name], cluster.Ready(n)
		if was == nil {
			was = &nodeSeen{}
			ns.nodes[n.Name] = was
			ns.stirred = true
		}
		if was.ready != ready {
			ns.stirred = true
			if ready {
				ns.out.fact(ns.clock.elapsed(), "node", n.Name, "ready", "")
			} else {
				ns.out.fact(ns.clock.elapsed(), "node", n.Name, "not-ready", "")
			}
		}
		if noticed := cluster.Noticed(n); noticed != was.noticed {
			was.noticed, ns.stirred = noticed, true
		}
		was.ready, was.found = ready, true
	}
	for _, name := range sortedKeys(ns.nodes) {
		if !ns.nodes[name].found {
			delete(ns.nodes, name)
			ns.stirred = true
			ns.out.fact(ns.clock.elapsed(), "node", name, "deleted", "")
		}
	}
}

// changedPods are the pods that are new or otherwise than they were told, and the UIDs, sorted, of those that were told and are gone. It costs what has
// changed, but for the first time and when very much has.
func (ns *clusterNews) changedPods() (there []*corev1.Pod, gone []string) {
	there, left, version, remembered := kubesim.Changed[*corev1.Pod](ns.cluster, ns.toldPods)
	ns.toldPods = version
	if remembered {
		for _, p := range left {
			if ns.pods[string(p.UID)] != nil {
				gone = append(gone, string(p.UID))
			}
		}
		slices.Sort(gone)
		return there, gone
	}
	there = kubesim.All[*corev1.Pod](ns.cluster, "")
	found := make(map[string]bool, len(there))
	for _, p := range there {
		found[string(p.UID)] = true
	}
	for _, uid := range sortedKeys(ns.pods) {
		if !found[uid] {
			gone = append(gone, uid)
		}
	}
	return there, gone
}

func (ns *clusterNews) tellPods() {
	pods, gone := ns.changedPods()
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { // as they came and found room, so that they are numbered so
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(homelessLast(a), homelessLast(b)))
	})
	for _, p := range pods {
		uid := string(p.UID)
		was := ns.pods[uid]
		if was == nil {
			was = &podSeen{name: p.Namespace + "/" + p.Name, quiet: record(p).Daemon()}
			ns.pods[uid] = was
			if p.GenerateName != "" {
				ns.out.names.pod(p.Namespace, p.Name, controllerOf(ns.cluster, p))
			}
		}
		state, text := stateOf(p)
		if homeless := p.Spec.NodeName == "" && (record(p).Unschedulable() || record(p).AwaitsCapacity()); homeless != was.homeless {
			was.homeless = homeless
			ns.stirred = ns.stirred || homeless
		}
		if state != was.state {
			if state == "finished" || state == "failed" {
				ns.stirred, ns.worked = true, ns.clock.now()
			}
			if state != "waiting" && state != "leaving" && !was.quiet {
				ns.out.fact(ns.clock.elapsed(), "pod", was.name, state, text)
			}
		}
		was.state, was.node = state, p.Spec.NodeName
	}
	for _, uid := range gone {
		was := ns.pods[uid]
		delete(ns.pods, uid)
		switch was.state {
		case "finished", "failed":
			continue
		case "evicted", "preempted", "deleted", "leaving":
		default:
			if !was.quiet {
				if node := ns.nodes[was.node]; was.node != "" && node == nil {
					ns.out.fact(ns.clock.elapsed(), "pod", was.name, "lost", "with node "+was.node)
				} else {
					ns.out.fact(ns.clock.elapsed(), "pod", was.name, "deleted", "")
				}
			}
		}
		ns.stirred = true
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
func controllerOf(c *kubesim.Cluster, p *corev1.Pod) string {
	owner := metav1.GetControllerOf(p)
	if owner == nil {
		return p.GenerateName
	}
	if owner.Kind == "ReplicaSet" {
		if rs, ok := findReplicaSet(c, p.Namespace, owner.Name); ok {
			if above := metav1.GetControllerOf(rs); above != nil {
				return above.Name
			}
		}
	}
	return owner.Name
}

// record is the pod as decisions read it.
func record(p *corev1.Pod) *cluster.Pod { return cluster.NewPods(p)[0] }
