package cluster

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Classes of ProvisioningRequests that cluster-autoscaler answers, and sluice in its place. Those of other classes are somebody else's.
const (
	CheckCapacityClass = "check-capacity.autoscaling.x-k8s.io"              // for room that is there
	AtomicClass        = "best-effort-atomic-scale-up.autoscaling.x-k8s.io" // for room that is there or bought, all of it or none
)

// Parameters of a request of the class check-capacity.
const (
	NoRetryParameter  = "noRetry"           // "true": one that finds no room has failed
	InstanceParameter = "processorInstance" // which autoscaler is to answer, where there are several
)

// Types of a request's conditions.
const (
	RequestAccepted       = "Accepted"
	RequestProvisioned    = "Provisioned"
	RequestFailed         = "Failed"
	RequestBookingExpired = "BookingExpired"
)

// Annotations by which a pod says which request of its namespace its room comes from: the present one and the one before it.
const (
	ConsumeAnnotation    = "autoscaling.x-k8s.io/consume-provisioning-request"
	OldConsumeAnnotation = "cluster-autoscaler.kubernetes.io/consume-provisioning-request"
)

// Consumes is the "namespace/name" of the ProvisioningRequest that such pods take their room from, "" for none.
func (c *Class) Consumes() string {
	for _, key := range []string{ConsumeAnnotation, OldConsumeAnnotation} {
		if name := c.Annotations[key]; name != "" {
			return c.Namespace + "/" + name
		}
	}
	return ""
}

// String is the request's "namespace/name".
func (r *ProvisioningRequest) String() string { return r.Namespace + "/" + r.Name }

// Pods is how many pods the request is for.
func (r *ProvisioningRequest) Pods() int {
	n := 0
	for _, s := range r.Spec.PodSets {
		n += int(s.Count)
	}
	return n
}

// Is says whether a condition of the request is True.
func (r *ProvisioningRequest) Is(condition string) bool {
	return meta.IsStatusConditionTrue(r.Status.Conditions, condition)
}

// Condition is a condition of the request, nil when nobody has said anything about it.
func (r *ProvisioningRequest) Condition(condition string) *metav1.Condition {
	return meta.FindStatusCondition(r.Status.Conditions, condition)
}

// ActiveStrategy is the provisioning strategy of buffers whose room is free on machines that run: the one that cluster-autoscaler has.
const ActiveStrategy = "buffer.x-k8s.io/active-capacity"

// Types of a buffer's conditions.
const (
	BufferReady        = "ReadyForProvisioning" // it is known for which pods it is, and for how many
	BufferProvisioning = "Provisioning"         // their room is kept free, or is being bought
)

// String is the buffer's "namespace/name".
func (b *CapacityBuffer) String() string { return b.Namespace + "/" + b.Name }

// Condition is a condition of the buffer, nil when nobody has said anything about it.
func (b *CapacityBuffer) Condition(condition string) *metav1.Condition {
	return meta.FindStatusCondition(b.Status.Conditions, condition)
}

// Template is the name under which [Objects.PodTemplates] has the template of what the reference names. No PodTemplate has such a name.
func (s *ScalableReference) Template() string { return s.Kind + "/" + s.Name }

// Scales says whether pods of the class belong to what the reference names: it is their controller, or, for a Deployment, that one's. The
// Deployment controller names its ReplicaSets after itself and the hash that their pods bear as a label.
func (s *ScalableReference) Scales(c *Class) bool {
	o := c.Owner()
	if o == nil {
		return false
	}
	group, _, versioned := strings.Cut(o.APIVersion, "/")
	if !versioned {
		group = ""
	}
	if s.Kind == "Deployment" && s.APIGroup == "apps" {
		hash := c.Labels["pod-template-hash"]
		return o.Kind == "ReplicaSet" && hash != "" && o.Name == s.Name+"-"+hash
	}
	return o.Kind == s.Kind && o.Name == s.Name && group == s.APIGroup
}
