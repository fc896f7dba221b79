package memory_test

import (
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// start is when the clock of these tests begins.
var start = time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)

// allowed rests five minutes after a first failure, at most half an hour, and forgets failures after three hours.
func allowed() *policy.Policy {
	p := policy.Default()
	p.Growth.Backoff = policy.Backoff{Initial: 5 * time.Minute, Max: 30 * time.Minute, Reset: 3 * time.Hour}
	p.Growth.BurstWindow = time.Minute
	return p
}

func TestAGroupRestsLongerFromFailureToFailure(t *testing.T) {
	const m = time.Minute
	for name, c := range map[string]struct {
		kind   string
		at     []time.Duration // of failures, from the start
		length time.Duration   // of the last back-off, which begins with the last failure
	}{
		"after the first failure it rests for the first length": {at: []time.Duration{0}, length: 5 * m},
		"a failure while it rests keeps the length":             {at: []time.Duration{0, 4 * m}, length: 5 * m},
		"a failure as the rest ends doubles the length":         {at: []time.Duration{0, 5 * m}, length: 10 * m},
		"the length grows up to the most":                       {at: []time.Duration{0, 5 * m, 15 * m, 35 * m, 65 * m}, length: 30 * m},
		"a failure just before all is forgotten is another one": {at: []time.Duration{0, 180 * m}, length: 10 * m},
		"a failure after all is forgotten is a first one":       {at: []time.Duration{0, 5 * m, 186 * m}, length: 5 * m},
		"what a person mends rests a minute, however often":     {kind: "denied", at: []time.Duration{0, m, 2 * m}, length: m},
		"a size that is not offered rests for the most at once": {kind: "unavailable", at: []time.Duration{0}, length: 30 * m},
		"and then for as long as failures are remembered": {
			kind: "unavailable", at: []time.Duration{0, 30 * m, 90 * m, 210 * m}, length: 180 * m,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var b memory.Backoff
			for _, at := range c.at {
				b = b.Failed(cluster.Failure{At: start.Add(at), Kind: c.kind, Code: "C", Message: "m"}, 1, 2, allowed())
			}
			last := start.Add(c.at[len(c.at)-1])
			if want := (memory.Backoff{Until: last.Add(c.length), Length: c.length, Last: last, Code: "C", Message: "m"}); b != want {
				t.Errorf("rests %+v, want %+v", b, want)
			}
		})
	}
}

func TestAQuotaWithRoomLeftLetsAGroupGrowThatFar(t *testing.T) {
	for name, c := range map[string]struct {
		quota      *cluster.Quota
		has, asked int
		ceiling    int
	}{
		"a failure of another kind leaves nothing":   {nil, 3, 9, 0},
		"what is left is added to what there is":     {&cluster.Quota{Left: 2}, 3, 9, 5},
		"nothing left is no ceiling":                 {&cluster.Quota{Left: 0}, 3, 9, 0},
		"nobody knows what is left":                  {&cluster.Quota{Left: -1}, 3, 9, 0},
		"what has failed is not asked for once more": {&cluster.Quota{Left: 6}, 3, 9, 8},
	} {
		t.Run(name, func(t *testing.T) {
			b := memory.Backoff{}.Failed(cluster.Failure{At: start, Kind: "quota", Quota: c.quota}, c.has, c.asked, allowed())
			if b.Ceiling != c.ceiling {
				t.Errorf("the ceiling is %d, want %d", b.Ceiling, c.ceiling)
			}
		})
	}
}

