package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// draining is a policy with these drain targets.
func draining(targets ...policy.DrainTarget) *policy.Policy {
	p := policy.Default()
	p.Growth.DrainTargets = targets
	return p
}

// running says how long a pod runs.
func running(d time.Duration) func(*corev1.Pod) { return Annotated("sluice.dev/run-time", d.String()) }

// begun is when a pod's kubelet first saw it.
func begun(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.StartTime = new(metav1.NewTime(Start.Add(-ago))) }
}

func TestABacklogIsWorkedOffWithinItsTarget(t *testing.T) {
	job := OwnedBy("Job", "render-1")
	byNamespace := policy.DrainTarget{Namespace: "default", Within: 20 * time.Minute}
	cases := map[string]struct {
		targets []policy.DrainTarget
		objects []any
		group   func(*cluster.Group)
		want    []string
		verdict string // of the youngest pod
	}{
		"without a target every pod gets a place": {
			objects: pods(16, job, CPU("4"), running(5*time.Minute)), want: []string{"grow a 0 -> 16"}, verdict: "grows NeedsMachine",
		},
		"16 pods of 5 minutes share places on which 3 end one after the other within 20 minutes of which 3 are for booting": {
			targets: []policy.DrainTarget{byNamespace}, objects: pods(16, job, CPU("4"), running(5*time.Minute)),
			want: []string{"grow a 0 -> 6"}, verdict: "waiting WaitsForTurn",
		},
		"the target of the one group that would do holds as well": {
			targets: []policy.DrainTarget{{Group: "A", Within: 20 * time.Minute}}, objects: pods(16, job, CPU("4"), running(5*time.Minute)),
			want: []string{"grow a 0 -> 6"}, verdict: "waiting WaitsForTurn",
		},
		"the target of another namespace does not hold": {
			targets: []policy.DrainTarget{{Namespace: "render", Within: 20 * time.Minute}}, objects: pods(16, job, CPU("4"), running(5*time.Minute)),
			want: []string{"grow a 0 -> 16"}, verdict: "grows NeedsMachine",
		},
		"pods that run longer than the target get a place each": {
			targets: []policy.DrainTarget{byNamespace}, objects: pods(4, job, CPU("4"), running(time.Hour)), want: []string{"grow a 0 -> 4"}, verdict: "grows NeedsMachine",
		},
		"pods of unknown run times get a place each": {
			targets: []policy.DrainTarget{byNamespace}, objects: pods(4, job, CPU("4")), want: []string{"grow a 0 -> 4"}, verdict: "grows NeedsMachine",
		},
		"a place that gets free soon serves 3 of 4 pods, and a new one the last": {
			targets: []policy.DrainTarget{byNamespace},
			objects: append(pods(4, job, CPU("4"), running(5*time.Minute)), Node("a-0"), Pod("r", job, CPU("4"), running(10*time.Minute), On("a-0"), begun(6*time.Minute))),
			group: func(g *cluster.Group) {
				g.Instances, g.Capacity = []*cluster.Instance{Machine("0", "a-0", func(i *cluster.Instance) { i.Group = "a" })}, 1
			},
			want: []string{"grow a 1 -> 2"}, verdict: "waiting WaitsForTurn",
		},
		"a place on a node that takes no further pods serves none": {
			targets: []policy.DrainTarget{byNamespace},
			objects: append(pods(4, job, CPU("4"), running(5*time.Minute)), Node("a-0", func(n *corev1.Node) { n.Spec.Unschedulable = true }),
				Pod("r", job, CPU("4"), running(10*time.Minute), On("a-0"), begun(6*time.Minute))),
			group: func(g *cluster.Group) {
				g.Instances, g.Capacity = []*cluster.Instance{Machine("0", "a-0", func(i *cluster.Instance) { i.Group = "a" })}, 1
			},
			want: []string{"grow a 1 -> 3"}, verdict: "waiting WaitsForTurn",
		},
		"a gang is never cut": {
			targets: []policy.DrainTarget{byNamespace}, objects: pods(16, job, CPU("4"), running(5*time.Minute), Annotated("sluice.dev/gang", "16")),
			want: []string{"grow a 0 -> 16"}, verdict: "grows NeedsMachine",
		},
		"machines that are coming are places": {
			targets: []policy.DrainTarget{byNamespace}, objects: pods(16, job, CPU("4"), running(5*time.Minute)),
			group: func(g *cluster.Group) { g.Capacity = 6 }, want: []string{}, verdict: "waiting WaitsForTurn",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			g := Group("a", 0, 50)
			if c.group != nil {
				c.group(g)
			}
			s := cluster.New(Start, Objects(c.objects...), []*cluster.Group{g})
			p, _ := plan.Decide(s, draining(c.targets...), memory.Memory{})
			if diff := cmp.Diff(c.want, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			complete(t, p)
			last := slices.MaxFunc(s.Pending, func(a, b *cluster.Pod) int { return strings.Compare(a.Name, b.Name) })
			if got := verdictOf(p, reason.Pod(last.Namespace, last.Name)); got != c.verdict {
				t.Errorf("%s: %q, want %q", last, got, c.verdict)
			}
			if len(c.targets) > 0 && c.verdict == "waiting WaitsForTurn" && !p.Next.Equal(Start.Add(10*time.Second)) {
				t.Errorf("looks again at %s", p.Next)
			}
		})
	}
}

