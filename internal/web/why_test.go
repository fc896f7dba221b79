package web

import (
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// rememberedBy is a server that has seen these cycles and can read each of them again.
func rememberedBy(entries ...journal.Entry) *Server {
	line := &timeline.Timeline{}
	s := New(Options{Timeline: line, Now: func() time.Time { return entries[len(entries)-1].Seen.Time }, Past: func(at time.Time) (journal.Entry, error) {
		found := entries[0]
		for _, e := range entries {
			if !e.Seen.Time.After(at) {
				found = e
			}
		}
		return found, nil
	}})
	for _, e := range entries {
		line.Note(e)
		s.Report(e)
	}
	return s
}

// has fails the test for words that a page lacks, and for those after "not" that it has.
func has(t *testing.T, s *Server, address string, words ...string) {
	t.Helper()
	body := browse(s, address).Body.String()
	wanted := true
	for _, word := range words {
		if word == "not" {
			wanted = false
		} else if strings.Contains(body, word) != wanted {
			t.Errorf("GET %s: has %q: %t", address, word, !wanted)
		}
	}
}

// TestWhyAPodsMachineIsOfItsGroupIsToldWhileItWaitsAndAfter has a group grow for a pod beside a dearer one and one that is too small.
func TestWhyAPodsMachineIsOfItsGroupIsToldWhileItWaitsAndAfter(t *testing.T) {
	cycle := func(number uint64, pod any, m memory.Memory) journal.Entry {
		cheap, dear, small := Group("cheap", 0, 3, Machine("0", "cheap-0")), Group("dear", 0, 3), Group("small", 0, 3)
		cheap.PriceUSDPerHour, dear.PriceUSDPerHour = .2, .9
		small.Template = small.Template.DeepCopy()
		for name := range small.Template.Status.Allocatable {
			delete(small.Template.Status.Allocatable, name)
		}
		s := cluster.New(Start.Add(time.Duration(number)*time.Minute), Objects(pod, Node("cheap-0"), Pod("other", On("cheap-0"), CPU("3"))), []*cluster.Group{cheap, dear, small})
		s.Fleet = Ledger(s, time.Hour)
		e := journal.Entry{Cycle: number, Seen: s, Policy: policy.Default(), Before: m}
		e.Plan, e.After = plan.Decide(s, e.Policy, m)
		for range e.Plan.Actions {
			e.Results = append(e.Results, memory.Result{Status: memory.Accepted, At: s.Time})
		}
		return e
	}
	first := cycle(1, Pod("web", CPU("2")), memory.Memory{})
	const title, one, other, none = "What each group would have cost", "0.200", "0.900", "unknown"
	has(t, rememberedBy(first), "/why/pod/default/web", title, one, other, none, "chosen", "Insufficient", "not", "as compared at")
	second := cycle(2, Pod("web", CPU("1"), On("cheap-0")), first.After)
	has(t, rememberedBy(first, second), "/why/pod/default/web", title, one, other, none, "as compared at")
	has(t, rememberedBy(first, second), "/why/pod/default/other", "Runs on node", "not", title)
}

// TestWhatTheGuardCheckedStandsOnTheNodesPage has a removal go through, one that is refused, and a later cycle.
func TestWhatTheGuardCheckedStandsOnTheNodesPage(t *testing.T) {
	e := entry()
	node := reason.Node("agents-0")
	e.Seen.Nodes[0].Group = "agents"
	e.Plan.Actions = []action.Action{action.DeleteInstances{Group: "agents", Machines: []action.Leaving{{Machine: cluster.Machine{Group: "agents", ID: "0"}, Node: "agents-0", Because: reason.New(reason.NodeIdle, node, "idle", "10m", "limit", "10m")}}}}
	later := e
	later.Cycle, later.Plan.Actions, later.Results = 8, nil, nil
	seen := *e.Seen
	seen.Time = noon.Add(time.Minute)
	later.Seen = &seen
	has(t, rememberedBy(e), "/why/node/agents-0", "What the guard checked", "S-11", "2 seconds old", "not", "refused:")
	has(t, rememberedBy(e, later), "/why/node/agents-0", "What the guard checked", "S-11")
	no := reason.New(reason.MachineNotListed, node)
	e.Results = []memory.Result{{Status: memory.Refused, At: noon, Property: "S-11", Reason: &no}}
	has(t, rememberedBy(e), "/why/node/agents-0", "What the guard checked", "refused:", "not", "✓")
}
