package plan

import (
	"time"

	"sluice.dev/sluice/reason"
)

// Crowd is what is known of the pods that a group could have machines for and that have none yet.
type Crowd struct {
	Pods int       `json:"pods,omitempty"` // in the last cycle
	Came time.Time `json:"came,omitzero"`  // the cycle that last saw more of them than the one before it
}

// gather lets pods wait as long as a group that could have machines for them has just been asked and more of them keep coming, so that one
// request serves a whole burst. They wait for that group and are no reason for another one to grow. A group that was not asked lately makes
// nobody wait: the first pods of a burst, and a pod that comes alone, are served at once.
func (d *decision) gather(c *candidates) {
	var until []time.Time // by group: when it may be asked again; nil while nobody has to wait
	for i, st := range c.groups {
		m := d.m.Groups[st.ID]
		if m.Requested.IsZero() || !d.now.Before(m.Requested.Add(d.allowed.Growth.BurstWindow)) || d.mostMore(st) == 0 {
			continue
		}
		crowd := c.crowd(i)
		if crowd > m.Crowd.Pods {
			m.Crowd.Came = d.now
		}
		m.Crowd.Pods = crowd
		d.remember(st.ID, m)
		if again := d.allowed.Growth.AskAgain(m.Requested, m.Asked, m.Crowd.Came); crowd > 0 && d.now.Before(again) {
			if until == nil {
				until = make([]time.Time, len(c.groups))
			}
			until[i] = again
			d.wake(again)
		}
	}
	if until != nil {
		d.letWait(c, until)
	}
}

// letWait gives the pods their verdict that could have machines of a group which is not to be asked yet. A gang waits whole.
func (d *decision) letWait(c *candidates, until []time.Time) {
	last := func(w *wanted) int {
		at := -1
		for i, t := range until {
			if c.suited(w, i) && (at < 0 || t.After(until[at])) && !t.IsZero() {
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
		asked := d.m.Groups[g.ID].Requested
		d.serve(w.demand, w.left(), PodWaiting, reason.New(reason.PodsKeepComing, reason.Ref{}, "group", g.ID, "asked", d.now.Sub(asked),
			"wait", until[at].Sub(d.now), "most", asked.Add(d.allowed.Growth.BurstWindow).Sub(d.now)))
	}
	c.wanted = rest
}

// noteLeft remembers how many pods wait still, of those that the groups could have machines for which grow: they have not just come.
func (c *candidates) noteLeft(d *decision) {
	for i, st := range c.groups {
		if st.adding > 0 {
			m := d.m.Groups[st.ID]
			m.Crowd = Crowd{Pods: c.crowd(i)}
			d.remember(st.ID, m)
		}
	}
}

// crowd is how many pods without a place the group could have machines for.
func (c *candidates) crowd(group int) int {
	n := 0
	for _, w := range c.wanted {
		if c.suited(w, group) {
			n += w.left()
		}
	}
	return n
}
