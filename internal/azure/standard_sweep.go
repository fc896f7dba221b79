package azure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/reason"
)

// sweeper is what is remembered of the interfaces and disks that are to go. standard.mu guards it.
type sweeper struct {
	due  time.Time           // when to look again; zero: nothing is under way
	seen map[string]*remnant // by id in lower case

	untagging map[string]bool // machines, by UID, of which a tag is being taken back

	refused  []cloud.Refusal // since somebody asked
	withheld bool            // the last write waits for the lease, and that is on record
}

// remnant is one tagged resource.
type remnant struct {
	since time.Time // first seen in its present plight: its machine stays, or has gone
	alone bool      // its machine has gone
	next  time.Time // not tried before
	tries int
	why   string // it could not be deleted the last time; "" when Azure accepted
}

const (
	// sweepEvery is how often the sweeper looks while something is under way.
	sweepEvery = 15 * time.Second
	// takeBackAfter is how long a machine stays, after its belongings were tagged and nobody deletes it, before the tags are taken back: a
	// deletion that Azure has accepted may take a moment to show.
	takeBackAfter = 2 * time.Minute
	// The pauses between attempts to delete one resource double from the first to the last.
	firstPause, lastPause = 30 * time.Second, 10 * time.Minute
	// lateAfter is how long a resource may outlive its machine before it is reported.
	lateAfter = 10 * time.Minute
)

// sweep deletes what is tagged and whose machine has gone, and takes the tags back where the machine is to stay. It goes by three things
// that must agree: the tag, no machine of that vmId in the list, and no user of the resource. It looks only while there is something to
// see: after a start, and until a removal is through.
//
// It goes on beside cycles. So it takes no list for true of what was begun after the list was asked for, does nothing on lists that are older than
// [sweepEvery], and takes no tag back that a removal has come to rely on.
func (s *standard) sweep(ctx context.Context, ends lease) {
	s.mu.Lock()
	asked := s.now()
	if s.sweeper.due.IsZero() || asked.Before(s.sweeper.due) {
		s.mu.Unlock()
		return
	}
	s.sweeper.due = time.Time{} // whoever asks for another look meanwhile gets one
	known := maps.Clone(s.removing)
	s.mu.Unlock()
	vms, err := s.list(ctx)
	var all map[string]*belonging
	if err == nil {
		all, err = s.arm.belongings(ctx)
	}
	now := s.now()
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.complain(remnantsUnseen, err)
		s.sweeper.due = sooner(s.sweeper.due, now.Add(firstPause))
		return
	}
	for _, t := range s.weigh(ctx, vms, all, known, now) {
		if s.now().Sub(asked) > sweepEvery {
			return // the next look finds it again
		}
		if s.withheld(ends, t.id) {
			s.sweepAt(s.now().Add(sweepEvery))
			return
		}
		s.try(t)
	}
}

// withheld says that a write has to wait, since the lease might end before it arrives, and puts that on record, once until one may be sent again.
func (s *standard) withheld(lease lease, resource string) bool {
	now := s.now()
	ends, ok := lease.outlives(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	reported := s.sweeper.withheld
	s.sweeper.withheld = !ok
	if ok || reported {
		return !ok
	}
	why := reason.New(reason.LeaseTooShort, reason.Ref{}, "ends", ends.UTC().Format(time.RFC3339), "limit", taskWriteTimeout)
	s.sweeper.refused = append(s.sweeper.refused, cloud.Refusal{At: now.UTC(), Property: "S-23", Resource: resource, Why: why.Sentence()})
	return true
}

func (s *standard) sweepAt(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.readOnly {
		s.sweeper.due = t
	}
}

// task is one attempt on one tagged resource.
type task struct {
	id   string
	of   string // the UID of the machine whose tag is taken back; "" for a deletion
	done string // what it has become when the attempt succeeds
	do   func() error
}

// weigh says what is to be done about the tagged resources. Known are the removals that had begun when the lists were asked for.
func (s *standard) weigh(ctx context.Context, vms []*armcompute.VirtualMachine, all map[string]*belonging, known map[string]string, now time.Time) []task {
	s.mu.Lock()
	defer s.mu.Unlock()
	machines := map[string]*armcompute.VirtualMachine{}
	for _, vm := range vms {
		if uid := uidOf(vm); uid != "" {
			machines[uid] = vm
		}
	}
	var tasks []task
	open := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		uid := strings.ToLower(all[id].Tags[deleteWith])
		if uid == "" {
			delete(s.sweeper.seen, id)
			continue
		}
		open[uid] = true
		if s.removing[uid] != "" && known[uid] == "" {
			continue
		}
		if t := s.judge(ctx, id, all[id], machines[uid], now); t != nil {
			tasks = append(tasks, *t)
		}
	}
	maps.DeleteFunc(s.sweeper.seen, func(id string, _ *remnant) bool { return all[id] == nil })
	maps.DeleteFunc(s.removing, func(uid, _ string) bool { return machines[uid] == nil && !open[uid] && known[uid] != "" })
	delete(s.said, remnantsUnseen)
	if len(open) > 0 || len(s.removing) > 0 {
		s.sweeper.due = sooner(s.sweeper.due, now.Add(sweepEvery))
	}
	return tasks
}

