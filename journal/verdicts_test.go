package journal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// TestPodsThatStayStuckCostTheirVerdictsOnce writes cycles of a cluster in which pods wait for what no group has.
func TestPodsThatStayStuckCostTheirVerdictsOnce(t *testing.T) {
	var groups []*cluster.Group
	for i := range 10 {
		groups = append(groups, Group(fmt.Sprintf("g-%d", i), 0, 5))
	}
	var pods []any
	for i := range 200 {
		pods = append(pods, Pod(fmt.Sprintf("p-%03d", i), CPU(fmt.Sprint(100+i%20))))
	}
	objects, allowed := Objects(pods...), policy.Default()
	var b bytes.Buffer
	e := journal.NewEncoder(&b)
	var m memory.Memory
	var entries []journal.Entry
	var lengths []int
	for i := range 4 {
		s := cluster.New(Start.Add(time.Duration(i)*10*time.Second), objects, groups)
		p, after := plan.Decide(s, allowed, m)
		entry := journal.Entry{Cycle: uint64(i + 1), Seen: s, Policy: allowed, Before: m, Plan: p}
		before := b.Len()
		if err := e.Encode(entry); err != nil {
			t.Fatal(err)
		}
		entries, lengths, m = append(entries, entry), append(lengths, b.Len()-before), after
	}
	alone, err := json.Marshal(entries[3].Plan.Verdicts)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("bytes a line: %v; of the verdicts alone, each told whole: %d", lengths, len(alone))
	if lengths[3] > len(alone)/10 {
		t.Errorf("a cycle in which 200 pods stay stuck takes %d bytes, want that of its groups alone: %v", lengths[3], lengths)
	}
	read, err := readAll(&b)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range read {
		if diff := cmp.Diff(entries[i].Plan.Verdicts, r.Plan.Verdicts); diff != "" {
			t.Errorf("cycle %d (-decided +read):\n%s", i+1, diff)
		}
	}
}

func TestLinesOfTheFirstVersionAreStillRead(t *testing.T) {
	entry := history()[1]
	var line map[string]json.RawMessage
	if err := json.Unmarshal(written(t, []journal.Entry{entry}), &line); err != nil {
		t.Fatal(err)
	}
	delete(line, "verdicts")
	whole, err := json.Marshal(entry.Plan)
	if err != nil {
		t.Fatal(err)
	}
	line["v"], line["plan"] = json.RawMessage("1"), whole
	line["groups"], line["before"] = json.RawMessage(asJSON(t, entry.Seen.Groups)), json.RawMessage(asJSON(t, entry.Before))
	old, err := json.Marshal(line)
	if err != nil {
		t.Fatal(err)
	}
	read, err := readAll(bytes.NewReader(append(old, '\n')))
	if err != nil || len(read) != 1 {
		t.Fatalf("%d entries: %v", len(read), err)
	}
	if diff := cmp.Diff(entry.Plan.Verdicts, read[0].Plan.Verdicts); diff != "" {
		t.Errorf("(-decided +read):\n%s", diff)
	}
	if _, same, err := journal.Replay(read[0]); err != nil || !same {
		t.Errorf("replay is the same: %t, %v", same, err)
	}
}

func TestALineThatRepeatsWhatWasNotThereIsRefused(t *testing.T) {
	for _, repeats := range []string{`[{"from":1,"same":9}]`, `[{"from":-1,"same":1}]`, `[{"same":1},{"same":3}]`} {
		lines := bytes.SplitAfter(written(t, history()[:2]), []byte("\n"))
		var second map[string]json.RawMessage
		if err := json.Unmarshal(lines[1], &second); err != nil {
			t.Fatal(err)
		}
		second["verdicts"] = json.RawMessage(repeats)
		damaged, err := json.Marshal(second)
		if err != nil {
			t.Fatal(err)
		}
		read, err := readAll(bytes.NewReader(slices.Concat(lines[0], damaged, []byte("\n"))))
		if err == nil || len(read) != 1 || !strings.Contains(err.Error(), "line 2 is damaged") {
			t.Errorf("%s: %d entries, %v", repeats, len(read), err)
		}
	}
}

func TestVerdictsAreReadAsTheyWereTold(t *testing.T) {
	pod := func(name string, because ...reason.Reason) action.Verdict {
		return action.Verdict{Subject: reason.Pod("default", name), Outcome: action.PodStuck, Because: because}
	}
	one, other := reason.New(reason.PodYoung, reason.Ref{}, "age", "1s"), reason.New(reason.PodYoung, reason.Ref{}, "age", "2s")
	cycles := [][]action.Verdict{
		{pod("a", one), pod("b", one), pod("c", other)},
		{pod("a", one), pod("b", other), pod("c", other)},
		{pod("c", other), pod("a", one), pod("d", one, other)},
		{pod("b", one), pod("a", one), pod("d", one, other)},
		nil,
		{pod("d")},
		{pod("d")},
	}
	entries := slices.Repeat(history()[:1], len(cycles))
	for i, vs := range cycles {
		entries[i].Plan.Verdicts = vs
	}
	read, err := readAll(bytes.NewReader(written(t, entries)))
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range read {
		if diff := cmp.Diff(cycles[i], r.Plan.Verdicts); diff != "" {
			t.Errorf("cycle %d (-told +read):\n%s", i+1, diff)
		}
	}
}
