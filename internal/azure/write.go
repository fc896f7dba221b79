package azure

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
)

// How long the answer to a write is waited for: as long as Azure usually takes. Not so long again when the last write to the group had none in time.
const (
	writeWait  = 5 * time.Second
	writeAgain = leastWait
)

// lateRest is how long a group rests at least whose growth failed for a while: others are asked meanwhile.
const lateRest = 10 * time.Second

// aheadWait is how long a write waits for the record of it to be kept.
const aheadWait = leastWait

// writes are sent, recorded before and taken in after.
type writes struct {
	*state
	*questions
}

// recordIntent has the ledger told of a write that is about to be sent, and has it kept. It refuses the write when another process has written in the meantime
// what this one did not know of, and a removal of which nothing could be kept.
func (w *writes) recordIntent(ctx context.Context, own *group, doing string, removes bool, tell func() asked) (a asked, _ *cloud.Error) {
	w.mu.Lock()
	if own.asking != nil {
		defer w.mu.Unlock()
		return a, w.unanswered(own, own.asking)
	}
	a = tell()
	w.mu.Unlock()
	if w.options.Ahead == nil {
		return a, nil
	}
	ctx, cancel := context.WithTimeout(ctx, aheadWait)
	defer cancel()
	err := w.options.Ahead(ctx)
	switch {
	case err == nil:
		return a, nil
	case !removes && !errors.Is(err, ErrAccompanied):
		w.options.Log.Warn("a process that comes after this one may not know of a growth", "group", own.id, "action", doing, "err", err)
		return a, nil
	}
	w.mu.Lock()
	own.writing.ahead = ""
	w.mu.Unlock()
	w.tellUnsent(own.id, a)
	if errors.Is(err, ErrAccompanied) {
		return a, accompanied(own, doing)
	}
	return a, &cloud.Error{Kind: cloud.Conflict, Group: own.id, Code: "NotRecorded", Message: fmt.Sprintf("%s: the process that comes after this one would not know of it: %v; it waits until the status ConfigMap can be written", doing, err)}
}

func accompanied(own *group, doing string) *cloud.Error {
	return &cloud.Error{Kind: cloud.Conflict, Group: own.id, Code: "Accompanied", Message: doing + ": " + ErrAccompanied.Error() + "; it is decided anew with what that one did"}
}

// send makes a write to the group beside the caller, who learns after a while that there is no answer yet: it is taken in when it comes, and nothing
// else is asked about the group meanwhile. The write ends at the caller's deadline all the same (S-23). Wanted is the capacity that a growth asks for.
func (w *writes) send(ctx context.Context, own *group, doing string, wanted int, asked asked, write func(context.Context) error) error {
	w.mu.Lock()
	if own.asking != nil {
		w.tellUnsent(own.id, asked)
		defer w.mu.Unlock()
		if own.writing.wanted == 0 { // it is no growth, whose word stands
			own.writing.ahead = ""
		}
		return w.unanswered(own, own.asking)
	}
	q := newQuestion(writeWait)
	if q.doing = "write to"; own.writing.timedOut {
		q.patience = writeAgain
	}
	own.asking, own.writing.wanted = q, wanted
	w.mu.Unlock()

	end, ends := ctx.Deadline()
	var err error
	w.ask(w.life, q, func(ctx context.Context) func() {
		if ends {
			var cancel context.CancelFunc
			ctx, cancel = context.WithDeadline(ctx, end)
			defer cancel()
		}
		e := write(ctx)
		return func() {
			var fault *cloud.Error
			own.asking, own.writing.wanted, own.writing.ahead, err = nil, 0, "", e
			own.writing.timedOut = errors.As(e, &fault) && fault.Code == noAnswer
			if q.late && e != nil {
				w.failedLate(own, wanted, fault)
			}
		}
	})
	if !w.await(ctx, q) {
		return &cloud.Error{Kind: cloud.Unanswered, Group: own.id, Code: unansweredYet, Message: doing + ": " + w.host() + " has not answered yet; nothing is asked about the group until it does"}
	}
	return err
}

// failedLate takes in that a write failed for which nobody waits any more. The group is read again, and a growth's failure is told as that of an accepted
// one is: its pods look elsewhere. A lost race is no failure, nor is, when that read shows it, a growth that had no answer. state.mu is held.
func (w *writes) failedLate(own *group, wanted int, e *cloud.Error) {
	w.outdate(own, all)
	if wanted == 0 || e == nil || e.Kind == cloud.Conflict {
		return
	}
	own.failure = &cluster.Failure{At: w.now().UTC(), Kind: string(e.Kind), Code: e.Code, Message: e.Message, Quota: e.Quota}
	if e.Kind == cloud.Transient || e.Kind == cloud.Throttled {
		own.failure.Rest = max(lateRest, e.RetryAfter)
	}
	if outcomeUnknown(e) {
		own.writing.lost = wanted
	}
}

