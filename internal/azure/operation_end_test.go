package azure_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

func TestAnOperationWhosePollsAllFailIsGivenUp(t *testing.T) {
	w := newWorld(t, set("agents", 3))
	w.open(w.options("0:9:agents"))
	w.sim.Inject(azuresim.Fault{Kind: "GET operations*", Status: 500})
	w.remove("agents", "1")
	w.now = w.now.Add(2*time.Hour + time.Minute)
	w.groups()
	if ops := w.Operations(); len(ops) != 0 {
		t.Fatalf("still follows %+v, so that nothing else in the group is ever deleted", ops)
	}
	w.groups()
	w.remove("agents", "0")
}

func TestARecordOfOperationsThatIsWrongEndsNothing(t *testing.T) {
	w := newWorld(t, set("agents", 3))
	w.open(w.options("0:9:agents"))
	w.remove("agents", "1")
	var saved []azure.Operation
	w.must(json.Unmarshal(w.SaveOperations(), &saved))
	for name, change := range map[string]func(*azure.Operation){
		"an operation that has ended already": func(o *azure.Operation) { o.Token = strings.ReplaceAll(o.Token, "InProgress", "Succeeded") },
		"one of the future":                   func(o *azure.Operation) { o.Accepted = o.Accepted.AddDate(10, 0, 0) },
		"a token of something else":           func(o *azure.Operation) { o.Token = `{"type":"x","token":{}}` },
		"an address elsewhere": func(o *azure.Operation) {
			o.Token = strings.ReplaceAll(o.Token, "management.azure.com", "example.org")
		},
		"a verb that there is not": func(o *azure.Operation) { o.Verb = "shrink" },
	} {
		t.Run(name, func(t *testing.T) {
			o := saved[0]
			change(&o)
			raw, err := json.Marshal([]azure.Operation{o})
			w.must(err)
			w.open(w.options("0:9:agents"))
			w.must(w.ResumeOperations(raw))
			w.groups()
			w.now = w.now.Add(2*time.Hour + time.Minute)
			w.groups()
			if ops := w.Operations(); len(ops) != 0 {
				t.Errorf("still follows %+v", ops)
			}
			if g := w.groups()["agents"]; g.Capacity != 2 || g.Live() != 2 || !g.Usable() {
				t.Errorf("capacity %d, %d live, read %+v: want two machines to decide on", g.Capacity, g.Live(), g.Read)
			}
		})
	}
}
