// Package scheduling answers one question: would kube-scheduler put this pod on that node? A [Checker] starts from a snapshot and takes
// what-ifs in place and back. [Row] and [Checker.Open] do so by the thousand.
//
// The answers are those of kube-scheduler's Filter plugins, of the release that go.mod names and with that release's default feature
// gates. What depends on a pod's spec and a node alone (NodeUnschedulable, NodeName, TaintToleration, NodeAffinity) is asked of the
// plugins themselves, once for each kind of node. What depends on other pods (NodePorts, NodeResourcesFit, PodTopologySpread,
// InterPodAffinity) is counted here, and tests over random worlds hold every count to the plugins. docs/decisions/0011 says why.
//
// Volumes are asked of VolumeBinding and VolumeZone once for each kind of node, and of NodeVolumeLimits and VolumeRestrictions node by
// node. Claims that wait for their first pod are decided when it is placed: to a volume that is there or to one made in the node's zone.
// A claim that is made for each pod of a class does not use up volumes that are there. DynamicResources is asked node by node about
// the devices that pods claim, which placing them gives away.
//
// Not asked is NodeDeclaredFeatures, and preemption is left out: a pod that would have to push another one out does not fit.
package scheduling

import (
	corev1 "k8s.io/api/core/v1"
)

// Future is the node of that name which a machine made after the template will become: hostname label set, Ready and nothing
// else among its conditions, schedulable, without provider id. The template is not changed and shares nothing with it.
func Future(template *corev1.Node, name string) *corev1.Node {
	n := template.DeepCopy()
	n.Name, n.UID, n.ResourceVersion = name, "", ""
	if n.Labels == nil {
		n.Labels = make(map[string]string, 1)
	}
	n.Labels[corev1.LabelHostname] = name
	n.Spec.ProviderID = ""
	n.Spec.Unschedulable = false
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}
