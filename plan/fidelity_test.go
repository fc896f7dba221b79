package plan_test

import (
	"math"
	"runtime/debug"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/fidelity"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// TestKubeSchedulerBindsWhatThePlanPlaces holds the joint plan of 2,400 random worlds to kube-scheduler's own framework, pod for pod: what
// the plan places is bound where and when it places it, and nothing that it refuses fits any node, nor one more machine of any group that
// may grow. SLUICE_WORLD=seed looks into one of them again.
func TestKubeSchedulerBindsWhatThePlanPlaces(t *testing.T) {
	hold(t, 2400, fidelity.All(), func(*fidelity.World, *policy.Policy) {})
}

// TestKubeSchedulerBindsWhatThePlanPlacesWithVolumes is the same of 500 worlds with disks and devices, and what pods want of each other.
func TestKubeSchedulerBindsWhatThePlanPlacesWithVolumes(t *testing.T) {
	under := slices.Concat(fidelity.VolumeConstraints, fidelity.DeviceConstraints, []fidelity.Constraint{"taints", "node-affinity", "pod-affinity", "pod-anti-affinity", "spread"})
	hold(t, 500, under, func(*fidelity.World, *policy.Policy) {})
}

// TestKubeSchedulerBindsWhatExpandersChoose is the same of 500 worlds in which the operator's expanders choose and balance.
func TestKubeSchedulerBindsWhatExpandersChoose(t *testing.T) {
	chains := [][]policy.Expander{{policy.LeastWaste}, {policy.MostPods}, {policy.Random}, {policy.LeastWaste, policy.MostPods, policy.Random}}
	hold(t, 500, fidelity.Constraints, func(w *fidelity.World, p *policy.Policy) {
		p.Growth.Expanders = chains[w.Seed%4]
		p.Growth.Balance.Similar = true
	})
}

// TestKubeSchedulerBindsWhatThePlanPlacesInZones is the same of 1,000 worlds in which most groups span zones and some await machines, under
// what makes zones matter, with the joint plan and with expanders.
func TestKubeSchedulerBindsWhatThePlanPlacesInZones(t *testing.T) {
	under := []fidelity.Constraint{
		"volume-zone", "volume-zone-label", "volume-late", "node-selector", "node-affinity", "daemons", "pod-affinity", "pod-anti-affinity",
		"several-topology-keys", "spread", "spread-min-domains", "spread-node-affinity-policy", "spread-node-taints-policy", "plain",
	}
	holdDrawn(t, 1000, fidelity.DrawSpanning, under, func(w *fidelity.World, p *policy.Policy) {
		if w.Seed%3 == 0 {
			p.Growth.Expanders = []policy.Expander{policy.LeastWaste}
			p.Growth.Balance.Similar = true
		}
	})
}

// hold compares the plans of so many worlds with kube-scheduler.
func hold(t *testing.T, worlds int, under []fidelity.Constraint, set func(*fidelity.World, *policy.Policy)) {
	t.Helper()
	holdDrawn(t, worlds, fidelity.Draw, under, set)
}

// holdDrawn is [hold] of worlds that are drawn otherwise.
func holdDrawn(t *testing.T, worlds int, draw func(uint64, ...fidelity.Constraint) *fidelity.World, under []fidelity.Constraint, set func(*fidelity.World, *policy.Policy)) {
	t.Helper()
	t.Parallel()
	debug.SetGCPercent(800) // thousands of small worlds are made and forgotten
	seeds, chosen, err := fidelity.Seeds(worlds)
	if err != nil {
		t.Fatal(err)
	}
	var tally fidelity.Tally
	for _, seed := range seeds {
		w := draw(seed, under...)
		p := policy.Default()
		if seed%2 == 0 {
			p.Growth.PriorityCutoff = math.MinInt32 // no pod gives way to others
		}
		forgetUnseen(w)
		set(w, p)
		got := decided(w, p)
		tally.Add(w, got)
		if len(got.Disagreements) > 0 && tally.Disagreements < 100 {
			first := got.Disagreements[0]
			if chosen {
				for i, at := range got.Placements {
					t.Logf("%d: %v %v", i, at, w.Carries[at.Pod])
				}
			}
			t.Errorf("SLUICE_WORLD=%d: %d disagreements, the first: %v\n%s", seed, len(got.Disagreements), first, w.Describe(first.Pod))
		}
	}
	t.Logf("worlds %d pods %d placements %d refusals %d disagreements %d", tally.Worlds, tally.Pods, tally.Placements, tally.Refusals, tally.Disagreements)
	t.Logf("\n%s", &tally.Coverage)
	if !chosen {
		for _, lack := range tally.Coverage.Lacking(min(worlds, 2000)/200, worlds/40, under...) {
			t.Error("too little to tell:", lack)
		}
	}
}

// forgetUnseen leaves devices only to groups that have a node: what the next machine of a group publishes is learned from its nodes. One
// that nobody has seen is taken to declare every feature of kubelets.
func forgetUnseen(w *fidelity.World) {
	for _, g := range w.Groups {
		if len(g.Instances) == 0 {
			delete(w.Devices.Templates, g.ID)
			g.Template.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"}
		}
	}
}

// decided is what a plan says of a world, and what kube-scheduler says to it.
func decided(w *fidelity.World, allowed *policy.Policy) fidelity.Walked {
	var got fidelity.Walked
	far := map[string][]cluster.GroupID{}
	got.TooFar = far
	p, _ := plan.DecideBefore((*witness)(&got.Outcome), w.Snapshot(), allowed, memory.Memory{})
	for _, v := range p.Verdicts {
		if v.Subject.Kind == reason.KindPod && v.Outcome == action.PodStuck {
			got.Refused = append(got.Refused, v.Subject.Name)
			for _, why := range v.Because {
				if why.Code == reason.ZoneTooFar {
					far[v.Subject.Name] = append(far[v.Subject.Name], cluster.GroupID(why.About.Name))
				}
			}
		}
	}
	got.Coverage.Tell(w, got.Outcome)
	for _, d := range fidelity.Check(preempted(w, allowed), got.Outcome) {
		// Room is being made for a nominated pod: nobody claims that it is there, nor a device that it shares with others. Others that share
		// it can go nowhere but there.
		switch p := w.Pod(d.Pod); {
		case p != nil && d.Said == "it fits" && (p.Status.NominatedNodeName == d.Node || sharesWithNominated(w, p, d.Node)):
		case p != nil && d.Said == "it does not fit" && slices.ContainsFunc(w.Nodes, func(n *corev1.Node) bool {
			return sharesWithNominated(w, p, n.Name)
		}):
		default:
			got.Disagreements = append(got.Disagreements, d)
		}
	}
	return got
}

// sharesWithNominated says whether a pod that waits for room on the node uses a claim of devices that this one uses as well.
func sharesWithNominated(w *fidelity.World, p *corev1.Pod, node string) bool {
	return slices.ContainsFunc(w.Pods, func(other *corev1.Pod) bool {
		return other.Status.NominatedNodeName == node && other.Namespace == p.Namespace && slices.ContainsFunc(other.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool {
			return c.ResourceClaimName != nil && slices.ContainsFunc(p.Spec.ResourceClaims, func(own corev1.PodResourceClaim) bool {
				return own.ResourceClaimName != nil && *own.ResourceClaimName == *c.ResourceClaimName
			})
		})
	})
}

// preempted is the world without the running pods that kube-scheduler pushes out for others, as the plan has it.
func preempted(w *fidelity.World, allowed *policy.Policy) *fidelity.World {
	without := *w
	without.Pods = slices.DeleteFunc(slices.Clone(w.Pods), func(p *corev1.Pod) bool {
		return p.Spec.NodeName != "" && p.Spec.Priority != nil && *p.Spec.Priority < allowed.Growth.PriorityCutoff
	})
	return &without
}

// witness writes down what it hears.
type witness fidelity.Outcome

func (o *witness) Opens(machine string, g cluster.GroupID) {
	o.Placements = append(o.Placements, fidelity.Placement{Node: machine, Group: g})
}

func (o *witness) Closes(machine string) {
	o.Placements = slices.DeleteFunc(o.Placements, func(at fidelity.Placement) bool { return at.Node == machine })
}

func (o *witness) Places(p *cluster.Pod, node string) {
	o.Placements = append(o.Placements, fidelity.Placement{Pod: p.String(), Node: node})
}
