package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// inPool is a pod that only one group's machines take.
func inPool(id string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": id} }
}

func TestGroupsGatherWhilePodsKeepComing(t *testing.T) {
	type cycle struct {
		at   time.Duration // after the first
		pods int           // that are there by then
		want []string
	}
	none := []string{}
	cases := map[string]struct {
		window time.Duration
		max    int
		atOnce int           // most machines that may be added by one plan
		apart  time.Duration // between pods, of which the last of the first cycle comes with it; 0: all come in the cycle that sees them first
		pod    func(i int) []func(*corev1.Pod)
		cycles []cycle
		last   string // the verdict of the last pod
	}{
		"pods that come after a request wait for others, as they came after a silence": {
			cycles: []cycle{{0, 1, []string{"grow a 0 -> 1"}}, {2 * time.Second, 5, none}, {9900 * time.Millisecond, 5, none}, {10 * time.Second, 5, []string{"grow a 1 -> 5"}}},
			last:   "grows NeedsMachine",
		},
		"such a wait says until when": {
			cycles: []cycle{{0, 1, []string{"grow a 0 -> 1"}}, {2 * time.Second, 5, none}}, last: "waiting PodsComeAndPause",
		},
		"pods that come in a rush wait until it pauses": {
			apart:  100 * time.Millisecond,
			cycles: []cycle{{0, 11, []string{"grow a 0 -> 11"}}, {2 * time.Second, 31, none}, {2300 * time.Millisecond, 31, none}, {2400 * time.Millisecond, 31, []string{"grow a 11 -> 31"}}},
			last:   "grows NeedsMachine",
		},
		"as long as it goes on": {
			apart:  200 * time.Millisecond,
			cycles: []cycle{{0, 6, []string{"grow a 0 -> 6"}}, {4 * time.Second, 26, none}, {8 * time.Second, 46, none}}, last: "waiting PodsKeepComing",
		},
		"but not for longer than the window": {
			apart:  200 * time.Millisecond,
			cycles: []cycle{{0, 6, []string{"grow a 0 -> 6"}}, {4 * time.Second, 26, none}, {10 * time.Second, 50, []string{"grow a 6 -> 50"}}}, last: "grows NeedsMachine",
		},
		"pods that were there when it was asked wait for nobody": {
			atOnce: 1,
			pod:    func(int) []func(*corev1.Pod) { return []func(*corev1.Pod){CPU("4"), inPool("a")} },
			cycles: []cycle{{0, 2, []string{"grow a 0 -> 1"}}, {2 * time.Second, 2, []string{"grow a 1 -> 2"}}}, last: "grows NeedsMachine",
		},
		"a pod that comes when the window is over is served at once": {
			cycles: []cycle{{0, 1, []string{"grow a 0 -> 1"}}, {11 * time.Second, 2, []string{"grow a 1 -> 2"}}}, last: "grows NeedsMachine",
		},
		"pods that another group alone takes do not wait": {
			pod: func(i int) []func(*corev1.Pod) {
				return []func(*corev1.Pod){CPU("4"), inPool([]string{"a", "a", "b"}[min(i, 2)])}
			},
			cycles: []cycle{{0, 1, []string{"grow a 0 -> 1"}}, {time.Second, 3, []string{"grow b 0 -> 1"}}}, last: "grows NeedsMachine",
		},
		"a group that may not grow makes nobody wait": {
			max:    1,
			cycles: []cycle{{0, 1, []string{"grow a 0 -> 1"}}, {time.Second, 2, []string{"grow b 0 -> 1"}}}, last: "grows NeedsMachine",
		},
		"a gang waits whole": {
			pod: func(i int) []func(*corev1.Pod) {
				if i == 0 {
					return []func(*corev1.Pod){CPU("4"), inPool("a")}
				}
				return []func(*corev1.Pod){CPU("4"), inPool([]string{"a", "b"}[i%2]), OwnedBy("Job", "gang"), Annotated("sluice.dev/gang", "4")}
			},
			cycles: []cycle{{0, 1, []string{"grow a 0 -> 1"}}, {time.Second, 5, none}, {10 * time.Second, 5, []string{"grow a 1 -> 3", "grow b 0 -> 2"}}},
			last:   "grows NeedsMachine",
		},
		"without a window every cycle asks": {
			window: -1,
			cycles: []cycle{{0, 1, []string{"grow a 0 -> 1"}}, {time.Second, 2, []string{"grow a 1 -> 2"}}, {2 * time.Second, 3, []string{"grow a 2 -> 3"}}}, last: "grows NeedsMachine",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			if c.window != 0 {
				allowed.Growth.BurstWindow = max(0, c.window)
			}
			a, b := Group("a", 0, 50), Group("b", 0, 50)
			a.PriceUSDPerHour, b.PriceUSDPerHour = 1, 2
			a.Template.Labels["pool"], b.Template.Labels["pool"] = "a", "b"
			if c.max > 0 {
				a.Max = c.max
			}
			if c.atOnce > 0 {
				allowed.Growth.Max.AtOnce = c.atOnce
			}
			var m memory.Memory
			var last action.Plan
			var pods []any
			for _, y := range c.cycles {
				for i := len(pods); i < y.pods; i++ {
					change := []func(*corev1.Pod){CPU("4")}
					if c.pod != nil {
						change = c.pod(i)
					}
					came := Start.Add(y.at)
					if c.apart > 0 {
						came = Start.Add(time.Duration(i+1-c.cycles[0].pods) * c.apart)
					}
					change = append(change, func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(came.Truncate(time.Second)) })
					p := Pod(fmt.Sprintf("p-%03d", i), change...)
					p.Hear(nil, came)
					pods = append(pods, p)
				}
				at := Start.Add(y.at)
				now := []*cluster.Group{new(*a), new(*b)}
				now[0].Read.At, now[1].Read.At = at, at
				p, next := plan.Decide(cluster.New(at, Objects(pods...), now), allowed, m)
				if diff := cmp.Diff(y.want, told(p)); diff != "" {
					t.Errorf("at %s (-want +got):\n%s", y.at, diff)
				}
				complete(t, p)
				var results []memory.Result
				for _, act := range p.Actions {
					if grow, is := act.(action.SetCapacity); is {
						map[cluster.GroupID]*cluster.Group{"a": a, "b": b}[grow.Group].Capacity = grow.To
					}
					results = append(results, memory.Result{Status: memory.Accepted, At: at})
				}
				m, last = next.After(p, results, allowed), p
			}
			if got := verdictOf(last, reason.Pod("default", fmt.Sprintf("p-%03d", len(pods)-1))); got != c.last {
				t.Errorf("the last pod: %q, want %q", got, c.last)
			}
		})
	}
}

