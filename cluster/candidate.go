package cluster

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// CandidateTaint is the key of the candidate taint on a node that could go: the scheduler prefers other nodes meanwhile. It is
// cluster-autoscaler's, so that either takes back what the other has left. Its value is "<unix seconds>".
const CandidateTaint = "DeletionCandidateOfClusterAutoscaler"

// Candidate says whether the node bears the candidate taint.
func Candidate(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == CandidateTaint })
}

// CandidateSince is the candidate taint of a node that could go since then.
func CandidateSince(t time.Time) corev1.Taint {
	return corev1.Taint{Key: CandidateTaint, Value: strconv.FormatInt(t.Unix(), 10), Effect: corev1.TaintEffectPreferNoSchedule}
}
