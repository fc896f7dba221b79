package storage

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

const (
	disks = "disk.csi.azure.com"
	zone  = corev1.LabelTopologyZone
)

// Short names of lists that are long.
type (
	pvcs = []*corev1.PersistentVolumeClaim
	pvs  = []*corev1.PersistentVolume
	csi  = []*storagev1.CSIDriver
)

// just are these claims and no other object.
func just(c ...*corev1.PersistentVolumeClaim) cluster.Objects {
	return cluster.Objects{PersistentVolumeClaims: c}
}

// claim is one of that storage class, bound to a volume if it is named.
func claim(name, class, volume string, modes ...corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.StorageClassName, c.Spec.VolumeName, c.Spec.AccessModes = &class, volume, modes
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	if volume != "" {
		c.Annotations, c.Status.Phase = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}, corev1.ClaimBound
	}
	return c
}

// sized asks for another size.
func sized(c *corev1.PersistentVolumeClaim, size string) *corev1.PersistentVolumeClaim {
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	return c
}

// volume is a disk of that size in a zone.
func volume(name, class, size, in string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec.StorageClassName, v.Spec.Capacity = class, corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: disks, VolumeHandle: name}
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: []string{in}}},
	}}}}
	v.Status.Phase = corev1.VolumeAvailable
	return v
}

func class(name string, mode storagev1.VolumeBindingMode) *storagev1.StorageClass {
	return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: disks, VolumeBindingMode: &mode}
}

// attaches is what the kubelet of a node says of the driver of disks: so many, 0 for no limit.
func attaches(node string, n int32) *storagev1.CSINode {
	d := storagev1.CSINodeDriver{Name: disks, NodeID: node}
	if n > 0 {
		d.Allocatable = &storagev1.VolumeNodeResources{Count: &n}
	}
	return &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: node}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{d}}}
}

// world is nodes a and b in zones 1 and 2, two storage classes, and these objects.
func world(o cluster.Objects) (*Storage, *nodes.Table) {
	late, now := class("late", storagev1.VolumeBindingWaitForFirstConsumer), class("now", storagev1.VolumeBindingImmediate)
	o.StorageClasses = append(o.StorageClasses, late, now)
	table := nodes.NewTable(2)
	for name, in := range map[string]string{"a": "1", "b": "2"} {
		h := table.Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{zone: in}}}, nil)
		table.Enter(h)
	}
	return New(&journal.Clock{}, table, &o), table
}

// mounts is a class of pods with these claims; the label tells classes apart.
func mounts(label string, claims ...string) *cluster.Class {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{"app": label}}}
	for _, name := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
	}
	return cluster.NewPods(p)[0].Class
}

// where are the nodes that can have the volumes of the pods, "" for none; Mountable and Unmountable must agree.
func where(t *testing.T, s *Storage, p *Pods) (fits string) {
	t.Helper()
	v := s.Volumes(p)
	for _, h := range s.table.Handles() {
		_, refused := v.Refused()
		if got, why := s.Mountable(v, h), s.Unmountable(s.Own(p), h); refused == "" && got != (why == nil) {
			t.Errorf("node %s: mountable %t, and %v", s.table.Name(h), got, why)
		} else if got {
			fits += s.table.Name(h)
		}
	}
	return fits
}

func TestVolumesSayWherePodsGo(t *testing.T) {
	const once = corev1.ReadWriteOncePod
	for name, c := range map[string]struct {
		objects cluster.Objects
		claims  []string
		used    bool // by another pod
		want    string
	}{
		"a claim that nobody has made, without any object": {claims: []string{"x"}, want: ""},
		"a claim that nobody has made beside one that is": {
			objects: just(claim("x", "late", "")), claims: []string{"x", "y"}, want: "",
		},
		"where the volume is": {cluster.Objects{
			PersistentVolumeClaims: pvcs{claim("x", "late", "v")}, PersistentVolumes: pvs{volume("v", "late", "10Gi", "2")},
		}, []string{"x"}, false, "b"},
		"a volume that is lost":              {just(claim("x", "late", "v")), []string{"x"}, false, ""},
		"one that is made where the pod is":  {just(claim("x", "late", "")), []string{"x"}, false, "ab"},
		"one that should be made by now":     {just(claim("x", "now", "")), []string{"x"}, false, ""},
		"one that a single pod may use":      {just(claim("x", "late", "", once)), []string{"x"}, false, "ab"},
		"the same, and another pod does":     {just(claim("x", "late", "", once)), []string{"x"}, true, ""},
		"another pod uses one for many pods": {just(claim("x", "late", "")), []string{"x"}, true, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := world(c.objects)
			p := s.Class(mounts("p", c.claims...))
			if c.used {
				s.Use(s.Class(mounts("q", c.claims...)), 1)
			}
			if got := where(t, s, p); got != c.want {
				t.Errorf("mountable on %q, want %q", got, c.want)
			}
		})
	}
}

