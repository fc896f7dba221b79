package journal

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	storagev1 "k8s.io/api/storage/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// ErrCut says that the last line of a journal is not whole, as after a crash. The entries before it are good.
var ErrCut = errors.New("the last line is cut off, as after a crash")

// Decoder reads the entries of a journal in their order. It is not safe for concurrent use.
type Decoder struct {
	r      *bufio.Reader
	line   int
	begun  bool
	policy *policy.Policy
	offers map[cluster.GroupID]*cluster.Sizes
	told   []action.Verdict
	fleet  fleet.Ledger
	groups json.RawMessage
	memory json.RawMessage

	nodes      objects[*corev1.Node]
	pods       objects[*cluster.Pod]
	classes    cluster.Classes
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
	podGroups              objects[*schedulingv1alpha2.PodGroup]
	coschedulingGroups     objects[*cluster.CoschedulingGroup]
	capacityBuffers        objects[*cluster.CapacityBuffer]
	provisioningRequests   objects[*cluster.ProvisioningRequest]
	podTemplates           objects[*corev1.PodTemplate]
	nodeUse                objects[*cluster.NodeUse]

	replicaSets            objects[*cluster.Controller]
	replicationControllers objects[*cluster.Controller]
	statefulSets           objects[*cluster.Controller]
}

// NewDecoder returns a decoder of r. Lines before the first full one are passed over: they cannot be understood alone.
func NewDecoder(r io.Reader) *Decoder { return &Decoder{r: bufio.NewReaderSize(r, 1<<20)} }

// Next is the next entry; io.EOF at the end, [ErrCut] when the end is not whole. Other errors name the line; a caller that goes on
// is given the next entry that can be understood alone, and those after it.
func (d *Decoder) Next() (Entry, error) {
	for {
		line, err := d.r.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) > 0 {
			return Entry{}, ErrCut
		}
		if err != nil {
			return Entry{}, err
		}
		d.line++
		if len(line) == 1 {
			continue
		}
		var r record
		if err := json.Unmarshal(line, &r); err != nil {
			d.begun = false // what follows says what changed since this line
			return Entry{}, fmt.Errorf("line %d is not a journal entry: %w", d.line, err)
		}
		if r.Version > Version || r.Version < 1 {
			return Entry{}, fmt.Errorf("line %d has format version %d, this sluice reads up to %d: use the version that wrote it", d.line, r.Version, Version)
		}
		if !d.begun && !r.Full {
			continue
		}
		return d.apply(r)
	}
}

func (d *Decoder) apply(r record) (Entry, error) {
	if r.Full {
		*d = Decoder{r: d.r, line: d.line}
	}
	d.begun = true
	if r.Policy != nil {
		d.policy = r.Policy
	}
	if d.policy == nil {
		return Entry{}, fmt.Errorf("line %d has no policy", d.line)
	}
	if r.Version > 1 {
		told, err := verdictsAfter(d.told, r.Told)
		if err != nil {
			d.begun = false
			return Entry{}, fmt.Errorf("line %d is damaged: %w", d.line, err)
		}
		r.Plan.Verdicts = told
	}
	d.told = r.Plan.Verdicts
	if r.Offers != nil {
		d.offers = r.Offers.tables()
	}
	var groups []*cluster.Group
	var before memory.Memory
	if err := cmp.Or(next(&d.groups, r.Version, r.Groups, &groups), next(&d.memory, r.Version, r.Before, &before)); err != nil {
		d.begun = false
		return Entry{}, fmt.Errorf("line %d is damaged: %w", d.line, err)
	}
	for _, g := range groups {
		if g == nil {
			return Entry{}, fmt.Errorf("line %d has an empty group", d.line)
		}
		g.Sizes = d.offers[g.ID]
	}
	for i, p := range r.Pods.Set {
		if p != nil {
			r.Pods.Set[i] = d.classes.Again(p)
		}
	}
	seen := cluster.New(r.Time, cluster.Objects{
		Nodes:      d.nodes.apply(r.Nodes),
		Pods:       d.pods.apply(r.Pods),
		DaemonSets: d.daemonSets.apply(r.DaemonSets),
		Budgets:    d.budgets.apply(r.Budgets),
		Namespaces: d.namespaces.apply(r.Namespaces),
		ConfigMaps: d.configMaps.apply(r.ConfigMaps),

		PersistentVolumeClaims: d.persistentVolumeClaims.apply(r.PersistentVolumeClaims),
		PersistentVolumes:      d.persistentVolumes.apply(r.PersistentVolumes),
		StorageClasses:         d.storageClasses.apply(r.StorageClasses),
		CSINodes:               d.csiNodes.apply(r.CSINodes),
		CSIDrivers:             d.csiDrivers.apply(r.CSIDrivers),
		CSIStorageCapacities:   d.csiStorageCapacities.apply(r.CSIStorageCapacities),
		VolumeAttachments:      d.volumeAttachments.apply(r.VolumeAttachments),
		DeviceClasses:          d.deviceClasses.apply(r.DeviceClasses),
		ResourceClaims:         d.resourceClaims.apply(r.ResourceClaims),
		ResourceSlices:         d.resourceSlices.apply(r.ResourceSlices),
		PodGroups:              d.podGroups.apply(r.PodGroups),
		CoschedulingGroups:     d.coschedulingGroups.apply(r.CoschedulingGroups),
		CapacityBuffers:        d.capacityBuffers.apply(r.CapacityBuffers),
		ProvisioningRequests:   d.provisioningRequests.apply(r.ProvisioningRequests),
		PodTemplates:           d.podTemplates.apply(r.PodTemplates),
		NodeUse:                d.nodeUse.apply(r.NodeUse),
		Lacks:                  r.Lacks,

		Controllers: cluster.Controllers{
			Known: r.ControllersKnown, ReplicaSets: d.replicaSets.apply(r.ReplicaSets),
			ReplicationControllers: d.replicationControllers.apply(r.ReplicationControllers), StatefulSets: d.statefulSets.apply(r.StatefulSets),
		},
	}, groups)
	d.fleet = d.fleet.Apply(r.Fleet)
	seen.Fleet = d.fleet
	return Entry{Cycle: r.Cycle, Seen: seen, Policy: d.policy, Before: before, Plan: r.Plan, Results: r.Results, Refused: r.Refused, TookOver: r.TookOver, DryRun: r.DryRun}, nil
}

// next applies what a line says of a value to that of the line before, and reads it. Lines before version 3 have the whole value.
func next(value *json.RawMessage, version int, said json.RawMessage, into any) (err error) {
	var p patch
	switch {
	case version < 3:
		p.Is = said
	case len(said) > 0:
		err = json.Unmarshal(said, &p)
	}
	if err == nil {
		*value, err = p.apply(*value)
	}
	if err == nil && len(*value) > 0 {
		err = json.Unmarshal(*value, into)
	}
	return err
}

// objects are the objects of one kind as of the last line, by [name.String].
type objects[T comparable] map[string]T

// apply makes the change and returns what there is then, sorted by namespace and name.
func (os *objects[T]) apply(c change[T]) []T {
	if len(*os) == 0 && c.IsZero() {
		return nil // as of every kind that a cluster does not have
	}
	if *os == nil {
		*os = objects[T]{}
	}
	for _, k := range c.Gone {
		delete(*os, k)
	}
	var none T
	for _, o := range c.Set {
		if o != none { // a null in a damaged line
			(*os)[nameOf(o).String()] = o
		}
	}
	all := make([]T, 0, len(*os))
	for _, o := range *os {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b T) int { return nameOf(a).compare(nameOf(b)) })
	return all
}
