package storage

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

// drivers is what kubelets say of the drivers on their nodes, as plugins look it up. Nodes whose kubelets say the same are of one kind.
//
// A machine that is not there yet has no kubelet. Its drivers are taken to be those that count volumes anywhere, and those that no node has
// yet but that attach. Each attaches as many as the machine's size allows.
//
//	what is known of a driver                     a machine to come counts its volumes
//	some kubelet says how many it attaches        yes
//	kubelets have it, and none says how many      no, unless no driver counts anywhere
//	only its CSIDriver is there, and it attaches  yes
//	its CSIDriver says that it attaches nothing   no, unless a kubelet counts
//
// To count too much costs a machine that was not needed. To count too little leaves pods waiting on a machine that is full.
type drivers struct {
	nodes    map[string]*storagev1.CSINode
	kindOf   map[string]int32 // by the node's name; nodes that say nothing are left out
	kinds    map[string]int32 // by what is said, from 1 on: 0 is to say nothing
	counting map[int32]bool   // kinds of which some driver counts volumes
	counted  []string         // drivers that attach no more than so many volumes to a node, and those that may

	here *storagev1.CSINode // what a machine that is not there yet will say, while it is asked about; nil otherwise
}

// newDrivers notes all nodes.
func newDrivers(o *cluster.Objects) *drivers {
	d := &drivers{
		nodes: make(map[string]*storagev1.CSINode, len(o.CSINodes)), kindOf: make(map[string]int32, len(o.CSINodes)),
		kinds: map[string]int32{}, counting: map[int32]bool{},
	}
	installed, counted := map[string]bool{}, map[string]bool{} // by the driver's name: some node has it, and says how much it attaches
	for _, n := range o.CSINodes {
		d.note(n)
		for _, driver := range n.Spec.Drivers {
			installed[driver.Name] = true
			counted[driver.Name] = counted[driver.Name] || counts(&driver)
		}
	}
	// What a map says of a driver is its last word, so those that it says no of are left out of the list.
	set := func(_ string, is bool) bool { return !is }
	maps.DeleteFunc(counted, set)
	// Drivers of a new machine may count where no node has them yet, or nobody counts yet.
	may := map[string]bool{}
	if len(counted) == 0 {
		may = installed
	}
	for _, driver := range o.CSIDrivers {
		attaches := driver.Spec.AttachRequired == nil || *driver.Spec.AttachRequired
		may[driver.Name] = (may[driver.Name] || !installed[driver.Name]) && attaches
	}
	maps.DeleteFunc(may, set)
	maps.Copy(counted, may)
	d.counted = slices.Sorted(maps.Keys(counted))
	return d
}

// counts says whether the driver attaches no more than so many volumes to the node.
func counts(d *storagev1.CSINodeDriver) bool {
	return d.Allocatable != nil && d.Allocatable.Count != nil
}

// note takes note of what a kubelet says.
func (d *drivers) note(n *storagev1.CSINode) {
	d.nodes[n.Name] = n
	words, count := n.Annotations[corev1.MigratedPluginsAnnotationKey], false
	for i := range n.Spec.Drivers {
		driver := &n.Spec.Drivers[i]
		words += " " + driver.Name
		if counts(driver) {
			words += fmt.Sprintf("=%d", *driver.Allocatable.Count)
			count = true
		}
	}
	kind := nodes.Numbered(d.kinds, words, 1)
	d.kindOf[n.Name] = kind
	d.counting[kind] = count
}

// of is the node's kind, and whether one of its drivers attaches no more than so many volumes. Limit is what a machine that is not there
// yet attaches, 0 for a node.
func (d *drivers) of(node string, limit int) (kind int32, count bool) {
	if limit > 0 {
		return nodes.Numbered(d.kinds, fmt.Sprintf("%d each", limit), 1), true
	}
	kind = d.kindOf[node]
	return kind, d.counting[kind]
}

// as does something while plugins see drivers that attach so many volumes each, on a machine that is not there yet. Limit 0 is a node:
// they see what its kubelet says.
func (d *drivers) as(node string, limit int, do func()) {
	if limit > 0 {
		d.here = &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}
		for _, name := range d.counted {
			d.here.Spec.Drivers = append(d.here.Spec.Drivers, storagev1.CSINodeDriver{
				Name: name, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(limit))},
			})
		}
		defer func() { d.here = nil }()
	}
	do()
}

// CSINodes is how plugins look them up.
func (d *drivers) CSINodes() fwk.CSINodeLister { return d }

// List is not asked for by any filter.
func (d *drivers) List() ([]*storagev1.CSINode, error) { return nil, nil }

// Get is what the node's kubelet says of its drivers. NodeVolumeLimits knows of no limit where there is no such object.
func (d *drivers) Get(node string) (*storagev1.CSINode, error) {
	if d.here != nil {
		return d.here, nil
	}
	if n, ok := d.nodes[node]; ok {
		return n, nil
	}
	return nil, apierrors.NewNotFound(storagev1.Resource("csinodes"), node)
}
