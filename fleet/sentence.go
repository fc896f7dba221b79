package fleet

import (
	"cmp"

	"sluice.dev/sluice/reason"
)

// Acknowledge is the command by which a person says that he knows what a group has lost.
func Acknowledge(id GroupID) string { return "sluice acknowledge " + string(id) }

// Reason is the refusal in the words of package reason: about the machine, as the caller refers to it, or about the group when it is about
// no machine alone. A zero reference is to the machine's instance.
func (r Refusal) Reason(id GroupID, machine reason.Ref) reason.Reason {
	about, facts := reason.Group(string(id)), r.facts
	if name := cmp.Or(r.ID, string(r.UID)); name != "" {
		about = cmp.Or(machine, reason.Instance(string(id), name))
		facts = append(facts[:len(facts):len(facts)], "group", id)
	}
	if r.Until != 0 {
		facts = append(facts[:len(facts):len(facts)], "until", r.Until)
	}
	return reason.New(r.Code, about, facts...).By(r.Property)
}
