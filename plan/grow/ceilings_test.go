package grow

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

func ceilings(t *testing.T, texts ...string) *policy.Policy {
	t.Helper()
	p := policy.Default()
	for _, text := range texts {
		c, err := policy.ParseGroupCeiling(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Growth.Ceilings = append(p.Growth.Ceilings, c)
	}
	return p
}

// pair is two groups of two machines each, a at 0.5 and b at 2 USD an hour.
func pair(at time.Time) *cluster.Snapshot {
	a := Group("a", 0, 99, Machine("0", ""), Machine("1", ""))
	b := Group("b", 0, 99, Machine("0", ""), Machine("1", ""))
	a.PriceUSDPerHour, b.PriceUSDPerHour = 0.5, 2
	return cluster.New(at, cluster.Objects{}, []*cluster.Group{a, b})
}

func capacityOf(g *cluster.Group) int { return g.Capacity }

func TestCeilingsLeaveRoomForSoManyMachines(t *testing.T) {
	grown := func(id cluster.GroupID, machines int, ago time.Duration) memory.Memory {
		return memory.Memory{Growing: memory.Growing{Granted: []memory.Grant{{Group: id, Machines: machines, At: Start.Add(-ago)}}}}
	}
	const all = math.MaxInt
	for name, tc := range map[string]struct {
		ceilings []string
		memory   memory.Memory
		taken    map[cluster.GroupID]int
		want     [2]int // of a and of b
		because  reason.Code
		until    time.Duration // of a, from now
	}{
		"without ceilings":                        {nil, memory.Memory{}, nil, [2]int{all, all}, "", 0},
		"machines of all groups":                  {[]string{"machines:5/10m"}, memory.Memory{}, nil, [2]int{5, 5}, reason.CeilingReached, 0},
		"machines of one group":                   {[]string{"a=machines:5/10m"}, memory.Memory{}, nil, [2]int{5, all}, reason.CeilingReached, 0},
		"what was granted counts for all":         {[]string{"machines:5/10m"}, grown("b", 3, 4*time.Minute), nil, [2]int{2, 2}, reason.CeilingReached, 6 * time.Minute},
		"and not for another group":               {[]string{"a=machines:5/10m"}, grown("b", 3, 4*time.Minute), nil, [2]int{5, all}, reason.CeilingReached, 0},
		"until the window has passed":             {[]string{"machines:5/10m"}, grown("b", 3, 10*time.Minute), nil, [2]int{5, 5}, reason.CeilingReached, 0},
		"what this cycle adds counts":             {[]string{"machines:5/10m"}, grown("b", 3, time.Minute), map[cluster.GroupID]int{"a": 1}, [2]int{1, 1}, reason.CeilingReached, 9 * time.Minute},
		"more than the ceiling leaves none":       {[]string{"machines:5/10m"}, grown("b", 30, time.Minute), nil, [2]int{0, 0}, reason.CeilingReached, 9 * time.Minute},
		"a rate counts what is there":             {[]string{"usd-per-hour:9"}, memory.Memory{}, nil, [2]int{8, 2}, reason.CeilingReached, 0},
		"exactly the rate is allowed":             {[]string{"usd-per-hour:7"}, memory.Memory{}, map[cluster.GroupID]int{"b": 1}, [2]int{0, 0}, reason.CeilingReached, 0},
		"a rate of one group":                     {[]string{"a=usd-per-hour:9"}, memory.Memory{}, nil, [2]int{16, all}, reason.CeilingReached, 0},
		"money of a window pays an hour each":     {[]string{"usd:4/1h"}, memory.Memory{}, nil, [2]int{8, 2}, reason.CeilingReached, 0},
		"of several the lowest holds":             {[]string{"machines:50/10m", "usd-per-hour:9", "a=machines:3/1h"}, memory.Memory{}, nil, [2]int{3, 2}, reason.CeilingReached, 0},
		"running machines spend":                  {[]string{"usd:4/1h"}, memory.Memory{Growing: memory.Growing{PaidUntil: Start.Add(-30 * time.Minute)}}, nil, [2]int{3, 0}, reason.CeilingReached, time.Hour},
		"a long pause is paid for one hour":       {[]string{"usd:8/24h"}, memory.Memory{Growing: memory.Growing{PaidUntil: Start.Add(-30 * time.Hour)}}, nil, [2]int{6, 1}, reason.CeilingReached, 24 * time.Hour},
		"a clock that went back costs nothing":    {[]string{"usd:4/1h"}, memory.Memory{Growing: memory.Growing{PaidUntil: Start.Add(time.Hour)}}, nil, [2]int{8, 2}, reason.CeilingReached, 0},
		"a ceiling of usage leaves machines free": {[]string{"b=usd:1/1h"}, memory.Memory{Growing: memory.Growing{PaidUntil: Start.Add(-time.Hour)}}, nil, [2]int{all, 0}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			allowed, s := ceilings(t, tc.ceilings...), pair(Start)
			c := NewCeilings(s, allowed, tc.memory.Spend(s, allowed), capacityOf)
			for id, n := range tc.taken {
				c.Take(s.Group(id), n)
			}
			a, because, until := c.Room(s.Group("a"))
			b, _, _ := c.Room(s.Group("b"))
			if got := [2]int{a, b}; got != tc.want {
				t.Errorf("room for %v, want %v", got, tc.want)
			}
			if because.Code != tc.because {
				t.Errorf("because %s, want %q", because, tc.because)
			}
			if want := Start.Add(tc.until); tc.until > 0 && !until.Equal(want) || tc.until == 0 && !until.IsZero() {
				t.Errorf("until %s, want %s later", until, tc.until)
			}
		})
	}
}

