package report

import (
	"strconv"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// actionKinds, statuses, failureKinds and podOutcomes have series from the start, so that a first increase is seen as one.
var (
	actionKinds  = []action.Action{action.SetCapacity{}, action.Cordon{}, action.Mark{}, action.Uncordon{}, action.CandidateTaint{}, action.CandidateUntaint{}, action.Evict{}, action.DeleteInstances{}, action.DeleteNode{}, action.OpenGate{}, action.AnswerNotice{}, action.AnswerRequest{}, action.AnswerBuffer{}, action.AskExpander{}}
	statuses     = []memory.Status{memory.Accepted, memory.Refused, memory.Failed, memory.Skipped, memory.Deferred, memory.Asked}
	failureKinds = []string{"allocation", "denied", "network", "provisioning", "quota", "throttled", timedOut, "transient", "unauthorized", "unavailable"}
	podOutcomes  = []action.Outcome{action.PodScheduling, action.PodWaiting, action.PodGrows, action.PodRescues, action.PodStuck, action.PodIgnored}
)

func (m *Metrics) startAtZero() {
	for _, a := range actionKinds {
		for _, s := range statuses {
			m.actions.WithLabelValues(action.KindOf(a), string(s))
		}
	}
	for _, kind := range failureKinds {
		m.failures.WithLabelValues(kind)
	}
	for _, o := range podOutcomes {
		m.pending.WithLabelValues(string(o))
	}
}

func (m *Metrics) reportActions(entry journal.Entry) {
	for i, a := range entry.Plan.Actions {
		if i >= len(entry.Results) {
			return
		}
		r := entry.Results[i]
		m.actions.WithLabelValues(action.KindOf(a), string(r.Status)).Inc()
		if r.Property != "" && r.Status != memory.Skipped { // by the guard, or by the provider
			m.refusals.WithLabelValues(r.Property).Inc()
		}
	}
}

func (m *Metrics) reportRefused(entry journal.Entry) {
	for _, r := range entry.Refused {
		m.refusals.WithLabelValues(r.Property).Inc()
	}
}

// reportFailures counts failures by the kind that decides what follows from them.
func (m *Metrics) reportFailures(entry journal.Entry, failures []failure) {
	for _, f := range failures {
		m.failures.WithLabelValues(f.Kind).Inc()
	}
	for i, a := range entry.Plan.Actions {
		if _, grows := a.(action.SetCapacity); grows && i < len(entry.Results) && entry.Results[i].Status == memory.Failed {
			m.failures.WithLabelValues(entry.Results[i].Kind).Inc()
		}
	}
}

func (m *Metrics) reportLacks(entry journal.Entry) {
	m.lacks.Reset()
	for _, right := range entry.Seen.Objects.Lacks {
		m.lacks.WithLabelValues(right.String(), strconv.FormatBool(right.Loss().Halts)).Set(1)
	}
}

func (m *Metrics) reportVerdicts(entry journal.Entry) {
	for _, v := range entry.Plan.Verdicts {
		m.tally[tallied{v.Subject.Kind, v.Outcome}]++
	}
	m.verdicts.Reset()
	m.pending.Reset()
	for _, o := range podOutcomes {
		m.pending.WithLabelValues(string(o))
	}
	for of, n := range m.tally {
		m.verdicts.WithLabelValues(string(of.kind), string(of.outcome)).Set(float64(n))
		if of.kind == reason.KindPod {
			m.pending.WithLabelValues(string(of.outcome)).Set(float64(n))
		}
	}
	clear(m.tally)
}

func (m *Metrics) reportGroups(entry journal.Entry, counted census) {
	nodes := map[cluster.GroupID]int{}
	for _, n := range entry.Seen.Nodes {
		if n.Parked.UID == "" {
			nodes[n.Group]++
		}
	}
	m.groups.capacity.Reset()
	m.groups.min.Reset()
	m.groups.max.Reset()
	m.groups.nodes.Reset()
	m.groups.backoff.Reset()
	m.groups.actors.Reset()
	for _, g := range entry.Seen.Groups {
		id := string(g.ID)
		if g.Capacity >= 0 {
			m.groups.capacity.WithLabelValues(id).Set(float64(g.Capacity))
		}
		m.groups.min.WithLabelValues(id).Set(float64(g.Min))
		m.groups.max.WithLabelValues(id).Set(float64(g.Max))
		m.groups.nodes.WithLabelValues(id).Set(float64(nodes[g.ID]))
		_, resting := find(counted.groups[g.ID].verdict.Because, reason.GroupBackoff)
		m.groups.backoff.WithLabelValues(id).Set(indicator(resting))
		for _, h := range g.OtherActors {
			m.groups.actors.WithLabelValues(id, string(h.Kind)).Set(1)
		}
	}
}

// indicator is 1 for true.
func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
