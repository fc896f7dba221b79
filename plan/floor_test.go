package plan_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// scheduled holds group a to a schedule as well.
func scheduled(t *testing.T, text string) func(*policy.Policy) {
	return func(p *policy.Policy) {
		s, err := policy.ParseGroupSchedule(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Growth.Schedules = append(p.Growth.Schedules, s)
	}
}

func enforced(p *policy.Policy) { p.Growth.EnforceMin = true }

func TestGroupsAreRaisedToTheirFloorAndNoFurther(t *testing.T) {
	failing := memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Backoff: memory.Backoff{Until: Start.Add(time.Minute), Code: "X"}}}}
	cases := map[string]struct {
		objects []any
		groups  []*cluster.Group
		kept    memory.Memory
		policy  []func(*policy.Policy)
		want    []string
		verdict map[string]string
	}{
		"a group below its min stays when nobody enforces it": {
			groups: []*cluster.Group{Group("a", 3, 5)}, want: []string{},
		},
		"an enforced min is reached in one request": {
			groups: []*cluster.Group{Group("a", 3, 5)}, policy: []func(*policy.Policy){enforced},
			want: []string{"grow a 0 -> 3"}, verdict: map[string]string{"group a": "grow GroupRaised GroupSteady"},
		},
		"a min that a schedule sets is enforced": { // Start is a Monday, 09:00
			groups: []*cluster.Group{Group("a", 0, 5)}, policy: []func(*policy.Policy){scheduled(t, "a: Mon-Fri 08:00-20:00 UTC min=2")},
			want: []string{"grow a 0 -> 2"}, verdict: map[string]string{"group a": "grow GroupRaised GroupSteady"},
		},
		"a schedule that is not in force raises nothing": {
			groups: []*cluster.Group{Group("a", 0, 5)}, policy: []func(*policy.Policy){scheduled(t, "a: Mon-Fri 10:00-20:00 UTC min=2")}, want: []string{},
		},
		"pods use the machines that come anyway, and what they need beyond comes by the same request": {
			objects: pods(12), groups: []*cluster.Group{Group("a", 2, 5)}, policy: []func(*policy.Policy){enforced},
			want: []string{"grow a 0 -> 3"}, verdict: map[string]string{"group a": "grow GroupGrows GroupRaised GroupSteady", "pod p11": "grows NeedsMachine"},
		},
		"pods do not buy elsewhere what a floor brings": {
			objects: pods(4), groups: []*cluster.Group{priced("a", "4", 9), priced("b", "4", 0.1)}, policy: []func(*policy.Policy){scheduled(t, "a: daily min=1")},
			want: []string{"grow a 0 -> 1"}, verdict: map[string]string{"pod p00": "grows NeedsMachine"},
		},
		"a request that the read does not show yet is not made again": {
			groups: []*cluster.Group{Group("a", 3, 5)}, policy: []func(*policy.Policy){enforced},
			kept: memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Requested: Start.Add(time.Second), Capacity: 3}}},
			want: []string{}, verdict: map[string]string{"group a": "growing GroupGrowing GroupSteady"},
		},
		"a group in back-off rests": {
			groups: []*cluster.Group{Group("a", 3, 5)}, policy: []func(*policy.Policy){enforced}, kept: failing,
			want: []string{}, verdict: map[string]string{"group a": "backoff GroupBackoff GroupShort GroupSteady"},
		},
		"a group whose read is not whole is left alone": {
			groups: []*cluster.Group{func() *cluster.Group { g := Group("a", 3, 5); g.Read.Complete = false; return g }()}, policy: []func(*policy.Policy){enforced},
			want: []string{}, verdict: map[string]string{"group a": "hold GroupIncomplete GroupSteady"},
		},
		"a limit of the whole cluster cuts it": {
			groups: []*cluster.Group{Group("a", 3, 5)}, policy: []func(*policy.Policy){enforced, func(p *policy.Policy) { p.Growth.Max.Nodes = 2 }},
			want: []string{"grow a 0 -> 2"}, verdict: map[string]string{"group a": "grow GroupRaised GroupShort ClusterNodesLimit GroupSteady"},
		},
		"groups share what the cluster may have": {
			groups: []*cluster.Group{Group("a", 3, 5), Group("b", 3, 5)}, policy: []func(*policy.Policy){enforced, func(p *policy.Policy) { p.Growth.Max.Cores = 16 }},
			want: []string{"grow a 0 -> 3", "grow b 0 -> 1"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			for _, change := range c.policy {
				change(allowed)
			}
			groups := make([]*cluster.Group, len(c.groups))
			for i, g := range c.groups {
				groups[i] = allowed.Bound(g, Start)
			}
			p, _ := plan.Decide(cluster.New(Start, Objects(c.objects...), groups), allowed, c.kept)
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