// judge says what the fate of its machine asks to be done about one tagged resource; nil: nothing now. standard.mu is held.
func (s *standard) judge(ctx context.Context, id string, b *belonging, vm *armcompute.VirtualMachine, now time.Time) *task {
	r := s.sweeper.seen[id]
	if r == nil || r.alone != (vm == nil) {
		r = &remnant{since: now, alone: vm == nil}
		s.sweeper.seen[id] = r
	}
	switch {
	case vm != nil && (s.removing[uidOf(vm)] != "" || val(vm.Properties.ProvisioningState) == "Deleting"):
		r.since = now // its machine goes
	case now.Before(r.next):
	case vm != nil && now.Sub(r.since) >= takeBackAfter:
		tags := maps.Clone(b.Tags)
		delete(tags, deleteWith)
		return &task{id, uidOf(vm), "untagged", func() error { return s.arm.retag(ctx, b, tags) }}
	case vm != nil:
	case b.user() != "":
		why := fmt.Sprintf("Azure says that %s uses it, though its own machine has gone", b.user())
		if why != r.why {
			s.sweeper.refused = append(s.sweeper.refused, cloud.Refusal{At: now.UTC(), Property: "S-37", Resource: id, Why: why})
		}
		r.why = why
	default:
		return &task{id, "", "deleted", func() error { return s.arm.remove(ctx, b) }}
	}
	return nil
}

// try makes an attempt, and plans the next for the case that it has not helped.
func (s *standard) try(t task) {
	if t.of != "" && !s.untags(t.of) {
		return
	}
	err := t.do()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sweeper.untagging, t.of)
	r := s.sweeper.seen[t.id]
	if r == nil {
		return
	}
	r.next = s.now().Add(min(lastPause, firstPause<<min(r.tries, 10)))
	r.tries++
	r.why = ""
	if err != nil {
		r.why = reasonOf(err)
		s.log.Warn("what belongs to a removed machine is not "+t.done, "resource", t.id, "err", r.why)
	}
}

// untags notes that a tag of the machine is being taken back, unless its removal has begun meanwhile.
func (s *standard) untags(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.removing[uid] != "" {
		return false
	}
	if s.sweeper.untagging == nil {
		s.sweeper.untagging = map[string]bool{}
	}
	s.sweeper.untagging[uid] = true
	return true
}

// reasonOf is a refusal in a sentence.
func reasonOf(err error) string {
	var refused *azcore.ResponseError
	if errors.As(err, &refused) {
		a, status := answerOf(refused)
		return a.sentence(kindOf(status, a), subject{})
	}
	_, reason := unanswered(err, "Resource Manager")
	return reason
}

func (s *standard) refusals() []cloud.Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.sweeper.refused
	s.sweeper.refused = nil
	return all
}

// remains are sentences about interfaces and disks that have outlived their machines, each with its id, sorted.
func (s *standard) remains() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, id := range slices.Sorted(maps.Keys(s.sweeper.seen)) {
		r := s.sweeper.seen[id]
		switch late := r.alone && s.now().Sub(r.since) >= lateAfter; {
		case r.why != "":
			out = append(out, fmt.Sprintf("%s is to go with a machine that was removed, and is not deleted: %s", id, r.why))
		case late:
			out = append(out, fmt.Sprintf("%s has outlived its machine since %s: Azure has accepted its deletion and does not carry it out", id, r.since.UTC().Format(time.DateTime)))
		}
	}
	return out
}
