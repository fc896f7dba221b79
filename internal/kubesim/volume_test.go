package kubesim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

const disks = "disk.csi.azure.com"

func class(name string, mode storagev1.VolumeBindingMode, zones ...string) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: disks, VolumeBindingMode: &mode}
	if len(zones) > 0 {
		c.AllowedTopologies = []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: zones}}}}
	}
	return c
}

func claim(name, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}},
	}}
}

func mounting(name string, claims ...string) *corev1.Pod {
	p := pod(name, "100m")
	for _, c := range claims {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: c, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c}}})
	}
	return p
}

func (w *world) joinZone(name, zone string, attach int32) {
	w.t.Helper()
	m := kubesim.Machine{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone}, Capacity: corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi")}}
	if attach > 0 {
		m.AttachLimits = map[string]int32{disks: attach}
	}
	if err := w.Join(m); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) whyNot(name string) string {
	for _, c := range w.pod(name).Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

func zoneOf(t *testing.T, w *world, claimName string) string {
	t.Helper()
	c, _ := kubesim.Find[*corev1.PersistentVolumeClaim](w.Cluster, "default", claimName)
	v, ok := kubesim.Find[*corev1.PersistentVolume](w.Cluster, "", c.Spec.VolumeName)
	if !ok || c.Status.Phase != corev1.ClaimBound || v.Status.Phase != corev1.VolumeBound {
		t.Fatalf("claim %s is %s and its volume %v", claimName, c.Status.Phase, v)
	}
	return v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0]
}

func TestWaitingClaimIsBoundWhereItsPodGoes(t *testing.T) {
	w := newWorld(t)
	w.create(class("wait", storagev1.VolumeBindingWaitForFirstConsumer, "z2"))
	w.create(claim("data", "wait"))
	w.create(mounting("db", "data"))
	w.joinZone("a", "z1", 0)
	w.advance(time.Minute)
	if got, want := w.whyNot("db"), "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."; got != want {
		t.Errorf("with a node outside of the allowed zones: %q, want %q", got, want)
	}
	w.joinZone("b", "z2", 0)
	w.advance(2 * time.Second)
	if p := w.pod("db"); p.Spec.NodeName != "" {
		t.Error("the pod was bound before its volume was made")
	}
	w.advance(time.Minute)
	if p := w.pod("db"); p.Spec.NodeName != "b" || p.Status.Phase != corev1.PodRunning {
		t.Errorf("the pod is %s on %q", p.Status.Phase, p.Spec.NodeName)
	}
	if z := zoneOf(t, w, "data"); z != "z2" {
		t.Errorf("the volume is in %s", z)
	}
	if n := len(kubesim.All[*storagev1.VolumeAttachment](w.Cluster, "")); n != 1 {
		t.Errorf("%d volumes are attached", n)
	}
	if err := w.Delete(w.pod("db"), nil); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Minute)
	w.Leave("b")
	w.advance(time.Minute)
	w.create(mounting("db-again", "data"))
	w.advance(time.Minute)
	if why := w.whyNot("db-again"); !strings.Contains(why, "1 node(s) didn't match PersistentVolume's node affinity") {
		t.Errorf("with its zone's node away: %q", why)
	}
	if n := len(kubesim.All[*storagev1.VolumeAttachment](w.Cluster, "")); n != 0 {
		t.Errorf("%d volumes stay attached without a pod", n)
	}
}

func TestImmediateClaimIsBoundBeforeAnyPod(t *testing.T) {
	w := newWorld(t)
	w.joinZone("a", "z1", 0)
	w.joinZone("b", "z2", 0)
	w.create(class("now", storagev1.VolumeBindingImmediate, "z2"))
	w.create(claim("data", "now"))
	w.create(mounting("db", "data"))
	w.settle()
	if got, want := w.whyNot("db"), "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims."; got != want {
		t.Errorf("before it is bound: %q, want %q", got, want)
	}
	w.advance(time.Minute)
	if z, node := zoneOf(t, w, "data"), w.pod("db").Spec.NodeName; z != "z2" || node != "b" {
		t.Errorf("the volume is in %s, the pod on %q", z, node)
	}
	c, _ := kubesim.Find[*corev1.PersistentVolumeClaim](w.Cluster, "default", "data")
	if err := w.Delete(c, nil); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Minute)
	if n := len(kubesim.All[*corev1.PersistentVolume](w.Cluster, "")); n != 0 {
		t.Errorf("%d volumes outlive their claims", n)
	}
}

func TestNodeTakesNoMoreVolumesThanItsDriverAttaches(t *testing.T) {
	w := newWorld(t)
	w.joinZone("a", "z1", 2)
	w.create(class("wait", storagev1.VolumeBindingWaitForFirstConsumer))
	for i := range 3 {
		w.create(claim(fmt.Sprint("data-", i), "wait"))
		w.create(mounting(fmt.Sprint("db-", i), fmt.Sprint("data-", i)))
	}
	w.advance(time.Minute)
	if got, want := w.whyNot("db-2"), "0/1 nodes are available: 1 node(s) exceed max volume count."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	w.create(mounting("db-3", "data-1")) // a volume that is there already
	w.advance(time.Minute)
	if w.pod("db-3").Spec.NodeName != "a" {
		t.Errorf("a second pod of an attached volume waits: %s", w.whyNot("db-3"))
	}
	n, _ := kubesim.Find[*corev1.Node](w.Cluster, "", "a")
	if err := w.Delete(n, nil); err != nil {
		t.Fatal(err)
	}
	w.settle()
	if left := kubesim.All[*storagev1.CSINode](w.Cluster, ""); len(left) != 0 {
		t.Error("the CSINode outlives its Node")
	}
}

func TestEphemeralVolumeLivesWithItsPod(t *testing.T) {
	w := newWorld(t)
	w.joinZone("a", "z1", 0)
	w.create(class("wait", storagev1.VolumeBindingWaitForFirstConsumer))
	p := pod("job", "1")
	p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claim("", "wait").Spec}}}}}
	w.create(p)
	w.advance(time.Minute)
	if w.pod("job").Status.Phase != corev1.PodRunning || zoneOf(t, w, "job-scratch") != "z1" {
		t.Fatalf("the pod waits: %s", w.whyNot("job"))
	}
	if err := w.Delete(w.pod("job"), nil); err != nil {
		t.Fatal(err)
	}
	w.advance(time.Minute)
	if n := len(kubesim.All[*corev1.PersistentVolume](w.Cluster, "")); n != 0 {
		t.Errorf("%d volumes outlive their pod", n)
	}
}

func TestReservedPodGivesUpANodeThatGoes(t *testing.T) {
	w := newWorld(t)
	w.joinZone("a", "z1", 0)
	w.create(class("wait", storagev1.VolumeBindingWaitForFirstConsumer))
	w.create(claim("data", "wait"))
	w.create(mounting("db", "data"))
	w.settle()
	n, _ := kubesim.Find[*corev1.Node](w.Cluster, "", "a")
	if err := w.Delete(n, nil); err != nil {
		t.Fatal(err)
	}
	w.joinZone("b", "z2", 0)
	w.advance(time.Minute)
	if w.pod("db").Spec.NodeName != "b" || zoneOf(t, w, "data") != "z2" {
		t.Errorf("the pod is on %q: %s", w.pod("db").Spec.NodeName, w.whyNot("db"))
	}
}
