package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// MachineAnnotation stands on a node that sluice is removing, or whose machine is parked, and names its machine as "group/id/uid", so that
// after a restart the Node object of that very machine, and of no other, is deleted once the machine is gone (S-14).
const MachineAnnotation = "sluice.dev/machine"

// OwnerAnnotation stands beside whatever else sluice puts on a node for its removal, and says which sluice it was: the name of an
// installation, as [sluice.dev/sluice/policy.Policy] has it. What another one has put there is that one's to take back.
const OwnerAnnotation = "sluice.dev/owner"

// OwnerOf is who has put on the node what stands there for its removal, "" when nothing says it.
func OwnerOf(n *corev1.Node) string { return n.Annotations[OwnerAnnotation] }

// ExclusionLabel keeps load balancers outside of the cluster from sending anything to a node: Kubernetes' service controller reads it. A
// node on its way out bears it with [Excluded] as its value; with any other value it is somebody else's, and stays.
const (
	ExclusionLabel = corev1.LabelNodeExcludeBalancers
	Excluded       = "sluice"
)

// Machine names one machine for ever: the id may be given to another machine of the group, the UID never.
type Machine struct {
	Group GroupID    `json:"group"`
	ID    InstanceID `json:"id"`
	UID   string     `json:"uid"`
}

// String is "group/id/uid".
func (m Machine) String() string { return fmt.Sprintf("%s/%s/%s", m.Group, m.ID, m.UID) }

// ParseMachine reads what [Machine.String] wrote; false for anything else.
func ParseMachine(s string) (Machine, bool) {
	parts := strings.Split(s, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return Machine{}, false
	}
	return Machine{GroupID(parts[0]), InstanceID(parts[1]), parts[2]}, true
}

// Machine names the instance for ever.
func (i *Instance) Machine() Machine { return Machine{i.Group, i.ID, i.UID} }

// Removal is what the removal taint on a node says.
type Removal struct {
	Since time.Time // when the node was cordoned, UTC
	Why   string    // one word: [Idle], "underused", "unready", [RunsDry], [RanDry], [Parked]
}

// Empties says whether the node had to be empty of pods when it was tainted, and counted as emptied from then on.
func (r Removal) Empties() bool { return r.Why != Idle && r.Why != RunsDry && r.Why != Parked }

// Idle is why a node leaves that nobody had to leave.
const Idle = "idle"

// Why a node is tainted whose work is waited for: it takes no more, and leaves when the work is done. Then what can be moved is moved.
const (
	RunsDry = "dry"
	RanDry  = "dried"

	// Parked is why a node stays tainted whose machine is switched off: it takes pods again once that is started.
	Parked = "parked"

	// Consolidated is the reason of a removal that saves money.
	Consolidated = "consolidated"
)

// RemovalOf reads the node's removal taint; false when it has none. A taint whose value is not sluice's counts as set at the zero
// time, so that it is neither trusted nor lost.
func RemovalOf(n *corev1.Node) (Removal, bool) {
	for _, t := range n.Spec.Taints {
		if t.Key != RemovalTaint {
			continue
		}
		seconds, why, _ := strings.Cut(t.Value, ".")
		unix, err := strconv.ParseInt(seconds, 10, 64)
		if err != nil {
			return Removal{}, true
		}
		return Removal{time.Unix(unix, 0).UTC(), why}, true
	}
	return Removal{}, false
}

// Taint is the removal taint with these words.
func (r Removal) Taint() corev1.Taint {
	return corev1.Taint{Key: RemovalTaint, Value: fmt.Sprintf("%d.%s", r.Since.Unix(), r.Why), Effect: corev1.TaintEffectNoSchedule}
}
