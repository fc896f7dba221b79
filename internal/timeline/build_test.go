package timeline

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	ct "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// story is a cluster that changes from cycle to cycle, with verdicts and deeds as the test has them.
type story struct {
	t     *testing.T
	now   time.Time
	cycle uint64
	line  *Timeline

	nodes  []*corev1.Node
	pods   []*cluster.Pod
	groups []*cluster.Group
	is     map[string]action.Verdict // of nodes, keep where there is none
	said   []action.Verdict          // of others
	acts   []action.Action
	result memory.Result
	refuse []journal.Refusal
}

func newStory(t *testing.T) *story {
	return &story{t: t, now: ct.Start, line: &Timeline{}, is: map[string]action.Verdict{}}
}

// entry is the next cycle, after a while; deeds are of one cycle.
func (s *story) entry(after time.Duration) journal.Entry {
	s.now = s.now.Add(after)
	s.cycle++
	all := make([]any, 0, len(s.nodes)+len(s.pods))
	for _, n := range s.nodes {
		all = append(all, n)
	}
	for _, p := range s.pods {
		all = append(all, p)
	}
	e := journal.Entry{Cycle: s.cycle, Seen: cluster.New(s.now, ct.Objects(all...), s.groups), Policy: policy.Default(), Refused: s.refuse}
	e.Plan.Verdicts = append(e.Plan.Verdicts, s.said...)
	for _, n := range e.Seen.Nodes {
		v, has := s.is[n.Name()]
		if !has {
			v = verdict(action.NodeKeep, reason.NodeBusy)
		}
		v.Subject = reason.Node(n.Name())
		e.Plan.Verdicts = append(e.Plan.Verdicts, v)
	}
	e.Plan.Actions = s.acts
	r := s.result
	if r.Status == "" {
		r.Status = memory.Accepted
	}
	r.At = s.now.Add(time.Second)
	for range s.acts {
		e.Results = append(e.Results, r)
	}
	s.acts, s.refuse, s.result = nil, nil, memory.Result{}
	return e
}

// turn notes the next cycle, after a while.
func (s *story) turn(after time.Duration) {
	s.t.Helper()
	s.line.Note(s.entry(after))
}

// turns notes cycles, ten seconds apart, for so long.
func (s *story) turns(long time.Duration) {
	s.t.Helper()
	for range int(long / (10 * time.Second)) {
		s.turn(10 * time.Second)
	}
}

func verdict(is action.Outcome, codes ...reason.Code) action.Verdict {
	v := action.Verdict{Outcome: is}
	for _, c := range codes {
		v.Because = append(v.Because, reason.New(c, reason.Ref{}))
	}
	return v
}

// at is so long after the start.
func at(after time.Duration) time.Time { return ct.Start.Add(after) }

// all is a time before and one after every story.
func all() (from, to time.Time) { return at(-1000 * time.Hour), at(1000 * time.Hour) }
