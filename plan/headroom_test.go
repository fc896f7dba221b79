package plan_test

import (
	"fmt"
	"slices"
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
)

// keeping has group a keep headroom.
func keeping(t *testing.T, text string) func(*policy.Policy) {
	return func(p *policy.Policy) {
		h, err := policy.ParseGroupHeadroom("a=" + text)
		if err != nil {
			t.Fatal(err)
		}
		p.Growth.Headroom = append(p.Growth.Headroom, h)
	}
}

func TestHeadroomIsKeptAndFilledAgain(t *testing.T) {
	busy := func(node string) []any { return []any{Node(node), Pod("w-"+node, On(node), CPU("3"))} }
	full := func(node string) []any { return []any{Node(node), Pod("w-"+node, On(node), CPU("4"))} }
	daemon := func(node string) *cluster.Pod { return Pod("ds-"+node, On(node), OwnedBy("DaemonSet", "ds")) }
	failing := memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Backoff: memory.Backoff{Until: Start.Add(time.Minute), Code: "X"}}}}
	cases := map[string]struct {
		objects  []any
		headroom string
		group    func(*cluster.Group)
		kept     memory.Memory
		policy   func(*policy.Policy)
		want     []string
		verdict  map[string]string
	}{
		"two machines' worth is bought in one request": {
			objects: busy("a-0"), headroom: "machines:2",
			want: []string{"grow a 1 -> 3"}, verdict: map[string]string{"group a": "grow HeadroomKept GroupSteady"},
		},
		"a node with daemons alone is room": {
			objects: append(busy("a-0"), Node("a-1"), daemon("a-1")), headroom: "machines:2", want: []string{"grow a 2 -> 3"},
		},
		"a machine that is coming is room": {
			objects: busy("a-0"), headroom: "machines:1", group: func(g *cluster.Group) { g.Capacity = 2 },
			want: []string{}, verdict: map[string]string{"group a": "growing GroupGrowing GroupSteady"},
		},
		"pods that come use it up, and it is filled again": {
			objects: append(append(pods(3), busy("a-0")...), Node("a-1")), headroom: "machines:1",
			want: []string{"grow a 2 -> 3"}, verdict: map[string]string{"pod p00": "scheduling FitsNode", "group a": "grow HeadroomKept GroupSteady"},
		},
		"what pods and headroom want comes by one request": {
			objects: append(pods(4, CPU("2")), full("a-0")...), headroom: "machines:1",
			want: []string{"grow a 1 -> 4"}, verdict: map[string]string{"group a": "grow GroupGrows HeadroomKept GroupSteady"},
		},
		"cores count wherever they are free": {
			objects: append(busy("a-0"), busy("a-1")...), headroom: "cores:3",
			want: []string{"grow a 2 -> 3"}, verdict: map[string]string{"group a": "grow HeadroomKept GroupSteady"},
		},
		"cores that are free already buy nothing": {
			objects: append(busy("a-0"), busy("a-1")...), headroom: "cores:2", want: []string{},
		},
		"a group at its max says what lacks": {
			objects: busy("a-0"), headroom: "machines:2", group: func(g *cluster.Group) { g.Max = 2 },
			want: []string{"grow a 1 -> 2"}, verdict: map[string]string{"group a": "grow HeadroomKept HeadroomShort GroupAtMax GroupSteady"},
		},
		"a group in back-off rests": {
			objects: busy("a-0"), headroom: "machines:2", kept: failing,
			want: []string{}, verdict: map[string]string{"group a": "backoff GroupBackoff HeadroomShort GroupSteady"},
		},
		"an idle node that headroom needs stays": {
			objects: append(busy("a-0"), Node("a-1")), headroom: "machines:1", kept: removable("a-1"),
			want: []string{}, verdict: map[string]string{"node a-1": "idle NodeHeadroom NodeIdle"},
		},
		"of several idle nodes those go that headroom does not need": {
			objects: append(busy("a-0"), Node("a-1"), Node("a-2"), Node("a-3")), headroom: "machines:1", kept: removable("a-1", "a-2", "a-3"),
			want: []string{"cordon a-1 idle", "cordon a-2 idle"}, verdict: map[string]string{"node a-3": "idle NodeHeadroom NodeIdle"},
		},
		"an underused node stays whose leaving takes free cores": {
			objects: []any{Node("a-0"), Pod("v", On("a-0"), CPU("3")), Node("a-1"), Pod("x", On("a-1"))}, headroom: "cores:1", kept: removable("a-1"),
			want: []string{}, verdict: map[string]string{"node a-1": "idle NodeHeadroom NodeUnderused"},
		},
		"an idle node may go while enough cores stay free": {
			objects: append(busy("a-0"), Node("a-1")), headroom: "cores:1", kept: removable("a-1"), want: []string{"cordon a-1 idle"},
		},
		"a node comes down from the ladder before a machine is bought": {
			objects: append(busy("a-0"), leaving("a-1", "1", 3*time.Second)), headroom: "machines:1",
			want: []string{"uncordon a-1: NodeHeadroom"}, verdict: map[string]string{"node a-1": "rescue NodeHeadroom"},
		},
		"a node that nothing needs goes on": {
			objects: append(busy("a-0"), Node("a-1"), leaving("a-2", "2", 10*time.Second)), headroom: "machines:1",
			want: []string{"delete a 2(a-2)"},
		},
		"a node that a person cordoned is no room": {
			objects: append(busy("a-0"), cordoned("a-1")), headroom: "machines:1", want: []string{"grow a 2 -> 3"},
		},
		"a node whose machine is on its way out is no room": {
			objects: append(busy("a-0"), Node("a-1")), headroom: "machines:1", group: func(g *cluster.Group) { g.Capacity, g.Instances[1].State = 1, cluster.StateDeleting },
			want: []string{"grow a 1 -> 2"},
		},
		"a node that has just registered is room": {
			objects: append(busy("a-0"), Node("a-1", NotReady(Start), func(n *corev1.Node) { n.CreationTimestamp.Time = Start })), headroom: "machines:1",
			want: []string{},
		},
		"a node on the ladder whose machine is on its way out does not come down": {
			objects: append(busy("a-0"), leaving("a-1", "1", 3*time.Second)), headroom: "machines:1", group: func(g *cluster.Group) { g.Capacity, g.Instances[1].State = 1, cluster.StateDeleting },
			want: []string{"grow a 1 -> 2"},
		},
		"a node on the ladder whose machine is not running yet does not come down": {
			objects: append(busy("a-0"), leaving("a-1", "1", 3*time.Second)), headroom: "machines:1", group: func(g *cluster.Group) { g.Instances[1].State = cluster.StateCreating },
			want: []string{"grow a 2 -> 3"},
		},
		"the node that was cordoned last comes down first": {
			objects: append(busy("a-0"), leaving("a-1", "1", 4*time.Second), leaving("a-2", "2", 3*time.Second)), headroom: "machines:1",
			want: []string{"uncordon a-2: NodeHeadroom"},
		},
		"what pods leave free of a node that they take back is room": {
			objects: append(append(pods(1, CPU("2")), full("a-0")...), leaving("a-1", "1", 3*time.Second)), headroom: "cores:2",
			want: []string{"uncordon a-1: NodeCounted"},
		},
		"a pod that should have ended long ago is in no machine's way": {
			objects:  append(busy("a-0"), Node("a-1"), Pod("stuck", On("a-1"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: Start.Add(-time.Hour)} })),
			headroom: "machines:1", want: []string{},
		},
		"a node that is silent is no room": {
			objects: append(busy("a-0"), Node("a-1", NotReady(Start.Add(-time.Hour)))), headroom: "machines:1", want: []string{"grow a 2 -> 3"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			keeping(t, c.headroom)(allowed)
			if c.policy != nil {
				c.policy(allowed)
			}
			g := housed(c.objects)
			if c.group != nil {
				c.group(g)
			}
			p, _ := plan.Decide(cluster.New(Start, Objects(c.objects...), []*cluster.Group{g}), allowed, sawCordons(c.kept, c.objects))
			if diff := cmp.Diff(c.want, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			for about, want := range c.verdict {
				if got := verdictOf(p, ref(about)); got != want {
					t.Errorf("%s: %s, want %s", about, got, want)
				}
			}
			complete(t, p)
		})
	}
}

