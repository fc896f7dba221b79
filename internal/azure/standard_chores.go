package azure

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"sluice.dev/sluice/cloud"
)

// tasks are what a source goes on with between the writes it is told to make.
type tasks interface {
	// carryOn does what is due, one request after the other, and writes nothing once ends says that the lease may not outlive it (S-23). What stays undone
	// is reported by remains.
	carryOn(ctx context.Context, ends lease)
	// next is when carryOn has something to do; zero when it has not.
	next() time.Time
	// refusals are what was not done since they were last asked for, as it would have broken a promise.
	refusals() []cloud.Refusal
	// remains are sentences about what could not be done, sorted.
	remains() []string
}

var _ tasks = (*standard)(nil)

// The complaints of [standard.clear] and [standard.sweep].
const (
	deploymentsStay = "old deployments are not deleted"
	remnantsUnseen  = "interfaces and disks of removed machines are not looked for"
)

const (
	// pruneAtOnce is how many deployments one cycle deletes.
	pruneAtOnce = 3
	// pruneEvery is how often deployments are looked at while some are to go, or one is at it that nobody follows.
	pruneEvery = time.Minute
)

// lease says until when nobody else leads; nil, or the zero time, for ever.
type lease func() time.Time

// taskWriteTimeout is what a write of a chore may take, at most, until Azure has it.
const taskWriteTimeout = 5 * time.Second

// outlives says whether the lease lasts longer than a write that begins now, and when it ends.
func (l lease) outlives(now time.Time) (ends time.Time, ok bool) {
	if l == nil {
		return ends, true
	}
	ends = l()
	return ends, ends.IsZero() || ends.Sub(now) >= taskWriteTimeout
}

// housekeeping is what a source has to tidy up, for which somebody waits a little.
type housekeeping struct {
	*state
	*questions

	// state.mu guards what follows.

	lease    lease     // of this process; nil when it needs none
	doing    *question // those under way; nil when none are
	timedOut bool      // the last ones had no end in time
}

// Lease is [cloud.Leaseholder].
func (p *Provider) Lease(ends func() time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.housekeeping.lease = ends
}

// carryOn has chores done beside the cycle, which waits for them as long as for an answer: one that hangs holds up nobody (S-30).
func (h *housekeeping) carryOn(ctx context.Context) {
	source, ok := h.source.(tasks)
	if !ok {
		return
	}
	h.mu.Lock()
	if at := source.next(); h.doing != nil || at.IsZero() || h.now().Before(at) {
		h.mu.Unlock()
		return
	}
	q := newQuestion(leastWait)
	if h.timedOut {
		q.patience = 0
	}
	h.doing = q
	ends := h.lease
	h.mu.Unlock()
	caller := ctx // who may write no more when it ends
	h.ask(h.life, q, func(ctx context.Context) func() {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(caller, cancel)()
		source.carryOn(ctx, ends)
		return func() { h.doing, h.timedOut = nil, h.now().Sub(q.asked) > leastWait }
	})
	h.await(ctx, q)
}

func (s *standard) carryOn(ctx context.Context, ends lease) {
	s.sweep(ctx, ends)
	s.clear(ctx, ends)
}

func (s *standard) next() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.sweeper.due.IsZero():
		return s.prune
	case s.prune.IsZero() || s.sweeper.due.Before(s.prune):
		return s.sweeper.due
	}
	return s.prune
}

// clear deletes the records of finished deployments but for the newest: a resource group holds 800 of all writers together. It also hears
// the end of those that nobody follows.
func (s *standard) clear(ctx context.Context, ends lease) {
	s.mu.Lock()
	due := s.prune
	if due.IsZero() || s.now().Before(due) {
		s.mu.Unlock()
		return
	}
	s.prune = time.Time{} // whoever asks for another look meanwhile gets one
	known := slices.Clone(s.growths.growing)
	s.mu.Unlock()
	all, err := s.arm.deployments(ctx)
	var finished []*deployment
	active := map[string]bool{}
	for _, d := range all {
		switch {
		case !strings.HasPrefix(d.Name, ownDeployment):
		case d.active():
			active[d.Name] = true
		default:
			finished = append(finished, d)
		}
	}
	slices.SortFunc(finished, func(a, b *deployment) int { return b.Properties.Timestamp.Compare(a.Properties.Timestamp) })
	left := 0
	if err == nil && !s.readOnly && len(finished) > s.keep {
		old := finished[s.keep:]
		left = max(0, len(old)-pruneAtOnce)
		for _, d := range old[len(old)-min(len(old), pruneAtOnce):] { // the oldest
			if s.withheld(ends, d.Name) {
				left = len(old)
				break
			}
			if err = s.arm.forget(ctx, d.Name); err != nil {
				break
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.complain(deploymentsStay, err)
		s.prune = sooner(s.prune, s.now().Add(lastPause))
		return
	}
	delete(s.said, deploymentsStay)
	unanswered, now := false, s.now().UTC()
	for _, g := range known {
		if g.followed || !g.Over.IsZero() {
			continue
		}
		if i := slices.IndexFunc(finished, func(d *deployment) bool { return d.Name == g.Deployment }); i >= 0 {
			g.Over, g.Failed = now, finished[i].Properties.ProvisioningState != "Succeeded"
		} else if !active[g.Deployment] && now.Sub(g.Begun) >= believeFor { // the list may be older than others
			g.Over, g.Failed = now, true
		}
		unanswered = unanswered || g.Over.IsZero()
	}
	s.growths.growing = slices.DeleteFunc(s.growths.growing, func(g *growth) bool { return !g.Over.IsZero() && now.Sub(g.Over) >= believeFor })
	if left > 0 || unanswered {
		s.prune = sooner(s.prune, s.now().Add(pruneEvery))
	}
}

// sooner is the first of two times, of which zero is never.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// complain tells why a chore is not done: what Azure refuses is a warning, once for each reason, and the rest passes. standard.mu is held.
func (s *standard) complain(of string, err error) {
	why := reasonOf(err)
	var refused *azcore.ResponseError
	if !errors.As(err, &refused) || s.said[of] == why {
		s.log.Debug(of, "err", why)
		return
	}
	if s.said == nil {
		s.said = map[string]string{}
	}
	s.said[of] = why
	s.log.Warn(of, "err", why)
}