// TestABurstIsOverWhenTheSchedulerHasJudgedIt has pods judged with long silences between them: those that are not judged yet tell that more
// come, and the last one that none does. Those of another namespace tell nothing.
func TestABurstIsOverWhenTheSchedulerHasJudgedIt(t *testing.T) {
	const other = "other"
	for name, c := range map[string]struct {
		namespace string // of the pods that are not judged
		asked     []int  // capacities, in the end
	}{
		"of the same namespace": {"default", []int{1, 3}},
		"of another one":        {other, []int{1, 2, 3}},
	} {
		t.Run(name, func(t *testing.T) {
			a, allowed := Group("a", 0, 50), policy.Default()
			var m memory.Memory
			var asked []int
			judged := []time.Duration{0, 3 * time.Second, 12 * time.Second}
			for _, at := range []time.Duration{0, 3 * time.Second, 9900 * time.Millisecond, 10100 * time.Millisecond, 12 * time.Second, 12400 * time.Millisecond, 22 * time.Second, 31 * time.Second} {
				if c.namespace != other && at == 10100*time.Millisecond {
					continue // the window ends, as it does for all
				}
				var pods []any
				for i, j := range judged {
					p := Pod(fmt.Sprintf("p-%d", i), CPU("4"), func(p *corev1.Pod) {
						if p.CreationTimestamp = metav1.NewTime(Start); j > at {
							p.Status.Conditions, p.Namespace = nil, c.namespace
						}
					})
					p.Hear(nil, Start.Add(j))
					pods = append(pods, p)
				}
				now := new(*a)
				now.Read.At = Start.Add(at)
				p, next := plan.Decide(cluster.New(Start.Add(at), Objects(pods...), []*cluster.Group{now}), allowed, m)
				var results []memory.Result
				for _, act := range p.Actions {
					if grow, is := act.(action.SetCapacity); is {
						a.Capacity = grow.To
						asked = append(asked, grow.To)
					}
					results = append(results, memory.Result{Status: memory.Accepted, At: Start.Add(at)})
				}
				m = next.After(p, results, allowed)
				if at == 12400*time.Millisecond && (a.Capacity == 3) != (c.namespace == "default") {
					t.Errorf("0.4 s after the last one was judged the group is asked for %d", a.Capacity)
				}
			}
			if diff := cmp.Diff(c.asked, asked); diff != "" {
				t.Errorf("asked for (-want +got):\n%s", diff)
			}
		})
	}
}
