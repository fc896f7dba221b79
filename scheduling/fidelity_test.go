package scheduling_test

import (
	"runtime/debug"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/fidelity"
	"sluice.dev/sluice/scheduling"
)

// TestTheCheckerJudgesAsKubeSchedulerDoes walks 2,000 random worlds with kube-scheduler's own framework beside the checker.
// SLUICE_WORLD=seed walks one of them again.
func TestTheCheckerJudgesAsKubeSchedulerDoes(t *testing.T) {
	hold(t, 2000, walks, fidelity.All()...)
}

// TestWhatIfsAreJudgedAsKubeSchedulerDoes changes 500 random worlds back and forth.
func TestWhatIfsAreJudgedAsKubeSchedulerDoes(t *testing.T) {
	hold(t, 500, shakes, fidelity.Constraints...)
}

func walks(w *fidelity.World, j judge) fidelity.Walked  { return fidelity.Walk(w, j) }
func shakes(w *fidelity.World, j judge) fidelity.Walked { return fidelity.Shake(w, j) }

// hold compares the checker with kube-scheduler over that many worlds.
func hold(t *testing.T, worlds int, compare func(*fidelity.World, judge) fidelity.Walked, constraints ...fidelity.Constraint) {
	t.Helper()
	t.Parallel()
	debug.SetGCPercent(800) // thousands of small worlds are made and forgotten
	seeds, single, err := fidelity.Seeds(worlds)
	if err != nil {
		t.Fatal(err)
	}
	var tally fidelity.Tally
	for _, seed := range seeds {
		w := fidelity.Draw(seed, constraints...)
		got := compare(w, newJudge(t, w))
		tally.Add(w, got)
		if len(got.Disagreements) > 0 && tally.Disagreements < 100 {
			first := got.Disagreements[0]
			t.Errorf("SLUICE_WORLD=%d: %d disagreements, the first: %v\n%s", seed, len(got.Disagreements), first, w.Describe(first.Pod))
		}
	}
	t.Log(&tally)
	t.Logf("\n%s", &tally.Coverage)
	if tally.Disagreements > 0 {
		t.Errorf("%d disagreements", tally.Disagreements)
	}
	if !single {
		for _, lack := range tally.Coverage.Lacking(worlds/250, worlds/40) {
			t.Error("too little to tell:", lack)
		}
	}
}

// judge is the checker as a walk asks it.
type judge struct {
	*scheduling.Checker
	t    *testing.T
	w    *fidelity.World
	seed uint64
	pods map[string]*cluster.Pod // by namespace/name
}

func newJudge(t *testing.T, w *fidelity.World) judge {
	s := w.Snapshot()
	j := judge{scheduling.NewChecker(s), t, w, w.Seed, map[string]*cluster.Pod{}}
	for _, p := range s.Objects.Pods {
		j.pods[p.String()] = p
	}
	return j
}

func (j judge) record(p *corev1.Pod) *cluster.Pod { return j.pods[p.Namespace+"/"+p.Name] }

// Fits must be what Refusals says as well.
func (j judge) Fits(o *corev1.Pod, node string) bool {
	p := j.record(o)
	fits, why := j.Checker.Fits(p, node), j.Refusals(p, node)
	if fits != (len(why) == 0) {
		j.t.Errorf("world %d, pod %s on %s: Fits says %t, Refusals says %v", j.seed, p, node, fits, why)
	}
	return fits
}

func (j judge) Place(p *corev1.Pod, node string) { j.Checker.Place(j.record(p), node) }

func (j judge) Open(g *cluster.Group, name string) (undo func()) {
	n := scheduling.Future(g.Template, name)
	undo = j.Mark()
	j.Checker.Open(j.Template(n, j.Daemons(n)...).Attaching(g.VolumeLimit).Publishing(j.published(g)...), name)
	return undo
}

// published are the slices that the group's next machine will have.
func (j judge) published(g *cluster.Group) []*resourcev1.ResourceSlice {
	if s := j.w.Devices.Templates[g.ID]; s != nil {
		own := s.DeepCopy()
		own.Name, own.Spec.Pool = "gpus", resourcev1.ResourcePool{Generation: 1, ResourceSliceCount: 1}
		return []*resourcev1.ResourceSlice{own}
	}
	return nil
}

func (j judge) Pretend(p *corev1.Pod, node string) (undo func()) {
	return j.Checker.Place(j.record(p), node)
}

func (j judge) Evict(p *corev1.Pod, node string) (undo func()) {
	return j.Checker.Evict(j.record(p), node)
}
