package world

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
)

// whims are what a sluice tries whose plans are not to be trusted: actions made of what there is, at random. Nothing but the guard stands between
// them and the world.
type whims struct {
	luck  *rand.Rand
	tally *tally
	old   *cluster.Snapshot // what some of them rest on: seen a while ago
}

func doReckless(w *world, _ *statement) error {
	w.config.whims = &whims{tally: &w.tally, luck: rand.New(rand.NewPCG(w.cluster.Seed, 0x77))}
	w.judges.rule.Reckless = true
	return nil
}

// RecklessHistory is a random scenario as [History] has them, but for a sluice that also tries what it has not planned, and that is led into more of
// it: other processes, failing machines, reads that lack something. Nobody asks whether it comes to rest.
func RecklessHistory(seed uint64) []byte {
	return (&history{luck: rand.New(rand.NewPCG(seed, 0x52)), reckless: true}).script(seed)
}

// temptation is something that makes it likelier that what is tried is wrong in a way that seldom comes by itself.
func (h *history) temptation() {
	g := h.group()
	switch h.upTo(6) {
	case 0:
		h.say("fault no-etag group=%s for=%ds", g, h.between(20, 200)) // S-04
	case 1:
		h.say("rival for=%ds as=%s", h.between(20, 300), h.pick("watcher", "stranger")) // S-24, S-22
	case 2: // machines that never join and cannot be deleted (S-35)
		h.say("fault never-joins group=%s times=%d", g, h.between(3, 6))
		h.say("try lock %s level=delete", g)
		h.undo = append(h.undo, "unlock "+g)
		h.say("scale web %d", h.between(6, 9))
	case 3: // volumes that are attached to nodes (S-37)
		h.pods++
		h.say("pvc v%d", h.pods)
		h.say("pod v%d-0 cpu=200m claim=v%d", h.pods, h.pods)
	case 4:
		h.say("try notice %s %s notice=%ds", h.machine(), h.pick("reboot", "freeze", "redeploy"), h.between(60, 300)) // S-42
	case 5:
		h.say("try pause %s for=%ds", g, h.between(60, 400)) // S-18
	case 6:
		h.say("deployment w%d replicas=%d cpu=100m", h.pods, h.between(1, 4)) // pods that are moved (S-19)
		h.pods++
	}
}

// around stands around what performs plans: after each plan it has something tried that no plan says.
func (h *whims) around(inner app.Performer) app.Performer { return &reckless{h, inner} }

type reckless struct {
	whims *whims
	inner app.Performer
}

// Perform implements app.Performer.
func (r *reckless) Perform(ctx context.Context, seen *cluster.Snapshot, p action.Plan) []memory.Result {
	results := r.inner.Perform(ctx, seen, p)
	r.whims.inject(seen, func(decided *cluster.Snapshot, actions []action.Action) []memory.Result {
		return r.inner.Perform(ctx, decided, action.Plan{Time: p.Time, Counted: p.Counted, Actions: actions})
	})
	return results
}

// inject has actions performed that are made up.
func (h *whims) inject(seen *cluster.Snapshot, perform func(*cluster.Snapshot, []action.Action) []memory.Result) {
	if h.old == nil || h.luck.IntN(10) == 0 {
		h.old = seen
	}
	if h.luck.IntN(3) > 0 {
		return
	}
	var actions []action.Action
	for range 1 + h.luck.IntN(3) {
		if a := h.act(seen); a != nil {
			actions = append(actions, a)
		}
	}
	decided := seen
	if h.luck.IntN(4) == 0 {
		decided = h.old
	}
	for _, r := range perform(decided, actions) {
		h.tally.add(r)
	}
}

// action is one at random; nil where there is nothing to do it to.
func (h *whims) act(seen *cluster.Snapshot) action.Action {
	from := seen
	if h.luck.IntN(4) == 0 {
		from = h.old
	}
	switch h.luck.IntN(11) {
	case 0, 1:
		if g := one(h, from.Groups); g != nil {
			return action.SetCapacity{Group: g.ID, From: max(0, g.Capacity-h.luck.IntN(2)), To: h.luck.IntN(g.Max + 3)}
		}
	case 2, 3, 4:
		return h.deletion(from)
	case 5:
		if n := one(h, from.Nodes); n != nil {
			return action.Cordon{Node: n.Name(), UID: n.Object.UID, Machine: h.machine(n, from), Removal: cluster.Removal{Since: seen.Time.Truncate(time.Second), Why: "idle"}}
		}
	case 6:
		if n := one(h, from.Nodes); n != nil {
			if p := one(h, n.Pods); p != nil {
				notice := []string{"", "made up"}[h.luck.IntN(2)]
				return action.Evict{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: n.Name(), Grace: -1, Notice: notice}
			}
		}
	case 7:
		if n := one(h, from.Nodes); n != nil {
			a := action.DeleteNode{Node: n.Name(), UID: n.Object.UID, Machine: h.machine(n, from)}
			if v := one(h, seen.Objects.VolumeAttachments); v != nil {
				a.Attachments = append(a.Attachments, cluster.Attachment{Name: v.Name, UID: v.UID})
			}
			return a
		}
	case 8:
		if p, n := one(h, from.Pending), one(h, from.Nodes); p != nil && n != nil {
			return action.OpenGate{Namespace: p.Namespace, Pod: p.Name, UID: p.UID, Node: n.Name()}
		}
	case 9:
		if n := one(h, from.Nodes); n != nil {
			return action.CandidateTaint{Node: n.Name(), UID: n.Object.UID, Since: seen.Time.Truncate(time.Second)}
		}
	case 10:
		if n := one(h, from.Nodes); n != nil {
			notice, _ := cluster.NoticeOf(n.Object)
			return action.AnswerNotice{Node: n.Name(), UID: n.Object.UID, Notice: notice.ID, Empty: h.luck.IntN(2) == 0}
		}
	}
	return nil
}