// TestAGrowthThatComesToNothingIsRepeatedLater has a growth of group a come back with the same result in each of some cycles, ten minutes
// apart.
func TestAGrowthThatComesToNothingIsRepeatedLater(t *testing.T) {
	const s = time.Second
	conflict := memory.Result{Status: memory.Failed, Kind: "conflict"}
	for name, c := range map[string]struct {
		result memory.Result
		times  int
		pause  time.Duration // after the last of them
	}{
		"three races in a row need no pause":   {conflict, 3, 0},
		"the fourth one pauses":                {conflict, 4, 20 * s},
		"further ones pause longer and longer": {conflict, 5, 40 * s},
		"and no longer than a minute":          {conflict, 40, 60 * s},
		"a race after which the cloud wants to be left alone pauses": {memory.Result{
			Status: memory.Failed, Kind: "conflict", RetryAfter: 15 * s}, 1, 15 * s,
		},
		"a passing fault pauses briefly": {memory.Result{Status: memory.Failed, Kind: "transient"}, 1, 10 * s},
		"and no longer the next time":    {memory.Result{Status: memory.Failed, Kind: "transient"}, 9, 10 * s},
		"a throttle pauses for as long as the cloud says": {memory.Result{
			Status: memory.Failed, Kind: "throttled", RetryAfter: 90 * s}, 2, 90 * s,
		},
		"a failure of the cloud begins a back-off":                  {memory.Result{Status: memory.Failed, Kind: "allocation"}, 1, 300 * s},
		"a refusal for machines that answers do not show is a race": {memory.Result{Status: memory.Refused, Property: "S-01"}, 4, 20 * s},
		"any other refusal needs no pause":                          {memory.Result{Status: memory.Refused, Property: "S-23"}, 9, 0},
		"a growth that was skipped needs no pause":                  {memory.Result{Status: memory.Skipped}, 9, 0},
		"a growth that the cloud has accepted needs no pause":       {memory.Result{Status: memory.Accepted}, 1, 0},
		"nor does one without an answer":                            {memory.Result{Status: memory.Asked}, 9, 0},
		"one that no read shows may be repeated twice":              {memory.Result{Status: memory.Accepted}, 2, 0},
		"the third time it pauses":                                  {memory.Result{Status: memory.Accepted}, 3, 20 * s},
		"and then longer and longer, up to the first back-off":      {memory.Result{Status: memory.Accepted}, 99, 300 * s},
	} {
		t.Run(name, func(t *testing.T) {
			var m memory.Memory
			for i := range c.times {
				c.result.At = start.Add(time.Duration(i) * 10 * time.Minute)
				p := action.Plan{Time: c.result.At, Actions: []action.Action{action.SetCapacity{Group: "a", From: 1, To: 2, Adds: 1}}}
				m = m.After(p, []memory.Result{c.result}, allowed())
			}
			if got := max(0, m.Groups["a"].Backoff.Until.Sub(c.result.At)); got != c.pause {
				t.Errorf("pauses for %s, want %s", got, c.pause)
			}
		})
	}
}

func TestDeletionsThatFailRestLongerAndLonger(t *testing.T) {
	const s = time.Second
	failed, throttled := memory.Result{Status: memory.Failed}, memory.Result{Status: memory.Failed, Kind: "throttled", RetryAfter: 7 * s}
	for name, c := range map[string]struct {
		results []memory.Result
		rest    time.Duration
	}{
		"the first rest is short":                      {[]memory.Result{failed}, 10 * s},
		"each further one is twice as long":            {[]memory.Result{failed, failed, failed}, 40 * s},
		"the rest grows up to five minutes":            {[]memory.Result{failed, failed, failed, failed, failed, failed, failed}, 300 * s},
		"one without an answer rests as well":          {[]memory.Result{{Status: memory.Asked}}, 10 * s},
		"the cloud may ask for more":                   {[]memory.Result{{Status: memory.Failed, RetryAfter: 25 * s}}, 25 * s},
		"a throttle rests for what it says":            {[]memory.Result{failed, failed, throttled}, 7 * s},
		"and the next failure goes on where they were": {[]memory.Result{failed, failed, throttled, failed}, 40 * s},
		"one that is accepted ends all rests":          {[]memory.Result{failed, failed, {Status: memory.Accepted}}, 0},
		"and the next failure rests briefly":           {[]memory.Result{failed, failed, {Status: memory.Accepted}, failed}, 10 * s},
		"a refusal changes nothing":                    {[]memory.Result{failed, {Status: memory.Refused}}, 10 * s},
	} {
		t.Run(name, func(t *testing.T) {
			var m memory.Memory
			for _, r := range c.results {
				r.At = start
				m = m.After(action.Plan{Time: start, Actions: []action.Action{action.DeleteInstances{Group: "a"}}}, []memory.Result{r}, allowed())
			}
			if got := max(0, m.Groups["a"].Rest.Until.Sub(start)); got != c.rest {
				t.Errorf("rests for %s, want %s", got, c.rest)
			}
		})
	}
}
