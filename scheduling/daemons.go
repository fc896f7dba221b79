package scheduling

import (
	"slices"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	daemon "k8s.io/kubernetes/pkg/controller/daemon/util"
	"k8s.io/kubernetes/pkg/features"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/devices"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/resources"
)

// Daemons are the pods that the snapshot's DaemonSets would run on this node, one each, in the order of the DaemonSets: those
// whose node selector and affinity match and that tolerate its NoSchedule and NoExecute taints, with the tolerations that
// the daemon controller gives every daemon. They are named "<DaemonSet>-<node>" and bound to the node. Whether they fit beside each
// other is not asked: the controller makes them all the same. One that asks for more than the node has at all is left out: it waits for
// ever and takes nothing. What devices serve is not asked either. DaemonSets that are being deleted make none. The pods share what their
// templates say with the DaemonSets and must not be changed.
func (c *Checker) Daemons(node *corev1.Node) []*cluster.Pod {
	var pods []*cluster.Pod
	served := devices.Served(c.snapshot.Objects.DeviceClasses)
	for _, ds := range c.snapshot.Objects.DaemonSets {
		if ds.DeletionTimestamp != nil {
			continue
		}
		if p := daemonPod(ds, node.Name); runsDaemon(node, p) && !exceeds(p, node, served) {
			pods = append(pods, cluster.NewPods(p)...)
		}
	}
	return pods
}

// exceeds says whether the pod asks for more than the node could give to it alone, but for what devices serve there.
func exceeds(p *corev1.Pod, n *corev1.Node, served []corev1.ResourceName) bool {
	for name, asked := range resources.Requests(p) {
		has := n.Status.Allocatable[name]
		if !asked.IsZero() && asked.Cmp(has) > 0 && !(has.IsZero() && slices.Contains(served, name)) {
			return true
		}
	}
	return false
}

// daemonPod is what the daemon controller would make for a node of that name. A template that names a node keeps it.
func daemonPod(ds *appsv1.DaemonSet, node string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: ds.Spec.Template.ObjectMeta, Spec: ds.Spec.Template.Spec}
	p.Namespace, p.Name = ds.Namespace, ds.Name+"-"+node
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
	if p.Spec.NodeName == "" {
		p.Spec.NodeName = node
	}
	daemon.AddOrUpdateDaemonPodTolerations(&p.Spec)
	return p
}

// runsDaemon holds the conditions under which the daemon controller runs its pod on a node; kube-scheduler's Filter plugins
// come only after that.
func runsDaemon(n *corev1.Node, p *corev1.Pod) bool {
	if p.Spec.NodeName != n.Name {
		return false
	}
	// A selector that cannot be parsed matches nothing, as for the controller.
	if match, _ := nodeaffinity.GetRequiredNodeAffinity(p).Match(n); !match {
		return false
	}
	operators := utilfeature.DefaultFeatureGate.Enabled(features.TaintTolerationComparisonOperators)
	_, repelled := v1helper.FindMatchingUntoleratedTaint(logr.Discard(), n.Spec.Taints, p.Spec.Tolerations, nodes.Repels, operators)
	return !repelled
}
