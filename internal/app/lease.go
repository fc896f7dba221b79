package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// dated is a lock that knows when the lease ends which it was last given: no earlier than a lease's length after the request was sent. It knows, too, why
// the lease cannot be had.
type dated struct {
	resourcelock.Interface
	name   string // namespace/name of the lease
	holder string
	lease  time.Duration

	mu       sync.Mutex
	until    time.Time
	answered time.Time // when the API server last did what was asked; zero when it never has
	unread   error     // of the last read
	refused  error     // of the last write, nil when another replica was faster or has the lease since
	renewed  time.Time // by another holder, as last read
}

// Get implements [resourcelock.Interface].
func (d *dated) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	r, raw, err := d.Interface.Get(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unread = err
	switch {
	case apierrors.IsNotFound(err):
		d.unread, d.answered = nil, time.Now() // it is made next
	case err == nil:
		d.answered = time.Now()
		if r.HolderIdentity != "" && r.HolderIdentity != d.holder && r.RenewTime.After(d.renewed) {
			d.renewed, d.refused = r.RenewTime.Time, nil
		}
	}
	return r, raw, err
}

// Create implements [resourcelock.Interface].
func (d *dated) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	err := d.Interface.Create(ctx, r)
	d.given(sent, r, err)
	return err
}

// Update implements [resourcelock.Interface].
func (d *dated) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	err := d.Interface.Update(ctx, r)
	d.given(sent, r, err)
	return err
}

func (d *dated) given(sent time.Time, r resourcelock.LeaderElectionRecord, err error) {
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
		d.until = sent.Add(d.lease)
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
