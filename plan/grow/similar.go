package grow

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// Likeness is what makes groups similar: a node such as the next machine of a group will become, and what the daemons on it leave to
// others. Node is nil when it is not known what the machines are like; such a group is similar to none.
type Likeness struct {
	Node    *corev1.Node
	Free    corev1.ResourceList
	Size    string // as the cloud calls it, "" when it does not say
	Learned bool   // Node and Free are of a node that there was, and not the cloud's word
}

// poolLabels name the pool that a node is of: nodes of one pool are alike whatever else they are.
var poolLabels = []string{"kubernetes.azure.com/agentpool", "agentpool"}

// differing are labels in which nodes of similar groups may differ, on any cloud and on Azure, as cluster-autoscaler has them.
var differing = []string{
	corev1.LabelHostname,
	corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion,
	corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone, "topology.disk.csi.azure.com/zone",
	"kubernetes.azure.com/agentpool", "agentpool",
	"aksEngineVersion", "creationSource", "poolName", "resourceNameSuffix",
	"kubernetes.azure.com/node-image-version", "kubernetes.azure.com/consolidated-additional-properties",
	"kops.k8s.io/instancegroup", "beta.kubernetes.io/fluentd-ds-ready",
}

// Similar says whether two groups are alike enough to share a growth. The first row that holds decides:
//
//	case                                            similar
//	one has no template                             no
//	their nodes are of one pool, by a label of AKS  yes
//	else                                            when capacity, what pods may use, what daemons leave, and labels are near
//
//	compared                 may differ by
//	capacity without memory  nothing
//	memory of the capacity   by.Memory
//	what pods may use        by.Allocatable
//	what daemons leave       by.Free
//	labels                   those in differing and by.IgnoreLabels
//
// Where one group has been learned and of the other there is the cloud's word alone, machines of one size are the same (scenario
// balance-learned). What firmware and kernel keep of the memory is known of the one and not of the other. So memory is not compared then,
// nor what pods may use or daemons leave.
func Similar(a, b Likeness, by policy.Balance) bool {
	if a.Node == nil || b.Node == nil {
		return false
	}
	for _, l := range poolLabels {
		if pool := a.Node.Labels[l]; pool != "" && pool == b.Node.Labels[l] {
			return true
		}
	}
	memory := by.Memory
	told := a.Learned != b.Learned && a.Size != "" && strings.EqualFold(a.Size, b.Size)
	if told {
		memory = 1
	}
	capacity := func(name corev1.ResourceName) float64 {
		if name == corev1.ResourceMemory {
			return memory
		}
		return 0
	}
	share := func(s float64) func(corev1.ResourceName) float64 {
		return func(corev1.ResourceName) float64 { return s }
	}
	return near(a.Node.Status.Capacity, b.Node.Status.Capacity, capacity) &&
		(told || near(a.Node.Status.Allocatable, b.Node.Status.Allocatable, share(by.Allocatable)) && near(a.Free, b.Free, share(by.Free))) &&
		equalLabels(a.Node, b.Node, by.IgnoreLabels)
}

// near says whether both have the same resources, and of each amounts that differ by no more than a share of the larger.
func near(a, b corev1.ResourceList, share func(corev1.ResourceName) float64) bool {
	if len(a) != len(b) {
		return false
	}
	for name, qa := range a {
		qb, ok := b[name]
		if !ok {
			return false
		}
		x, y := qa.AsApproximateFloat64(), qb.AsApproximateFloat64()
		if larger := max(x, y); larger-min(x, y) > larger*share(name) {
			return false
		}
	}
	return true
}

// equalLabels says whether both have the same labels, apart from those that may differ. A label that the cloud's description only guesses
// may be missing on the other, which was learned from a node.
func equalLabels(a, b *corev1.Node, ignored []string) bool {
	counts := func(key string) bool { return !slices.Contains(differing, key) && !slices.Contains(ignored, key) }
	has := func(a, b *corev1.Node) bool {
		guessed := strings.Split(a.Annotations[cluster.GuessedLabels], ",")
		for k, v := range a.Labels {
			other, ok := b.Labels[k]
			if counts(k) && (ok && other != v || !ok && !slices.Contains(guessed, k)) {
				return false
			}
		}
		return true
	}
	return has(a, b) && has(b, a)
}

// Share is one of the similar groups that a growth is spread over.
type Share struct {
	Group    cluster.GroupID
	Capacity int // before the growth
	Room     int // machines that it may add
}

// Spread gives machines one by one to the smallest group, of equals to the first by name, until each has no room left (scenarios
// balance-catches-up and balance-one-full). It returns what each group adds, in the order of the shares; what finds no room is dropped. It
// takes machines times shares steps.
func Spread(machines int, shares []Share) []int {
	add := make([]int, len(shares))
	for range machines {
		least := -1
		for i, s := range shares {
			if add[i] >= s.Room {
				continue
			}
			if least < 0 || s.Capacity+add[i] < shares[least].Capacity+add[least] ||
				s.Capacity+add[i] == shares[least].Capacity+add[least] && s.Group < shares[least].Group {
				least = i
			}
		}
		if least < 0 {
			break
		}
		add[least]++
	}
	return add
}
