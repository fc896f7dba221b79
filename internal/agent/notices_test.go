package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/agent"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/imds"
)

// echo names every event twice.
type echo struct{ agent.Metadata }

func (e echo) Events(ctx context.Context) ([]imds.Event, error) {
	events, err := e.Metadata.Events(ctx)
	return append(events, events...), err
}

func TestANoticeThatComesTwiceIsAnsweredOnce(t *testing.T) {
	for name, twice := range map[string]func(*farm){
		"twice in one document": func(f *farm) {
			f.agent.Metadata = echo{f.agent.Metadata}
			f.announce("agents_0", azuresim.Terminate, 5*time.Minute)
		},
		"another one of the same kind": func(f *farm) {
			f.announce("agents_0", azuresim.Terminate, 5*time.Minute)
			f.announce("agents_0", azuresim.Terminate, 5*time.Minute+time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t, 2)
			at := f.now
			twice(f)
			f.pass(5 * time.Second)
			if after, ok := f.asked(at, "patch", "nodes", ""); !ok || after > time.Second {
				t.Errorf("tainted: %t, %s after the notice; want at most 1s", ok, after)
			}
			patches := 0
			for _, r := range f.kube.Log() {
				if r.Agent == "sluice-agent" {
					patches++
				}
			}
			if patches != 1 {
				t.Errorf("%d changes of the node, want 1", patches)
			}
			f.says(true)
			f.pass(10 * time.Second)
			if got := f.agreed(); got != 1 {
				t.Errorf("%d agreements once the node was empty, want 1\n%s", got, &f.log)
			}
		})
	}
}

// TestANoticeIsHeardAsSoonAsTheMetadataServiceAnswers has the service fail while the notice comes. The agent asks again after at most four
// seconds, however long it was deaf.
func TestANoticeIsHeardAsSoonAsTheMetadataServiceAnswers(t *testing.T) {
	for name, fault := range map[string]azuresim.Fault{
		"it fails":                      {Status: 500},
		"it is asked too often":         {Status: 429, RetryAfter: time.Second},
		"its connections break":         {LoseRequest: true},
		"half of its answers arrive":    {Truncate: true},
		"it does not know the document": {Status: 404},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t, 1)
			fault.Name, fault.Kind = "deaf", "GET metadata*"
			f.azure.Inject(fault)
			f.announce("agents_0", azuresim.Terminate, 5*time.Minute)
			f.pass(30 * time.Second)
			if _, ok := cluster.NoticeOf(f.node()); ok {
				t.Fatal("the notice was heard: the service did not fail")
			}
			f.azure.ClearFault("deaf")
			at := f.now
			f.pass(15 * time.Second)
			if after, ok := f.asked(at, "patch", "nodes", ""); !ok || after > 4*time.Second {
				t.Errorf("tainted: %t, %s after the service answered again; want at most 4s\n%s", ok, after, &f.log)
			}
			if n := strings.Count(f.log.String(), "level=WARN"); n == 0 || n > 5 {
				t.Errorf("%d warnings of 30 seconds of failure, want a few\n%s", n, &f.log)
			}
		})
	}
}
