package fidelity

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/storage/volume"
)

const (
	disks    = "disk.csi.azure.com"
	lateName = "late" // storage classes by when they bind: late ones wait for a pod's node
	soonName = "soon"
	zoneName = "late-in-a-zone"
	thatName = "late-and-static" // nobody provisions for it
)

// Volumes are the API objects that the scheduler's volume plugins read.
type Volumes struct {
	Classes     []*storagev1.StorageClass
	Persistent  []*corev1.PersistentVolume
	Claims      []*corev1.PersistentVolumeClaim
	CSINodes    []*storagev1.CSINode // one for every node, of the same name
	Attachments []*storagev1.VolumeAttachment
}

// classes of storage, the same in every world that has volumes.
func (d *draft) storage() {
	if len(d.w.Volumes.Classes) > 0 {
		return
	}
	add := func(name, provisioner string, late bool, allowed ...string) {
		c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: new(storagev1.VolumeBindingImmediate)}
		if late {
			c.VolumeBindingMode = new(storagev1.VolumeBindingWaitForFirstConsumer)
		}
		if len(allowed) > 0 {
			c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
				{Key: corev1.LabelTopologyZone, Values: allowed},
			}}}
		}
		d.w.Volumes.Classes = append(d.w.Volumes.Classes, c)
	}
	add(lateName, disks, true)
	add(soonName, disks, false)
	add(zoneName, disks, true, some(d, zones...)...)
	add(thatName, volume.NotSupportedProvisioner, true)
}

// claim makes a claim and mounts it in the pod.
func (d *draft) claim(p *corev1.Pod, name, class string, mode corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
	d.storage()
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name, UID: types.UID("uid-of-claim-" + p.Namespace + "-" + name), ResourceVersion: "1"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{mode}, StorageClassName: new(class),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(pick(d, "1Gi", "8Gi"))}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	d.w.Volumes.Claims = append(d.w.Volumes.Claims, c)
	mount(p, name)
	return c
}

func mount(p *corev1.Pod, claim string) {
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{
		Name:         fmt.Sprintf("data-%d", len(p.Spec.Volumes)),
		VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}},
	})
}

// diskIn is a disk that nodes of these zones can attach; of every node when there are none.
func diskIn(name, class string, mode corev1.PersistentVolumeAccessMode, size resource.Quantity, zones ...string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: size}, AccessModes: []corev1.PersistentVolumeAccessMode{mode}, StorageClassName: class,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: disks, VolumeHandle: "handle-of-" + name}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeAvailable},
	}
	if len(zones) > 0 {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: zones}},
		}}}}
	}
	return v
}

// bind joins a claim and a volume as the volume controller does.
func bind(c *corev1.PersistentVolumeClaim, v *corev1.PersistentVolume) {
	v.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: c.Namespace, Name: c.Name, UID: c.UID}
	v.Status.Phase = corev1.VolumeBound
	c.Spec.VolumeName = v.Name
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, volume.AnnBindCompleted, "yes")
	c.Status.Phase = corev1.ClaimBound
}

// boundClaim is a claim of the pod's own with its disk.
func (d *draft) boundClaim(p *corev1.Pod, mode corev1.PersistentVolumeAccessMode, zones ...string) *corev1.PersistentVolume {
	c := d.claim(p, fmt.Sprintf("%s-%d", p.Name, len(p.Spec.Volumes)), lateName, mode)
	v := diskIn("pv-"+c.Namespace+"-"+c.Name, lateName, mode, c.Spec.Resources.Requests[corev1.ResourceStorage], zones...)
	bind(c, v)
	d.w.Volumes.Persistent = append(d.w.Volumes.Persistent, v)
	return v
}

func zoneOf(d *draft, p *corev1.Pod) []string {
	for _, n := range d.w.Nodes {
		if n.Name == p.Spec.NodeName {
			if zone, ok := n.Labels[corev1.LabelTopologyZone]; ok {
				return []string{zone}
			}
			return nil
		}
	}
	return some(d, zones...)
}

// zonalDisk gives most pods a disk that is in a zone already: that of the node where the pod runs.
func zonalDisk(d *draft, p *corev1.Pod) {
	if d.chance(0.7) {
		d.boundClaim(p, corev1.ReadWriteOnce, zoneOf(d, p)...)
	}
}

// labelledDisk says its zone by a label, as volumes of before CSI do, for one zone or for several.
func labelledDisk(d *draft, p *corev1.Pod) {
	if !d.chance(0.7) {
		return
	}
	v := d.boundClaim(p, corev1.ReadWriteOnce)
	if in := zoneOf(d, p); len(in) > 0 {
		v.Labels = map[string]string{pick(d, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone): in[0]}
		if len(in) > 1 {
			for key := range v.Labels {
				v.Labels[key] = in[0] + "__" + in[1]
			}
		}
	}
}

