package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// created is when a pod was made.
func created(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(Start.Add(-ago)) }
}

// TestShortPodsWaitForPlacesThatAreFreeBeforeAMachineCouldBoot has two nodes of which a Job's pod takes all. A boot is taken for three minutes.
func TestShortPodsWaitForPlacesThatAreFreeBeforeAMachineCouldBoot(t *testing.T) {
	job, young := OwnedBy("Job", "frames"), created(10*time.Second)
	on := func(node string, ago time.Duration, more ...func(*corev1.Pod)) *cluster.Pod {
		return Pod("on-"+node, append([]func(*corev1.Pod){job, CPU("4"), On(node), begun(ago)}, more...)...)
	}
	minute := running(time.Minute)
	cases := map[string]struct {
		objects []any
		kept    memory.Memory
		policy  func(*policy.Policy)
		want    []string
		verdict string // of the last pod
	}{
		"two places are free in half a minute, each for one pod and two more until a boot": {
			objects: []any{pods(6, job, CPU("4"), minute, young), on("a-0", time.Minute, minute), on("a-1", time.Minute, minute)}, verdict: "waiting AwaitsPlace",
		},
		"who finds no place gets a machine": {
			objects: []any{pods(8, job, CPU("4"), minute, young), on("a-0", time.Minute, minute), on("a-1", time.Minute, minute)},
			want:    []string{"grow a 2 -> 4"}, verdict: "grows NeedsMachine",
		},
		"who has waited for a boot waits no longer": {
			objects: []any{pods(2, job, CPU("4"), minute, created(3*time.Minute)), on("a-0", time.Minute, minute), on("a-1", time.Minute, minute)},
			want:    []string{"grow a 2 -> 4"}, verdict: "grows NeedsMachine",
		},
		"a long pod is worth a machine": {
			objects: []any{pods(2, job, CPU("4"), running(7*time.Minute), young), on("a-0", time.Minute, minute), on("a-1", time.Minute, minute)},
			want:    []string{"grow a 2 -> 4"}, verdict: "grows NeedsMachine",
		},
		"places that long pods hold are not free soon": {
			objects: []any{pods(2, job, CPU("4"), minute, young), on("a-0", time.Minute, running(time.Hour)), on("a-1", time.Minute, running(time.Hour))},
			want:    []string{"grow a 2 -> 4"}, verdict: "grows NeedsMachine",
		},
		"pods of unknown run times have their machines at once": {
			objects: []any{pods(2, job, CPU("4"), young), on("a-0", time.Minute, minute), on("a-1", time.Minute, minute)},
			want:    []string{"grow a 2 -> 4"}, verdict: "grows NeedsMachine",
		},
		"the place of a pod of another kind is none": {
			objects: []any{pods(2, job, CPU("3"), minute, young), on("a-0", time.Minute, minute), on("a-1", time.Minute, minute)},
			want:    []string{"grow a 2 -> 4"}, verdict: "grows NeedsMachine",
		},
		"pods of services wait for nobody": {
			objects: []any{pods(2, OwnedBy("ReplicaSet", "web"), CPU("4"), minute, young), on("a-0", time.Minute, minute), on("a-1", time.Minute, minute)},
			want:    []string{"grow a 2 -> 4"}, verdict: "grows NeedsMachine",
		},
		"a gang is never cut": {
			objects: []any{pods(2, job, CPU("4"), minute, young, Annotated("sluice.dev/gang", "2")), on("a-0", time.Minute, minute), on("a-1", time.Minute, minute)},
			want:    []string{"grow a 2 -> 4"}, verdict: "grows NeedsMachine",
		},
		"an operator may want a place for every pod at once": {
			objects: []any{pods(2, job, CPU("4"), minute, young), on("a-0", time.Minute, minute), on("a-1", time.Minute, minute)},
			policy:  func(p *policy.Policy) { p.Growth.AwaitPlaces = false },
			want:    []string{"grow a 2 -> 4"}, verdict: "grows NeedsMachine",
		},
		"what was seen of earlier pods is what they say themselves": {
			objects: []any{pods(2, job, CPU("4"), young), on("a-0", time.Minute), on("a-1", time.Minute)},
			kept:    memory.Memory{Placing: memory.Placing{Runs: map[string]memory.RunTime{"default/Job/frames": {Mean: time.Minute, Ended: 3, Seen: Start}}}},
			verdict: "waiting AwaitsPlace",
		},
		"pods that run still count for as long as they have": {
			objects: []any{pods(2, job, CPU("4"), young), on("a-0", time.Hour), on("a-1", time.Hour)},
			kept: memory.Memory{
				Placing: memory.Placing{Runs: map[string]memory.RunTime{"default/Job/frames": {Mean: time.Minute, Ended: 3, Seen: Start, Watched: map[types.UID]memory.Watched{
					"on-a-0": {Node: "a-0", Began: Start.Add(-time.Hour)},
				}}}},
			},
			want: []string{"grow a 2 -> 4"}, verdict: "grows NeedsMachine",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			objects := []any{Node("a-0"), Node("a-1")}
			for _, o := range c.objects {
				if many, is := o.([]any); is {
					objects = append(objects, many...)
					continue
				}
				objects = append(objects, o)
			}
			allowed := policy.Default()
			if c.policy != nil {
				c.policy(allowed)
			}
			s := cluster.New(Start, Objects(objects...), []*cluster.Group{Group("a", 0, 50, Machine("0", "a-0"), Machine("1", "a-1"))})
			p, _ := plan.Decide(s, allowed, c.kept)
			if diff := cmp.Diff(c.want, told(p), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			complete(t, p)
			last := s.Pending[len(s.Pending)-1]
			if got := verdictOf(p, reason.Pod(last.Namespace, last.Name)); got != c.verdict {
				t.Errorf("%s: %q, want %q", last, got, c.verdict)
			}
			if c.verdict == "waiting AwaitsPlace" && !p.Next.Equal(Start.Add(10*time.Second)) {
				t.Errorf("looks again at %s", p.Next)
			}
		})
	}
}

// TestRunTimesOfJobsAreLearnedWithoutATarget has two pods of a Job end, of which one is the last to be watched, and services that come and go.
func TestRunTimesOfJobsAreLearnedWithoutATarget(t *testing.T) {
	g := Group("a", 0, 9, Machine("0", "a-0"))
	var m memory.Memory
	var last map[string]memory.RunTime
	for minute, names := range [][]string{{"one", "two"}, {"two"}, {"two"}, {}} {
		objects := []any{Node("a-0"), Pod(fmt.Sprint("web-", minute), OwnedBy("ReplicaSet", "web"), CPU("1m"), On("a-0"), begun(0))}
		for _, name := range names {
			objects = append(objects, Pod(name, OwnedBy("Job", "shot"), CPU("1m"), On("a-0"), begun(0)))
		}
		_, m = plan.Decide(cluster.New(Start.Add(time.Duration(minute)*time.Minute), Objects(objects...), []*cluster.Group{g}), policy.Default(), m)
		if minute == 2 {
			if diff := cmp.Diff(last, m.Runs); diff != "" {
				t.Errorf("nothing began or ended, and the memory changed (-before +after):\n%s", diff)
			}
		}
		last = m.Runs
	}
	if got := m.Runs["default/Job/shot"]; got.Ended != 2 || got.Mean != 2*time.Minute || got.Watched != nil {
		t.Errorf("%+v, want the mean of two pods that ran 1 minute and 3 minutes", got)
	}
	if r, known := m.Runs["default/ReplicaSet/web"]; known {
		t.Errorf("services are watched, too: %+v", r)
	}
}
