package scheduling

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"sluice.dev/sluice/cluster"
)

// volumes is what the volumes of a class's pods say of nodes. VolumeBinding and VolumeZone are asked once for each kind of node,
// NodeVolumeLimits and VolumeRestrictions node by node. Claims that are made for each pod count as made.
type volumes struct {
	id      int
	pod     *corev1.Pod // with its volumes
	state   fwk.CycleState
	skips   map[string]bool // plugins that have nothing to say
	refused string          // what a plugin says whatever the node
	by      string

	lens    *lens
	answers []verdict       // by the lens's kinds
	full    map[uint64]bool // of other nodes: see [Checker.tooMany]
	empty   []verdict       // of nodes on which no pod has volumes, by what their drivers say: see [Checker.overloads]

	alone     []string  // claims that one pod at a time may use
	undecided []*waiter // claims that wait for their first pod
	choice    []*waiter // storage classes of which they may take a volume
	changes   uint64    // of all these that the answers know of
}

// mounted are the claims that pods of the class share, "namespace/name".
func mounted(of *cluster.Class) []string {
	var all []string
	for i := range of.Spec.Volumes {
		if v := &of.Spec.Volumes[i]; v.PersistentVolumeClaim != nil {
			all = append(all, of.Namespace+"/"+v.PersistentVolumeClaim.ClaimName)
		}
	}
	return all
}

// restrained says whether a plugin may care for the volume.
func restrained(v *corev1.Volume) bool {
	return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.AzureDisk != nil || v.AWSElasticBlockStore != nil || v.GCEPersistentDisk != nil ||
		v.ISCSI != nil || v.RBD != nil || v.Cinder != nil || v.VsphereVolume != nil || v.PortworxVolume != nil
}

// volumesOf is what the class's volumes say, nil when nobody cares.
func (c *Checker) volumesOf(cl *class) *volumes {
	if !cl.restrained {
		return nil
	}
	if c.storage == nil {
		c.storage = storageOf(c.ctx, &c.snapshot.Objects)
	}
	if twin := c.alike(cl); twin != nil {
		return twin
	}
	return c.ownVolumes(cl)
}

// ownVolumes are the volumes of the class asked about by itself.
func (c *Checker) ownVolumes(cl *class) *volumes {
	if cl.volumes != nil {
		return cl.volumes
	}
	c.make(cl.mounts)
	v := c.volumesFor(c.storage.unit(cl.of, 0))
	cl.volumes = v
	for i := range cl.of.Spec.Volumes {
		p := cl.of.Spec.Volumes[i].PersistentVolumeClaim
		if p == nil {
			continue
		}
		if claim := c.storage.claim(cl.of.Namespace + "/" + p.ClaimName); claim != nil && c.storage.waits(claim) {
			v.undecided = append(v.undecided, waiterOf(c.storage.claims, keyOf(claim)))
		}
	}
	v.changes = v.changed()
	return v
}

// volumesFor is a record of the pod's volumes.
func (c *Checker) volumesFor(p *corev1.Pod) *volumes {
	s := c.storage
	c.mounted++
	v := &volumes{id: c.mounted, pod: p, skips: map[string]bool{}}
	name := s.name
	classes := map[string]bool{}
	for i := range v.pod.Spec.Volumes {
		p := v.pod.Spec.Volumes[i].PersistentVolumeClaim
		if p == nil {
			continue
		}
		claim := s.claim(v.pod.Namespace + "/" + p.ClaimName)
		if claim == nil {
			continue
		}
		if _, selected := claim.Annotations[storagehelpers.AnnSelectedNode]; selected {
			name = true
		}
		if s.waits(claim) {
			if class := storagehelpers.GetPersistentVolumeClaimClass(claim); !classes[class] {
				classes[class] = true
				v.choice = append(v.choice, waiterOf(s.classes, class))
			}
		}
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			v.alone = append(v.alone, keyOf(claim))
		}
	}
	v.lens = c.lens(s.keys, name)
	v.changes = v.changed()
	c.consult(v)
	return v
}

// consult asks the plugins what can be said before there is a node.
func (c *Checker) consult(v *volumes) {
	s := c.storage
	v.state, v.refused, v.by = framework.NewCycleState(), "", ""
	for _, plugin := range []judge{s.restrictions, s.binding, s.zone} {
		_, status := plugin.PreFilter(c.ctx, v.state, v.pod, nil)
		v.skips[plugin.Name()] = status.IsSkip()
		if !status.IsSuccess() && !status.IsSkip() && v.refused == "" {
			v.by, v.refused = plugin.Name(), status.Message()
		}
	}
}

