// Package scheduling answers one question: would kube-scheduler put this pod on that node? A [Checker] starts from a snapshot and takes
// what-ifs in place and back. [Row] and [Checker.Open] do so by the thousand.
//
// The answers are those of kube-scheduler's Filter plugins, of the release that go.mod names and with that release's default feature
// gates. What depends on a pod's spec and a node alone (NodeUnschedulable, NodeName, TaintToleration, NodeAffinity,
// NodeDeclaredFeatures) is asked of the plugins themselves, once for each kind of node. What depends on other pods (NodePorts,
// NodeResourcesFit, PodTopologySpread, InterPodAffinity) is counted here, and tests over random worlds hold every count to the plugins.
// docs/decisions/0011 says why.
//
// Volumes are asked of VolumeBinding and VolumeZone once for each kind of node, and of NodeVolumeLimits and VolumeRestrictions node by
// node. Claims that wait for their first pod are decided when it is placed: to a volume that is there or to one made in the node's zone.
// A claim that is made for each pod of a class does not use up volumes that are there. DynamicResources is asked node by node about
// the devices that pods claim, which placing them gives away. So it is about extended resources that device classes serve, on nodes that
// have none of them allocatable.
//
// Preemption is left out: a pod that would have to push another one out does not fit.
//
// The checker is a facade. What it knows lies in packages below it, each of which imports only those above it in this table:
//
//	package               what it holds
//	internal/resources    what pods ask for and nodes have, in integers
//	internal/plugins      kube-scheduler's plugins, and what they are asked with
//	internal/journal      the what-ifs that stand, and the number of every change
//	internal/nodes        nodes, what they have left, what specs say of nodes alone
//	internal/relations    what pods say of each other: selectors, counters, scopes
//	internal/storage      volumes
//	internal/devices      devices
//	internal/classes      specs, classes and kinds of pods, and how they are counted
//	internal/fit          the answer, and why not
//	internal/whatif       changes that are pretended, and taken back
package scheduling

import (
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/resources"
)

// Handle names a node of a checker, real or pretended: a small number, from 0 on. It means the same node until what added the node is
// taken back. [Checker.Handles] has them in the order of names.
type Handle = nodes.Handle

// Template is what machines of a group are opened like: see [Checker.Template] and [Checker.Open].
type Template = nodes.Template

// Future is the node of that name which a machine made after the template will become: hostname label set, Ready and nothing
// else among its conditions, schedulable, without provider id. The template is not changed and shares nothing with it.
func Future(template *corev1.Node, name string) *corev1.Node { return nodes.Future(template, name) }

// Requests is what the pod takes of a node's allocatable as kube-scheduler counts it. A pod whose resize is in progress takes the most of
// what it has and what it asks for.
func Requests(p *cluster.Pod) corev1.ResourceList { return resources.Requests(p.Class.Object()) }
