package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// history is a few cycles of a cluster in which pods come, bind and leave.
func history() []journal.Entry {
	g := func() []*cluster.Group { return []*cluster.Group{Group("a", 0, 5, Machine("0", "a-0"))} }
	node, web, second := Node("a-0"), Pod("web", On("a-0"), CPU("3")), Pod("second", CPU("2"))
	views := []cluster.Objects{
		Objects(node, web),
		Objects(node, web, second),
		Objects(node, web, second),
		Objects(node),
		Objects(node),
	}
	views[1].Controllers = cluster.Controllers{Known: true, ReplicaSets: []*cluster.Controller{{Namespace: "default", Name: "web", UID: "rs"}}}
	views[2].Controllers = views[1].Controllers
	views[3].Controllers = cluster.Controllers{Known: true, StatefulSets: []*cluster.Controller{{Namespace: "default", Name: "db", UID: "db", Replicas: new(int32(2))}}}
	allowed := policy.Default()
	var m memory.Memory
	var entries []journal.Entry
	for i, v := range views {
		s := cluster.New(Start.Add(time.Duration(i)*6*time.Minute+123456789), v, g())
		p, after := plan.Decide(s, allowed, m)
		results := make([]memory.Result, len(p.Actions))
		for j := range results {
			results[j] = memory.Result{Status: memory.Accepted, At: s.Time.Add(time.Second)}
		}
		entries = append(entries, journal.Entry{Cycle: uint64(i + 1), Seen: s, Policy: allowed, Before: m, Plan: p, Results: results})
		m = after.After(p, results, allowed)
	}
	entries[2].Refused = []journal.Refusal{{At: entries[2].Seen.Time, Property: "S-37", Resource: "/disks/data", Why: "something uses it"}}
	return entries
}

func written(t *testing.T, entries []journal.Entry) []byte {
	t.Helper()
	var b bytes.Buffer
	e := journal.NewEncoder(&b)
	for _, entry := range entries {
		if err := e.Encode(entry); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func readAll(r io.Reader) ([]journal.Entry, error) {
	d := journal.NewDecoder(r)
	var entries []journal.Entry
	for {
		e, err := d.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
}

func TestEveryCycleIsDecidedAgainFromPaper(t *testing.T) {
	want := history()
	got, err := readAll(bytes.NewReader(written(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("read %d cycles, wrote %d", len(got), len(want))
	}
	acted := 0
	for i, e := range got {
		if diff := cmp.Diff(asJSON(t, want[i].Seen.Objects), asJSON(t, e.Seen.Objects)); diff != "" {
			t.Errorf("cycle %d saw other objects (-wrote +read):\n%s", e.Cycle, diff)
		}
		if _, same, err := journal.Replay(e); err != nil || !same {
			t.Errorf("cycle %d: same=%t, err=%v", e.Cycle, same, err)
		}
		acted += len(e.Plan.Actions)
	}
	if acted == 0 {
		t.Error("no cycle acted: the test shows nothing")
	}
}

func TestReplayNoticesAnotherDecision(t *testing.T) {
	e := history()[1]
	e.Policy = policy.Default()
	e.Policy.Growth.Max.Nodes = 1
	if _, same, err := journal.Replay(e); err != nil || same {
		t.Errorf("a decision under another policy: same=%t, err=%v; want a difference", same, err)
	}
}

func TestQuietCyclesAreShort(t *testing.T) {
	lines := bytes.Split(written(t, history()), []byte("\n"))
	if !bytes.Contains(lines[0], []byte(`"full":true`)) || bytes.Contains(lines[1], []byte(`"full":true`)) {
		t.Error("the first line, and only the first, must be a full one")
	}
	if bytes.Contains(lines[2], []byte(`"set"`)) {
		t.Errorf("a cycle in which no object changed repeats objects: %s", lines[2])
	}
}

func TestDamagedJournalsAreReadAsFarAsTheyGo(t *testing.T) {
	whole := written(t, history())
	lines := strings.SplitAfter(string(whole), "\n")
	cases := map[string]struct {
		text   string
		cycles int
		err    string
	}{
		"a crash in the last line":                   {string(whole[:len(whole)-20]), 4, "cut off"},
		"a file that begins in the middle":           {strings.Join(lines[1:], ""), 0, ""},
		"a second beginning after the first":         {string(whole) + string(whole), 10, ""},
		"a line that is no JSON":                     {lines[0] + "hello\n", 1, "line 2 is not a journal entry"},
		"a line of a newer version":                  {`{"v":9}` + "\n", 0, "format version 9"},
		"a line that is no entry":                    {"{}\n", 0, "format version 0"},
		"an empty group":                             {`{"v":1,"full":true,"policy":{},"groups":[null]}` + "\n", 0, "empty group"},
		"an action of an unknown kind":               {`{"v":1,"full":true,"policy":{},"plan":{"actions":[{"kind":"Explode"}]}}` + "\n", 0, "unknown kind"},
		"a null where an object should be":           {`{"v":1,"full":true,"policy":{},"pods":{"set":[null]}}` + "\n", 1, ""},
		"an empty file":                              {"", 0, ""},
		"a full line without the policy it rests on": {`{"v":1,"full":true}` + "\n", 0, "no policy"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			entries, err := readAll(strings.NewReader(c.text))
			if len(entries) != c.cycles {
				t.Errorf("read %d cycles, want %d", len(entries), c.cycles)
			}
			switch {
			case c.err == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
				t.Errorf("error %v, want one with %q", err, c.err)
			}
		})
	}
}

// tearing writes half of what it is given, once.
type tearing struct {
	bytes.Buffer
	torn bool
}

func (w *tearing) Write(p []byte) (int, error) {
	if w.torn {
		return w.Buffer.Write(p)
	}
	w.torn = true
	n, _ := w.Buffer.Write(p[:len(p)/2])
	return n, errors.New("no space left")
}

func TestAJournalGoesOnAfterAWriteThatFailed(t *testing.T) {
	var w tearing
	e := journal.NewEncoder(&w)
	entries := history()
	if err := e.Encode(entries[0]); err == nil {
		t.Fatal("the torn write is not told")
	}
	for _, entry := range entries[1:] {
		if err := e.Encode(entry); err != nil {
			t.Fatal(err)
		}
	}
	d := journal.NewDecoder(&w.Buffer)
	if _, err := d.Next(); err == nil {
		t.Fatal("the half line reads as an entry")
	}
	for _, want := range entries[1:] {
		got, err := d.Next()
		if err != nil || got.Cycle != want.Cycle {
			t.Fatalf("read cycle %d (%v), want %d", got.Cycle, err, want.Cycle)
		}
		if _, same, err := journal.Replay(got); err != nil || !same {
			t.Errorf("cycle %d: same=%t, err=%v", got.Cycle, same, err)
		}
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
