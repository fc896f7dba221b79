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
	holder string
	lease  time.Duration

	mu    sync.Mutex
	until time.Time
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
	if err == nil && r.HolderIdentity == d.holder {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.until = sent.Add(d.lease)
	}
}

// ends is when the lease ends unless it is renewed before.
func (d *dated) ends() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.until
}
