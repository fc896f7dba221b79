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

// TestEveryLimitHoldsHoweverMachinesAreChosen has pods that fill six machines of 4 cores and 16 GiB, of which a limit leaves some without a
// place: in the mix over all groups, and where an expander chooses.
func TestEveryLimitHoldsHoweverMachinesAreChosen(t *testing.T) {
	ceiling := func(text string) func(*policy.Policy) {
		c, err := policy.ParseGroupCeiling(text)
		if err != nil {
			t.Fatal(err)
		}
		return func(p *policy.Policy) { p.Growth.Ceilings = append(p.Growth.Ceilings, c) }
	}
	dollar := func(g *cluster.Group) { g.PriceUSDPerHour = 1 }
	for name, c := range map[string]struct {
		set   func(*policy.Policy)
		group func(*cluster.Group)
		kept  memory.Memory
		want  []string
		stuck string        // why the last pod is
		next  time.Duration // until the next cycle at the latest; 0 for none
	}{
		"max of the group": {
			group: func(g *cluster.Group) { g.Max = 2 }, want: []string{"grow a 0 -> 2"}, stuck: "stuck NoGroupGrows GroupAtMax",
		},
		"what is left of a quota": {
			kept: memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{"a": {Backoff: memory.Backoff{Until: Start.Add(time.Hour), Length: time.Hour, Last: Start, Ceiling: 2}}}},
			want: []string{"grow a 0 -> 2"}, stuck: "stuck NoGroupGrows GroupBackoff", next: time.Hour,
		},
		"machines at once": {
			set: func(p *policy.Policy) { p.Growth.Max.AtOnce = 2 }, want: []string{"grow a 0 -> 2"}, stuck: "stuck NoGroupGrows GroupAtOnce",
		},
		"nodes of the cluster": {
			set: func(p *policy.Policy) { p.Growth.Max.Nodes = 2 }, want: []string{"grow a 0 -> 2"}, stuck: "stuck NoGroupGrows ClusterNodesLimit",
		},
		"cores of the cluster": {
			set: func(p *policy.Policy) { p.Growth.Max.Cores = 11 }, want: []string{"grow a 0 -> 2"}, stuck: "stuck NoGroupGrows ClusterCoresLimit",
		},
		"memory of the cluster": {
			set: func(p *policy.Policy) { p.Growth.Max.MemoryGiB = 47 }, want: []string{"grow a 0 -> 2"}, stuck: "stuck NoGroupGrows ClusterMemoryLimit",
		},
		"no core of the cluster": {
			set: func(p *policy.Policy) { p.Growth.Max.Cores = 0 }, want: []string{}, stuck: "stuck NoGroupGrows ClusterCoresLimit",
		},
		"no memory of the cluster": {
			set: func(p *policy.Policy) { p.Growth.Max.MemoryGiB = 0 }, want: []string{}, stuck: "stuck NoGroupGrows ClusterMemoryLimit",
		},
		"a ceiling of machines": {
			set: ceiling("machines:2/10m"), want: []string{"grow a 0 -> 2"}, stuck: "stuck NoGroupGrows CeilingReached",
		},
		"a ceiling of machines of which some were granted": {
			set: ceiling("machines:5/10m"), kept: memory.Memory{Growing: memory.Growing{Granted: []memory.Grant{{Group: "a", Machines: 3, At: Start.Add(-4 * time.Minute)}}}},
			want: []string{"grow a 0 -> 2"}, stuck: "stuck NoGroupGrows CeilingReached", next: 6 * time.Minute,
		},
		"a ceiling of the group alone": {
			set: ceiling("a=machines:2/10m"), want: []string{"grow a 0 -> 2"}, stuck: "stuck NoGroupGrows CeilingReached",
		},
		"a ceiling of cost": {
			set: ceiling("usd-per-hour:2.5"), group: dollar, want: []string{"grow a 0 -> 2"}, stuck: "stuck NoGroupGrows CeilingReached",
		},
		"a ceiling of cost where no price is known": {
			set: ceiling("usd-per-hour:2.5"), want: []string{}, stuck: "stuck NoGroupGrows CeilingUnpriced",
		},
	} {
		for by, expanders := range map[string][]policy.Expander{"the mix": nil, "an expander": {policy.LeastWaste}} {
			t.Run(name+", "+by, func(t *testing.T) {
				allowed := policy.Default()
				if c.set != nil {
					c.set(allowed)
				}
				if expanders != nil {
					allowed.Growth.Expanders = expanders
				}
				g := Group("a", 0, 9)
				if c.group != nil {
					c.group(g)
				}
				p, _ := plan.Decide(cluster.New(Start, Objects(pods(24)...), []*cluster.Group{g}), allowed, c.kept)
				complete(t, p)
				if diff := cmp.Diff(c.want, told(p)); diff != "" {
					t.Errorf("actions (-want +got):\n%s", diff)
				}
				if got := verdictOf(p, ref("pod p23")); got != c.stuck {
					t.Errorf("the last pod: %q, want %q", got, c.stuck)
				}
				if c.next > 0 && (p.Next.IsZero() || p.Next.After(Start.Add(c.next))) {
					t.Errorf("the next cycle is due at %s, want one when %s have passed", p.Next, c.next)
				}
			})
		}
	}
}

// TestTheMixUsesWhatALimitLeavesForTheRightMachines: of two groups the cheaper one needs more of the limit, and the mix that serves all
// pods needs the other. A mix that is blind to the limit serves fewer.
func TestTheMixUsesWhatALimitLeavesForTheRightMachines(t *testing.T) {
	ceiling, err := policy.ParseGroupCeiling("machines:3/10m")
	if err != nil {
		t.Fatal(err)
	}
	for name, set := range map[string]func(*policy.Policy){
		"nodes of the cluster":  func(p *policy.Policy) { p.Growth.Max.Nodes = 3 },
		"memory of the cluster": func(p *policy.Policy) { p.Growth.Max.MemoryGiB = 3 * 64 },
		"a ceiling of machines": func(p *policy.Policy) { p.Growth.Ceilings = append(p.Growth.Ceilings, ceiling) },
	} {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			set(allowed)
			groups := []*cluster.Group{priced("small", "4", 1), priced("large", "8", 2.5)}
			for _, g := range groups {
				g.Template.Status.Capacity = g.Template.Status.Allocatable
			}
			p, _ := plan.Decide(cluster.New(Start, Objects(pods(20)...), groups), allowed, memory.Memory{})
			if diff := cmp.Diff([]string{"grow large 0 -> 2", "grow small 0 -> 1"}, told(p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}
