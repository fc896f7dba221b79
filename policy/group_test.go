package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// monday is nine o'clock on a Monday, UTC.
var monday = time.Date(2026, 8, 3, 9, 0, 0, 0, time.UTC)

// settings is a policy with such flags.
func settings(t *testing.T, headroom, schedules, ceilings []string) *policy.Policy {
	t.Helper()
	p := policy.Default()
	p.Growth.Headroom = parseAll(t, headroom, policy.ParseGroupHeadroom)
	p.Growth.Schedules = parseAll(t, schedules, policy.ParseGroupSchedule)
	p.Growth.Ceilings = parseAll(t, ceilings, policy.ParseGroupCeiling)
	return p
}

func parseAll[V any](t *testing.T, texts []string, parse func(string) (V, error)) []V {
	t.Helper()
	var all []V
	for _, text := range texts {
		v, err := parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		all = append(all, v)
	}
	return all
}

func TestAFlagThatNamesAGroupWinsOverItsTags(t *testing.T) {
	own := cluster.Options{
		Headroom:  &cluster.Headroom{Machines: 5},
		Schedules: parseAll(t, []string{"daily min=4 max=40"}, cluster.ParseSchedule),
		Ceilings:  parseAll(t, []string{"machines:9/1h"}, cluster.ParseCeiling),
	}
	for name, tc := range map[string]struct {
		policy    *policy.Policy
		options   cluster.Options
		machines  int
		cores     int64
		least     int
		most      int
		ceilings  []string
		strangers []string
	}{
		"nothing is set":                 {policy.Default(), cluster.Options{}, 0, 0, 1, 10, nil, nil},
		"tags alone":                     {policy.Default(), own, 5, 0, 4, 40, []string{"agents=machines:9/1h0m0s"}, nil},
		"flags alone, in another case":   {settings(t, []string{"Agents=cores:8"}, []string{"AGENTS: Mon min=2"}, []string{"agents=usd:5/1h"}), cluster.Options{}, 0, 8, 2, 10, []string{"agents=usd:5/1h0m0s"}, nil},
		"headroom and limits of a flag":  {settings(t, []string{"agents=cores:8"}, []string{"agents: Mon min=2 max=3"}, nil), own, 0, 8, 2, 3, []string{"agents=machines:9/1h0m0s"}, nil},
		"a flag takes the headroom away": {settings(t, []string{"agents=0"}, nil, nil), own, 0, 0, 4, 40, []string{"agents=machines:9/1h0m0s"}, nil},
		"the last of two flags":          {settings(t, []string{"agents=machines:1", "agents=machines:2"}, nil, nil), cluster.Options{}, 2, 0, 1, 10, nil, nil},
		"ceilings add up, each once":     {settings(t, nil, nil, []string{"machines:99/1h", "agents=machines:9/1h"}), own, 5, 0, 4, 40, []string{"machines:99/1h0m0s", "agents=machines:9/1h0m0s"}, nil},
		"flags of groups that are not there": {settings(t, []string{"render=machines:1"}, []string{"gpu: Mon min=2", "gpu: Tue min=2"}, []string{"render=machines:9/1h"}), cluster.Options{},
			0, 0, 1, 10, nil, []string{"--schedule names gpu", "--headroom names render", "--ceiling names render"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &cluster.Group{ID: "agents", Min: 1, Max: 10, Options: tc.options}
			if machines, cores := tc.policy.Headroom(g); machines != tc.machines || cores != tc.cores {
				t.Errorf("headroom of %d machines and %d cores, want %d and %d", machines, cores, tc.machines, tc.cores)
			}
			if least, most := tc.policy.Limits(g, monday); least != tc.least || most != tc.most {
				t.Errorf("min %d, max %d, want %d and %d", least, most, tc.least, tc.most)
			}
			var ceilings []string
			for _, c := range tc.policy.Ceilings(g) {
				ceilings = append(ceilings, c.String())
			}
			if d := cmp.Diff(tc.ceilings, ceilings); d != "" {
				t.Errorf("ceilings (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.strangers, tc.policy.Strangers([]*cluster.Group{g})); d != "" {
				t.Errorf("names of no group (-want +got):\n%s", d)
			}
		})
	}
}

func TestABoundGroupHasTheLimitsOfTheHour(t *testing.T) {
	p := settings(t, nil, []string{"agents: Mon-Fri 08:00-20:00 min=3 max=20"}, nil)
	g := &cluster.Group{ID: "agents", Min: 1, Max: 10}
	bound := p.Bound(g, monday)
	if bound == g || bound.Min != 3 || bound.Max != 20 || g.Min != 1 || g.Max != 10 {
		t.Errorf("on Monday %d..%d from %d..%d, want 3..20 in a copy of 1..10", bound.Min, bound.Max, g.Min, g.Max)
	}
	if again := p.Bound(bound, monday); again != bound {
		t.Errorf("bound again it is %d..%d", again.Min, again.Max)
	}
	if night := p.Bound(g, monday.Add(12*time.Hour)); night != g {
		t.Errorf("at night it is %d..%d, want the group itself", night.Min, night.Max)
	}
	if got, want := p.Next([]*cluster.Group{{ID: "other"}, g}, monday), monday.Add(11*time.Hour); !got.Equal(want) {
		t.Errorf("limits change next at %s, want %s", got, want)
	}
	if got := p.Next([]*cluster.Group{{ID: "other"}}, monday); !got.IsZero() {
		t.Errorf("without a schedule limits change at %s", got)
	}
}

func TestAMinIsEnforcedWhereSomebodySaysSo(t *testing.T) {
	g := &cluster.Group{ID: "agents", Min: 2, Max: 10}
	scheduled := settings(t, nil, []string{"agents: Mon min=4", "agents: Mon max=3", "agents: Tue min=5"}, nil)
	enforced := policy.Default()
	enforced.Growth.EnforceMin = true
	for name, tc := range map[string]struct {
		policy *policy.Policy
		at     time.Time
		want   int
	}{
		"not by default":                    {policy.Default(), monday, 0},
		"by the flag":                       {enforced, monday, 2},
		"by a schedule, as far as max lets": {scheduled, monday, 3},
		"by another schedule":               {scheduled, monday.AddDate(0, 0, 1), 5},
		"not when no schedule is in force":  {scheduled, monday.AddDate(0, 0, 2), 0},
	} {
		if got := tc.policy.Floor(g, tc.at); got != tc.want {
			t.Errorf("%s: raised to %d, want %d", name, got, tc.want)
		}
	}
}
