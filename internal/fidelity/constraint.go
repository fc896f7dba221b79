package fidelity

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A Constraint is one thing that kube-scheduler filters on.
type Constraint string

// Constraints are all that worlds are drawn under. Requests of cpu and memory are in every world.
var Constraints = []Constraint{
	"plain", "odd-quantities", "extended-resource", "ephemeral-storage", "huge-pages", "pods-limit", "overhead", "init-containers", "sidecars",
	"pod-level-resources", "resize",
	"taints", "unschedulable", "node-selector", "node-affinity", "match-fields", "declared-features", "daemons",
	"pod-affinity", "pod-anti-affinity", "affinity-namespaces", "namespace-selector", "match-label-keys", "several-topology-keys",
	"spread", "spread-min-domains", "spread-node-affinity-policy", "spread-node-taints-policy", "spread-match-label-keys",
	"spread-schedule-anyway", "spread-of-others", "preferences",
	"host-ports", "scheduling-gates", "scheduler-name", "expendable", "nominated",
	"pod-labels", "terminating", "finished", "stray",
}

// VolumeConstraints are those that need the world's volumes. They are drawn only where [Draw] is told to.
var VolumeConstraints = []Constraint{
	"volume-zone", "volume-zone-label", "volume-late", "volume-static", "volume-immediate", "volume-shared", "attach-limit", "read-write-once-pod",
	"volume-missing",
}

// DeviceConstraints are those that need the world's device claims. They are drawn only where [Draw] is told to.
var DeviceConstraints = []Constraint{"device-claims", "shared-device-claims", "device-claims-missing", "device-resources"}

// All are the constraints of every kind.
func All() []Constraint {
	return slices.Concat(Constraints, VolumeConstraints, DeviceConstraints)
}

// rule is how a constraint enters a world. Nil hooks change nothing.
type rule struct {
	shape   func(*draft, *corev1.Node)    // of a group's template, and of a node that no group has
	node    func(*draft, *corev1.Node)    // one node
	pod     func(*draft, *corev1.Pod)     // what a workload makes its pods of
	daemon  func(*draft, *corev1.PodSpec) // what a DaemonSet makes its pods of
	groups  func(*draft)                  // all groups, once they are there
	each    func(*draft, *corev1.Pod)     // one pod, running or not
	bound   func(*draft, *corev1.Pod)     // one pod that runs
	pending func(*draft, *corev1.Pod)     // one pod that waits
}

// rules has a row for every constraint.
var rules = map[Constraint]rule{
	"plain":               {},
	"odd-quantities":      {pod: oddQuantities, shape: oddAllocatable},
	"extended-resource":   {shape: gadgets, pod: wantsGadgets},
	"ephemeral-storage":   {shape: disk, pod: wantsDisk},
	"huge-pages":          {shape: hugePages, pod: wantsHugePages},
	"pods-limit":          {shape: fewPods},
	"overhead":            {pod: overhead},
	"init-containers":     {pod: initContainers},
	"sidecars":            {pod: sidecars},
	"pod-level-resources": {pod: podLevel},
	"resize":              {bound: resizes},

	"taints":        {shape: taints, pod: tolerations, daemon: tolerateSome},
	"unschedulable": {node: cordon, pod: tolerateCordon},
	"node-selector": {shape: nodeLabels, pod: selectNodes, daemon: selectSome},
	"node-affinity": {shape: nodeLabels, pod: requireNodes, daemon: selectSome},
	"match-fields":  {pod: matchFields},
	"daemons":       {daemon: heavyDaemon},

	"declared-features": {shape: declares, node: olderKubelet, pod: wantsFeatures},

	"pod-affinity":          {pod: near},
	"pod-anti-affinity":     {pod: apart},
	"affinity-namespaces":   {pod: acrossNamespaces},
	"namespace-selector":    {pod: acrossTeams},
	"match-label-keys":      {pod: affineByKeys},
	"several-topology-keys": {shape: racks, pod: severalKeys},

	"spread":                      {pod: spreads},
	"spread-min-domains":          {pod: spreadMinDomains},
	"spread-node-affinity-policy": {shape: nodeLabels, pod: spreadByAffinity},
	"spread-node-taints-policy":   {shape: taints, pod: spreadByTaints},
	"spread-match-label-keys":     {pod: spreadByKeys},
	"spread-schedule-anyway":      {pod: spreadAnyway},
	"spread-of-others":            {pod: spreadOthers},
	"preferences":                 {shape: nodeLabels, pod: preferences},

	"host-ports":       {pod: hostPorts},
	"scheduling-gates": {pending: gates},
	"scheduler-name":   {pending: otherScheduler},
	"expendable":       {each: expendable},
	"pod-labels":       {pod: selectIndex, each: indexed},
	"terminating":      {bound: terminating},
	"finished":         {bound: finished},
	"stray":            {bound: stray},
	"nominated":        {each: priorities, pending: nominated},

	"device-claims":        {groups: deviceSlices, pod: claimsDevices, each: ownDevices},
	"shared-device-claims": {groups: deviceSlices, each: sharedDevices},

	"device-claims-missing": {pending: missingDeviceClaim},
	"device-resources":      {groups: servedResources, shape: devicePlugin, pod: wantsServedResources, bound: holdsServedResources},

	"volume-zone":         {each: zonalDisk},
	"volume-zone-label":   {each: labelledDisk},
	"volume-late":         {each: lateDisk},
	"volume-static":       {each: staticDisk},
	"volume-immediate":    {each: soonDisk},
	"volume-shared":       {each: sharedDisk},
	"attach-limit":        {groups: attachLimits, each: manyDisks},
	"read-write-once-pod": {each: onePodDisk},
	"volume-missing":      {pending: missingDisk},
}
