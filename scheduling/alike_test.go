package scheduling

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"sluice.dev/sluice/cluster"
)

// TestPodsWithClaimsOfTheirOwnAreAlike holds the pods of a StatefulSet to be one kind until their claims tell them apart.
func TestPodsWithClaimsOfTheirOwnAreAlike(t *testing.T) {
	o := stored().Objects
	meant := volumeIn("v-2", "1")
	meant.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data-2"}
	o.PersistentVolumes = append(o.PersistentVolumes, meant)
	for i := range 4 {
		o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, claim(fmt.Sprint("data-", i), "later", "", corev1.ReadWriteOncePod))
	}
	larger := claim("data-4", "later", "")
	larger.Spec.Resources.Requests = quantities("storage", "1Ti")
	o.PersistentVolumeClaims = append(o.PersistentVolumeClaims, larger)
	c := NewChecker(cluster.New(midnight, o, nil))
	set := make([]*cluster.Pod, 5)
	for i := range set {
		set[i] = pod(fmt.Sprint("set-", i), mounts(fmt.Sprint("data-", i)))
	}
	kind := func(i int) int32 { return int32(c.Kind(set[i].Class)) }
	if kind(0) != kind(1) || kind(1) != kind(3) {
		t.Errorf("pods with claims alike are of kinds %d, %d and %d", kind(0), kind(1), kind(3))
	}
	if kind(2) == kind(0) {
		t.Error("a volume is meant for the claim of one of them, and it is like the others")
	}
	if kind(4) == kind(0) {
		t.Error("a larger claim is like the others")
	}
	undo := c.Place(set[0], "b")
	if kind(0) == kind(1) {
		t.Error("the claim of one of them was decided, and it is like the others")
	}
	if again := pod("again", mounts("data-0")); c.Fits(again, "b") || c.Fits(again, "a") {
		t.Error("a claim for one pod is shared")
	}
	if !c.Fits(set[1], "a") || !c.Fits(set[1], "b") {
		t.Error("the claim of another one keeps a pod out")
	}
	undo()
	if kind(0) != kind(1) || !c.Fits(set[0], "a") {
		t.Error("they are not alike again once the claim is free again")
	}
}

// TestARowFollowsTheFirstPodOfAClaim fills a row with pods that share a claim: the first decides its zone for all.
func TestARowFollowsTheFirstPodOfAClaim(t *testing.T) {
	s := snapshot(node("a", nodeLabel(zone, "1"), allocatable("pods", "1")), node("b", nodeLabel(zone, "2")), node("c", nodeLabel(zone, "1")))
	o := s.Objects
	o.StorageClasses = []*storagev1.StorageClass{storageClass("later", storagev1.VolumeBindingWaitForFirstConsumer)}
	o.PersistentVolumeClaims = []*corev1.PersistentVolumeClaim{claim("shared", "later", ""), claim("also", "later", "")}
	c := NewChecker(cluster.New(midnight, o, nil))
	r := c.Row(c.Handles()...)
	for _, name := range []string{"shared", "also"} {
		var got []string
		placed := r.Fill(pod("p", mounts(name)).Class, 3, func(h Handle, n int) { got = append(got, fmt.Sprint(c.Name(h), n)) })
		want := map[string]string{"shared": "[a1 c1 c1]", "also": "[b1 b1 b1]"}[name]
		if fmt.Sprint(got) != want || placed != 3 {
			t.Errorf("claim %s: placed %d on %v, want %s", name, placed, got, want)
		}
	}
}
