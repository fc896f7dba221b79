package world

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

// removals are the stories that sluice is killed in: one machine has been idle, another one's pods fit elsewhere.
var removals = map[string]string{
	"deleted": "group agents size=Standard_D4s_v5 zones=1 disks=8 min=1 max=5 machines=3\n",
	"of K3s":  "group agents size=Standard_D4s_v5 zones=1 disks=8 min=1 max=5 machines=3 provider-id=k3s\n",
	"parked":  "group agents size=Standard_D4s_v5 zones=1 disks=8 min=1 max=5 machines=3 mode=flexible removal=deallocate\n",
}

const removalStory = `policy scale-down-unneeded-time=1m scale-down-delay-after-add=1s max-detach-time=20s
timing detach=1h
%sstorageclass disks
pvc scratch class=disks zone=1
pod base-0 cpu=2500m on=agents_0
pod web-0 cpu=300m on=agents_2 claim=scratch
pod web-1 cpu=300m on=agents_2
%sadvance 15m
`

// TestARemovalEndsWhereverSluiceIsKilled kills the process after each of the writes of a removal: the next one ends it, and asks for no
// machine twice.
func TestARemovalEndsWhereverSluiceIsKilled(t *testing.T) {
	for story, group := range removals {
		for _, operations := range []string{"kept", "lost"} {
			t.Run(story+", operations "+operations, func(t *testing.T) {
				for n := 1; ; n++ {
					out, killed := killedRemoval(t, group, fmt.Sprintf("kill %d operations=%s\n", n, operations))
					if t.Failed() {
						t.Fatalf("killed after write %d:\n%s", n, out)
					}
					if !killed {
						t.Logf("%d writes", n-1)
						return
					}
				}
			})
		}
	}
}

// killedRemoval plays the story and says whether sluice was killed in it.
func killedRemoval(t *testing.T, group, kill string) (transcript string, killed bool) {
	t.Helper()
	var out bytes.Buffer
	script, err := parse(fmt.Appendf(nil, removalStory, group, kill))
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(Options{}, nil, &out)
	defer w.close()
	if err := w.play(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	broken, err := w.promises()
	if err != nil {
		t.Error(err)
	}
	for _, b := range append(broken, w.leftovers(1)...) {
		t.Error(b)
	}
	return out.String(), strings.Contains(out.String(), "killed")
}

// leftovers are what removals have left undone, or done twice, when so many machines are to be left.
func (w *world) leftovers(want int) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	serving := map[string]bool{}
	for _, m := range w.azure.Machines() {
		switch {
		case m.ScaleSet == "" || m.PowerState == "deallocated":
		case m.ProvisioningState != "Succeeded":
			say("machine %s is %s", m.Name, m.ProvisioningState)
		default:
			serving[m.ComputerName] = true
		}
	}
	if len(serving) != want {
		say("%d machines are left, want %d", len(serving), want)
	}
	for _, n := range kubesim.All[*corev1.Node](w.cluster, "") {
		if !serving[n.Name] {
			say("node %s has no machine", n.Name)
		}
		if _, on := cluster.RemovalOf(n); on || cluster.Candidate(n) || n.Spec.Unschedulable || n.Annotations[cluster.MachineAnnotation] != "" || n.Labels[cluster.ExclusionLabel] != "" {
			say("node %s is cordoned, marked or labelled: %v %v %v", n.Name, n.Spec.Taints, n.Annotations, n.Labels)
		}
	}
	for _, s := range kubesim.All[*corev1.Secret](w.cluster, "kube-system") {
		if node, password := strings.CutSuffix(s.Name, ".node-password.k3s"); password && !serving[node] {
			say("the password of node %s is left", node)
		}
	}
	for _, a := range kubesim.All[*storagev1.VolumeAttachment](w.cluster, "") {
		if !serving[a.Spec.NodeName] {
			say("volume attachment %s to node %s is left", a.Name, a.Spec.NodeName)
		}
	}
	for _, p := range kubesim.All[*corev1.Pod](w.cluster, "") {
		if p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
			say("pod %s is %s", p.Name, p.Status.Phase)
		}
	}
	asked := map[string]bool{}
	for _, r := range w.azure.Requests() {
		if r.Kind != deleteRequest && r.Kind != parkRequest || r.Status >= 300 {
			continue
		}
		for _, id := range r.InstanceIDs {
			if asked[id] {
				say("machine %s was to be removed twice", id)
			}
			asked[id] = true
		}
	}
	slices.Sort(all)
	return all
}