func TestRunTimesAreLearnedFromPodsThatEnd(t *testing.T) {
	const node = "a-0"
	run := func(name, owner string, ago time.Duration) *cluster.Pod {
		return Pod(name, OwnedBy("Job", owner), CPU("100m"), On(node), begun(ago))
	}
	allowed := draining(policy.DrainTarget{Namespace: "default", Within: 20 * time.Minute})
	cycle := func(m memory.Memory, after time.Duration, objects ...any) memory.Memory {
		g := Group("a", 0, 9, Machine("0", node))
		_, m = plan.Decide(cluster.New(Start.Add(after), Objects(objects...), []*cluster.Group{g}), allowed, m)
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var read memory.Memory
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m.Runs, read.Runs); diff != "" {
			t.Fatalf("the memory does not survive the journal (-before +after):\n%s", diff)
		}
		return read
	}
	cordoned := Node(node, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	going := Pod("one", OwnedBy("Job", "shot-1"), CPU("100m"), On(node), begun(4*time.Minute), func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(Start)) })
	cases := map[string]struct {
		second []any // a minute later
		want   memory.RunTime
		series time.Duration
	}{
		"a pod that is gone ran until now": {
			[]any{Node(node)}, memory.RunTime{Mean: 5 * time.Minute, Ended: 1}, 5 * time.Minute,
		},
		"a pod that runs has not ended": {
			[]any{Node(node), run("one", "shot-1", 4*time.Minute)}, memory.RunTime{}, 0,
		},
		"a pod whose node is cordoned may have been evicted": {[]any{cordoned}, memory.RunTime{}, 0},
		"a pod whose node is gone was cut short":             {[]any{}, memory.RunTime{}, 0},
		"a pod that somebody deletes is not watched":         {[]any{Node(node), going}, memory.RunTime{}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := cycle(memory.Memory{}, 0, Node(node), run("one", "shot-1", 4*time.Minute))
			m = cycle(m, time.Minute, c.second...)
			if len(c.second) == 2 && c.second[1] == any(going) {
				m = cycle(m, 2*time.Minute, Node(node))
			}
			got := m.Runs["default/Job/shot-1"]
			if got.Mean != c.want.Mean || got.Ended != c.want.Ended || m.Runs["default/Job/shot-*"].Mean != c.series || m.Runs["default/*"].Mean != c.series {
				t.Errorf("%+v, want %+v; of all %+v, want %s", got, c.want, m.Runs, c.series)
			}
		})
	}
}

