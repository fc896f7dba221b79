package kubesim

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reconcileDeployment keeps one ReplicaSet, that of the present template, at
// the Deployment's scale, and all others at none: a change of template replaces
// all pods at once.
func (ws *workloads) reconcileDeployment(e *entry) {
	d := e.obj.(*appsv1.Deployment)
	if d.DeletionTimestamp != nil {
		return
	}
	revision := suffix(hash(0, string(mustEncode(d.Spec.Template))), 10)
	name := d.Name + "-" + revision
	current := ws.store.entryOf("replicasets", key(d.Namespace, name))
	if current == nil {
		t := d.Spec.Template.DeepCopy()
		l := map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: revision}
		maps.Copy(l, t.Labels)
		t.Labels = l
		sel := d.Spec.Selector.DeepCopy()
		if sel.MatchLabels == nil {
			sel.MatchLabels = map[string]string{}
		}
		sel.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] = revision
		replicas := *d.Spec.Replicas
		rs := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: name, Labels: maps.Clone(l), OwnerReferences: []metav1.OwnerReference{controllerRef(e)}},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas, Selector: sel, Template: *t},
		}
		if _, err := ws.store.create(kindOf(rs), rs, false); err != nil {
			return // the namespace is going
		}
	}
	var status appsv1.DeploymentStatus
	for _, r := range ws.store.owners.owned(d.UID, "replicasets") {
		want := int32(0)
		if r.obj.GetName() == name {
			want = *d.Spec.Replicas
		}
		r = revised(ws.store, r, func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = &want })
		rs := r.obj.(*appsv1.ReplicaSet)
		status.Replicas += rs.Status.Replicas
		status.ReadyReplicas += rs.Status.ReadyReplicas
		status.AvailableReplicas += rs.Status.AvailableReplicas
		if rs.Name == name {
			status.UpdatedReplicas = rs.Status.Replicas
		} else if rs.Status.Replicas == 0 && len(ws.store.owners.owned(rs.UID, "pods")) == 0 {
			ws.store.remove(r)
		}
	}
	status.UnavailableReplicas = max(*d.Spec.Replicas-status.AvailableReplicas, 0)
	status.ObservedGeneration = d.Generation
	revised(ws.store, e, func(d *appsv1.Deployment) { d.Status = status })
}
