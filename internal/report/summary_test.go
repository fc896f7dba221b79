package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
)

func TestSummaryTellsATiredOperatorWhatWouldHappen(t *testing.T) {
	w := growing()
	w.pod("huge-1", "64", "")
	w.group("spare", 0, 2, 1)
	w.cordon("spare-0", "idle", time.Minute)
	w.pod("web-1", "3", "")
	e := w.decide(memory.Result{})
	e.Results = nil // nobody performs a plan that is only shown
	var out bytes.Buffer
	if err := NewOverview(e).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, out.String())
}

func TestACostIsToldBesideWhatNothingCostsLessThan(t *testing.T) {
	for want, c := range map[string]action.Cost{
		"the machines to add cost 4.10 USD an hour; nothing that serves the same pods costs less than 3.90": {USDPerHour: 4.1, LeastUSDPerHour: 3.9},
		"the machines to add cost 4.10 USD an hour; nothing that serves the same pods costs less":           {USDPerHour: 4.1, LeastUSDPerHour: 4.099},
	} {
		if got := costSentence(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestSummaryOfAQuietClusterIsShort(t *testing.T) {
	w := newWorld()
	w.group("agents", 1, 3, 1)
	w.pod("busy", "3", "agents-0")
	var out bytes.Buffer
	if err := NewOverview(w.decide(accepted())).WriteText(&out); err != nil {
		t.Fatal(err)
	}
	golden(t, out.String())
}

func TestSummaryJSONHasEveryListEvenWhenEmpty(t *testing.T) {
	var out bytes.Buffer
	if err := NewOverview(newWorld().decide(accepted())).WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, list := range []string{"actions", "groups", "stuck", "removable"} {
		if string(got[list]) != "[]" {
			t.Errorf("%s is %s, want []", list, got[list])
		}
	}
}
