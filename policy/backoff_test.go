package policy_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/policy"
)

func TestBackoffFollowsWhatWaitingCanMend(t *testing.T) {
	for name, tc := range map[string]struct {
		kind        string
		first, most time.Duration
	}{
		"a machine that never joined":          {"", 5 * time.Minute, 30 * time.Minute},
		"no machine to give":                   {"allocation", 5 * time.Minute, 30 * time.Minute},
		"a quota":                              {"quota", 5 * time.Minute, 30 * time.Minute},
		"a full subnet":                        {"network", 5 * time.Minute, 30 * time.Minute},
		"a machine that did not come up":       {"provisioning", 5 * time.Minute, 30 * time.Minute},
		"a size that is not offered":           {"unavailable", 30 * time.Minute, 3 * time.Hour},
		"a defective request":                  {"invalid", 30 * time.Minute, 3 * time.Hour},
		"a right that a person has to give":    {"unauthorized", time.Minute, time.Minute},
		"a lock that a person has to take off": {"denied", time.Minute, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			first, most := policy.Default().Growth.Backoff.Of(tc.kind)
			if first != tc.first || most != tc.most {
				t.Errorf("rests %s, at most %s; want %s, at most %s", first, most, tc.first, tc.most)
			}
		})
	}
}

func TestBackoffIsNeverLongerThanItsFlagsWhereTheyAreShort(t *testing.T) {
	g := policy.Default().Growth
	g.Backoff.Initial, g.Backoff.Max, g.Backoff.Reset = time.Second, 2*time.Second, 3*time.Second
	for _, kind := range []string{"allocation", "quota", "unavailable", "unauthorized", "invalid"} {
		if first, most := g.Backoff.Of(kind); first > most || most > 3*time.Second {
			t.Errorf("%s rests %s, at most %s, with flags of 1 s to 3 s", kind, first, most)
		}
	}
}