// SetCapacity asks for n machines in the group. It starts parked ones, and for the rest sends the capacity and nothing else (S-04), on
// condition that the group is still as g saw it. Any n that is not above g.Capacity is refused here.
func (p *Provider) SetCapacity(ctx context.Context, g *cluster.Group, n int) error {
	doing := fmt.Sprintf("resize %s to %d", g.ID, n)
	switch {
	case p.options.ReadOnly:
		return onlyLooks(g.ID, doing)
	case g.Capacity < 0:
		return &cloud.Error{Kind: cloud.Invalid, Group: g.ID, Code: "CapacityUnknown", Message: doing + ": its present capacity is unknown"}
	case n <= g.Capacity:
		return &cloud.Error{Kind: cloud.Invalid, Group: g.ID, Code: "NoGrowth", Message: fmt.Sprintf("%s: it has %d, and capacity only ever grows", doing, g.Capacity)}
	case g.Read.Version == "":
		return &cloud.Error{Kind: cloud.Conflict, Group: g.ID, Code: "EntityTagMissing", Message: doing + ": it was read without an entity tag, so that a change in between would go unseen"}
	}
	own, kind, fault := p.own(g.ID, doing)
	if fault != nil {
		return fault
	}
	starts, makes := g.Split(n)
	named := make([]cluster.Machine, len(starts))
	for i, in := range starts {
		named[i] = in.Machine()
	}
	p.mu.Lock()
	moved, wanted := own.view == nil || own.view.Capacity != g.Capacity || own.view.Read.Version != g.Read.Version, own.reading.model.capacity+makes
	p.mu.Unlock()
	if moved {
		return &cloud.Error{Kind: cloud.Conflict, Group: g.ID, Code: "ReadAgain", Message: doing + ": the group was read or written to meanwhile"}
	}
	asked, fault := p.writes.recordIntent(ctx, own, doing, false, func() asked { return p.tellGrowth(own, wanted, makes, named) })
	if fault != nil {
		return fault
	}
	return p.writes.send(ctx, own, doing, n, asked, func(ctx context.Context) error { return p.writes.grow(ctx, own, kind, g, wanted, makes, named, asked) })
}

// grow makes so many machines, by the capacity that is wanted, and starts those that are named.
func (w *writes) grow(ctx context.Context, own *group, kind kind, g *cluster.Group, wanted, makes int, named []cluster.Machine, asked asked) error {
	doing := fmt.Sprintf("resize %s to %d", g.ID, g.Capacity+makes+len(named))
	// The conditional request goes first: when it loses a race, nothing was started either.
	if makes > 0 {
		a, err := kind.grow(ctx, own.name, g.Read.Version, wanted)
		if err != nil {
			refusal := w.refusedGrowth(own, doing, makes, err)
			w.tellRefusal(own.id, asked.growth, refusal)
			w.tellUnsent(own.id, asked.with(0))
			return w.refusedOnce(own, refusal, err)
		}
		w.tellAnswer(own.id, asked.growth, fleet.Accepted)
		w.mu.Lock()
		own.writing.balked = time.Time{}
		own.reads.stamp = w.stamp()
		if !own.confirm(a.model) {
			own.reads.due = all
		}
		w.showAgain(own)
		w.begun(&operation{Operation: Operation{Group: own.id, Action: doing, Capacity: wanted, Machines: makes, Asked: asked.growth}}, a)
		w.mu.Unlock()
	}
	if len(named) == 0 {
		return nil
	}
	doing = fmt.Sprintf("start %s of %s", count(len(named), "parked machine"), g.ID)
	a, err := kind.start(ctx, own.name, idsOf(named))
	if err != nil {
		refusal := w.refusedGrowth(own, doing, len(named), err)
		w.tellConflict(own.id, asked.machines, refusal)
		switch cloud.KindOf(refusal) {
		case cloud.Allocation, cloud.Unavailable, cloud.Provisioning: // others stand in the way of new machines as well
			w.mu.Lock()
			own.passOver(named, w.now())
			w.showAgain(own)
			w.mu.Unlock()
		}
		return refusal
	}
	if a.ids != nil {
		named = machinesNamed(g.Parked, a.ids)
	}
	w.accepted(own, doing, named, a, asked.machines)
	return nil
}

