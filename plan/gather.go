package plan

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// pause is when a group may be asked again if no more pods come, and at the latest.
type pause struct{ again, latest time.Time }

// gather lets pods wait as long as a group that could have machines for them has just been asked and more of them keep coming, so that one
// request serves a whole burst. They wait for that group and are no reason for another one to grow. A group that was not asked lately makes
// nobody wait: the first pods of a burst, and a pod that comes alone, are served at once.
func (d *growing) gather(c *candidates) {
	until := make([]pause, len(c.groups)) // by group; the zero pause while nobody has to wait
	wait, window := false, d.allowed.Growth.BurstWindow
	if window == 0 {
		return
	}
	came, queued := d.cameSince(d.now.Add(-2 * window))
	if queued {
		d.m.Queued = d.now
	}
	for i, st := range c.groups {
		m := d.m.Groups[st.ID]
		if m.Decided.IsZero() || !d.now.Before(m.Decided.Add(2*window)) || d.mostMore(st) == 0 || !d.newcomers(c, i, m.Decided) {
			continue
		}
		again, latest := d.allowed.Growth.AskAgain(policy.Burst{
			Asked: m.Decided, Asks: m.Asks, Came: came, Queued: queued, Drained: !queued && !d.m.Queued.Before(m.Decided),
		})
		if d.now.Before(again) {
			until[i], wait = pause{again, latest}, true
			d.wake(again)
			if queued {
				d.wake(d.now.Add(lookAgain)) // nothing tells that the last of them has found room
			}
		}
	}
	if wait {
		d.letWait(c, until)
	}
}

// newcomers says whether pods came after that time that the group could have machines for, and as many as are without a place. Which of pods that are alike
// has one is no matter: a pod that came later may have taken it before another.
func (d *growing) newcomers(c *candidates, group int, after time.Time) bool {
	for _, w := range c.wanted {
		left, came := w.left(), 0
		if left == 0 || !c.suited(w, group) {
			continue
		}
		for _, at := range w.pods {
			if d.waiting[at].Heard().After(after) {
				came++
			}
		}
		if came >= left {
			return true
		}
	}
	return false
}

// longestJudged is how long a scheduler is given to judge a pod: one that is judged later is of no burst, and one that is not will not be.
const longestJudged = 5 * time.Minute

// lookAgain is how soon it is looked again whether the scheduler has judged all pods.
const lookAgain = 200 * time.Millisecond

// cameSince are when the pods came after that time that have no node, sorted, and whether the scheduler has others of their namespaces to judge. Pods of one burst come
// for many groups and some of them find room: where they keep coming for one, more may come for another.
func (d *growing) cameSince(since time.Time) (came []time.Time, queued bool) {
	var queue []string
	burst := map[string]bool{}
	for _, p := range slices.Backward(d.s.Pending) {
		if d.now.Sub(p.Created()) > longestJudged {
			break
		}
		if d.queues(p) {
			queue = append(queue, p.Namespace)
		} else if at := p.Heard(); at.After(since) {
			came, burst[p.Namespace] = append(came, at), true
		}
	}
	slices.SortFunc(came, time.Time.Compare)
	return came, slices.ContainsFunc(queue, func(namespace string) bool { return burst[namespace] })
}

// queues says whether the pod waits for its scheduler to judge it.
func (d *growing) queues(p *cluster.Pod) bool {
	g := &d.allowed.Growth
	return !p.Unschedulable() && !p.Gated() && g.Serves(p.Spec.SchedulerName) && !g.Bypasses(p.Spec.SchedulerName)
}

// letWait gives the pods their verdict that could have machines of a group which is not to be asked yet, by the groups' pauses. A gang waits whole.
func (d *growing) letWait(c *candidates, until []pause) {
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
