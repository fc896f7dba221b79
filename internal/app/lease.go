package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// dated is a lock that knows when the lease ends which it was last given: a lease's length after the time that the lease bears, which is no later than the
// request was sent. It knows, too, why the lease cannot be had, and whether another process has had it since.
//
// It shows a lease of another holder as free once that has certainly run out (see [dated.free]): client-go waits a whole length from when it first sees one.
type dated struct {
	resourcelock.Interface
	name    string // namespace/name of the lease
	holder  string
	machine string // see [Election.Machine]
	lease   time.Duration

	mu       sync.Mutex
	until    time.Time // zero before it was given first
	lost     func()    // called when another process has had the lease since; nil for nobody
	gone     bool      // it has
	answered time.Time // when the API server last did what was asked; zero when it never has
	unread   error     // of the last read
	refused  error     // of the last write, nil when another replica was faster or has the lease since
	renewed  time.Time // by another holder, as last read
	leads    string    // the holder, as last read
}

// errTaken keeps client-go from taking back a lease that another process has had meanwhile.
var errTaken = errors.New("another process has had the lease")

// Get implements [resourcelock.Interface].
func (d *dated) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, raw, err := d.Interface.Get(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	d.unread = err
	if err == nil {
		d.leads = r.HolderIdentity
	}
	switch {
	case apierrors.IsNotFound(err):
		d.unread, d.answered, d.leads = nil, now, "" // it is made next
		if d.ran(now) {
			return nil, nil, d.give(now)
		}
	case err == nil:
		d.answered = now
		if r.HolderIdentity == d.holder {
			break
		}
		if !d.until.IsZero() {
			return nil, nil, d.give(now)
		}
		again := r.RenewTime.Time.Equal(d.renewed)
		if r.HolderIdentity != "" && r.RenewTime.After(d.renewed) {
			d.renewed, d.refused = r.RenewTime.Time, nil
		}
		if d.free(r, now, again) {
			free := *r
			free.HolderIdentity, r = "", &free
		}
	}
	return r, raw, err
}

// wrong is by how much the clocks of two machines may differ: each is wrong by up to 90 seconds.
const wrong = 3 * time.Minute

// free says whether the lease of another holder has run out, by what it bears itself. A process on the same machine has counted by the same clock. The clock of
// another machine may be wrong; and a holder that lives renews the lease between two reads, which nobody has done who is seen again as before.
func (d *dated) free(r *resourcelock.LeaderElectionRecord, now time.Time, again bool) bool {
	if r.RenewTime.IsZero() || r.LeaseDurationSeconds <= 0 {
		return false
	}
	ended := now.Sub(r.RenewTime.Add(time.Duration(r.LeaseDurationSeconds) * time.Second))
	if d.machine != "" && strings.HasPrefix(r.HolderIdentity, d.machine+"_") {
		return ended > 0
	}
	return ended > wrong && again
}

// leader is who held the lease when it was last read; "" for nobody.
func (d *dated) leader() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.leads
}

// ran says whether this process has had the lease, and it has run out. mu is held.
func (d *dated) ran(now time.Time) bool { return !d.until.IsZero() && now.After(d.until) }

// give has this process lead no more, for good. mu is held.
func (d *dated) give(now time.Time) error {
	if d.gone = true; now.Before(d.until) {
		d.until = now
	}
	if d.lost != nil {
		d.lost()
	}
	return errTaken
}

// whenTaken has lost called when another process has had the lease since this one had it.
func (d *dated) whenTaken(lost func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost = lost
}

// taken says whether another process has had the lease since this one had it.
func (d *dated) taken() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.gone
}

// release gives the lease back, if it still is this process's, so that the next one need not wait for its end.
func (d *dated) release(ctx context.Context, within time.Duration) {
	if d.ends().IsZero() || d.taken() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if r, _, err := d.Interface.Get(ctx); err == nil && r.HolderIdentity == d.holder {
		now := metav1.Now()
		_ = d.Interface.Update(ctx, resourcelock.LeaderElectionRecord{LeaderTransitions: r.LeaderTransitions, LeaseDurationSeconds: 1, RenewTime: now, AcquireTime: now})
	}
}

// Create implements [resourcelock.Interface].
func (d *dated) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	err := d.Interface.Create(ctx, r)
	d.given(r, err)
	return err
}

// Update implements [resourcelock.Interface].
func (d *dated) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	err := d.Interface.Update(ctx, r)
	d.given(r, err)
	return err
}

func (d *dated) given(r resourcelock.LeaderElectionRecord, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refused = err; apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		d.refused = nil // another replica was faster
	}
	if err != nil {
		return
	}
	d.answered = time.Now()
	if r.HolderIdentity == d.holder {
		d.until = r.RenewTime.Add(d.lease)
	}
}

// ends is when the lease ends unless it is renewed before.
func (d *dated) ends() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.until
}

// problem says in one sentence why the lease cannot be had: the API server refuses it or does not answer. It is nil while this process holds the lease,
// and while it waits for another that does.
func (d *dated) problem() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.unread != nil:
		return d.says("read", d.unread)
	case d.refused != nil:
		return d.says("write", d.refused)
	case d.answered.IsZero():
		return fmt.Errorf("lease %s has not been read yet", d.name)
	}
	if silent := time.Since(d.answered); silent > d.lease {
		return fmt.Errorf("lease %s cannot be had: the API server has not answered about it for %s (limit %s)", d.name, silent.Truncate(time.Second), d.lease)
	}
	return nil
}

// says names what the API server does, and not in its own words: they are in the log, and everybody may ask whether this process is ready.
func (d *dated) says(what string, err error) error {
	var status apierrors.APIStatus
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return fmt.Errorf("lease %s cannot be had: the API server does not allow this process to %s it; give it the rights of deploy/rbac.yaml", d.name, what)
	case errors.As(err, &status):
		return fmt.Errorf("lease %s cannot be had: the API server does not %s it (%s); the log says why", d.name, what, status.Status().Reason)
	}
	return fmt.Errorf("lease %s cannot be had: the API server does not answer; the log says why", d.name)
}
