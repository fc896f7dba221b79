package scheduling

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

const disks = "disk.csi.azure.com"

func claim(name, class, volume string, modes ...corev1.PersistentVolumeAccessMode) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	c.Spec.StorageClassName, c.Spec.VolumeName, c.Spec.AccessModes = &class, volume, modes
	c.Spec.Resources.Requests = quantities("storage", "10Gi")
	if volume != "" {
		c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		c.Status.Phase = corev1.ClaimBound
	}
	return c
}

func volumeIn(name, in string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: disks, VolumeHandle: name}
	v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: []string{in}}},
	}}}}
	return v
}

func storageClass(name string, mode storagev1.VolumeBindingMode, zones ...string) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: disks, VolumeBindingMode: &mode}
	if len(zones) > 0 {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: zone, Values: zones}}}}
	}
	return c
}

func mounts(claims ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, name := range claims {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
		}
	}
}

// scratch mounts a claim that is made for the pod.
func scratch(class string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class}},
		}}})
	}
}

// stored is nodes a and b in zones 1 and 2, of which a attaches two disks, with claims in every state.
func stored(pods ...any) *cluster.Snapshot {
	s := snapshot(append(pods, node("a", nodeLabel(zone, "1")), node("b", nodeLabel(zone, "2")))...)
	o := s.Objects
	o.PersistentVolumeClaims = []*corev1.PersistentVolumeClaim{
		claim("in-1", "later", "v1"), claim("in-2", "later", "v2"), claim("lost", "later", "gone"), claim("waits", "now", ""),
		claim("first", "later", ""), claim("zoned", "later-in-2", ""), claim("single", "later", "v3", corev1.ReadWriteOncePod),
		claim("a-1", "later", "v4"), claim("a-2", "later", "v5"), claim("nothing", "none", ""),
	}
	o.PersistentVolumes = []*corev1.PersistentVolume{volumeIn("v1", "1"), volumeIn("v2", "2"), volumeIn("v3", "1"), volumeIn("v4", "1"), volumeIn("v5", "1")}
	o.StorageClasses = []*storagev1.StorageClass{
		storageClass("later", storagev1.VolumeBindingWaitForFirstConsumer), storageClass("later-in-2", storagev1.VolumeBindingWaitForFirstConsumer, "2"),
		storageClass("now", storagev1.VolumeBindingImmediate),
	}
	o.CSINodes = []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: disks, NodeID: "a", Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(2))}},
	}}}}
	return cluster.New(midnight, o, nil)
}

func TestVolumesDecideWherePodsGo(t *testing.T) {
	const conflict = "VolumeBinding: node(s) didn't match PersistentVolume's node affinity"
	for name, tt := range map[string]struct {
		pod  *cluster.Pod
		also []any
		a, b []string // refusals
	}{
		"a bound volume keeps the pod in its zone":             {pod: pod("p", mounts("in-2")), a: []string{conflict}},
		"two volumes in two zones go nowhere":                  {pod: pod("p", mounts("in-1", "in-2")), a: []string{conflict}, b: []string{conflict}},
		"a claim that waits for its first consumer goes along": {pod: pod("p", mounts("first"))},
		"a class may allow some zones alone":                   {pod: pod("p", mounts("zoned")), a: []string{"VolumeBinding: node(s) didn't find available persistent volumes to bind"}},
		"a claim that is bound at once has to be bound": {
			pod: pod("p", mounts("waits")),
			a:   []string{"VolumeBinding: pod has unbound immediate PersistentVolumeClaims"}, b: []string{"VolumeBinding: pod has unbound immediate PersistentVolumeClaims"},
		},
		"a claim that nobody has made keeps the pod waiting": {
			pod: pod("p", mounts("missing")),
			a:   []string{`VolumeRestrictions: persistentvolumeclaim "missing" not found`}, b: []string{`VolumeRestrictions: persistentvolumeclaim "missing" not found`},
		},
		"a claim for one pod is not shared": {
			pod: pod("p", mounts("single")), also: []any{pod("x", on("a"), mounts("single"))},
			a: []string{"VolumeRestrictions: claim default/single is used by another pod, and only one may use it"},
			b: []string{"VolumeRestrictions: claim default/single is used by another pod, and only one may use it", conflict},
		},
		"a node attaches so many disks and no more": {
			pod: pod("p", mounts("in-1")), also: []any{pod("x", on("a"), mounts("a-1")), pod("y", on("a"), mounts("a-2"))},
			a: []string{"NodeVolumeLimits: node(s) exceed max volume count"}, b: []string{conflict},
		},
		"a disk that is attached already is not counted twice": {
			pod: pod("p", mounts("a-1")), also: []any{pod("x", on("a"), mounts("a-1")), pod("y", on("a"), mounts("a-2"))}, b: []string{conflict},
		},
		"claims made for the pod are counted": {
			pod: pod("p", scratch("later")), also: []any{pod("x", on("a"), mounts("a-1")), pod("y", on("a"), mounts("a-2"))},
			a: []string{"NodeVolumeLimits: node(s) exceed max volume count"},
		},
		"volumes that any node can mount are nobody's concern": {pod: pod("p", func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "x", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewChecker(stored(tt.also...))
			for n, want := range map[string][]string{"a": tt.a, "b": tt.b} {
				var got []string
				for _, r := range c.Refusals(tt.pod, n) {
					got = append(got, r.Sentence())
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("refusals (-want +got):\n%s", diff)
				}
				if fits := c.Fits(tt.pod, n); fits != (want == nil) {
					t.Errorf("fits %s: %v", n, fits)
				}
			}
		})
	}
}

