package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
)

// Objects are the API objects that decisions read, as one observation saw them. Every slice is sorted by namespace and
// name; objects are shared between observations and never changed: equal pointers mean equal objects, and so do slices that
// begin at the same place and are as long.
type Objects struct {
	Nodes      []*corev1.Node                  `json:"nodes,omitempty"`
	Pods       []*Pod                          `json:"pods,omitempty"`
	DaemonSets []*appsv1.DaemonSet             `json:"daemonSets,omitempty"`
	Budgets    []*policyv1.PodDisruptionBudget `json:"budgets,omitempty"`
	Namespaces []*corev1.Namespace             `json:"namespaces,omitempty"`
	ConfigMaps []*corev1.ConfigMap             `json:"configMaps,omitempty"` // the one named [RankingName], where somebody reads it

	Controllers Controllers `json:"controllers,omitzero"`

	NodeUse []*NodeUse `json:"nodeUse,omitempty"` // of nodes of which it was asked, as last measured
	Lacks   Lacks      `json:"lacks,omitempty"`   // rights that sluice does not have

	// What says where a pod's volumes let it go.
	PersistentVolumeClaims []*corev1.PersistentVolumeClaim `json:"persistentVolumeClaims,omitempty"`
	PersistentVolumes      []*corev1.PersistentVolume      `json:"persistentVolumes,omitempty"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses,omitempty"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes,omitempty"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers,omitempty"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities,omitempty"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments,omitempty"`

	// What many clusters do not have: nil where the API is not installed.
	DeviceClasses        []*resourcev1.DeviceClass     `json:"deviceClasses,omitempty"`
	ResourceClaims       []*resourcev1.ResourceClaim   `json:"resourceClaims,omitempty"`
	ResourceSlices       []*resourcev1.ResourceSlice   `json:"resourceSlices,omitempty"`
	PodGroups            []*schedulingv1beta1.PodGroup `json:"podGroups,omitempty"` // of scheduling.k8s.io
	CoschedulingGroups   []*CoschedulingGroup          `json:"coschedulingGroups,omitempty"`
	CapacityBuffers      []*CapacityBuffer             `json:"capacityBuffers,omitempty"`
	ProvisioningRequests []*ProvisioningRequest        `json:"provisioningRequests,omitempty"`
	PodTemplates         []*corev1.PodTemplate         `json:"podTemplates,omitempty"` // followed where buffers or requests may name them, those of what buffers scale besides
}

// RankingName is the ConfigMap by which operators rank groups for the expander priority. The name is cluster-autoscaler's.
const RankingName = "cluster-autoscaler-priority-expander"

// Ranking is the ConfigMap named [RankingName], nil when there is none.
func (o Objects) Ranking() *corev1.ConfigMap {
	for _, c := range o.ConfigMaps {
		if c.Name == RankingName {
			return c
		}
	}
	return nil
}