// changed is how often claims and volumes that the class depends on have changed.
func (v *volumes) changed() uint64 {
	n := uint64(0)
	for _, w := range v.undecided {
		n += w.changes
	}
	for _, w := range v.choice {
		n += w.changes
	}
	return n
}

// renew forgets answers that no longer hold.
func (c *Checker) renew(v *volumes) {
	if n := v.changed(); n != v.changes {
		v.changes = n
		for _, w := range v.undecided {
			c.make([]string{w.key})
		}
		clear(v.answers)
		clear(v.empty)
		clear(v.full)
		c.consult(v)
	}
}

// unit is one pod of the class, unlike any other in the claims that are made for it: these are put on the shelf as if they had been made.
func (s *storage) unit(of *cluster.Class, i int) *corev1.Pod {
	p := of.Object()
	p.Name = fmt.Sprintf("%x-%d", of.Key, i)
	p.Spec.Volumes = slices.Clone(p.Spec.Volumes)
	for j := range p.Spec.Volumes {
		v := &p.Spec.Volumes[j]
		if v.Ephemeral == nil || v.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name + "-" + v.Name}, Spec: v.Ephemeral.VolumeClaimTemplate.Spec}
		if claim.Spec.StorageClassName == nil {
			claim.Spec.StorageClassName = s.standard()
		}
		put(s.shelf, claim)
		*v = corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name}}}
	}
	return p
}

// standard is the name of the storage class that claims have which name none, nil when there is none.
func (s *storage) standard() *string {
	var name *string
	for _, o := range s.shelf.board(&storagev1.StorageClass{}).indexer.List() {
		c := o.(*storagev1.StorageClass)
		if c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" && (name == nil || c.Name < *name) {
			name = &c.Name
		}
	}
	return name
}

// use counts n pods more that share claims, fewer when n is negative.
func (c *Checker) use(cl *class, n int32) {
	for _, claim := range cl.mounts {
		c.uses[claim] += n
	}
}

// restock forgets what volumes said, after storage changed.
func (c *Checker) restock() {
	c.storage = nil
	for _, cl := range c.classes {
		if cl.restrained {
			cl.volumes, cl.twin, cl.compared, cl.kind = nil, nil, false, nil
		}
	}
}

// mountable says whether the node can have the volumes.
func (c *Checker) mountable(v *volumes, h Handle) bool {
	c.renew(v)
	if v.refused != "" || slices.ContainsFunc(v.alone, func(claim string) bool { return c.uses[claim] > 0 }) {
		return false
	}
	kind := c.look(v.lens, h)
	for len(v.answers) <= int(kind) {
		v.answers = append(v.answers, 0)
	}
	if v.answers[kind] == 0 {
		v.answers[kind] = verdictAsked
		if len(c.ask(v, c.bare(h), c.storage.binding, c.storage.zone)) == 0 {
			v.answers[kind] |= verdictSelected
		}
	}
	return v.answers[kind]&verdictSelected != 0 && !c.overloads(v, h)
}

// said is a plugin's refusal.
type said struct{ plugin, message string }

// ask asks plugins about a node.
func (c *Checker) ask(v *volumes, info *framework.NodeInfo, plugins ...judge) []said {
	var all []said
	for _, p := range plugins {
		if v.skips[p.Name()] {
			continue
		}
		if status := p.Filter(c.ctx, v.state, v.pod, info); !status.IsSuccess() {
			all = append(all, said{p.Name(), status.Message()})
		}
	}
	return all
}

// attaching is what the kubelet of a new machine will say of drivers.
func (s *storage) attaching(node string, limit int) *storagev1.CSINode {
	n := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}}
	for _, d := range s.drivers {
		n.Spec.Drivers = append(n.Spec.Drivers, storagev1.CSINodeDriver{Name: d, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(limit))}})
	}
	return n
}

// bare is the node without its pods.
func (c *Checker) bare(h Handle) *framework.NodeInfo {
	info := framework.NewNodeInfo()
	info.SetNode(c.object(h))
	return info
}

// unmountable is why the node cannot have the volumes.
func (c *Checker) unmountable(v *volumes, h Handle) []said {
	c.renew(v)
	all := c.crammed(v, h)
	for _, claim := range v.alone {
		if c.uses[claim] > 0 {
			all = append(all, said{"VolumeRestrictions", "claim " + claim + " is used by another pod, and only one may use it"})
		}
	}
	return append(all, c.ask(v, c.bare(h), c.storage.binding, c.storage.zone)...)
}