// TestTheFirstPodDecidesAClaim places a pod whose claims wait, and asks about another pod of them then and after that was taken back.
func TestTheFirstPodDecidesAClaim(t *testing.T) {
	both := func(c ...*corev1.PersistentVolumeClaim) pvcs { return c }
	for name, c := range map[string]struct {
		objects cluster.Objects
		claims  []string
		on      string
		then    string
		volumes []string // to which they are bound then, in the order of claims
	}{
		"a disk is made in the zone": {just(claim("x", "late", "")), []string{"x"}, "b", "b", []string{"made-for-default/x"}},
		"a volume that will do is taken": {cluster.Objects{
			PersistentVolumeClaims: both(claim("x", "late", "")), PersistentVolumes: pvs{volume("v", "late", "10Gi", "1")},
		}, []string{"x"}, "a", "a", []string{"v"}},
		"not one that is elsewhere": {cluster.Objects{
			PersistentVolumeClaims: both(claim("x", "late", "")), PersistentVolumes: pvs{volume("v", "late", "10Gi", "1")},
		}, []string{"x"}, "b", "b", []string{"made-for-default/x"}},
		"nor one that is too small": {cluster.Objects{
			PersistentVolumeClaims: both(claim("x", "late", "")), PersistentVolumes: pvs{volume("v", "late", "9Gi", "1")},
		}, []string{"x"}, "a", "a", []string{"made-for-default/x"}},
		"the smallest of several": {cluster.Objects{
			PersistentVolumeClaims: both(claim("x", "late", "")),
			PersistentVolumes:      pvs{volume("v", "late", "30Gi", "1"), volume("w", "late", "20Gi", "1")},
		}, []string{"x"}, "a", "a", []string{"w"}},
		"two claims take two volumes": {cluster.Objects{
			PersistentVolumeClaims: both(claim("x", "late", ""), claim("y", "late", "")),
			PersistentVolumes:      pvs{volume("v", "late", "30Gi", "1"), volume("w", "late", "20Gi", "1")},
		}, []string{"x", "y"}, "a", "a", []string{"w", "v"}},
		"the small one chooses first": {cluster.Objects{
			PersistentVolumeClaims: both(sized(claim("x", "late", ""), "20Gi"), claim("y", "late", "")),
			PersistentVolumes:      pvs{volume("v", "late", "20Gi", "1"), volume("w", "late", "30Gi", "1")},
		}, []string{"x", "y"}, "a", "a", []string{"w", "v"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, table := world(c.objects)
			p, other := s.Class(mounts("p", c.claims...)), s.Class(mounts("q", c.claims...))
			before := where(t, s, other)
			h, _ := table.Handle(c.on)
			decided := s.Provide(p, h)
			if got := where(t, s, other); got != c.then || len(decided) != len(c.claims) {
				t.Errorf("%d claims are decided, and others may go to %q, want %q", len(decided), got, c.then)
			}
			for i, name := range c.claims {
				if got := s.judges.claims.claim("default/" + name).Spec.VolumeName; got != c.volumes[i] {
					t.Errorf("claim %s is bound to %q, want %q", name, got, c.volumes[i])
				}
			}
			if again := s.Provide(other, h); len(again) != 0 {
				t.Errorf("%d claims are decided twice", len(again))
			}
			s.Withdraw(decided)
			if got := where(t, s, other); got != before {
				t.Errorf("after it was taken back others may go to %q, want %q", got, before)
			}
			if len(s.judges.claims.decided)+len(s.judges.claims.later) > 0 {
				t.Error("something is decided still")
			}
		})
	}
}

// TestClassesWhoseClaimsWaitShareATwin says when two classes of pods are asked about as one, as those of a StatefulSet are.
func TestClassesWhoseClaimsWaitShareATwin(t *testing.T) {
	large := sized(claim("large", "late", ""), "1Ti")
	meant := claim("meant", "late", "")
	meant.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "a"}
	promised := volume("v", "late", "1Gi", "1")
	promised.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "promised"}
	for name, c := range map[string]struct {
		other string
		want  bool
	}{
		"claims that are alike":                {"same", true},
		"one of another size":                  {"large", false},
		"one that is bound":                    {"bound", false},
		"one for which a node was chosen":      {"meant", false},
		"one that a volume is reserved for":    {"promised", false},
		"one that does not wait for its pod":   {"now", false},
		"one that nobody has made":             {"missing", false},
		"one that another pod uses by now":     {"used", false},
		"one that was decided for another pod": {"decided", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := world(cluster.Objects{PersistentVolumes: pvs{promised, volume("w", "late", "1Gi", "1")}, PersistentVolumeClaims: pvcs{
				claim("first", "late", ""), claim("same", "late", ""), large, claim("bound", "late", "w"), meant, claim("promised", "late", ""),
				claim("now", "now", ""), claim("used", "late", ""), claim("decided", "late", ""),
			}})
			first, other := s.Class(mounts("p", "first")), s.Class(mounts("p", c.other))
			switch c.other {
			case "used":
				s.Use(other, 1)
			case "decided":
				s.Provide(other, 0)
			}
			if got := s.Volumes(first) == s.Volumes(other); got != c.want {
				t.Errorf("one record: %t", got)
			}
		})
	}
}