func TestWhatIsLearnedIsBounded(t *testing.T) {
	allowed := draining(policy.DrainTarget{Namespace: "default", Within: 20 * time.Minute})
	g := Group("a", 0, 9, Machine("0", "a-0"))
	var m memory.Memory
	for round := range 3 {
		objects, began := []any{Node("a-0")}, time.Duration(round)*time.Minute
		for i := range 400 {
			objects = append(objects, Pod(fmt.Sprintf("p-%d-%d", round, i), OwnedBy("Job", fmt.Sprintf("job-%d-%dx", round, i)), CPU("1m"), On("a-0"), begun(-began)))
		}
		for i := range 40 {
			objects = append(objects, Pod(fmt.Sprintf("same-%d-%d", round, i), OwnedBy("Job", "same"), CPU("1m"), On("a-0"), begun(-began)))
		}
		_, m = plan.Decide(cluster.New(Start.Add(began), Objects(objects...), []*cluster.Group{g}), allowed, m)
		if n := len(m.Runs["default/Job/same"].Watched); n > 16 {
			t.Errorf("cycle %d watches %d pods of one owner, want 16 at most", round, n)
		}
	}
	if len(m.Runs) != 512 {
		t.Errorf("%d owners are known, want 512", len(m.Runs))
	}
	if _, m := plan.Decide(cluster.New(Start, cluster.Objects{}, nil), policy.Default(), m); m.Runs != nil {
		t.Error("run times that nobody asks for are still remembered")
	}
}

func TestARunTimeThatWasLearnedServesTheOwnersNextPods(t *testing.T) {
	for name, c := range map[string]struct {
		known string
		want  string
	}{
		"the same owner":                   {"default/Job/shot-2", "grow a 0 -> 6"},
		"another of its series":            {"default/Job/shot-*", "grow a 0 -> 6"},
		"another of its namespace":         {"default/*", "grow a 0 -> 6"},
		"somebody else says nothing of it": {"other/*", "grow a 0 -> 16"},
	} {
		t.Run(name, func(t *testing.T) {
			s := cluster.New(Start, Objects(pods(16, OwnedBy("Job", "shot-2"), CPU("4"))...), []*cluster.Group{Group("a", 0, 50)})
			m := memory.Memory{Placing: memory.Placing{Runs: map[string]memory.RunTime{c.known: {Mean: 5 * time.Minute, Ended: 3, Seen: Start}}}}
			p, _ := plan.Decide(s, draining(policy.DrainTarget{Namespace: "default", Within: 20 * time.Minute}), m)
			if diff := cmp.Diff([]string{c.want}, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestYoungPodsAloneDoNotStopTheDecision(t *testing.T) {
	allowed := policy.Default()
	allowed.Growth.PodDelay = time.Hour
	g := Group("a", 0, 9, Machine("0", "a-0"))
	m := removable("a-0")
	p, _ := plan.Decide(cluster.New(Start, Objects(append(pods(2, CPU("5")), Node("a-0"))...), []*cluster.Group{g}), allowed, m)
	if diff := cmp.Diff([]string{"cordon a-0 idle"}, told(p)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestOnlyPodsThatHaveJustBegunAreTimed(t *testing.T) {
	allowed := draining(policy.DrainTarget{Namespace: "default", Within: 20 * time.Minute})
	g := Group("a", 0, 9, Machine("0", "a-0"))
	run := func(name string, began time.Duration) *cluster.Pod {
		return Pod(name, OwnedBy("Job", "shot"), CPU("1m"), On("a-0"), begun(-began))
	}
	var m memory.Memory
	for minute, pods := range [][]any{
		{run("first", 0)},
		{run("first", 0), run("late", -time.Hour), run("new", time.Minute)},
		{Node("b-0")},
	} {
		_, m = plan.Decide(cluster.New(Start.Add(time.Duration(minute)*time.Minute), Objects(append(pods, Node("a-0"))...), []*cluster.Group{g}), allowed, m)
	}
	if got := m.Runs["default/Job/shot"]; got.Ended != 2 || got.Mean != 90*time.Second {
		t.Errorf("%+v, want the mean of two pods that ran 2 minutes and 1 minute", got)
	}
}