func TestACeilingOfCostNeedsAPrice(t *testing.T) {
	s := pair(Start)
	s.Groups[0].PriceUSDPerHour = 0
	for _, text := range []string{"usd:4/1h", "usd-per-hour:9"} {
		room, because, _ := NewCeilings(s, ceilings(t, text), memory.Memory{}, capacityOf).Room(s.Group("a"))
		if room != 0 || because.Code != reason.CeilingUnpriced {
			t.Errorf("%s: room for %d because %s", text, room, because)
		}
	}
	if room, _, _ := NewCeilings(s, ceilings(t, "machines:4/1h"), memory.Memory{}, capacityOf).Room(s.Group("a")); room != 4 {
		t.Errorf("a ceiling of machines leaves room for %d, want 4 whatever they cost", room)
	}
}

// TestUsageStaysShort adds something every ten seconds for two days and looks back a day.
func TestUsageStaysShort(t *testing.T) {
	allowed := ceilings(t, "usd:1000/24h")
	m, at := memory.Memory{}, Start
	for range 2 * 24 * 360 {
		at = at.Add(10 * time.Second)
		m = m.Spend(pair(at), allowed)
	}
	u := m.Ceilings["usd:1000/24h0m0s"]
	if len(u) > 50 {
		t.Errorf("%d slices are kept, want about 48", len(u))
	}
	if sum := u.Within(at, 24*time.Hour); sum < 24*5-0.01 || sum > 24*5*1.03 {
		t.Errorf("a day costs %.2f by the usage, want 120 and little more", sum)
	}
}

func TestGrantsAndUsageSurviveTheJournalAndACycle(t *testing.T) {
	p := action.Plan{Actions: []action.Action{action.SetCapacity{Group: "a", From: 2, To: 9, Adds: 4}, action.SetCapacity{Group: "b", From: 2, To: 3, Adds: 1}}}
	allowed := ceilings(t, "machines:9/1h")
	m := memory.Memory{}.After(p, []memory.Result{{Status: memory.Accepted, At: Start}, {Status: memory.Failed, At: Start}}, allowed)
	if d := cmp.Diff([]memory.Grant{{Group: "a", Machines: 4, At: Start}}, m.Granted); d != "" {
		t.Errorf("granted (-want +got):\n%s", d)
	}
	if asked := (memory.Memory{}).After(p, []memory.Result{{Status: memory.Asked, At: Start}, {Status: memory.Asked, At: Start}}, allowed); len(asked.Granted) != 2 || asked.Groups["a"].Capacity != 9 {
		t.Errorf("without an answer %v are granted, and group a counts as %d, want both growths to count", asked.Granted, asked.Groups["a"].Capacity)
	}
	m = m.Spend(pair(Start.Add(time.Second)), allowed)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back memory.Memory
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m.Ceilings, back.Ceilings); d != "" {
		t.Errorf("read back (-want +got):\n%s", d)
	}
	back = back.Spend(pair(Start.Add(time.Minute)), allowed)
	if got := back.Ceilings["machines:9/1h0m0s"].Within(Start.Add(time.Minute), time.Hour); got != 4 || len(back.Granted) > 0 {
		t.Errorf("%g machines count a minute later and %v are granted, want 4 once", got, back.Granted)
	}
	if forgotten := back.Spend(pair(Start.Add(2*time.Minute)), policy.Default()); forgotten.Ceilings != nil || !forgotten.PaidUntil.IsZero() {
		t.Errorf("without a ceiling %+v is kept", forgotten)
	}
}

// TestRunningMachinesArePaidByTheMinute has cycles ten seconds apart: what is handed on to the next process changes once a minute, and
// after an hour what the machines cost within it has been counted, and at most a minute more.
func TestRunningMachinesArePaidByTheMinute(t *testing.T) {
	allowed := ceilings(t, "usd:99/2h")
	m, changes, cycles := memory.Memory{}.Spend(pair(Start), allowed), 0, int(time.Hour/(10*time.Second))
	for i := range cycles {
		at := Start.Add(time.Duration(i+1) * 10 * time.Second)
		before := m
		if m = m.Spend(pair(at), allowed); !cmp.Equal(before.Breakers(at, allowed), m.Breakers(at, allowed)) {
			changes++
		}
	}
	var hourly float64
	for _, g := range pair(Start).Groups {
		hourly += float64(g.Standing()) * g.PriceUSDPerHour
	}
	if changes != 60 {
		t.Errorf("what is handed on has changed %d times in an hour, want 60", changes)
	}
	end := Start.Add(time.Hour)
	if got := m.Ceilings["usd:99/2h0m0s"].Within(end, 2*time.Hour); hourly == 0 || got < hourly-1e-9 || got > hourly*61/60+1e-9 {
		t.Errorf("%g USD count after an hour of machines of %g USD an hour", got, hourly)
	}
}
