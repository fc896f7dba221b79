package world_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

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
		event = regexp.MustCompile(`^(\S+) (pods?|machine) (\S+) +(running|finished|evicted|lost|deleting)(?: +on (\S+))?`)
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
		if m[2] == "pods" {
			t.Errorf("a line is about several pods, which this test does not count: %s", l)
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
			if d := diff.Diff(before, after); d != "" {
				t.Errorf("writes (-until settled +a day later):\n%s", d)
			}
			if len(before) == 0 {
				t.Error("nothing was ever written: the farm tells nothing")
			}
		})
	}
}

// TestADayOfJobsThatKeepComingDisturbsNobody plays 18 lines of Jobs, in each of which a Job follows the one before ten seconds after that has ended: a
// demand that is constant and made of other pods all the time. When the farm has settled a day passes with not one write to Azure, a node or a pod. And it plays
// three Jobs every ten minutes that run for an hour, and so come in the moment in which three others end: for two seconds there are three pods more than
// otherwise. That buys a machine now and then, which goes again when it is idle, and disturbs nobody either.
func TestADayOfJobsThatKeepComingDisturbsNobody(t *testing.T) {
	const farm = "policy %s\ntiming resync=1m\ngroup agents size=Standard_D4s_v5 min=0 max=20\n"
	lines := func(hours int) string {
		var jobs []job
		for line := range 18 {
			runs := []time.Duration{20, 30, 45, 60, 90}[line%5] * time.Minute
			for k, at := 0, time.Duration(line*7)*time.Minute; at < time.Duration(hours)*time.Hour; k, at = k+1, at+runs+10*time.Second {
				jobs = append(jobs, job{at, fmt.Sprintf("job l-%d-%d pods=1 cpu=900m runs=%s", line, k, runs)})
			}
		}
		return inTime(jobs, time.Duration(hours)*time.Hour)
	}
	for name, flags := range map[string]string{"defaults": "expander=price", "consolidation": "consolidate=all"} {
		t.Run(name, func(t *testing.T) {
			settled, day := played(t, fmt.Appendf(nil, farm+lines(4), flags)), played(t, fmt.Appendf(nil, farm+lines(28), flags))
			if d := diff.Diff(settled.Judged, day.Judged); d != "" {
				t.Errorf("writes (-until settled +a day later):\n%s", d)
			}
			if n := strings.Count(day.Transcript, " finished"); n < 18*24*60/90 || len(day.Judged) == 0 {
				t.Errorf("only %d Jobs ended, %d kinds of writes: the farm tells nothing", n, len(day.Judged))
			}
		})
	}
	t.Run("they come as others end", func(t *testing.T) {
		var jobs []job
		for k := range 28 * 6 {
			jobs = append(jobs, job{time.Duration(k) * 10 * time.Minute, fmt.Sprintf("job j-%d pods=3 cpu=900m runs=1h", k)})
		}
		r := played(t, fmt.Appendf(nil, farm+inTime(jobs, 28*time.Hour), "expander=price"))
		for what, times := range r.Judged {
			if strings.Contains(what, "evict") || strings.Contains(what, "pods") {
				t.Errorf("a pod was written to: %s, %d times", what, times)
			}
		}
		if hit := regexp.MustCompile(`(?m)^\S+ pods? .* (evicted|lost) .*$`).FindString(r.Transcript); hit != "" {
			t.Errorf("a pod was disturbed: %s", hit)
		}
		if n := r.Judged["POST virtualMachineScaleSets/delete"]; n < 1 || n > 28 {
			t.Errorf("%d machines went in 28 hours, want some and at most one an hour", n)
		}
	})
}

// job is a line of a script, and when it is played.
type job struct {
	at  time.Duration
	say string
}

// inTime are the lines of a script that plays jobs at their times, until an end.
func inTime(jobs []job, end time.Duration) string {
	slices.SortStableFunc(jobs, func(a, b job) int { return cmp.Compare(a.at, b.at) })
	var script strings.Builder
	now := time.Duration(0)
	until := func(at time.Duration) {
		if at > now {
			fmt.Fprintf(&script, "advance %s\n", at-now)
			now = at
		}
	}
	for _, j := range jobs {
		until(j.at)
		fmt.Fprintln(&script, j.say)
	}
	until(end)
	return script.String()
}
