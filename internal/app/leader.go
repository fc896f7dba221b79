package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrLeaseLost ends a process that led and lost its lease: another one may be acting already.
var ErrLeaseLost = errors.New("the leader lease was lost; another replica may lead now")

// Election says whether and how replicas choose the one that acts.
type Election struct {
	Enabled   bool
	Namespace string
	Name      string
	Identity  string // unique to this process
	Lease     time.Duration
	Renew     time.Duration
	Retry     time.Duration
}

// lock is the lease of an election.
func (e Election) lock(client kubernetes.Interface) *dated {
	return &dated{Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
	}, name: e.Namespace + "/" + e.Name, holder: e.Identity, lease: e.Lease}
}

// lead calls run once this process holds the lease, with a context that ends when the lease is lost, and gives the lease back when run
// ends. It returns what run returned, or [ErrLeaseLost].
//
// run gets a clock that tells until when nobody else can lead, unless the lease is renewed before; without an election, zero. The lock is the election's.
func lead(ctx context.Context, lock *dated, e Election, log *slog.Logger, run func(ctx context.Context, leads func() time.Time) error) error {
	if !e.Enabled {
		return run(ctx, func() time.Time { return time.Time{} })
	}
	inner, stop := context.WithCancel(ctx)
	defer stop()
	var led atomic.Bool
	var result error
	ended := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: e.Lease, RenewDeadline: e.Renew, RetryPeriod: e.Retry,
		ReleaseOnCancel: true, Name: e.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				led.Store(true)
				log.Info("leading", "lease", e.Namespace+"/"+e.Name)
				result = run(ctx, lock.ends)
				close(ended)
				stop()
			},
			OnStoppedLeading: func() {},
			OnNewLeader: func(identity string) {
				if identity != e.Identity {
					log.Info("standing by", "leader", identity)
				}
			},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	elector.Run(inner)
	if ctx.Err() != nil && !led.Load() {
		return ctx.Err()
	}
	<-ended
	if ctx.Err() == nil && errors.Is(result, context.Canceled) {
		return ErrLeaseLost
	}
	return result
}
