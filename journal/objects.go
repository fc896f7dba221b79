package journal

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"

	"sluice.dev/sluice/cluster"
)

// tables are the objects of all kinds as of the last line.
type tables struct {
	nodes      objects[*corev1.Node]
	pods       objects[*cluster.Pod]
	daemonSets objects[*appsv1.DaemonSet]
	budgets    objects[*policyv1.PodDisruptionBudget]
	namespaces objects[*corev1.Namespace]
	configMaps objects[*corev1.ConfigMap]

	persistentVolumeClaims objects[*corev1.PersistentVolumeClaim]
	persistentVolumes      objects[*corev1.PersistentVolume]
	storageClasses         objects[*storagev1.StorageClass]
	csiNodes               objects[*storagev1.CSINode]
	csiDrivers             objects[*storagev1.CSIDriver]
	csiStorageCapacities   objects[*storagev1.CSIStorageCapacity]
	volumeAttachments      objects[*storagev1.VolumeAttachment]
	deviceClasses          objects[*resourcev1.DeviceClass]
	resourceClaims         objects[*resourcev1.ResourceClaim]
	resourceSlices         objects[*resourcev1.ResourceSlice]
	podGroups              objects[*schedulingv1beta1.PodGroup]
	coschedulingGroups     objects[*cluster.CoschedulingGroup]
	capacityBuffers        objects[*cluster.CapacityBuffer]
	provisioningRequests   objects[*cluster.ProvisioningRequest]
	podTemplates           objects[*corev1.PodTemplate]
	nodeUse                objects[*cluster.NodeUse]

	replicaSets            objects[*cluster.Controller]
	replicationControllers objects[*cluster.Controller]
	statefulSets           objects[*cluster.Controller]
}

// apply has a line change the objects.
func (t *tables) apply(r *record) error {
	if err := t.nodes.patch(r.Nodes.Changed); err != nil {
		return err
	}
	t.nodes.apply(r.Nodes)
	t.pods.apply(r.Pods)
	t.daemonSets.apply(r.DaemonSets)
	t.budgets.apply(r.Budgets)
	t.namespaces.apply(r.Namespaces)
	t.configMaps.apply(r.ConfigMaps)
	t.persistentVolumeClaims.apply(r.PersistentVolumeClaims)
	t.persistentVolumes.apply(r.PersistentVolumes)
	t.storageClasses.apply(r.StorageClasses)
	t.csiNodes.apply(r.CSINodes)
	t.csiDrivers.apply(r.CSIDrivers)
	t.csiStorageCapacities.apply(r.CSIStorageCapacities)
	t.volumeAttachments.apply(r.VolumeAttachments)
	t.deviceClasses.apply(r.DeviceClasses)
	t.resourceClaims.apply(r.ResourceClaims)
	t.resourceSlices.apply(r.ResourceSlices)
	t.podGroups.apply(r.PodGroups)
	t.coschedulingGroups.apply(r.CoschedulingGroups)
	t.capacityBuffers.apply(r.CapacityBuffers)
	t.provisioningRequests.apply(r.ProvisioningRequests)
	t.podTemplates.apply(r.PodTemplates)
	t.nodeUse.apply(r.NodeUse)
	t.replicaSets.apply(r.ReplicaSets)
	t.replicationControllers.apply(r.ReplicationControllers)
	t.statefulSets.apply(r.StatefulSets)
	return nil
}

// all are the objects of all kinds, see [objects.all].
func (t *tables) all() cluster.Objects {
	return cluster.Objects{
		Nodes:      t.nodes.all(),
		Pods:       t.pods.all(),
		DaemonSets: t.daemonSets.all(),
		Budgets:    t.budgets.all(),
		Namespaces: t.namespaces.all(),
		ConfigMaps: t.configMaps.all(),

		PersistentVolumeClaims: t.persistentVolumeClaims.all(),
		PersistentVolumes:      t.persistentVolumes.all(),
		StorageClasses:         t.storageClasses.all(),
		CSINodes:               t.csiNodes.all(),
		CSIDrivers:             t.csiDrivers.all(),
		CSIStorageCapacities:   t.csiStorageCapacities.all(),
		VolumeAttachments:      t.volumeAttachments.all(),
		DeviceClasses:          t.deviceClasses.all(),
		ResourceClaims:         t.resourceClaims.all(),
		ResourceSlices:         t.resourceSlices.all(),
		PodGroups:              t.podGroups.all(),
		CoschedulingGroups:     t.coschedulingGroups.all(),
		CapacityBuffers:        t.capacityBuffers.all(),
		ProvisioningRequests:   t.provisioningRequests.all(),
		PodTemplates:           t.podTemplates.all(),
		NodeUse:                t.nodeUse.all(),

		Controllers: cluster.Controllers{
			ReplicaSets:            t.replicaSets.all(),
			ReplicationControllers: t.replicationControllers.all(), StatefulSets: t.statefulSets.all(),
		},
	}
}

// objects are the objects of one kind as of the last line.
type objects[T comparable] struct {
	by    map[string]T    // by [name.String]; nil for a kind that the cluster does not have
	inRow []T             // as they were when all was asked for last, sorted by namespace and name
	since map[string]bool // names of those that changed after that
}

// apply makes the change.
func (os *objects[T]) apply(c change[T]) {
	if os.by == nil && !c.IsZero() {
		os.by, os.since = map[string]T{}, map[string]bool{}
	}
	for _, k := range c.Gone {
		delete(os.by, k)
		os.since[k] = true
	}
	for _, o := range c.Set {
		os.put(o)
	}
}

// put puts an object in the place of one that is there.
func (os *objects[T]) put(o T) {
	var none T
	if o != none { // a null in a damaged line
		key := nameOf(o).String()
		os.by[key], os.since[key] = o, true
	}
}

// patch puts objects with these changes in the place of those that are there.
func (os *objects[T]) patch(changed map[string]patch) error {
	for name, p := range changed {
		was, err := json.Marshal(os.by[name])
		if err != nil {
			return err
		}
		is, err := p.apply(was)
		if err != nil {
			return err
		}
		var o T
		if err := json.Unmarshal(is, &o); err != nil {
			return err
		}
		if os.by != nil {
			os.put(o)
		}
	}
	return nil
}

// all are the objects, sorted by namespace and name; nil for a kind that the cluster does not have. Nobody changes them: while no object changes they
// are the same list.
func (os *objects[T]) all() []T {
	if os.by == nil {
		return nil
	}
	if len(os.since) == 0 && os.inRow != nil {
		return os.inRow
	}
	type named struct {
		name
		of T
	}
	came := make([]named, 0, len(os.since))
	for key := range os.since {
		if o, there := os.by[key]; there {
			came = append(came, named{nameOf(o), o})
		}
	}
	slices.SortFunc(came, func(a, b named) int { return a.compare(b.name) })
	all := make([]T, 0, len(os.by))
	for _, o := range os.inRow {
		is := nameOf(o)
		for len(came) > 0 && came[0].compare(is) < 0 {
			all, came = append(all, came[0].of), came[1:]
		}
		if !os.since[is.String()] {
			all = append(all, o)
		}
	}
	for _, c := range came {
		all = append(all, c.of)
	}
	os.inRow = all
	clear(os.since)
	return all
}