// TestWhatNodesAttach says how many disks pods find room for beside those that run.
func TestWhatNodesAttach(t *testing.T) {
	driver := storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: disks}}
	nothing := driver
	nothing.Spec.AttachRequired = new(false)
	for name, c := range map[string]struct {
		csi     []*storagev1.CSINode
		drivers csi
		machine int // it attaches so many, as its size allows; 0 for node a
		want    int
	}{
		"as many as the kubelet says":                {[]*storagev1.CSINode{attaches("a", 2)}, nil, 0, 2},
		"any number where it says none":              {[]*storagev1.CSINode{attaches("a", 0)}, nil, 0, 4},
		"any number where there is no kubelet":       {nil, nil, 0, 4},
		"as many as a machine's size allows":         {[]*storagev1.CSINode{attaches("a", 2)}, nil, 3, 3},
		"also of a driver that no node has yet":      {nil, csi{&driver}, 3, 3},
		"of one that attaches nothing there is none": {nil, csi{&nothing}, 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			o := cluster.Objects{CSINodes: c.csi, CSIDrivers: c.drivers}
			for _, name := range []string{"1", "2", "3", "4"} {
				o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, claim(name, "late", "v"+name))
				o.PersistentVolumes = append(o.PersistentVolumes, volume("v"+name, "late", "1Gi", "1"))
			}
			s, table := world(o)
			h, _ := table.Handle("a")
			if c.machine > 0 {
				like := table.Template(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{zone: "1"}}}, nil, nil).Attaching(c.machine)
				h = table.Machine("new", like)
				table.Enter(h)
			}
			got := 0
			for id, name := range []string{"1", "2", "3", "4"} {
				p := s.Class(mounts(name, name))
				if !s.Mountable(s.Volumes(p), h) {
					break
				}
				table.AddPods(h, nodes.Entry{Class: int32(id), N: 1})
				got++
			}
			if got != c.want {
				t.Errorf("%d disks, want %d", got, c.want)
			}
		})
	}
}

// TestEphemeralClaimsHaveTheDefaultClass is about claims that name no storage class: the API server gives them the default one.
func TestEphemeralClaimsHaveTheDefaultClass(t *testing.T) {
	standard := func(name string, mode storagev1.VolumeBindingMode, born int64) *storagev1.StorageClass {
		c := class(name, mode)
		c.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
		c.CreationTimestamp = metav1.NewTime(time.Unix(born, 0))
		return c
	}
	const late, now = storagev1.VolumeBindingWaitForFirstConsumer, storagev1.VolumeBindingImmediate
	for name, c := range map[string]struct {
		classes []*storagev1.StorageClass
		want    string // "ab" where it is one that waits for the pod
	}{
		"there is none":          {nil, ""},
		"there is one":           {[]*storagev1.StorageClass{standard("x", late, 1)}, "ab"},
		"the youngest of two":    {[]*storagev1.StorageClass{standard("x", now, 1), standard("y", late, 2)}, "ab"},
		"of two as old by names": {[]*storagev1.StorageClass{standard("x", late, 1), standard("y", now, 1)}, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := world(cluster.Objects{StorageClasses: c.classes})
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}
			p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
				VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{},
			}}}}
			if got := where(t, s, s.Class(cluster.NewPods(p)[0].Class)); got != c.want {
				t.Errorf("mountable on %q, want %q", got, c.want)
			}
		})
	}
}

func TestStorageFollowsWhatItReads(t *testing.T) {
	s, table := world(cluster.Objects{})
	p := s.Class(mounts("p", "x"))
	h, _ := table.Handle("a")
	if s.Mountable(s.Volumes(p), h) {
		t.Fatal("nobody has made the claim")
	}
	later := *s.objects
	later.Nodes = []*corev1.Node{{}}
	if s.Changed(&later) {
		t.Error("nodes are not storage")
	}
	later.PersistentVolumeClaims = pvcs{claim("x", "late", "")}
	if !s.Changed(&later) {
		t.Error("a claim is made, and nothing has changed")
	}
	s.Follow(&later)
	if !s.Mountable(s.Volumes(p), h) {
		t.Errorf("the claim is made now: %v", s.Unmountable(s.Own(p), h))
	}
	if s.Class(mounts("r")) != nil {
		t.Error("a class without volumes has a record")
	}
}
