package policy_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

func TestADrainTargetHoldsForItsNamespaceOrItsGroups(t *testing.T) {
	groups := func(ids ...cluster.GroupID) []cluster.GroupID { return ids }
	for name, c := range map[string]struct {
		flags     []string
		namespace string
		groups    []cluster.GroupID
		want      time.Duration
	}{
		"a namespace":                                     {[]string{"namespace/render=20m"}, "render", nil, 20 * time.Minute},
		"another namespace":                               {[]string{"namespace/render=20m"}, "web", nil, 0},
		"a group is not a namespace":                      {[]string{"render=20m"}, "render", nil, 0},
		"a group, whatever its letter case":               {[]string{"agents=20m"}, "web", groups("Agents"), 20 * time.Minute},
		"pods that another group takes as well":           {[]string{"agents=20m"}, "web", groups("agents", "gpu"), 0},
		"pods that another group takes first":             {[]string{"agents=20m"}, "web", groups("gpu", "agents"), 0},
		"the shortest of all groups that take them":       {[]string{"agents=20m", "gpu=10m"}, "web", groups("agents", "gpu"), 10 * time.Minute},
		"a namespace wins over its groups":                {[]string{"agents=20m", "namespace/web=1h"}, "web", groups("agents"), time.Hour},
		"the last of several for the same":                {[]string{"namespace/web=1h", "namespace/web=2h"}, "web", nil, 2 * time.Hour},
		"blanks around the parts of the flag say nothing": {[]string{" agents = 20m "}, "web", groups("agents"), 20 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var g policy.Growth
			for _, text := range c.flags {
				target, err := policy.ParseDrainTarget(text)
				if err != nil {
					t.Fatal(err)
				}
				if again, err := policy.ParseDrainTarget(target.String()); err != nil || again != target {
					t.Errorf("%q is read as %q", target, again)
				}
				g.DrainTargets = append(g.DrainTargets, target)
			}
			if got := g.Drain(c.namespace, c.groups...); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestARunTimeThatIsNoDurationSaysNothing(t *testing.T) {
	for text, want := range map[string]time.Duration{"7m": 7 * time.Minute, "7": 0, "-7m": 0, "": 0, "0s": 0} {
		if got := policy.RunTime(&cluster.Class{Annotations: map[string]string{"sluice.dev/run-time": text}}); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}
