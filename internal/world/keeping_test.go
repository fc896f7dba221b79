package world_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/world"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// keepingPage says of every reason that keeps a node or a machine what would change it, and which scenario shows it.
const keepingPage = "../../docs/reference/blocking.md"

// keepingRow is a row of its tables: the code, cluster-autoscaler's name, the remedy, the scenario.
var keepingRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]*) \\| ([^|]*) \\| \\[([\\w-]+)\\]\\(\\.\\./\\.\\./testdata/([\\w-]+\\.txtar)\\) \\|$")

// TestEveryReasonThatKeepsANodeHasAScenarioAndARemedy walks the list of reasons that keep nodes and machines: the page has a row for each, with
// its remedy, and in the scenario that the row names explain tells of a node or machine the reason, and what would change it.
func TestEveryReasonThatKeepsANodeHasAScenarioAndARemedy(t *testing.T) {
	page := string(read(t, keepingPage))
	if *update {
		page = keepingRow.ReplaceAllStringFunc(page, func(row string) string {
			m := keepingRow.FindStringSubmatch(row)
			remedy, _ := reason.RemedyTemplate(reason.Code(m[1]))
			return "| `" + m[1] + "` | " + m[2] + " | " + remedy + " | [" + m[4] + "](../../testdata/" + m[5] + ") |"
		})
		if err := os.WriteFile(keepingPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shows := map[string][]reason.Code{} // codes by the scenario that is to show them
	rows := map[reason.Code]int{}
	for _, m := range keepingRow.FindAllStringSubmatch(page, -1) {
		code := reason.Code(m[1])
		rows[code]++
		shows[m[5]] = append(shows[m[5]], code)
		if remedy, keeps := reason.RemedyTemplate(code); !keeps {
			t.Errorf("%s has a row and keeps nothing", code)
		} else if remedy != m[3] {
			t.Errorf("%s: the page says %q, sluice %q: run go test ./internal/world -run Keeps -update", code, m[3], remedy)
		}
	}
	for _, code := range reason.Keeping() {
		if rows[code] != 1 {
			t.Errorf("%s has %d rows on the page, want 1 with a scenario that shows it", code, rows[code])
		}
	}
	for file, codes := range shows {
		t.Run(strings.TrimSuffix(file, ".txtar"), func(t *testing.T) { keepsIn(t, file, codes) })
	}
}

// unremovable are the names under which cluster-autoscaler counts nodes that it does not remove, and the pods that block it.
var unremovable = []string{
	"ScaleDownDisabledAnnotation", "ScaleDownUnreadyDisabled", "NotAutoscaled", "NotUnneededLongEnough", "NotUnreadyLongEnough", "NodeGroupMinSizeReached",
	"NodeGroupMaxDeletionCountReached", "MinimalResourceLimitExceeded", "CurrentlyBeingDeleted", "NotUnderutilized", "NotUnneededOtherReason", "NoPlaceToMovePods",
	"UnexpectedError", "NoNodeInfo", "BlockedByOnCompletionPod", "BlockedByPod: ControllerNotFound", "BlockedByPod: MinReplicasReached", "BlockedByPod: NotReplicated",
	"BlockedByPod: UnmovableKubeSystemPod", "BlockedByPod: NotSafeToEvictAnnotation", "BlockedByPod: LocalStorageRequested", "BlockedByPod: NotEnoughPdb",
}

// without are those of its names that nothing here corresponds to: the page says why.
var without = []string{"RecentlyUnremovable", "AtomicScaleDownFailed", "NoReason"}

// TestEveryReasonOfClusterAutoscalerHasAScenario walks cluster-autoscaler's names: each stands in a row, whose scenario
// TestEveryReasonThatKeepsANodeHasAScenarioAndARemedy holds to showing the pod, the rule and the remedy, or the page says why there is none.
func TestEveryReasonOfClusterAutoscalerHasAScenario(t *testing.T) {
	page := string(read(t, keepingPage))
	named := map[string]bool{}
	for _, m := range keepingRow.FindAllStringSubmatch(page, -1) {
		for _, name := range strings.Split(m[2], ";") {
			if name = strings.Trim(name, " `"); name != "—" && !slices.Contains(unremovable, name) {
				t.Errorf("%s: cluster-autoscaler has no reason %q", m[1], name)
			}
			named[name] = true
		}
	}
	for _, name := range unremovable {
		if !named[name] {
			t.Errorf("no row names %s", name)
		}
	}
	before, _, _ := strings.Cut(page, "\n## ")
	for _, name := range without {
		if !strings.Contains(before, "`"+name+"`") || named[name] {
			t.Errorf("the page does not say why nothing corresponds to %s", name)
		}
	}
}

// keepsIn plays a scenario and holds it to showing these reasons, as explain tells them.
func keepsIn(t *testing.T, file string, codes []reason.Code) {
	r, err := world.Run(context.Background(), read(t, "../../testdata/"+file), io.Discard, world.Options{})
	if err != nil {
		t.Fatal(err)
	}
	missing := map[reason.Code]bool{}
	for _, c := range codes {
		missing[c] = true
	}
	for _, entry := range decided(t, r) {
		for _, v := range entry.Plan.Verdicts {
			if stays(v) && !remedied(v) {
				t.Errorf("%s %s, and nothing is said of what would change it: %s", v.Subject, v.Outcome, reason.Sentences(v.Because))
			}
			for _, why := range v.Because {
				if missing[why.Code] && stays(v) {
					delete(missing, why.Code)
					explained(t, entry, v.Subject, why)
				}
			}
		}
	}
	for code := range missing {
		t.Errorf("it does not show %s", code)
	}
}

// stays says whether a verdict is about a node or machine that stays where it is for now.
func stays(v action.Verdict) bool {
	if v.Because[0].Code == reason.NodeIdleFor || v.Because[0].Code == reason.NodeConsolidated { // it has just been cordoned
		return false
	}
	switch v.Outcome {
	case action.NodeKeep, action.NodeIdle, action.NodeHold, action.NodeCordoned, action.NodeDraining: // a machine's hold is a node's
		return v.Subject.Kind == reason.KindNode || v.Subject.Kind == reason.KindInstance
	}
	return false
}

// remedied says whether one of a verdict's reasons has a remedy.
func remedied(v action.Verdict) bool {
	for _, why := range v.Because {
		if why.Remedy() != "" {
			return true
		}
	}
	return false
}

// explained holds what explain says of a thing: the reason with its code, and what would change it, with every name in its place.
func explained(t *testing.T, entry journal.Entry, about reason.Ref, why reason.Reason) {
	var page bytes.Buffer
	if err := report.Explain(&page, entry, about); err != nil {
		t.Error(err)
		return
	}
	for _, want := range []string{string(why.Code), why.Sentence(), why.Remedy()} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("explain %s does not say %q:\n%s", about, want, page.String())
		}
	}
	if pod, of := why.Facts["pod"]; of && !strings.Contains(page.String(), pod) {
		t.Errorf("explain %s does not name pod %s:\n%s", about, pod, page.String())
	}
	if remedy := why.Remedy(); strings.ContainsAny(remedy, "<{") {
		t.Errorf("%s: a name is missing: %s", why.Code, remedy)
	}
}

// decided are the cycles of a play.
func decided(t *testing.T, r world.Result) []journal.Entry {
	t.Helper()
	var all []journal.Entry
	for entries := journal.NewDecoder(bytes.NewReader(r.Journal)); ; {
		entry, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entry)
	}
}
