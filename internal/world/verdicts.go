package world

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// told is what the transcript has said last, by what it was said of.
type told map[string]string

// news says whether something else is to be said of a thing than was said last.
func (t told) news(of, what string) bool {
	if t[of] == what {
		return false
	}
	t[of] = what
	return true
}

// refused stands for the codes of all that the safety contract forbids.
const refused reason.Code = "refused"

// fault tells that a cycle had nothing to decide on.
func (t told) fault(out *transcript, at time.Duration, err error) {
	_, sentence, ok := strings.Cut(err.Error(), ": ") // the number of the cycle means nothing to a reader
	if !ok {
		sentence = err.Error()
	}
	if t.news("sluice", sentence) {
		out.say(at, "sluice", "", "blind", sentence)
	}
	out.flush()
}

// plan tells what is new in a cycle's verdicts and in what became of its actions.
func (t told) plan(out *transcript, at time.Duration, entry journal.Entry) {
	delete(t, "sluice")
	current := map[string]bool{}
	for _, v := range inOrder(out.names, entry.Plan.Verdicts) {
		key := v.Subject.String()
		current[key] = true
		code := reason.Code("")
		if i := slices.IndexFunc(v.Because, func(r reason.Reason) bool { return !leftOut(r.Code) }); i >= 0 {
			if code = v.Because[i].Code; v.Because[i].Property() != "" {
				code = refused // one refusal after another is no news
			}
		}
		what := string(v.Outcome) + " " + string(code)
		switch code {
		case reason.NeedsMachine: // another group than the one that failed it
			what += " " + v.Because[0].Facts["group"]
		case reason.GroupGrows, reason.GroupRaised, reason.HeadroomKept: // again, further
			what += " " + v.Because[0].Facts["to"]
		}
		if t.news(key, what) {
			kind, name := string(v.Subject.Kind), v.Subject.Name
			if v.Subject.Kind == reason.KindInstance {
				kind, name = "machine", out.names.instance(name)
			}
			out.say(at, kind, name, string(v.Outcome), reasons(v))
		}
	}
	out.flush()
	for i, a := range entry.Plan.Actions {
		if i >= len(entry.Results) {
			break
		}
		kind, name := subject(a)
		key := action.KindOf(a) + " " + kind + " " + name
		current[key] = true
		r := entry.Results[i]
		if t.news(key, string(r.Status)+" "+r.Property+r.Kind+r.Code) && r.Status != memory.Accepted {
			out.say(at, kind, name, string(r.Status), resultText(a, reason.Ref{Kind: reason.Kind(kind), Name: name}, r))
		}
	}
	for key := range t {
		if !current[key] {
			delete(t, key)
		}
	}
	out.flush()
}

// inOrder sorts verdicts by kind as they are and within it by what the transcript calls their subjects.
func inOrder(n *names, verdicts []action.Verdict) []action.Verdict {
	kinds := []reason.Kind{reason.KindPod, reason.KindInstance, reason.KindNode, reason.KindGroup, reason.KindRequest, reason.KindBuffer, reason.KindCluster}
	return slices.SortedStableFunc(slices.Values(verdicts), func(a, b action.Verdict) int {
		return cmp.Or(
			cmp.Compare(slices.Index(kinds, a.Subject.Kind), slices.Index(kinds, b.Subject.Kind)),
			natural(n.in(a.Subject.Name), n.in(b.Subject.Name)),
		)
	})
}

// natural orders names by what stands before a number at their end, and then by that number.
func natural(a, b string) int {
	cut := func(s string) (string, int) {
		stem := strings.TrimRight(s, "0123456789")
		n, _ := strconv.Atoi(s[len(stem):]) // no number is 0
		return stem, n
	}
	stemA, nA := cut(a)
	stemB, nB := cut(b)
	return cmp.Or(cmp.Compare(stemA, stemB), cmp.Compare(nA, nB))
}

// reasons are those of a verdict, by code and facts. Those about its subject do not repeat what that is, of several in a row about one other thing
// the first names it, and a group's size is told only when it is all there is to say. What groups were weighed against is left out: it explains
// what happens and is no part of it.
func reasons(v action.Verdict) string {
	var parts []string
	last := v.Subject
	for _, r := range v.Because {
		if leftOut(r.Code) || r.Code == reason.GroupSteady && len(parts) > 0 {
			continue
		}
		parts = append(parts, terse(r, v.Subject, last))
		last = r.About
	}
	return strings.Join(parts, "; ")
}

// terse is a reason by code and facts, led by what it is about unless that is known.
func terse(r reason.Reason, known ...reason.Ref) string {
	if r.About.Name == "" || slices.Contains(known, r.About) {
		return r.Terse()
	}
	return r.About.String() + ": " + r.Terse()
}

// leftOut says whether transcripts leave the reason out.
func leftOut(code reason.Code) bool {
	return code == reason.Weighed || code == reason.Outweighed || code == reason.ExpanderChose
}

// subject is what an action is about.
func subject(a action.Action) (kind, name string) {
	switch a := a.(type) {
	case action.SetCapacity:
		return "group", string(a.Group)
	case action.DeleteInstances:
		return "group", string(a.Group)
	case action.Cordon:
		return "node", a.Node
	case action.Mark:
		return "node", a.Node
	case action.Uncordon:
		return "node", a.Node
	case action.CandidateTaint:
		return "node", a.Node
	case action.CandidateUntaint:
		return "node", a.Node
	case action.DeleteNode:
		return "node", a.Node
	case action.AnswerNotice:
		return "node", a.Node
	case action.OpenGate:
		return "pod", a.Namespace + "/" + a.Pod
	case action.AnswerRequest:
		return "request", a.Namespace + "/" + a.Request
	case action.AnswerBuffer:
		return "buffer", a.Namespace + "/" + a.Buffer
	case action.Evict:
		return "pod", a.Namespace + "/" + a.Pod
	}
	return "action", action.KindOf(a)
}

// resultText says what became of an action.
func resultText(a action.Action, of reason.Ref, r memory.Result) string {
	verb := map[string]string{
		"SetCapacity": "grow", "DeleteInstances": "delete machines", "Cordon": "cordon", "Mark": "mark", "Uncordon": "uncordon", "SoftTaint": "soft-taint", "SoftUntaint": "soft-untaint",
		"DeleteNode": "delete node", "Evict": "evict", "OpenGate": "open gate", "AnswerNotice": "answer", "AnswerRequest": "answer", "AnswerBuffer": "answer", "AskExpander": "ask",
	}[action.KindOf(a)]
	switch {
	case r.Status == memory.Refused:
		return verb + ": " + terse(*r.Reason, of)
	case r.Code != "" && !strings.Contains(r.Message, r.Code):
		return verb + ": " + r.Code + ": " + r.Message
	}
	return verb + ": " + r.Message
}
