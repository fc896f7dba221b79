package kubesim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// deviceClaims is the controller of resource claims: it makes those that pods have templates for, and ends them with the pods.
type deviceClaims struct {
	store *store
	pods  *podIndex
	work  workQueue
}

// make makes the claims of a pod that have templates, and says in its
// status what they are called. It waits for templates that are not there.
func (d *deviceClaims) make(e *entry) {
	pod := e.obj.(*corev1.Pod)
	for _, wanted := range pod.Spec.ResourceClaims {
		if wanted.ResourceClaimTemplateName == nil || slices.ContainsFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == wanted.Name }) {
			continue
		}
		from := d.store.entryOf("resourceclaimtemplates", key(pod.Namespace, *wanted.ResourceClaimTemplateName))
		if from == nil {
			d.work.mark("pods", e.key)
			continue
		}
		t := from.obj.(*resourcev1.ResourceClaimTemplate).Spec.DeepCopy()
		claim := &resourcev1.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: pod.Name + "-" + wanted.Name + "-", Labels: t.Labels, Annotations: t.Annotations}, Spec: t.Spec,
		}
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		claim.Annotations["resource.kubernetes.io/pod-claim-name"] = wanted.Name
		claim.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))}
		made, err := d.store.create(kindOf(claim), claim, false)
		if err != nil {
			continue // refused in a namespace that is going, as the pod will be
		}
		name := made.obj.GetName()
		e = revised(d.store, e, func(p *corev1.Pod) {
			p.Status.ResourceClaimStatuses = append(p.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: wanted.Name, ResourceClaimName: &name})
		})
	}
}

// reconcile lets go of pods that have ended: a claim that nobody is
// left for loses its devices, and goes if it was made for a pod that has ended.
func (d *deviceClaims) reconcile(e *entry) {
	claim := e.obj.(*resourcev1.ResourceClaim)
	left := slices.DeleteFunc(slices.Clone(claim.Status.ReservedFor), func(r resourcev1.ResourceClaimConsumerReference) bool { return d.ended(claim.Namespace, r) })
	e = revised(d.store, e, func(claim *resourcev1.ResourceClaim) {
		if len(left) < len(claim.Status.ReservedFor) {
			claim.Status.ReservedFor = left
		}
		if len(left) == 0 {
			claim.Status.Allocation = nil
		}
	})
	if owner := metav1.GetControllerOf(claim); owner != nil && owner.Kind == "Pod" && claim.DeletionTimestamp == nil &&
		d.ended(claim.Namespace, resourcev1.ResourceClaimConsumerReference{Name: owner.Name, UID: owner.UID}) {
		_, _ = d.store.delete(e, &metav1.DeleteOptions{}) // no preconditions, so nothing to refuse
	}
}

// ended reports whether a pod has gone or its containers have exited for good.
func (d *deviceClaims) ended(namespace string, r resourcev1.ResourceClaimConsumerReference) bool {
	st := d.pods.byKey[key(namespace, r.Name)]
	return st == nil || st.uid != r.UID || finished(st.pod)
}

// mark has the claims of a pod looked at.
func (d *deviceClaims) mark(pod *corev1.Pod) {
	for _, wanted := range pod.Spec.ResourceClaims {
		if wanted.ResourceClaimName != nil {
			d.work.mark("resourceclaims", key(pod.Namespace, *wanted.ResourceClaimName))
		}
	}
	for _, s := range pod.Status.ResourceClaimStatuses {
		if s.ResourceClaimName != nil {
			d.work.mark("resourceclaims", key(pod.Namespace, *s.ResourceClaimName))
		}
	}
}
