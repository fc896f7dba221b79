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

// removal is a story of machines that leave. Its script has a place where it is said when sluice is killed.
type removal struct {
	script string
	left   int // machines that are to be left
}

// emptied is a story of three machines: one has been idle, another one's pods fit elsewhere.
func emptied(group string) removal {
	return removal{left: 1, script: "policy scale-down-unneeded-time=1m scale-down-delay-after-add=1s max-detach-time=20s\n" +
		"timing detach=1h\n" +
		"group agents size=Standard_D4s_v5 zones=1 disks=8 min=1 max=5 machines=3 " + group + "\n" +
		"storageclass disks\n" +
		"pvc scratch class=disks zone=1\n" +
		"pod base-0 cpu=2500m on=agents_0\n" +
		"pod web-0 cpu=300m on=agents_2 claim=scratch\n" +
		"pod web-1 cpu=300m on=agents_2\n" +
		"%sadvance 25m\n"} // a process that begins leaves Node objects of a group that parks alone for ten minutes
}

// pooled is a story of three machines of an availability set, two of which are idle.
func pooled(group string) removal {
	return removal{left: 1, script: "policy scale-down-unneeded-time=1m scale-down-delay-after-add=1s\n" +
		"group agents mode=availability-set size=Standard_D4s_v5 min=1 max=5 machines=3 " + group + "\n" +
		"pod base-0 cpu=2500m on=agents_0\n" +
		"%sadvance 25m\n"}
}

// removals are the stories that sluice is killed in.
var removals = map[string]removal{
	"deleted":           emptied(""),
	"of K3s":            emptied("provider-id=k3s node-label=topology.kubernetes.io/zone=westeurope-1"), // as disks of a zone need it
	"parked":            emptied("mode=flexible removal=deallocate"),
	"of a pool":         pooled(""),
	"of a pool, parked": pooled("removal=deallocate"),
	"consolidated into others": {left: 1, script: "policy consolidate=all scale-down-unneeded-time=1m scale-down-delay-after-add=1s\n" +
		"group agents size=Standard_D16s_v5 min=0 max=5 machines=2\n" +
		"pod web-1 cpu=6 on=agents_0\n" +
		"pod web-2 cpu=2300m on=agents_0\n" +
		"pod api-1 cpu=3 on=agents_1\n" +
		"pod api-2 cpu=3 on=agents_1\n" +
		"%sadvance 30m\n"},
	"replaced by a smaller one": {left: 2, script: "policy consolidate=all scale-down-unneeded-time=1m scale-down-delay-after-add=1s\n" +
		"group large size=Standard_D16s_v5 min=0 max=5 machines=2\n" +
		"group small size=Standard_D4s_v5 min=0 max=5\n" +
		"pod web-1 cpu=3 on=large_0\n" +
		"pod web-2 cpu=3 on=large_0\n" +
		"pod web-3 cpu=3 on=large_0\n" +
		"pod api-1 cpu=3 on=large_1\n" +
		"pod api-2 cpu=3 on=large_1\n" +
		"pod api-3 cpu=3 on=large_1\n" +
		"%sadvance 45m\n"},
	"of the control plane": {left: 2, script: "policy remove-control-plane-nodes=true scale-down-unneeded-time=1m scale-down-delay-after-add=1s\n" +
		"group masters size=Standard_D4s_v5 min=0 max=5 machines=3 label=node-role.kubernetes.io/control-plane= " +
		"taint=node-role.kubernetes.io/control-plane=:NoSchedule\n" +
		"%sadvance 15m\n"},
}

// TestARemovalEndsWhereverSluiceIsKilled kills the process after each of the writes of a removal: the next one ends it, and asks for no
// machine twice.
func TestARemovalEndsWhereverSluiceIsKilled(t *testing.T) {
	for name, story := range removals {
		for _, operations := range []string{"kept", "lost"} {
			t.Run(name+", operations "+operations, func(t *testing.T) {
				for n := 1; ; n++ {
					out, killed := story.killed(t, fmt.Sprintf("kill %d operations=%s\n", n, operations))
					if t.Failed() {
						t.Fatalf("killed after write %d:\n%s", n, out)
					}
					if !killed {
						if t.Logf("%d writes", n-1); n == 1 {
							t.Error("nothing was written: the story shows nothing")
						}
						return
					}
				}
			})
		}
	}
}

// TestSluiceIsKilledByAWriteThatItWaitsForNoMore kills the process after a growth that was answered when no cycle waited for it any more: nobody waits
// for what the dead process hears, and the next one buys nothing twice.
func TestSluiceIsKilledByAWriteThatItWaitsForNoMore(t *testing.T) {
	bought := removal{left: 2, script: "group agents size=Standard_D4s_v5 min=0 max=5 machines=1\n" +
		"pod base-0 cpu=2500m on=agents_0\n" +
		"advance 30s\n" +
		"pod quick-0 cpu=1 on=agents_0 owner=job runs=17s\n" +
		"fault slow after=17s of=grow group=agents times=1\n" +
		"%spod build-0 cpu=3\n" +
		"advance 10m\n" +
		"delete pod quick-0\n"}
	out, _ := bought.killed(t, "kill 1\n")
	for _, want := range []string{"00:47 sluice                     killed", "capacity 1 -> 2", "running    on agents_1"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// killed plays the story and says whether sluice was killed in it.
func (r removal) killed(t *testing.T, kill string) (transcript string, killed bool) {
	t.Helper()
	var out bytes.Buffer
	script, err := parse(fmt.Appendf(nil, r.script, kill))
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
	for _, b := range append(broken, w.leftovers(r.left)...) {
		t.Error(b)
	}
	return out.String(), strings.Contains(out.String(), "killed")
}

// leftovers are what removals have left undone, or done twice, when so many machines are to be left.
func (w *world) leftovers(want int) (all []string) {
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	serving, parked := map[string]bool{}, map[string]bool{}
	for _, m := range w.azure.Machines() {
		switch {
		case m.ScaleSet == "":
		case m.PowerState == "deallocated":
			parked[m.ComputerName] = true
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
		if parked[n.Name] {
			if removal, _ := cluster.RemovalOf(n); removal.Why != cluster.Parked || cluster.Candidate(n) || !n.Spec.Unschedulable || cluster.OwnerOf(n) == "" {
				say("node %s of a parked machine bears %v %v", n.Name, n.Spec.Taints, n.Annotations)
			}
			continue
		}
		if !serving[n.Name] {
			say("node %s has no machine", n.Name)
		}
		if _, on := cluster.RemovalOf(n); on || cluster.Candidate(n) || n.Spec.Unschedulable || n.Annotations[cluster.MachineAnnotation] != "" || cluster.OwnerOf(n) != "" || n.Labels[cluster.ExclusionLabel] != "" {
			say("node %s is cordoned, marked or labelled: %v %v %v", n.Name, n.Spec.Taints, n.Annotations, n.Labels)
		}
	}
	for _, s := range kubesim.All[*corev1.Secret](w.cluster, "kube-system") {
		if node, password := strings.CutSuffix(s.Name, ".node-password.k3s"); password && !serving[node] && !parked[node] {
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
		switch r.Kind {
		case deleteRequest, parkRequest, poolRequests["delete"], poolRequests["deallocate"]:
		default:
			continue
		}
		if r.Status >= 300 {
			continue
		}
		for _, id := range r.InstanceIDs {
			machine := strings.ToLower(r.ScaleSet) + "/" + id
			if asked[machine] {
				say("machine %s was to be removed twice", machine)
			}
			asked[machine] = true
		}
	}
	slices.Sort(all)
	return all
}
