package app

import (
	"context"
	"sync"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// dated is a lock that knows when the lease ends which it was last given: no earlier than a lease's length after the request was sent.
type dated struct {
	resourcelock.Interface
	lease time.Duration

	mu    sync.Mutex
	until time.Time
}

// Create implements [resourcelock.Interface].
func (d *dated) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	return d.given(sent, r, d.Interface.Create(ctx, r))
}

// Update implements [resourcelock.Interface].
func (d *dated) Update(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	sent := time.Now()
	return d.given(sent, r, d.Interface.Update(ctx, r))
}

func (d *dated) given(sent time.Time, r resourcelock.LeaderElectionRecord, err error) error {
	if err == nil && r.HolderIdentity == d.Identity() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.until = sent.Add(d.lease)
	}
	return err
}

// ends is when the lease ends unless it is renewed before.
func (d *dated) ends() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.until
}
