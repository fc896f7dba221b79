package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// slowLock takes its time to answer, and may refuse.
type slowLock struct {
	resourcelock.Interface
	takes  time.Duration
	answer error
}

func (l *slowLock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

func (l *slowLock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	time.Sleep(l.takes)
	return l.answer
}

// TestALeaseEndsALengthAfterItWasAskedFor, however long the answer took: another replica counts from the time that the record bears (S-23).
func TestALeaseEndsALengthAfterItWasAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := &slowLock{takes: 4 * time.Second}
		d := &dated{Interface: lock, holder: "a", lease: 15 * time.Second}
		mine, theirs := resourcelock.LeaderElectionRecord{HolderIdentity: "a"}, resourcelock.LeaderElectionRecord{HolderIdentity: "b"}
		if !d.ends().IsZero() {
			t.Error("a lease that nobody has asked for ends some time")
		}
		ends := time.Now().Add(15 * time.Second)
		if err := d.Create(t.Context(), mine); err != nil || !d.ends().Equal(ends) {
			t.Errorf("created: %v, it ends at %s, want %s", err, d.ends(), ends)
		}
		ends = time.Now().Add(15 * time.Second)
		if err := d.Update(t.Context(), mine); err != nil || !d.ends().Equal(ends) {
			t.Errorf("renewed: %v, it ends at %s, want %s", err, d.ends(), ends)
		}
		if err := d.Update(t.Context(), theirs); err != nil || !d.ends().Equal(ends) {
			t.Errorf("given to another: %v, it ends at %s, want %s", err, d.ends(), ends)
		}
		lock.answer = errors.New("the answer was lost")
		if err := d.Update(t.Context(), mine); !errors.Is(err, lock.answer) || !d.ends().Equal(ends) {
			t.Errorf("not renewed: %v, it ends at %s, want %s", err, d.ends(), ends)
		}
	})
}