func TestVolumesFollowWhatIsPretended(t *testing.T) {
	c := NewChecker(stored())
	t.Run("a claim is where the first pod went", func(t *testing.T) {
		undo := c.Place(pod("x", mounts("first")), "b")
		defer undo()
		if p := pod("p", mounts("first")); c.Fits(p, "a") || !c.Fits(p, "b") {
			t.Errorf("fits a: %v, b: %v", c.Fits(p, "a"), c.Fits(p, "b"))
		}
	})
	if !c.Fits(pod("p", mounts("first")), "a") {
		t.Error("it does not fit although the first pod was taken back")
	}
	t.Run("a volume that is there is taken once", func(t *testing.T) {
		spare := volumeIn("spare", "1")
		spare.Spec.StorageClassName, spare.Spec.AccessModes = "static", []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		spare.Spec.Capacity, spare.Status.Phase = quantities("storage", "10Gi"), corev1.VolumeAvailable
		static := storageClass("static", storagev1.VolumeBindingWaitForFirstConsumer)
		static.Provisioner = "kubernetes.io/no-provisioner"
		o := stored().Objects
		o.StorageClasses = append(o.StorageClasses, static)
		o.PersistentVolumes = append(o.PersistentVolumes, spare)
		o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, claim("one", "static", "", corev1.ReadWriteOnce), claim("two", "static", "", corev1.ReadWriteOnce))
		c := NewChecker(cluster.New(midnight, o, nil))
		if two := pod("p", mounts("two")); !c.Fits(two, "a") || c.Fits(two, "b") {
			t.Fatalf("fits a: %v, b: %v", c.Fits(two, "a"), c.Fits(two, "b"))
		}
		undo := c.Place(pod("x", mounts("one")), "a")
		if c.Fits(pod("p", mounts("two")), "a") {
			t.Error("a volume is given away twice")
		}
		if one := pod("y", mounts("one")); !c.Fits(one, "a") || c.Fits(one, "b") {
			t.Error("a pod that shares the claim does not follow it")
		}
		undo()
		if !c.Fits(pod("p", mounts("two")), "a") {
			t.Error("the volume stays taken")
		}
	})
	t.Run("a row attaches what nodes and machines can", func(t *testing.T) {
		undo := c.Mark()
		defer undo()
		template := c.Template(node("", nodeLabel(zone, "1"))).Attaching(3)
		a, _ := c.Handle("a")
		r := c.Row(a, c.Open(template, "new-0"), c.Open(template, "new-1"))
		got := map[string]int{}
		placed := r.Fill(pod("p", scratch("later")).Class, 20, func(h Handle, n int) { got[c.Name(h)] += n })
		if diff := cmp.Diff(map[string]int{"a": 2, "new-0": 3, "new-1": 3}, got); diff != "" || placed != 8 {
			t.Errorf("placed %d (-want +got):\n%s", placed, diff)
		}
	})
}

func TestVolumesFollowTheNextSnapshot(t *testing.T) {
	s := stored()
	p := pod("p", mounts("waits"))
	c := NewChecker(s)
	if c.Fits(p, "a") {
		t.Error("it fits before the claim is bound")
	}
	o := s.Objects
	o.PersistentVolumeClaims = append([]*corev1.PersistentVolumeClaim(nil), o.PersistentVolumeClaims...)
	o.PersistentVolumeClaims[3] = claim("waits", "now", "v1")
	c = NewChecker(s.Next(midnight, o, nil), After(c))
	if !c.Fits(p, "a") || c.Fits(p, "b") {
		t.Errorf("fits %s", fmt.Sprint(c.Fits(p, "a"), c.Fits(p, "b")))
	}
}
