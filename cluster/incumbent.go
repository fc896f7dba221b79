package cluster

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// IncumbentTaint is the key of the taint that cluster-autoscaler puts on a node before it deletes the machine. Its value is "<unix
// seconds>". With --cordon-node-before-terminating it cordons the node as well.
const IncumbentTaint = "ToBeDeletedByClusterAutoscaler"

// IncumbentSince is when cluster-autoscaler began to remove the node, false when it did not. A value that cannot be read counts as the zero
// time.
func IncumbentSince(n *corev1.Node) (time.Time, bool) {
	for _, t := range n.Spec.Taints {
		if t.Key != IncumbentTaint {
			continue
		}
		unix, err := strconv.ParseInt(t.Value, 10, 64)
		if err != nil {
			return time.Time{}, true
		}
		return time.Unix(unix, 0).UTC(), true
	}
	return time.Time{}, false
}
