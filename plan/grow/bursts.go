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

// Bursts lets pods wait that come shortly one after the other, so that a group is asked for them together. Azure takes few updates of a
// scale set in a minute, and small purchases pack worse. The rule for how long is [policy.Growth.AskAgain], which knows nothing of groups.
type Bursts struct {
	*Orders
	limits *Limits
}

// Pause is when a group may be asked again if no more pods come, and at the latest. The zero value is a group for which nobody waits.
type Pause struct{ Again, Latest time.Time }

// gather takes the pods out of c that have to wait for a group, and gives them their verdict. For each group:
//
//	case                                             nobody waits, because
//	--burst-window is 0                              the operator wants each pod answered at once
//	it was not asked within two windows              the first pods of a burst, and one that comes alone, are served at once
//	it may add no machine                            another group may help at once
//	some that are left were there when it was asked  it was asked for less than they need
//
// Else, where all pods of a demand that are left came since, pods wait as long as [policy.Growth.AskAgain] says: one request serves the
// whole burst. Pods that wait for one group are no reason for another one to grow (scenario burst-gathered).
func (bu *Bursts) gather(c *Candidates) {
	until := make([]Pause, len(c.Groups)) // by group; the zero pause while nobody has to wait
	wait, window := false, bu.Policy.Growth.BurstWindow
	if window == 0 {
		return
	}
	// A pod that came earlier lets nobody wait: the window that begins with it is over.
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

// newcomers says whether all pods of some demand that the group could serve may have come after that time: at least as many came as are
// left. Which of pods that are alike has a place does not matter, since a later one may have taken it before an earlier one.
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

// cameSince are when pods came, sorted: those that came after that time, have no node, and do not queue. queued says whether pods of their
// namespaces queue. Pods of other namespaces tell nothing of this burst. All groups share the answer: pods of one burst come for many
// groups, and where they keep coming for one, more may come for another.
//
// Pending is in the order of age, so the loop goes back from the youngest pod and stops at the first that is older than longestJudged.
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

// queues says whether the pod waits for its scheduler to judge it. A gated pod does not. Nor does a pod of a scheduler that sluice does not
// serve, or whose pods it serves before they are judged.
func (bu *Bursts) queues(p *cluster.Pod) bool {
	g := &bu.Policy.Growth
	return !p.Unschedulable() && !p.Gated() && g.Serves(p.Spec.SchedulerName) && !g.Bypasses(p.Spec.SchedulerName)
}

// LetWait gives their verdict to pods that could have machines of a group which is not to be asked yet, and takes them out of c. until has
// the pause of each of c.Groups, by index. Buffers use it as well, with pauses of their own.
//
//	pods                                     what happens
//	no group that suits them pauses          they stay in c
//	one or more do                           they wait for the one that may be asked last
//	of a gang of which another demand waits  they wait with it, whichever groups suit them: a gang is bought whole
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