// TestAQuietClusterWithHeadroomComesToRest turns cycles whose actions come true at once, from clusters with too little and too much room.
func TestAQuietClusterWithHeadroomComesToRest(t *testing.T) {
	for _, text := range []string{"machines:1", "machines:3", "cores:1", "cores:5", "cores:9"} {
		for idle := range 6 {
			t.Run(fmt.Sprintf("%s with %d idle nodes", text, idle), func(t *testing.T) {
				allowed := policy.Default()
				keeping(t, text)(allowed)
				fill := Pod("w", On("a-0"), CPU("3500m"))
				nodes := []string{"a-0"}
				for i := range idle {
					nodes = append(nodes, fmt.Sprintf("a-%d", i+1))
				}
				at, made, rest := Start, len(nodes), 0
				var kept memory.Memory
				ladder, soft := map[string]time.Time{}, map[string]bool{}
				for cycle := 0; rest < 60; cycle++ {
					if cycle > 200 {
						t.Fatalf("still at work with nodes %v", nodes)
					}
					objects := []any{fill}
					for _, n := range nodes {
						if since, on := ladder[n]; on {
							objects = append(objects, leaving(n, n[2:], Start.Sub(since)))
						} else if soft[n] {
							objects = append(objects, Node(n, shunned))
						} else {
							objects = append(objects, Node(n))
						}
					}
					g := housed(objects)
					g.Read.At = at
					var p action.Plan
					p, kept = plan.Decide(cluster.New(at, Objects(objects...), []*cluster.Group{g}), allowed, kept)
					rest++
					for _, a := range p.Actions {
						rest = 0
						switch a := a.(type) {
						case action.SetCapacity:
							for range a.Adds {
								nodes = append(nodes, fmt.Sprintf("a-%d", made))
								made++
							}
						case action.Cordon:
							ladder[a.Node] = a.Removal.Since
						case action.CandidateTaint:
							soft[a.Node] = true
						case action.CandidateUntaint:
							soft[a.Node] = false
						case action.DeleteInstances:
							for _, m := range a.Machines {
								nodes = slices.DeleteFunc(nodes, func(n string) bool { return n == m.Node })
							}
						default:
							t.Fatalf("at %s: %T is no action of a quiet cluster", at.Sub(Start), a)
						}
					}
					at = at.Add(time.Minute)
				}
				want := map[string]int{"machines:1": 2, "machines:3": 4, "cores:1": 2, "cores:5": 3, "cores:9": 4}[text]
				if len(nodes) != want {
					t.Errorf("it rests with nodes %v, want %d", nodes, want)
				}
			})
		}
	}
}

// cordoned is a node that a person has taken out of use.
func cordoned(name string) *corev1.Node {
	return Node(name, func(n *corev1.Node) { n.Spec.Unschedulable = true })
}

// housed is a group with a machine under each node among the objects.
func housed(objects []any) *cluster.Group {
	var machines []*cluster.Instance
	for _, o := range objects {
		if n, ok := o.(*corev1.Node); ok {
			machines = append(machines, Machine(n.Name[2:], n.Name))
		}
	}
	return Group("a", 0, 9, machines...)
}
