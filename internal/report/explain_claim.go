package report

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/reason"
)

// describeRequest says what a ProvisioningRequest asks for and what it has been told, and relates the pods that take their room from it.
func (x *Explanation) describeRequest(entry journal.Entry) (string, bool) {
	for _, r := range entry.Seen.Objects.ProvisioningRequests {
		if r.String() != x.Subject.Name {
			continue
		}
		x.relateClaimed(entry, reason.NodeBooked, "request")
		for _, p := range entry.Seen.Pending {
			if p.Consumes() == r.String() {
				x.relate(reason.Pod(p.Namespace, p.Name))
			}
		}
		return fmt.Sprintf("asks for room for %s by class %s%s", plural(r.Pods(), "pod"), r.Spec.ProvisioningClassName, conditionsText(r.Status.Conditions)), true
	}
	return "", false
}

// describeBuffer says what a CapacityBuffer is like and what it has been told.
func (x *Explanation) describeBuffer(entry journal.Entry) (string, bool) {
	for _, b := range entry.Seen.Objects.CapacityBuffers {
		if b.String() != x.Subject.Name {
			continue
		}
		x.relateClaimed(entry, reason.NodeBuffer, "buffer")
		return "keeps room free for pods like " + likeWhich(b.Spec) + conditionsText(b.Status.Conditions), true
	}
	return "", false
}

func likeWhich(s cluster.CapacityBufferSpec) string {
	switch {
	case s.PodTemplateRef != nil:
		return "PodTemplate " + s.PodTemplateRef.Name
	case s.ScalableRef != nil:
		return "those of " + s.ScalableRef.Kind + " " + s.ScalableRef.Name
	}
	return "none that it names"
}

// relateClaimed relates the nodes that stay for the subject's sake.
func (x *Explanation) relateClaimed(entry journal.Entry, code reason.Code, fact string) {
	for _, n := range entry.Seen.Nodes {
		about := reason.Node(n.Name())
		if why, kept := find(x.verdicts[about].Because, code); kept && why.Facts[fact] == x.Subject.Name {
			x.relate(about)
		}
	}
}

// conditionsText is what an object has been told by its conditions.
func conditionsText(conditions []metav1.Condition) string {
	if len(conditions) == 0 {
		return "; it has been told nothing yet"
	}
	return "; it has been told" + conditionsSaid(conditions)
}
