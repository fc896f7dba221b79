package proof_test

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/proof"
	"sluice.dev/sluice/internal/world"
)

var (
	histories = flag.Int("histories", 12, "how many random histories are played")
	seed      = flag.Uint64("seed", 0, "the first of them; 0: a fresh one")
)

// TestNoHistoryBreaksAPromise plays histories that nobody has played before. make proof plays many more.
func TestNoHistoryBreaksAPromise(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64N(1 << 40)
	}
	report := proof.Run(t.Context(), proof.Options{First: first, Histories: *histories, Journals: 10})
	for _, f := range report.Failures {
		say := t.Errorf
		if !report.Unsafe() {
			say = t.Logf // progress is told, and make proof fails on it
		}
		say("history %d, which sluice simulate --seed %d plays again: %s", f.Seed, f.Seed, strings.Join(f.Wrong, "; "))
	}
	if report.Histories != *histories || report.Actions == 0 || report.Simulated.Hours() < float64(*histories) {
		t.Errorf("%d histories, %d actions, %s on their clocks: too few", report.Histories, report.Actions, report.Simulated)
	}
}

// refused is a line of docs/reference/refusals.md that lists properties for which a write was refused.
var refused = regexp.MustCompile(`(?m)^- (?:guard|provider): (.+)$`)

// TestEveryPropertyRefusesSomething plays reckless histories until each property has refused a write of which docs/reference/refusals.md says that it has.
func TestEveryPropertyRefusesSomething(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/refusals.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, m := range refused.FindAllSubmatch(page, -1) {
		for id := range strings.SplitSeq(string(m[1]), ", ") {
			missing[id] = true
		}
	}
	if len(missing) < 20 {
		t.Fatalf("the page tells of %d properties: too few", len(missing))
	}
	for seed := uint64(1); len(missing) > 0; seed++ {
		if seed > mostReckless {
			t.Fatalf("none of %d reckless histories had a refusal by %v", mostReckless, missing)
		}
		out := proof.Play(t.Context(), world.RecklessHistory(seed), world.Options{Seed: seed, NoJournal: true})
		if out.Err != nil {
			t.Fatalf("history %d: %v", seed, out.Err)
		}
		for property := range out.Refused {
			delete(missing, property)
		}
	}
}

// mostReckless bounds the reckless histories that are played for all properties to refuse something: some thirty are enough.
const mostReckless = 300

// TestAHistoryIsTheSameEachTime plays some twice, alone and in company.
func TestAHistoryIsTheSameEachTime(t *testing.T) {
	for seed := range uint64(6) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			var first, again bytes.Buffer
			script := world.RecklessHistory(seed) // which meets more of what might be luck
			a, err := world.Run(t.Context(), script, &first, world.Options{Seed: seed, NoJournal: true, Trace: true})
			if err != nil {
				t.Fatal(err)
			}
			b, err := world.Run(t.Context(), script, &again, world.Options{Seed: seed, NoJournal: true, Trace: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := world.Diff(a.Transcript+a.Trace, b.Transcript+b.Trace); diff != "" {
				t.Errorf("history %d (-first +again):\n%s", seed, diff)
			}
		})
	}
}

// bad is a scenario that has not come to rest when it is asked for it, among much that has nothing to do with that.
const bad = `group agents size=Standard_D4s_v5 min=0 max=3 machines=1
group render size=Standard_D4s_v5 min=0 max=3
touch render
pod base-0 cpu=3 on=agents_0 owner=job
advance 2m
pod web-0 cpu=3
touch agents
advance 1m
touch render
settled
`

// TestAFailureIsShrunkToWhatItNeeds leaves out what has nothing to do with the failure, and nothing else.
func TestAFailureIsShrunkToWhatItNeeds(t *testing.T) {
	short := string(proof.Shrink(context.Background(), 0, []byte(bad), "P-3", 200))
	want := "group agents size=Standard_D4s_v5 min=0 max=3 machines=1\nadvance 1m\nsettled\n"
	if short != want {
		t.Errorf("shrunk to\n%swant\n%s", short, want)
	}
}

