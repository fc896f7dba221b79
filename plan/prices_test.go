package plan_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

func TestAnUnknownPriceLeavesTheOthersInForce(t *testing.T) {
	gpu := func(g *cluster.Group) *cluster.Group {
		g.Template.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("1")
		return g
	}
	half := func(g *cluster.Group) *cluster.Group {
		g.Template.Status.Allocatable["memory"] = resource.MustParse("32Gi")
		return g
	}
	for name, tc := range map[string]struct {
		groups  []*cluster.Group
		grows   cluster.GroupID
		assumed string // of group x
	}{
		"a known price is preferred to one like it that nobody knows": {[]*cluster.Group{priced("a", "4", 0.20), priced("b", "8", 0.90), priced("x", "4", 0)}, "a", "0.90 b"},
		"by weights alone the dear one of equal size would do":        {[]*cluster.Group{priced("a", "4", 9), priced("b", "4", 0.20), priced("x", "8", 0)}, "b", "18.00 a"},
		"a machine of half as much of everything costs half":          {[]*cluster.Group{priced("a", "8", 0.90), half(priced("x", "4", 0))}, "x", "0.45 a"},
		"devices are compared with devices":                           {[]*cluster.Group{priced("a", "4", 0.20), gpu(priced("g", "4", 4)), gpu(priced("x", "4", 0))}, "a", "4.00 g"},
		"where no price is known nothing is assumed":                  {[]*cluster.Group{priced("a", "8", 0), priced("x", "4", 0)}, "x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := plan.Decide(cluster.New(Start, Objects(pods(1)...), tc.groups), policy.Default(), memory.Memory{})
			grows, assumed := cluster.GroupID(""), ""
			for _, a := range p.Actions {
				if a, ok := a.(action.SetCapacity); ok {
					grows += a.Group
				}
			}
			v, _ := p.Verdict(reason.Group("x"))
			for _, why := range v.Because {
				if why.Code == reason.PriceAssumed {
					assumed = why.Facts["price"] + " " + why.Facts["group"]
				}
			}
			if d := cmp.Diff([]string{string(tc.grows), tc.assumed}, []string{string(grows), assumed}); d != "" {
				t.Errorf("the group that grows and the price assumed of x (-want +got):\n%s", d)
			}
			if p.Cost != nil {
				t.Errorf("a cost is told that rests on an assumed price: %+v", *p.Cost)
			}
		})
	}
}