// deletion names machines as a bad plan would: the wrong node, no node, no unique id, one twice, or none at all.
func (h *whims) deletion(from *cluster.Snapshot) action.Action {
	g := one(h, from.Groups)
	if g == nil {
		return nil
	}
	a := action.DeleteInstances{Group: g.ID}
	for range h.luck.IntN(3) {
		in := one(h, g.Instances)
		if in == nil {
			break
		}
		l := action.Leaving{Machine: in.Machine(), Node: in.Node}
		switch h.luck.IntN(8) {
		case 0:
			l.Node = ""
		case 1:
			if n := one(h, from.Nodes); n != nil {
				l.Node = n.Name()
			}
		case 2:
			l.UID = ""
		case 3:
			a.Machines = append(a.Machines, l)
		case 4:
			if other := one(h, g.Instances); other != nil {
				l.UID = other.UID
			}
		}
		a.Machines = append(a.Machines, l)
	}
	return a
}

// machine is what a node is, or another one.
func (h *whims) machine(n *cluster.Node, from *cluster.Snapshot) cluster.Machine {
	if n.Instance != nil && h.luck.IntN(4) > 0 {
		return n.Instance.Machine()
	}
	if n.Marked.UID != "" && h.luck.IntN(2) == 0 {
		return n.Marked
	}
	if g := one(h, from.Groups); g != nil {
		if in := one(h, g.Instances); in != nil {
			return in.Machine()
		}
	}
	return cluster.Machine{}
}

// injectBeside has a write tried in the agent's place that it has not decided on, made of what is announced to anybody: the guard is asked as before
// any other, and what it lets pass is sent.
func (h *whims) injectBeside(ctx context.Context, of *hearing) {
	seen, err := of.Look(ctx)
	if err != nil {
		return // nor does the agent know of anything to do
	}
	notice := "none"
	if len(seen.Notices) > 0 && h.luck.IntN(3) > 0 {
		notice = seen.Notices[h.luck.IntN(len(seen.Notices))].ID
	}
	var write guard.Write
	switch h.luck.IntN(4) {
	case 0:
		write = guard.Announce{Node: seen.Node.Name, UID: seen.Node.UID, Notice: notice}
	case 1:
		write = guard.Withdraw{Node: seen.Node.Name, UID: seen.Node.UID}
	case 2:
		write = guard.Agree{Node: seen.Node.Name, Notice: notice}
	default:
		write = guard.Grow{Group: "agents", From: 0, To: 1}
	}
	h.tally.actions++
	var refusal *guard.Refusal
	switch err := guard.CheckLocal(write, seen); {
	case errors.As(err, &refusal):
		h.tally.refused[refusal.Property]++
	case err == nil:
		_ = of.send(ctx, write, seen) // what fails is a fault among others
	}
}

// send sends a write of an agent.
func (h *hearing) send(ctx context.Context, w guard.Write, seen guard.Local) error {
	switch w := w.(type) {
	case guard.Announce:
		said := cluster.Notice{ID: w.Notice}
		if i := slices.IndexFunc(seen.Notices, func(n guard.Announced) bool { return n.ID == w.Notice }); i >= 0 {
			said = seen.Notices[i].Notice
		}
		return h.kube.Announce(ctx, w.Node, w.UID, said)
	case guard.Withdraw:
		return h.kube.Withdraw(ctx, w.Node, w.UID)
	case guard.Agree:
		return h.metadata.Agree(ctx, w.Notice)
	}
	return nil // an agent has no such write
}

// one is one of all, at random; nil when there is none.
func one[T any](h *whims, all []*T) *T {
	if len(all) == 0 {
		return nil
	}
	return all[h.luck.IntN(len(all))]
}