// TestAReportTellsWhatWasBroken plays scenarios of which one breaks a promise and one cannot be played.
func TestAReportTellsWhatWasBroken(t *testing.T) {
	scripts := [][]byte{[]byte(bad), []byte("group\n"), []byte("group agents size=Standard_D4s_v5 min=0 max=1\nfault throttled of=list\napi-fault conflict\nadvance 1h\n")}
	report := proof.Run(t.Context(), proof.Options{Histories: 3, Workers: 1, Play: func(seed uint64) []byte { return scripts[seed] }})
	var out bytes.Buffer
	report.Write(&out)
	for _, want := range []string{"histories    3", "violations   2", "seed 0: at 03:00 P-3 was broken", "seed 1: line 1: group", "API server: conflict", "Azure: throttled"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
}

// TestSluiceIsKilledAfterEachWrite plays one history as often as it has writes.
func TestSluiceIsKilledAfterEachWrite(t *testing.T) {
	last := 0
	report := proof.RunKills(t.Context(), proof.Options{First: 3, Histories: 1, Workers: 1, Each: func(done int, _ *proof.Report) { last = done }})
	if len(report.Failures) > 0 {
		t.Errorf("killed after write %d: %v", last, report.Failures[0].Wrong)
	}
	if report.Histories != 1 || report.Plays < 5 || report.Troubles["process: kill"] != report.Plays {
		t.Errorf("%d histories, %d plays with %d kills", report.Histories, report.Plays, report.Troubles["process: kill"])
	}
}

var sound = flag.Int("sound", 200, "in how many random histories the ledger is held to what is true")

// TestTheLedgerHoldsTheTruthPossible asks in histories, as TestScenarios does in scenarios, whether what is true of each machine is possible by the ledger.
func TestTheLedgerHoldsTheTruthPossible(t *testing.T) {
	report := proof.Run(t.Context(), proof.Options{First: 1, Histories: *sound})
	for _, f := range report.Failures {
		for _, wrong := range f.Wrong {
			if strings.Contains(wrong, " "+world.LedgerSound+" ") {
				t.Errorf("history %d: %s", f.Seed, wrong)
			}
		}
	}
}

var many = flag.Int("many", 24, "how many histories of what strikes many machines are played")

// TestWhatStrikesManyBreaksNoPromise plays such histories, and holds them to contain what they are about: histories without it prove nothing.
func TestWhatStrikesManyBreaksNoPromise(t *testing.T) {
	report := proof.Run(t.Context(), proof.Options{First: 1, Histories: *many, Play: func(seed uint64) []byte { return world.ManyHistory(seed, false) }})
	for _, f := range report.Failures {
		for _, wrong := range f.Wrong {
			if !strings.Contains(wrong, " P-") { // progress is told, and make proof fails on it
				t.Errorf("history %d: %s", f.Seed, wrong)
			}
		}
	}
	has := map[string]int{}
	for _, counts := range []map[string]int{report.Troubles, report.Contained, report.Refused, report.Writes} {
		for kind, n := range counts {
			has[kind] += n
		}
	}
	for kind, least := range map[string]int{ // for each 24 of them
		"many: nodes": 10, "many: kubelets": 10, "many: restore": 1, "many: revive": 24, "many: job": 10, "many: scale": 10,
		"people: acknowledge": 24, "process: restart": 12, "Azure: never-joins": 2,
		"losses of many at once": 15, "lost machines removed": 25, "idle machines removed": 200,
		"PATCH virtualMachineScaleSets": 50, "S-19": 30, "S-20": 30, "S-43": 15, "S-44": 2, "S-45": 1,
	} {
		if has[kind] < least**many/24 {
			t.Errorf("%d histories had %d of %q, want %d", *many, has[kind], kind, least**many/24)
		}
	}
}

// TestLargeHistoriesAreLarge plays one with groups of 50 to 200 machines.
func TestLargeHistoriesAreLarge(t *testing.T) {
	report := proof.Run(t.Context(), proof.Options{First: 1, Histories: 1, Play: func(seed uint64) []byte { return world.ManyHistory(seed, true) }})
	if report.Unsafe() {
		t.Errorf("%v", report.Failures)
	}
	if n := report.Contained["idle machines removed"] + report.Contained["lost machines removed"]; n < 20 {
		t.Errorf("%d machines were removed: too few", n)
	}
}