// lateDisk is made once the pod has a node; pods that run have it already.
func lateDisk(d *draft, p *corev1.Pod) {
	switch {
	case p.Spec.NodeName != "":
		zonalDisk(d, p)
	case d.chance(0.8):
		d.claim(p, p.Name, pick(d, lateName, zoneName, zoneName), corev1.ReadWriteOnce)
	}
}

// staticDisk waits for a pod's node and takes one of the few disks that there are.
func staticDisk(d *draft, p *corev1.Pod) {
	if p.Spec.NodeName != "" || d.chance(0.3) {
		return
	}
	c := d.claim(p, p.Name+"-static", pick(d, thatName, thatName, lateName), corev1.ReadWriteOnce)
	if d.chance(0.6) {
		name := fmt.Sprintf("spare-%d", len(d.w.Volumes.Persistent))
		size := resource.MustParse(pick(d, "1Gi", "8Gi", "16Gi"))
		size.Add(*resource.NewQuantity(int64(len(d.w.Volumes.Persistent)), resource.BinarySI)) // no two alike: the smallest is one
		d.w.Volumes.Persistent = append(d.w.Volumes.Persistent, diskIn(name, *c.Spec.StorageClassName, corev1.ReadWriteOnce, size, some(d, zones...)...))
	}
}

// soonDisk should have been bound without a pod: it is, or the pod waits wherever there is room.
func soonDisk(d *draft, p *corev1.Pod) {
	switch {
	case p.Spec.NodeName != "" || d.chance(0.5):
		zonalDisk(d, p)
	case d.chance(0.3):
		d.claim(p, p.Name+"-soon", soonName, corev1.ReadWriteOnce)
	case d.chance(0.2):
		mount(p, "nowhere")
	}
}

// manyDisks count against what a node can attach.
func manyDisks(d *draft, p *corev1.Pod) {
	for i := range d.between(0, 2) {
		if p.Spec.NodeName != "" || d.chance(0.5) {
			d.boundClaim(p, corev1.ReadWriteOnce)
			continue
		}
		d.claim(p, fmt.Sprintf("%s-many-%d", p.Name, i), lateName, corev1.ReadWriteOnce)
	}
}

// sharedClaim is one for all pods of an app in a namespace.
func sharedClaim(d *draft, p *corev1.Pod, mode corev1.PersistentVolumeAccessMode, late bool) {
	name := "shared-" + p.Labels["app"]
	for _, c := range d.w.Volumes.Claims {
		if c.Namespace == p.Namespace && c.Name == name {
			mount(p, name)
			return
		}
	}
	c := d.claim(p, name, lateName, mode)
	if !late || p.Spec.NodeName != "" {
		v := diskIn("pv-"+c.Namespace+"-"+c.Name, lateName, mode, c.Spec.Resources.Requests[corev1.ResourceStorage], zoneOf(d, p)...)
		bind(c, v)
		d.w.Volumes.Persistent = append(d.w.Volumes.Persistent, v)
	}
}

func sharedDisk(d *draft, p *corev1.Pod) {
	if d.chance(0.7) {
		sharedClaim(d, p, corev1.ReadWriteMany, true)
	}
}

func onePodDisk(d *draft, p *corev1.Pod) {
	if d.chance(0.7) {
		sharedClaim(d, p, corev1.ReadWriteOncePod, d.chance(0.5))
	}
}

// attachLimits gives groups a number of disks that their machines can attach. Some nodes hold one that no pod uses any more.
func attachLimits(d *draft) {
	for _, g := range d.w.Groups {
		g.VolumeLimit = pick(d, 0, 1, 2, 4)
	}
	for _, n := range d.w.Nodes {
		if !d.chance(0.2) {
			continue
		}
		v := diskIn("left-on-"+n.Name, lateName, corev1.ReadWriteOnce, resource.MustParse("1Gi"))
		v.Status.Phase = corev1.VolumeReleased
		d.w.Volumes.Persistent = append(d.w.Volumes.Persistent, v)
		d.w.Volumes.Attachments = append(d.w.Volumes.Attachments, &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "csi-" + v.Name},
			Spec:       storagev1.VolumeAttachmentSpec{Attacher: disks, NodeName: n.Name, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new(v.Name)}},
			Status:     storagev1.VolumeAttachmentStatus{Attached: true},
		})
	}
}

// missingDisk has pods mount a claim that nobody has made. Where nothing else wants volumes, the world has no storage object at all.
func missingDisk(d *draft, p *corev1.Pod) {
	if d.chance(0.5) {
		mount(p, "nobody-made-it")
	}
}
