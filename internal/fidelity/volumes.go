package fidelity

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/storage/volume"
)

// csiNode says how many disks the node of that name can attach; 0 leaves it open.
func csiNode(name string, limit int) *storagev1.CSINode {
	driver := storagev1.CSINodeDriver{Name: disks, NodeID: name, TopologyKeys: []string{corev1.LabelTopologyZone}}
	if limit > 0 {
		driver.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(limit))}
	}
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{driver}}}
}

func (o *Oracle) putVolumes() {
	v := o.w.Volumes
	for _, c := range v.Classes {
		o.shelf.put(c)
	}
	for _, pv := range v.Persistent {
		o.shelf.put(pv)
	}
	for _, c := range v.Claims {
		o.shelf.put(c)
	}
	for _, n := range v.CSINodes {
		o.shelf.put(n)
	}
	for _, a := range v.Attachments {
		o.shelf.put(a)
	}
}

// settleVolumes binds what the pod's claims waited for: to the volumes that kube-scheduler's binder picks on the node, otherwise to
// new ones in the node's zone, as the volume controller and a provisioner do once the pod has its node.
func (o *Oracle) settleVolumes(p *corev1.Pod) {
	node := o.nodes[p.Spec.NodeName]
	var waiting []*corev1.PersistentVolumeClaim
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		c, err := o.shelf.Core().V1().PersistentVolumeClaims().Lister().PersistentVolumeClaims(p.Namespace).Get(v.PersistentVolumeClaim.ClaimName)
		if err != nil || c.Spec.VolumeName != "" {
			continue // a pod that is bound without its claim was bound by a mistake, which the caller has reported
		}
		waiting = append(waiting, c.DeepCopy())
	}
	size := func(c *corev1.PersistentVolumeClaim) int64 { return c.Spec.Resources.Requests.Storage().Value() }
	slices.SortFunc(waiting, func(a, b *corev1.PersistentVolumeClaim) int { return int(size(a) - size(b)) })
	for _, c := range waiting {
		v := o.pickVolume(c, node)
		if v == nil {
			var zone []string
			if z, ok := node.Labels[corev1.LabelTopologyZone]; ok {
				zone = []string{z}
			}
			v = diskIn("made-for-"+c.Namespace+"-"+c.Name, *c.Spec.StorageClassName, c.Spec.AccessModes[0], c.Spec.Resources.Requests[corev1.ResourceStorage], zone...)
		}
		bind(c, v)
		c.ResourceVersion, v.ResourceVersion = next(c.ResourceVersion), next(v.ResourceVersion)
		o.shelf.put(v)
		o.shelf.put(c)
	}
}

// pickVolume is the smallest free volume that serves the claim on the node, nil when there is none.
func (o *Oracle) pickVolume(c *corev1.PersistentVolumeClaim, node *corev1.Node) *corev1.PersistentVolume {
	all, err := o.shelf.Core().V1().PersistentVolumes().Lister().List(labels.Everything())
	o.must(err, "list volumes")
	v, err := volume.FindMatchingVolume(c, all, node, nil, true, false)
	o.must(err, "find a volume for claim "+c.Name)
	return v.DeepCopy()
}

func next(version string) string {
	n, err := strconv.Atoi(version)
	if err != nil {
		panic(fmt.Sprintf("fidelity: version %q", version)) // drawn here as a number
	}
	return strconv.Itoa(n + 1)
}
