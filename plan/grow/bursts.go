package grow

import (
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/place"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// Bursts are pods that come shortly one after the other.
type Bursts struct {
	*Orders
	limits *Limits
}

// Pause is when a group may be asked again if no more pods come, and at the latest.
type Pause struct{ Again, Latest time.Time }

// gather lets pods wait as long as a group that could have machines for them has just been asked and more of them keep coming, so that one
// request serves a whole burst. They wait for that group and are no reason for another one to grow. A group that was not asked lately makes
// nobody wait: the first pods of a burst, and a pod that comes alone, are served at once.
func (bu *Bursts) gather(c *Candidates) {
	until := make([]Pause, len(c.Groups)) // by group; the zero pause while nobody has to wait
	wait, window := false, bu.Policy.Growth.BurstWindow
	if window == 0 {
		return
	}
	came, queued := bu.cameSince(bu.Now.Add(-2 * window))
	if queued {
		bu.Memory.Queued = bu.Now
	}
	for i, st := range c.Groups {
		m := bu.Memory.Groups[st.ID]
		if m.Decided.IsZero() || !bu.Now.Before(m.Decided.Add(2*window)) || bu.limits.MostMore(st) == 0 || !bu.newcomers(c, i, m.Decided) {
			continue
		}
		again, latest := bu.Policy.Growth.AskAgain(policy.Burst{
			Asked: m.Decided, Asks: m.Asks, Came: came, Queued: queued, Drained: !queued && !bu.Memory.Queued.Before(m.Decided),
		})
		if bu.Now.Before(again) {
			until[i], wait = Pause{again, latest}, true
			bu.Wake(again)
			if queued {
				bu.Wake(bu.Now.Add(lookAgain)) // nothing tells that the last of them has found room
			}
		}
	}
	if wait {
		bu.LetWait(c, until)
	}
}

// newcomers says whether pods came after that time that the group could have machines for, and as many as are without a place. Which of
// pods that are alike has one is no matter: a pod that came later may have taken it before another.
func (bu *Bursts) newcomers(c *Candidates, group int, after time.Time) bool {
	for _, w := range c.wanted {
		left, came := w.Left(), 0
		if left == 0 || !c.suited(w, group) {
			continue
		}
		for _, at := range w.Pods {
			if bu.Waiting[at].Observed().After(after) {
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

// cameSince are when the pods came after that time that have no node, sorted, and whether the scheduler has others of their namespaces to
// judge. Pods of one burst come for many groups and some of them find room: where they keep coming for one, more may come for another.
func (bu *Bursts) cameSince(since time.Time) (came []time.Time, queued bool) {
	var queue []string
	burst := map[string]bool{}
	for _, p := range slices.Backward(bu.Snapshot.Pending) {
		if bu.Now.Sub(p.Created()) > longestJudged {
			break
		}
		if bu.queues(p) {
			queue = append(queue, p.Namespace)
		} else if at := p.Observed(); at.After(since) {
			came, burst[p.Namespace] = append(came, at), true
		}
	}
	slices.SortFunc(came, time.Time.Compare)
	return came, slices.ContainsFunc(queue, func(namespace string) bool { return burst[namespace] })
}

// queues says whether the pod waits for its scheduler to judge it.
func (bu *Bursts) queues(p *cluster.Pod) bool {
	g := &bu.Policy.Growth
	return !p.Unschedulable() && !p.Gated() && g.Serves(p.Spec.SchedulerName) && !g.Bypasses(p.Spec.SchedulerName)
}

// LetWait gives the pods their verdict that could have machines of a group which is not to be asked yet, by the groups' pauses. A gang
// waits whole.
func (bu *Bursts) LetWait(c *Candidates, until []Pause) {
	last := func(w *wanted) int {
		at := -1
		for i, t := range until {
			if c.suited(w, i) && (at < 0 || t.Again.After(until[at].Again)) && !t.Again.IsZero() {
				at = i
			}
		}
		return at
	}
	gangs := map[*place.Gang]int{}
	for _, w := range c.wanted {
		if at := last(w); at >= 0 && w.Gang != nil {
			gangs[w.Gang] = at
		}
	}
	rest := c.wanted[:0:0]
	for _, w := range c.wanted {
		at := last(w)
		if of, waits := gangs[w.Gang]; w.Gang != nil && waits {
			at = of
		}
		if at < 0 {
			rest = append(rest, w)
			continue
		}
		g := c.Groups[at]
		asked := bu.Memory.Groups[g.ID].Decided
		because := reason.New(reason.PodsComeAndPause, reason.Ref{}, "group", g.ID, "asked", bu.Now.Sub(asked), "wait", until[at].Again.Sub(bu.Now))
		if until[at].Again.Before(until[at].Latest) {
			because = reason.New(reason.PodsKeepComing, reason.Ref{}, "group", g.ID, "asked", bu.Now.Sub(asked), "wait", until[at].Again.Sub(bu.Now),
				"most", until[at].Latest.Sub(bu.Now))
		}
		bu.Serve(w.Demand, w.Left(), action.PodWaiting, because)
	}
	c.keep(rest)
}
