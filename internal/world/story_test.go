package world_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/world"
)

// played runs a scenario in which no promise may be broken.
func played(t *testing.T, text []byte) world.Result {
	t.Helper()
	r, err := world.Run(context.Background(), text, io.Discard, world.Options{NoJournal: true})
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Transcript)
	}
	for _, b := range r.Broken {
		t.Error(b)
	}
	return r
}

// TestTheFoundingStoryRemovesIdleMachinesAlone reads from the simulators' lines of the founding story that no pod was evicted and every machine that
// left was idle, and that machines are paid for at most a tenth longer than by somebody who knows when their last Job ends.
func TestTheFoundingStoryRemovesIdleMachinesAlone(t *testing.T) {
	text := read(t, "../../testdata/founding-story.txtar")
	lines := strings.Split(string(text)+"\n"+played(t, text).Transcript, "\n")
	var (
		put   = regexp.MustCompile(`^pod (\S+) .* on=(\S+) owner=job`)
		event = regexp.MustCompile(`^(\S+) (pod|machine) (\S+) +(running|finished|evicted|lost|deleting)(?: +on (\S+))?`)
	)
	at, work := map[string]string{}, map[string]int{} // where a pod runs, how many run on a machine
	ended, left := map[string]time.Duration{}, map[string]time.Duration{}
	for _, l := range lines[:strings.Count(string(text[:strings.Index(string(text), "-- transcript")]), "\n")] {
		if m := put.FindStringSubmatch(l); m != nil {
			at["default/"+m[1]] = m[2]
			work[m[2]]++
		}
	}
	for _, l := range lines[strings.Count(string(text), "\n"):] {
		m := event.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		switch now := clockTime(t, m[1]); m[4] {
		case "running":
			at[m[3]] = m[5]
			work[m[5]]++
		case "finished":
			work[at[m[3]]]--
			ended[at[m[3]]] = now
		case "deleting":
			if left[m[3]] = now; work[m[3]] != 0 {
				t.Errorf("%s left while %d pods of Jobs ran on it: %s", m[3], work[m[3]], l)
			}
		default:
			t.Errorf("a pod was disturbed: %s", l)
		}
	}
	var own, best time.Duration
	for machine, end := range ended {
		own, best = own+left[machine], best+end
	}
	if len(left) != 20 || own > best*110/100 || own < best {
		t.Errorf("%d of 20 machines left after %s in sum, want all within 1.10 of the %s after which their last Jobs had ended", len(left), own, best)
	}
}

// clockTime reads a transcript's time.
func clockTime(t *testing.T, text string) time.Duration {
	t.Helper()
	var h, m, s int
	if _, err := fmt.Sscanf(text, "%d:%d:%d", &h, &m, &s); err != nil {
		h = 0
		if _, err := fmt.Sscanf(text, "%d:%d", &m, &s); err != nil {
			t.Fatal(err)
		}
	}
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second
}

// TestADayOfConstantDemandDisturbsNobody plays a farm until it has settled, and once more with a day after that: in that day not one write reaches
// Azure or changes a node or a pod.
func TestADayOfConstantDemandDisturbsNobody(t *testing.T) {
	for name, flags := range map[string]string{"defaults": "expander=price", "consolidation": "consolidate=all"} {
		t.Run(name, func(t *testing.T) {
			const farm = `policy %s
timing resync=1m
group agents size=Standard_D4s_v5 min=0 max=20 machines=9
group large size=Standard_D16s_v5 min=0 max=9 machines=1
pod old-0 cpu=100m on=agents_8 owner=job runs=90m
pod half-0 cpu=2 on=large_0
deployment web replicas=7 cpu=900m
deployment api replicas=5 cpu=1500m memory=3Gi
deployment db replicas=3 cpu=2500m anti-affinity=hostname
budget db max-unavailable=1
job batch pods=4 cpu=700m
advance 4h
`
			settled := played(t, fmt.Appendf(nil, farm, flags))
			day := played(t, fmt.Appendf(nil, farm+"advance 24h\n", flags))
			before, after := maps.Clone(settled.Judged), maps.Clone(day.Judged)
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("writes (-until settled +a day later):\n%s", diff)
			}
			if len(before) == 0 {
				t.Error("nothing was ever written: the farm tells nothing")
			}
		})
	}
}
