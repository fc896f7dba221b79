package bench

import "testing"

func TestResidentMemoryIsJudgedBySize(t *testing.T) {
	const mb = 1_000_000
	for name, c := range map[string]struct {
		settled, peak uint64
		want          Verdict
	}{
		"small":                       {115 * mb, 400 * mb, Goal},
		"more than the goal":          {115*mb + 1, 400 * mb, Within},
		"a peak above the limit":      {100 * mb, 400*mb + 1, Over},
		"always more than the limit":  {500 * mb, 500 * mb, Over},
		"the limit itself is allowed": {400 * mb, 400 * mb, Within},
	} {
		r := NewResident([]Watched{{Nodes: 5000, Settled: c.settled, Peak: c.peak}})
		if r.Verdict != c.want {
			t.Errorf("%s: %s, want %s", name, r.Verdict, c.want)
		}
	}
	r := NewResident([]Watched{{Nodes: 1000, Settled: 50 * mb, Peak: 60 * mb}, {Nodes: 5000, Settled: 90 * mb, Peak: 99 * mb}})
	if r.Base != 40*mb || r.Slope != 10*mb || r.Verdict != Goal {
		t.Errorf("%d and %d for each thousand nodes, %s; want 40 MB and 10 MB", r.Base, r.Slope, r.Verdict)
	}
	if bad := NewResident([]Watched{{Nodes: 1000, Problem: "it died"}}); bad.Verdict != Wrong {
		t.Errorf("a size that was not measured is %s", bad.Verdict)
	}
}
