package storage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/plugins"
)

// Pods is the volumes of the pods of a class; nil where no plugin cares for any of them.
//
// Pods of a StatefulSet name a claim each, so each is a class of its own. As long as nobody has used or decided their claims and these ask
// for the same, the pods are alike: the plugins are asked about a twin, with claims that stand for those of all. Once a claim is used the
// class is asked about by itself.
//
//	claims of the class                                   are asked about as
//	wait for their first pod, by no name of their own     the twin's
//	used, decided, bound, meant for a volume or node      its own
type Pods struct {
	of        *cluster.Class
	claims    []string           // "namespace/name" of those that the pods share
	ephemeral bool               // some claims are made for each pod
	body      *framework.PodInfo // one of the pods, as plugins look at its volumes; nil until they do

	judges *judges  // whom the rest was found out from
	own    *Volumes // nil until it is asked about by itself
	twin   *Volumes // nil when there is none
}

// newPods asks no plugin yet.
func newPods(of *cluster.Class) *Pods {
	if !slices.ContainsFunc(of.Spec.Volumes, restrains) {
		return nil
	}
	p := &Pods{of: of}
	for _, v := range of.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			p.claims = append(p.claims, of.Namespace+"/"+v.PersistentVolumeClaim.ClaimName)
		}
		p.ephemeral = p.ephemeral || v.Ephemeral != nil
	}
	return p
}

// Claims are the keys of the claims that pods of the class share. The slice must not be changed.
func (p *Pods) Claims() []string {
	if p == nil {
		return nil
	}
	return p.claims
}

// restrains says whether a plugin may care for the volume.
func restrains(v corev1.Volume) bool {
	return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.AzureDisk != nil || v.AWSElasticBlockStore != nil ||
		v.GCEPersistentDisk != nil || v.ISCSI != nil || v.RBD != nil || v.Cinder != nil || v.VsphereVolume != nil || v.PortworxVolume != nil
}

// follow forgets what other plugins said: they said it of the objects of an earlier observation.
func (p *Pods) follow(j *judges) {
	if p.judges != j {
		p.judges, p.own = j, nil
		p.twin = j.alike(p.of)
	}
}

// volumes are the volumes of the class asked about by itself.
func (p *Pods) volumes() *Volumes {
	if p.own == nil {
		for _, key := range p.claims {
			p.judges.claims.make(key)
		}
		p.own = p.judges.record(p.judges.unit(p.of, 0))
		p.own.follow(p.claims)
	}
	return p.own
}

// info is the pods of the class, as far as they differ, as plugins look at their volumes. It is made once: nodes full of such pods are
// shown to plugins for every pod that asks.
func (p *Pods) info() *framework.PodInfo {
	if p.body == nil {
		p.body = &framework.PodInfo{Pod: p.of.Object()}
	}
	return p.body
}

// unit is one pod of the class, unlike any other in the claims that are made for it: these are put on the shelf as if they had been made. A
// controller makes them within moments. Until then kube-scheduler refuses the pod everywhere, and to do so here would only delay a machine.
func (j *judges) unit(of *cluster.Class, i int) *corev1.Pod {
	p := of.Object()
	p.Name = fmt.Sprintf("%x-%d", of.Key, i)
	p.Spec.Volumes = slices.Clone(p.Spec.Volumes)
	for n := range p.Spec.Volumes {
		v := &p.Spec.Volumes[n]
		if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{Spec: v.Ephemeral.VolumeClaimTemplate.Spec}
		claim.Namespace, claim.Name = p.Namespace, p.Name+"-"+v.Name
		if claim.Spec.StorageClassName == nil {
			claim.Spec.StorageClassName = j.standard()
		}
		put(j.shelf, claim)
		*v = mounting(v.Name, corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name})
	}
	return p
}

// mounting is a volume of a claim.
func mounting(name string, claim corev1.PersistentVolumeClaimVolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &claim}}
}

// standard is the name of the storage class that claims have which name none, nil when there is none. Of several the API server takes the
// youngest, and of these the first by name. Claims that are there have got theirs: only those that are yet to be made are asked about here.
func (j *judges) standard() *string {
	var best *storagev1.StorageClass
	for _, o := range j.shelf.board(best).indexer.List() {
		c := o.(*storagev1.StorageClass)
		is := c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
			c.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
		if is && (best == nil || cmp.Or(best.CreationTimestamp.Compare(c.CreationTimestamp.Time), strings.Compare(c.Name, best.Name)) < 0) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	return &best.Name
}

// alike are the volumes that stand for those of all classes like this one while their claims wait, nil when there are none.
func (j *judges) alike(of *cluster.Class) *Volumes {
	key, ok := j.likeness(of)
	if !ok {
		return nil
	}
	if v, ok := j.twins[key]; ok {
		return v
	}
	p := j.unit(of, 0)
	for i := range of.Spec.Volumes {
		mounted := of.Spec.Volumes[i].PersistentVolumeClaim
		if mounted == nil {
			continue // it is made for the pod already
		}
		own := j.claims.claim(of.Namespace + "/" + mounted.ClaimName)
		name := p.Spec.Volumes[i].Name
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name + "-" + name}, Spec: own.Spec}
		if class, old := own.Annotations[corev1.BetaStorageClassAnnotation]; old {
			claim.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: class}
		}
		claim.Status.Phase = corev1.ClaimPending
		put(j.shelf, claim)
		p.Spec.Volumes[i] = mounting(name, corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name, ReadOnly: mounted.ReadOnly})
	}
	j.twins[key] = j.record(p)
	return j.twins[key]
}

// likeness is all that plugins read of the class's volumes while their claims wait for their first pod, with the claims' names left out;
// false when some claim does not wait or is told from others by its name.
func (j *judges) likeness(of *cluster.Class) (string, bool) {
	var key strings.Builder
	key.WriteString(of.Namespace)
	write := func(o interface{ Marshal() ([]byte, error) }) {
		key.WriteByte(0)
		key.WriteString(plugins.Encoded(o))
	}
	for i := range of.Spec.Volumes {
		v := of.Spec.Volumes[i]
		if !restrains(v) {
			continue
		}
		if v.PersistentVolumeClaim != nil {
			claim := j.claims.claim(of.Namespace + "/" + v.PersistentVolumeClaim.ClaimName)
			if claim == nil || !j.claims.nameless(claim) {
				return "", false
			}
			write(&claim.Spec)
			key.WriteString(claim.Annotations[corev1.BetaStorageClassAnnotation])
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ReadOnly: v.PersistentVolumeClaim.ReadOnly}
		}
		v.Name = ""
		write(&v)
	}
	return key.String(), true
}