// accepted shows what Azure has accepted to do to machines, and follows it.
func (w *writes) accepted(own *group, doing string, named []cluster.Machine, a *accepted, asked fleet.Instant) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tellTaken(own.id, asked, named)
	own.reads.stamp = w.stamp()
	w.begun(&operation{Operation: Operation{Group: own.id, Action: doing, Machines: len(named), Named: named, Asked: asked}}, a)
	if a.verb != verbStart {
		own.reads.due = all
	}
	w.showAgain(own)
}

// idsOf are the instance ids of machines.
func idsOf(all []cluster.Machine) []string {
	ids := make([]string, len(all))
	for i, m := range all {
		ids[i] = string(m.ID)
	}
	return ids
}

// machinesNamed are the instances with these ids.
func machinesNamed(all []*cluster.Instance, ids []string) []cluster.Machine {
	var named []cluster.Machine
	for _, in := range all {
		if slices.Contains(ids, string(in.ID)) {
			named = append(named, in.Machine())
		}
	}
	return named
}

// DeleteInstances names the machines to Azure, which deletes them, or switches them off in a group that says so: all but those that
// failed, which nobody wants to start again. One such operation is in flight for a group at a time, of as many machines as its kind
// removes at once: a longer list is sent in part and answered with a Conflict that says so.
func (p *Provider) DeleteInstances(ctx context.Context, g *cluster.Group, victims []cluster.Machine) error {
	doing := fmt.Sprintf("delete %s of %s", count(len(victims), "machine"), g.ID)
	if p.options.ReadOnly {
		return onlyLooks(g.ID, doing)
	}
	ids, fault := verify(g, victims, doing)
	if fault != nil {
		return fault
	}
	own, kind, fault := p.own(g.ID, doing)
	if fault != nil {
		return fault
	}
	if p.busyDeleting(own.id) {
		return &cloud.Error{Kind: cloud.Conflict, Group: own.id, Code: "DeletionUnderWay", Message: doing + ": another deletion in the group is under way"}
	}
	named := len(ids)
	does, ids := p.alike(own, g, ids, kind.atOnce())
	word, remove := "delete", kind.remove
	if does == verbPark {
		word, remove = "deallocate", kind.park
	}
	doing = fmt.Sprintf("%s %s of %s", word, count(len(ids), "machine"), g.ID)
	asked, fault := p.writes.recordIntent(ctx, own, doing, true, func() asked { return p.tellRemoval(own.id, does, machinesNamed(g.Instances, ids)) })
	if fault != nil {
		return fault
	}
	return p.writes.send(ctx, own, doing, 0, asked, func(ctx context.Context) error {
		a, err := remove(ctx, own.name, g.Read.Version, ids)
		if err != nil {
			refusal := p.writes.refused(own, doing, err)
			p.tellConflict(own.id, asked.machines, refusal)
			return refusal
		}
		if a.ids != nil {
			ids = a.ids
			doing = fmt.Sprintf("%s %s of %s", word, count(len(ids), "machine"), g.ID)
		}
		p.writes.accepted(own, doing, machinesNamed(g.Instances, ids), a, asked.machines)
		if rest := named - len(ids); rest > 0 {
			return &cloud.Error{Kind: cloud.Conflict, Group: own.id, Code: "DeletionUnderWay", Message: fmt.Sprintf("%s: accepted; the other %d wait until they are gone", doing, rest)}
		}
		return nil
	})
}

// alike are the first of the machines that one request removes, and how.
func (s *state) alike(own *group, g *cluster.Group, ids []string, most int) (verb, []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	does := verbDelete
	if own.reading.model.parks {
		kept := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
			return g.Instance(cluster.InstanceID(id)).State == cluster.StateFailed
		})
		if len(kept) > 0 {
			does, ids = verbPark, kept
		}
	}
	return does, ids[:min(len(ids), most)]
}

