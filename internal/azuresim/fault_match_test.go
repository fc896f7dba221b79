package azuresim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

// statuses are those of n reads of the scale set, a minute apart.
func (a *azure) statuses(n int) []int {
	a.t.Helper()
	token := a.token()
	var got []int
	for range n {
		resp, _ := a.wireFrom("", "GET", "https://management.azure.test"+setPath+version, "", "Authorization", "Bearer "+token)
		got = append(got, resp.StatusCode)
		a.advance(time.Minute)
	}
	return got
}

func TestAFaultStrikesWhenItIsTold(t *testing.T) {
	start := time.Date(2026, 5, 1, 22, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		fault azuresim.Fault
		want  []int
	}{
		"always":                      {azuresim.Fault{}, []int{500, 500, 500, 500}},
		"twice":                       {azuresim.Fault{Times: 2}, []int{500, 500, 200, 200}},
		"after the second":            {azuresim.Fault{Skip: 2}, []int{200, 200, 500, 500}},
		"the second only":             {azuresim.Fault{Skip: 1, Times: 1}, []int{200, 500, 200, 200}},
		"from a time until another":   {azuresim.Fault{From: start.Add(time.Minute), Until: start.Add(3 * time.Minute)}, []int{200, 500, 500, 200}},
		"reads of any kind":           {azuresim.Fault{Kind: "get *"}, []int{500, 500, 500, 500}},
		"other kinds":                 {azuresim.Fault{Kind: "PATCH *"}, []int{200, 200, 200, 200}},
		"a resource by its end":       {azuresim.Fault{Resource: "*/VIRTUALMACHINESCALESETS/agents"}, []int{500, 500, 500, 500}},
		"another resource":            {azuresim.Fault{Resource: "*/virtualMachines/3"}, []int{200, 200, 200, 200}},
		"a principal":                 {azuresim.Fault{Principal: clientID}, []int{500, 500, 500, 500}},
		"another principal":           {azuresim.Fault{Principal: tenant}, []int{200, 200, 200, 200}},
		"a set that is not asked for": {azuresim.Fault{ScaleSet: "servers"}, []int{200, 200, 200, 200}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(1)
			a.token() // signing in is a request too
			tc.fault.Status = 500
			a.Inject(tc.fault)
			if diff := cmp.Diff(tc.want, a.statuses(4)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestChanceFollowsTheSeedAlone(t *testing.T) {
	history := func(seed uint64, others bool) string {
		a := newAzure(t, func(s *azuresim.Server) { s.Seed = seed })
		a.agents(1)
		a.Inject(azuresim.Fault{Kind: "GET virtualMachineScaleSets", Chance: 0.4, Status: 503})
		var b strings.Builder
		for range 40 {
			if others {
				a.wire("GET", setPath+"/virtualMachines"+version, "")
				a.advance(time.Second)
			}
			b.WriteString(map[int]string{200: ".", 503: "x"}[a.statuses(1)[0]])
		}
		return b.String()
	}
	first := history(7, false)
	if struck := strings.Count(first, "x"); struck < 8 || struck > 24 {
		t.Errorf("of forty requests %d were struck, at a chance of 0.4", struck)
	}
	if again := history(7, true); again != first {
		t.Errorf("requests it does not match moved it:\n%s\n%s", first, again)
	}
	if other := history(8, false); other == first {
		t.Error("another seed, the same history")
	}
}

func TestFaultsAreListedAndClearedByName(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.token()
	a.Inject(azuresim.Fault{Name: "storm", Kind: "GET *", Status: 500, Skip: 1})
	a.Inject(azuresim.Fault{NeverBoots: true})
	a.statuses(2)
	type row struct {
		Name            string
		Matched, Struck int
	}
	list := func() []row {
		var rows []row
		for _, f := range a.Faults() {
			rows = append(rows, row{f.Name, f.Matched, f.Struck})
		}
		return rows
	}
	if diff := cmp.Diff([]row{{"storm", 2, 1}, {"fault-2", 0, 0}}, list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.Inject(azuresim.Fault{Name: "storm", Status: 503}) // takes the place of the first
	if !a.ClearFault("storm") || a.ClearFault("storm") {
		t.Error("a fault is cleared by its name once")
	}
	if diff := cmp.Diff([]row{{"fault-2", 0, 0}}, list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAFaultThatCannotStrikeIsRefusedWithTheRemedy(t *testing.T) {
	for want, f := range map[string]azuresim.Fault{
		"says when and not what":         {Kind: "GET *"},
		"make two faults of it":          {Status: 500, NeverBoots: true},
		"use Endless, Canceled":          {Operation: "Lost"},
		"use arm or compute":             {Status: 429, Style: "modern"},
		"use 400 to 599":                 {Status: 200},
		"not between 0 and 1":            {Status: 500, Chance: 40},
		"strike writes, and kind":        {Duplicate: true, Kind: "GET virtualMachineScaleSets"},
		"applied goes with a status":     {Applied: true, Delay: time.Second},
		"until is not after from":        {Status: 500, From: time.Unix(20, 0), Until: time.Unix(10, 0)},
		"pages and pageSize are not neg": {PageSize: -1, Omit: 1},
	} {
		if err := f.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
