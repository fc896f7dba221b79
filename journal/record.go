package journal

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// Version is the version of the line format. A reader refuses lines of a newer one. Those before version 4 have all pods whole, those before version
// 3 groups and memory as well, those of version 1 have their verdicts in the plan.
const Version = 4

// record is one line.
type record struct {
	Version    int                                   `json:"v"`
	Cycle      uint64                                `json:"cycle"`
	Time       time.Time                             `json:"time"`
	Full       bool                                  `json:"full,omitempty"` // starts from nothing rather than from the line before
	After      int                                   `json:"n,omitempty"`    // how many lines there are from the last full one to this one
	DryRun     bool                                  `json:"dryRun,omitempty"`
	Nodes      change[*corev1.Node]                  `json:"nodes,omitzero"`
	Pods       change[*cluster.Pod]                  `json:"pods,omitzero"`   // set: the first of each class since the last full line
	Alike      []alike                               `json:"alike,omitempty"` // the others that are new or changed
	DaemonSets change[*appsv1.DaemonSet]             `json:"daemonSets,omitzero"`
	Budgets    change[*policyv1.PodDisruptionBudget] `json:"budgets,omitzero"`
	Namespaces change[*corev1.Namespace]             `json:"namespaces,omitzero"`
	ConfigMaps change[*corev1.ConfigMap]             `json:"configMaps,omitzero"`

	PersistentVolumeClaims change[*corev1.PersistentVolumeClaim] `json:"persistentVolumeClaims,omitzero"`
	PersistentVolumes      change[*corev1.PersistentVolume]      `json:"persistentVolumes,omitzero"`
	StorageClasses         change[*storagev1.StorageClass]       `json:"storageClasses,omitzero"`
	CSINodes               change[*storagev1.CSINode]            `json:"csiNodes,omitzero"`
	CSIDrivers             change[*storagev1.CSIDriver]          `json:"csiDrivers,omitzero"`
	CSIStorageCapacities   change[*storagev1.CSIStorageCapacity] `json:"csiStorageCapacities,omitzero"`
	VolumeAttachments      change[*storagev1.VolumeAttachment]   `json:"volumeAttachments,omitzero"`
	DeviceClasses          change[*resourcev1.DeviceClass]       `json:"deviceClasses,omitzero"`
	ResourceClaims         change[*resourcev1.ResourceClaim]     `json:"resourceClaims,omitzero"`
	ResourceSlices         change[*resourcev1.ResourceSlice]     `json:"resourceSlices,omitzero"`
	PodGroups              change[*schedulingv1beta1.PodGroup]   `json:"podGroups,omitzero"`
	CoschedulingGroups     change[*cluster.CoschedulingGroup]    `json:"coschedulingGroups,omitzero"`
	CapacityBuffers        change[*cluster.CapacityBuffer]       `json:"capacityBuffers,omitzero"`
	ProvisioningRequests   change[*cluster.ProvisioningRequest]  `json:"provisioningRequests,omitzero"`
	PodTemplates           change[*corev1.PodTemplate]           `json:"podTemplates,omitzero"`

	NodeUse change[*cluster.NodeUse] `json:"nodeUse,omitzero"`
	Lacks   cluster.Lacks            `json:"lacks,omitempty"`

	ControllersKnown       bool                        `json:"controllersKnown,omitempty"` // somebody follows the next three
	ReplicaSets            change[*cluster.Controller] `json:"replicaSets,omitzero"`
	ReplicationControllers change[*cluster.Controller] `json:"replicationControllers,omitzero"`
	StatefulSets           change[*cluster.Controller] `json:"statefulSets,omitzero"`

	Groups   json.RawMessage `json:"groups,omitempty"` // a [patch] of []*cluster.Group
	Fleet    fleet.Change    `json:"fleet,omitzero"`
	Offers   *offers         `json:"offers,omitempty"` // nil when as before
	Policy   *policy.Policy  `json:"policy,omitempty"` // nil when as before
	Before   json.RawMessage `json:"before,omitempty"` // a [patch] of memory.Memory
	Plan     action.Plan     `json:"plan"`             // without its verdicts
	Told     []verdicts      `json:"verdicts,omitempty"`
	Results  []memory.Result `json:"results,omitempty"`
	Refused  []Refusal       `json:"refused,omitempty"`
	TookOver []Takeover      `json:"tookOver,omitempty"`
}

// change is what became of one kind of object since the line before.
type change[T comparable] struct {
	Set     []T              `json:"set,omitempty"`     // new or changed, whole
	Changed map[string]patch `json:"changed,omitempty"` // nodes that changed, by name: their kubelets report every few minutes
	Gone    []string         `json:"gone,omitempty"`    // "namespace/name", or "name"
}

// IsZero lets a line leave out a kind that did not change.
func (c change[T]) IsZero() bool { return len(c.Set) == 0 && len(c.Changed) == 0 && len(c.Gone) == 0 }

// patched is the change with what was there before, sorted by name, as patches.
func patched[T comparable](c change[T], before []T) (change[T], error) {
	var whole []T
	for _, o := range c.Set {
		at, found := slices.BinarySearchFunc(before, nameOf(o), func(o T, n name) int { return nameOf(o).compare(n) })
		if !found {
			whole = append(whole, o)
			continue
		}
		was, err := json.Marshal(before[at])
		if err != nil {
			return c, err
		}
		is, err := json.Marshal(o)
		if err != nil {
			return c, err
		}
		if p := patchBetween(was, is); !p.IsZero() {
			if c.Changed == nil {
				c.Changed = map[string]patch{}
			}
			c.Changed[nameOf(o).String()] = p
		}
	}
	c.Set = whole
	return c, nil
}

// name tells objects of one kind apart.
type name struct{ namespace, name string }

// nameOf is the name of an API object or a record of one.
func nameOf(o any) name {
	switch o := o.(type) {
	case *cluster.Pod:
		return name{o.Namespace, o.Name}
	case *cluster.Controller:
		return name{o.Namespace, o.Name}
	case *cluster.NodeUse:
		return name{"", o.Name}
	}
	m := o.(metav1.Object)
	return name{m.GetNamespace(), m.GetName()}
}

func (n name) compare(o name) int {
	return cmp.Or(strings.Compare(n.namespace, o.namespace), strings.Compare(n.name, o.name))
}

func (n name) String() string {
	if n.namespace == "" {
		return n.name
	}
	return n.namespace + "/" + n.name
}

// between is what turns before into after, both sorted by namespace and name. Objects that are the same pointer have not changed.
func between[T comparable](before, after []T) change[T] {
	var c change[T]
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		if i < len(before) && j < len(after) && before[i] == after[j] {
			i, j = i+1, j+1
			continue
		}
		order := -1
		if i == len(before) {
			order = 1
		} else if j < len(after) {
			order = nameOf(before[i]).compare(nameOf(after[j]))
		}
		if order < 0 {
			c.Gone = append(c.Gone, nameOf(before[i]).String())
		} else {
			c.Set = append(c.Set, after[j])
			j++
		}
		if order <= 0 {
			i++
		}
	}
	return c
}
