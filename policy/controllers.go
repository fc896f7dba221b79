package policy

import (
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// Uncontrolled says why the pod keeps its node for its controller's sake: it names one that does not exist, so that nobody would make it
// again, or one that is to have fewer pods than operators let go; false when neither is so, and where nobody follows controllers. It
// goes before [Policy.Keeps], and before all that a pod says of itself, as cluster-autoscaler has it. It stays as it is for as long as
// the controllers do.
func (p *Policy) Uncontrolled(pod *cluster.Pod, by cluster.Controllers) (reason.Reason, bool) {
	if !p.Removal.Skip.CustomControllerPods {
		return reason.Reason{}, false
	}
	c, known := by.Of(pod.Class)
	if !known {
		return reason.Reason{}, false
	}
	about, owner := reason.Pod(pod.Namespace, pod.Name), pod.Owner()
	named := owner.Kind + "/" + owner.Name
	if c == nil {
		return reason.New(reason.PodControllerMissing, about, "pod", pod.String(), "owner", named), true
	}
	if owner.Kind != "StatefulSet" && c.Replicas != nil && *c.Replicas < p.Removal.Skip.MinReplicas {
		return reason.New(reason.PodFewReplicas, about,
			"pod", pod.String(), "owner", named, "replicas", *c.Replicas, "limit", p.Removal.Skip.MinReplicas), true
	}
	return reason.Reason{}, false
}
