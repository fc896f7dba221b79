package kubesim

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const defaultDetach = 5 * time.Second

// attach attaches the volumes of the pods that a node holds, and plans to
// detach those that no pod there mounts any more, after so long. The nodes are those
// whose pods with claims changed.
func (vs *volumes) attach(detach time.Duration) {
	if len(vs.attaching) == 0 {
		return
	}
	nodes := slices.Sorted(maps.Keys(vs.attaching))
	clear(vs.attaching)
	for _, node := range nodes {
		want := vs.volumesOn(node)
		for _, name := range slices.Sorted(maps.Keys(want)) {
			va := &storagev1.VolumeAttachment{
				ObjectMeta: metav1.ObjectMeta{Name: attachmentName(name, node)},
				Spec:       storagev1.VolumeAttachmentSpec{Attacher: want[name], NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}},
				Status:     storagev1.VolumeAttachmentStatus{Attached: true},
			}
			if vs.store.entryOf("volumeattachments", va.Name) == nil {
				vs.store.born(va)
			}
		}
		for _, e := range vs.store.tables["volumeattachments"].sorted {
			if va := e.obj.(*storagev1.VolumeAttachment); va.Spec.NodeName == node && va.Spec.Source.PersistentVolumeName != nil && want[*va.Spec.Source.PersistentVolumeName] == "" {
				vs.timers.remind(vs.store.now().Add(detach), volumeDetaches, e.key, va.UID)
			}
		}
	}
}

// markAttachments has the volumes of a pod's node attached or detached.
func (vs *volumes) markAttachments(pod *corev1.Pod) {
	if pod.Spec.NodeName != "" && len(claimsOf(pod)) > 0 {
		vs.attaching[pod.Spec.NodeName] = struct{}{}
	}
}

// volumesOn returns the drivers of the volumes that the pods of a node mount, by
// the volume's name.
func (vs *volumes) volumesOn(node string) map[string]string {
	want := map[string]string{}
	for _, st := range vs.pods.onNode[node] {
		if finished(st.pod) {
			continue
		}
		for _, k := range st.asks.claims {
			claim := vs.store.entryOf("persistentvolumeclaims", k)
			if claim == nil {
				continue
			}
			v := vs.store.entryOf("persistentvolumes", claim.obj.(*corev1.PersistentVolumeClaim).Spec.VolumeName)
			if v == nil {
				continue
			}
			if csi := v.obj.(*corev1.PersistentVolume).Spec.CSI; csi != nil {
				want[v.key] = csi.Driver
			}
		}
	}
	return want
}

// detach takes a volume off its node unless a pod there mounts it again.
func (vs *volumes) detach(name string) {
	e := vs.store.entryOf("volumeattachments", name)
	va := e.obj.(*storagev1.VolumeAttachment)
	if vs.volumesOn(va.Spec.NodeName)[*va.Spec.Source.PersistentVolumeName] == "" {
		_, _ = vs.store.delete(e, &metav1.DeleteOptions{})
	}
}

func attachmentName(volume, node string) string {
	return fmt.Sprintf("csi-%016x", hash(0, "attachment", volume, node))
}

// register registers the CSI drivers of a machine, as their node plugins do.
func (vs *volumes) register(m *machine) {
	if len(m.AttachLimits) == 0 {
		return
	}
	n := vs.store.entryOf("nodes", m.Name)
	var drivers []storagev1.CSINodeDriver
	for _, name := range slices.Sorted(maps.Keys(m.AttachLimits)) {
		count := m.AttachLimits[name]
		drivers = append(drivers, storagev1.CSINodeDriver{Name: name, NodeID: m.Name, TopologyKeys: []string{corev1.LabelTopologyZone},
			Allocatable: &storagev1.VolumeNodeResources{Count: &count}})
	}
	if e := vs.store.entryOf("csinodes", m.Name); e != nil {
		revised(vs.store, e, func(n *storagev1.CSINode) { n.Spec.Drivers = drivers })
		return
	}
	vs.store.born(&storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: m.Name, UID: n.obj.GetUID()}}},
		Spec:       storagev1.CSINodeSpec{Drivers: drivers},
	})
}
