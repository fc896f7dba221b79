package fleet

import "slices"

// grant is a growth that was asked for.
type grant struct {
	At     Instant `json:"at,omitempty"`
	From   int     `json:"from,omitempty"`
	To     int     `json:"to,omitempty"`
	Token  string  `json:"token,omitempty"` // of a growth without a number: what tells it from another
	Reply  Reply   `json:"reply,omitempty"`
	Again  bool    `json:"again,omitempty"`  // an earlier one for the same number had no answer: a refusal says nothing about that
	Lacked Instant `json:"lacked,omitempty"` // when the first whole list after it was asked for
	Owed   int     `json:"owed,omitempty"`   // machines of it that no list has shown
}

// counts says whether the growth may have happened.
func (r grant) counts() bool { return r.Reply != Refused || r.Again }

// settle drops growths that a list would show by now. Where lists were asked for seldom, the first one does not count.
func (g *group) settle(asked Instant, seldom bool, h Horizon) {
	g.grants = slices.DeleteFunc(g.grants, func(r grant) bool {
		old := r.Lacked != 0 && !seldom && asked.Sub(r.Lacked) >= h.List
		if old {
			g.settled = max(g.settled, r.At)
		}
		return old
	})
	for i := range g.grants {
		if r := &g.grants[i]; (r.Lacked == 0 || seldom) && asked > r.At {
			r.Lacked = asked
		}
	}
}

// owed says whether a machine that a list shows first is of a growth, and has that owe one less. Of growths that rest on the same capacity
// at most one takes effect: what one of them made, none of the others owes. What was made before is none of it, by clocks that differ.
func (g *group) owed(created Instant, h Horizon) bool {
	i := slices.IndexFunc(g.grants, func(r grant) bool { return r.Owed > 0 && created >= r.At.Add(-h.Node) })
	if i < 0 {
		return false
	}
	of := g.grants[i]
	for i := range g.grants {
		if r := &g.grants[i]; r.Owed > 0 && r.From < of.To && of.From < r.To {
			r.Owed--
		}
	}
	return true
}
