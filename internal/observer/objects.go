package observer

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/kubesim"
)

// What sluice and cluster-autoscaler write on objects, by its name. These are facts of the product's interface, written down a second time.
const (
	removalTaint    = "sluice.dev/removing"
	noticeTaint     = "sluice.dev/notice"
	gate            = "sluice.dev/capacity"
	keepsNode       = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	safeToEvict     = "cluster-autoscaler.kubernetes.io/safe-to-evict"
	asDaemon        = "cluster-autoscaler.kubernetes.io/daemonset-pod"
	evictWork       = "sluice.dev/evict-work"
	checkpointGrace = "sluice.dev/checkpoint-grace"
	asks            = "sluice.dev/drain"
	doNotDisrupt    = "karpenter.sh/do-not-disrupt"
	ownPrefix       = "sluice.dev/"
	shutdownTaint   = "node.cloudprovider.kubernetes.io/shutdown"
	autoscalerTaint = "DeletionCandidateOfClusterAutoscaler"
	incumbentTaint  = "ToBeDeletedByClusterAutoscaler"
)

// registers is how long ago a node may have registered to count as one that came meanwhile.
const registers = 20 * time.Second

// couldBe says whether a node and a machine have anything in common that names one. An address does not where the node is another machine that is there.
func couldBe(n *corev1.Node, m azuresim.MachineState, other bool) bool {
	if n.Status.NodeInfo.SystemUUID == m.VMID || strings.EqualFold(n.Name, m.ComputerName) {
		return true
	}
	if id := n.Spec.ProviderID; id != "" && strings.HasSuffix(strings.ToLower(id), strings.ToLower(m.ID)) {
		return true
	}
	for _, a := range n.Status.Addresses {
		if !other && a.Type == corev1.NodeInternalIP && a.Address != "" && a.Address == m.PrivateIP {
			return true
		}
	}
	return false
}

func ready(n *corev1.Node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func removing(n *corev1.Node) bool { return tainted(n, removalTaint) }

func tainted(n *corev1.Node, key string) bool {
	for _, t := range n.Spec.Taints {
		if t.Key == key {
			return true
		}
	}
	return false
}

func kept(n *corev1.Node) bool { return n.Annotations[keepsNode] == "true" }

func controls(n *corev1.Node) bool {
	for _, role := range []string{"control-plane", "master", "etcd"} {
		if _, is := n.Labels["node-role.kubernetes.io/"+role]; is {
			return true
		}
	}
	return false
}

// works says whether a pod does work of its own that has not ended. A daemon's does when it is marked to stay, or when the operator says so; one
// below the cutoff when it is marked to stay.
func (o *Observer) works(p *corev1.Pod) bool {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return false
	}
	if _, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return false
	}
	if o.marked(p) != "" {
		return true
	}
	if ownerOf(p) != "DaemonSet" {
		return p.Spec.Priority == nil || o.rules.Cutoff == nil || *p.Spec.Priority >= o.rules.Cutoff()
	}
	return p.Annotations[safeToEvict] != "true" && o.rules.DaemonWork != nil && o.rules.DaemonWork(p)
}

// ownerOf is the kind of what controls a pod; "" for a bare one. One that is annotated to be treated so counts as a daemon's.
func ownerOf(p *corev1.Pod) string {
	if p.Annotations[asDaemon] == "true" {
		return "DaemonSet"
	}
	if owner := metav1.GetControllerOf(p); owner != nil {
		return owner.Kind
	}
	return ""
}

func nameOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

// marked is the mark by which a pod forbids its eviction now, "" when none does.
func (o *Observer) marked(p *corev1.Pod) string {
	since := p.CreationTimestamp.Time
	if p.Status.StartTime != nil {
		since = p.Status.StartTime.Time
	}
	stays, err := time.ParseDuration(p.Annotations[doNotDisrupt])
	switch v := p.Annotations[safeToEvict]; {
	case p.Annotations[doNotDisrupt] == "true", err == nil && o.now().Before(since.Add(stays)):
		return "marked " + doNotDisrupt
	case v == "false" || v == "on-completion":
		return "marked not " + safeToEvict
	}
	return ""
}

// stays says why a pod must not be evicted by default, "" when it may be.
func (o *Observer) stays(p *corev1.Pod) string {
	if mark := o.marked(p); mark != "" {
		return mark
	}
	if p.Annotations[safeToEvict] == "true" {
		return ""
	}
	switch ownerOf(p) {
	case "DaemonSet":
		if o.works(p) {
			return "of a daemon that works"
		}
	case "Job":
		if p.Annotations[checkpointGrace] == "" && (p.Annotations[evictWork] == "" || p.Annotations[evictWork] == "never") {
			return "of a Job"
		}
	case "":
		return "that nothing makes again"
	}
	for _, v := range p.Spec.Volumes {
		if v.HostPath != nil || v.EmptyDir != nil && v.EmptyDir.Medium != corev1.StorageMediumMemory {
			return "with a local volume"
		}
	}
	return ""
}

// clings says whether a pod may go with its machine: it would come back to its cordoned node, may be evicted, and its disruption budgets allow that now.
func (o *Observer) clings(p *corev1.Pod) bool {
	every := slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.Key == "" && t.Operator == corev1.TolerationOpExists && (t.Effect == "" || t.Effect == corev1.TaintEffectNoSchedule)
	})
	if !every || o.stays(p) != "" {
		return false
	}
	for _, b := range kubesim.All[*policyv1.PodDisruptionBudget](o.kube, p.Namespace) {
		s, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err == nil && s.Matches(labels.Set(p.Labels)) && b.Status.DisruptionsAllowed < 1 && !unhealthy(p, b) {
			return false
		}
	}
	return true
}

// unhealthy says whether a pod is not Ready and its disruption budget lets it go for that.
func unhealthy(p *corev1.Pod, b *policyv1.PodDisruptionBudget) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return false
		}
	}
	policy, s := b.Spec.UnhealthyPodEvictionPolicy, b.Status
	return policy != nil && *policy == policyv1.AlwaysAllow || s.DesiredHealthy > 0 && s.CurrentHealthy >= s.DesiredHealthy
}

// controlsToo says whether control-plane nodes may be removed at all.
func (o *Observer) controlsToo() bool { return o.rules.ControlPlane != nil && o.rules.ControlPlane() }

// servers says whether a machine of the set is a control-plane node, while nothing may be done to such sets.
func (o *Observer) servers(set string, machines []azuresim.MachineState) bool {
	return !o.controlsToo() && slices.ContainsFunc(kubesim.All[*corev1.Node](o.kube, ""), func(n *corev1.Node) bool {
		return controls(n) && slices.ContainsFunc(machines, func(m azuresim.MachineState) bool {
			return strings.EqualFold(m.ScaleSet, set) && m.VMID == n.Status.NodeInfo.SystemUUID
		})
	})
}

// quorumWithout says whether control-plane nodes may be removed, none but this one is on its way out, and the others that serve are a quorum.
func (o *Observer) quorumWithout(node string, serves func(*corev1.Node) bool) bool {
	if !o.controlsToo() {
		return false
	}
	voters, left := 0, 0
	for _, n := range kubesim.All[*corev1.Node](o.kube, "") {
		switch {
		case !controls(n):
			continue
		case n.Name == node:
		case removing(n):
			return false
		case serves(n):
			left++
		}
		voters++
	}
	return left > voters/2
}