// verify finds each machine, by id and UID, among those that g saw, and returns the ids without repetition.
func verify(g *cluster.Group, victims []cluster.Machine, doing string) ([]string, *cloud.Error) {
	if len(victims) == 0 {
		return nil, &cloud.Error{Kind: cloud.Invalid, Group: g.ID, Code: "NoMachineNamed", Message: doing + ": no machine is named, which Azure may read as all"}
	}
	conflict := func(code string, m cluster.Machine, why string) *cloud.Error {
		return &cloud.Error{Kind: cloud.Conflict, Group: g.ID, Code: code, Message: fmt.Sprintf("%s: machine %s %s", doing, m.ID, why)}
	}
	var ids []string
	seen := map[cluster.InstanceID]bool{}
	for _, m := range victims {
		in := g.Instance(m.ID)
		switch {
		case m.ID == "" || m.UID == "":
			return nil, &cloud.Error{Kind: cloud.Invalid, Group: g.ID, Code: "MachineWithoutID", Message: doing + ": a machine without id or unique id is named"}
		case m.Group != g.ID:
			return nil, &cloud.Error{Kind: cloud.Invalid, Group: g.ID, Code: "OtherGroup", Message: fmt.Sprintf("%s: machine %s is one of group %s", doing, m.ID, m.Group)}
		case in == nil:
			return nil, conflict("MachineGone", m, "is not there any more")
		case !strings.EqualFold(in.UID, m.UID):
			return nil, conflict("MachineReplaced", m, "is another one now")
		case in.State == cluster.StateDeleting:
			return nil, conflict("MachineDeleting", m, "is being deleted already")
		case !seen[m.ID]:
			seen[m.ID] = true
			ids = append(ids, string(m.ID))
		}
	}
	return ids, nil
}

// own is the group of that id and its kind, which the read that a write rests on has told.
func (s *state) own(id cluster.GroupID, doing string) (*group, kind, *cloud.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch g := s.groups[key(string(id))]; {
	case g == nil:
		return nil, nil, unknown(id)
	case g.reading == nil:
		return nil, nil, &cloud.Error{Kind: cloud.Conflict, Group: id, Code: "NotRead", Message: doing + ": the group was not read before"}
	default:
		return g, g.reading.model.kind, nil
	}
}

func (s *state) busyDeleting(id cluster.GroupID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deletes(id)
}

// deletes says whether machines of the group are being removed. state.mu is held.
func (s *state) deletes(id cluster.GroupID) bool {
	return s.underWay(id, verbDelete) || s.underWay(id, verbPark)
}

// underWay says whether an operation that does this to machines of the group is in flight. state.mu is held.
func (s *state) underWay(id cluster.GroupID, does verb) bool {
	return slices.ContainsFunc(s.operations, func(o *operation) bool { return o.Group == id && o.Verb == does })
}

// refusedGrowth is a growth by so many machines that was not accepted: of a quota it says how many would be.
func (w *writes) refusedGrowth(g *group, doing string, machines int, err error) *cloud.Error {
	e := w.refused(g, doing, err)
	if e.Quota != nil && e.Quota.Needed > 0 {
		e.Quota.Left = machinesLeft(e.Quota, machines)
	}
	return e
}

// balkFor is how long after one dubious refusal of a growth the next one is taken at its word, unless one was accepted in between.
const balkFor = 10 * time.Minute

// refusedOnce is the refusal of a growth. A right that is lacking is, the first time, a conflict: the group is read and decided on anew before another one is
// asked. An entity tag that is refused twice in a row is no lost race: reads are stale, or others write all the time, and others are asked meanwhile.
func (w *writes) refusedOnce(own *group, refusal *cloud.Error, err error) error {
	stale := refusedWith(err, http.StatusPreconditionFailed)
	if !stale && (refusal.Kind != cloud.Unauthorized || !w.once(err)) {
		return refusal
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	again := w.now().Sub(own.writing.balked) < balkFor
	own.writing.balked = w.now()
	switch {
	case !again:
		refusal.Kind = cloud.Conflict
		own.reads.due, own.reads.stamp = all, w.stamp()
	case stale:
		refusal.RetryAfter = lateRest
		refusal.Message += "; twice in a row"
	}
	return refusal
}

// refused is a write that was not accepted, or whose answer was lost. Where the group may have changed it is read again.
func (w *writes) refused(g *group, doing string, err error) *cloud.Error {
	e := w.wrap(g.id, doing, err)
	if e.Kind == cloud.NotFound {
		e = w.missing(g.id, g.name)
	}
	if outcomeUnknown(e) {
		e.Message += "; the next cycle reads what came of it"
	}
	var answered *azcore.ResponseError
	var shut *shutError
	if e.Kind == cloud.Conflict || !errors.As(err, &answered) && !errors.As(err, &shut) {
		w.mu.Lock()
		g.reads.due, g.reads.stamp = all, w.stamp()
		if id := absent(err); id != "" {
			w.tellAbsent(g, id)
		}
		w.mu.Unlock()
	}
	return e
}

// onlyLooks is the refusal of a write by a process that is to make none.
func onlyLooks(id cluster.GroupID, doing string) error {
	return &cloud.Error{Kind: cloud.Invalid, Group: id, Code: "ReadOnly", Message: doing + ": this process only looks and writes nothing"}
}

// count is a number of things in words.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
