package plan

import (
	"slices"
	"time"

	"sluice.dev/sluice/reason"
)

// pause is when a group may be asked again if no more pods come, and at the latest.
type pause struct{ again, latest time.Time }

// gather lets pods wait as long as a group that could have machines for them has just been asked and more of them keep coming, so that one
// request serves a whole burst. They wait for that group and are no reason for another one to grow. A group that was not asked lately makes
// nobody wait: the first pods of a burst, and a pod that comes alone, are served at once.
func (d *decision) gather(c *candidates) {
	until := make([]pause, len(c.groups)) // by group; the zero pause while nobody has to wait
	var came []time.Time                  // when pods came lately, once a group needs to know
	wait := false
	for i, st := range c.groups {
		asked := d.m.Groups[st.ID].Decided
		if asked.IsZero() || !d.now.Before(asked.Add(d.allowed.Growth.BurstWindow)) || d.mostMore(st) == 0 || !d.newcomers(c, i, asked) {
			continue
		}
		if came == nil {
			came = d.cameSince(d.now.Add(-2 * d.allowed.Growth.BurstWindow))
		}
		if again, latest := d.allowed.Growth.AskAgain(asked, came); d.now.Before(again) {
			until[i], wait = pause{again, latest}, true
			d.wake(again)
		}
	}
	if wait {
		d.letWait(c, until)
	}
}

// newcomers says whether pods without a place came after that time that the group could have machines for.
func (d *decision) newcomers(c *candidates, group int, after time.Time) bool {
	for _, w := range c.wanted {
		if c.suited(w, group) && slices.ContainsFunc(w.pods[w.served:], func(at int) bool { return d.waiting[at].Heard().After(after) }) {
			return true
		}
	}
	return false
}

// cameSince are when the pods came that were made after that time and have no node, sorted. Pods of one burst come for many groups and some of
// them find room: where they keep coming for one, more may come for another.
func (d *decision) cameSince(made time.Time) []time.Time {
	var came []time.Time
	for _, p := range slices.Backward(d.s.Pending) {
		if p.Created().Before(made) {
			break
		}
		came = append(came, p.Heard())
	}
	slices.SortFunc(came, time.Time.Compare)
	return came
}

// letWait gives the pods their verdict that could have machines of a group which is not to be asked yet, by the groups' pauses. A gang waits whole.
func (d *decision) letWait(c *candidates, until []pause) {
	last := func(w *wanted) int {
		at := -1
		for i, t := range until {
			if c.suited(w, i) && (at < 0 || t.again.After(until[at].again)) && !t.again.IsZero() {
				at = i
			}
		}
		return at
	}
	gangs := map[*gang]int{}
	for _, w := range c.wanted {
		if at := last(w); at >= 0 && w.gang != nil {
			gangs[w.gang] = at
		}
	}
	rest := c.wanted[:0:0]
	for _, w := range c.wanted {
		at := last(w)
		if of, waits := gangs[w.gang]; w.gang != nil && waits {
			at = of
		}
		if at < 0 {
			rest = append(rest, w)
			continue
		}
		g := c.groups[at]
		asked := d.m.Groups[g.ID].Decided
		because := reason.New(reason.PodsComeAndPause, reason.Ref{}, "group", g.ID, "asked", d.now.Sub(asked), "wait", until[at].again.Sub(d.now))
		if until[at].again.Before(until[at].latest) {
			because = reason.New(reason.PodsKeepComing, reason.Ref{}, "group", g.ID, "asked", d.now.Sub(asked), "wait", until[at].again.Sub(d.now),
				"most", until[at].latest.Sub(d.now))
		}
		d.serve(w.demand, w.left(), PodWaiting, because)
	}
	c.wanted = rest
}
