package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrLeaseLost ends a process that led and whose lease another one has taken: that one may be acting already.
var ErrLeaseLost = errors.New("the leader lease was lost; another replica may lead now")

// Election says whether and how replicas choose the one that acts.
type Election struct {
	Enabled   bool
	Namespace string
	Name      string
	Identity  string // unique to this process: a lease that names it names no other
	Machine   string // what the identities of all processes on this machine begin with, who share its clock; "" when nobody knows
	Lease     time.Duration
	Renew     time.Duration
	Retry     time.Duration
}

// Identify is the [Election.Machine] and the [Election.Identity] of this process. Hosts may bear one name, and processes in containers one number: neither
// tells two processes apart.
func Identify(host string) (machine, identity string) {
	var own [4]byte
	rand.Read(own[:])

	// A container has no id of its machine.
	for _, path := range []string{"/etc/machine-id", "/proc/sys/kernel/random/boot_id"} {
		if id, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(id)) != "" {
			sum := sha256.Sum256(id) // the id itself is nobody else's business
			machine = host + "_" + hex.EncodeToString(sum[:4])
			return machine, machine + "_" + hex.EncodeToString(own[:])
		}
	}
	return "", host + "_" + hex.EncodeToString(own[:])
}

// lock is the lease of an election. Others count whole seconds of its length.
func (e Election) lock(client kubernetes.Interface) *dated {
	return &dated{Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
	}, name: e.Namespace + "/" + e.Name, holder: e.Identity, machine: e.Machine, lease: e.Lease.Truncate(time.Second)}
}

// lead calls run once this process holds the lease, with a context that ends when the lease is not renewed, and gives the lease back when run ends by itself
// or ctx does. While the lease cannot be renewed and still names this process, nobody else leads: run is called anew once it is renewed, as in a process that
// begins. lead returns what run returned, or [ErrLeaseLost].
//
// run gets a clock that tells until when nobody else can lead, unless the lease is renewed before; without an election, zero. The lock is the election's.
func lead(ctx context.Context, lock *dated, e Election, log *slog.Logger, run func(ctx context.Context, leads func() time.Time) error) error {
	if !e.Enabled {
		return run(ctx, func() time.Time { return time.Time{} })
	}
	for {
		renewed, err := term(ctx, lock, e, log, run)
		switch {
		case renewed || ctx.Err() != nil:
			lock.release(context.WithoutCancel(ctx), e.Renew)
			return err
		case lock.taken():
			return ErrLeaseLost
		}
		log.Warn("the lease cannot be renewed: sluice writes nothing until it is, and then reads everything anew", "lease", lock.name, "ends", lock.ends().UTC())
	}
}

// term leads from when the lease is held until run ends, and says whether the lease was renewed until then.
func term(ctx context.Context, lock *dated, e Election, log *slog.Logger, run func(ctx context.Context, leads func() time.Time) error) (renewed bool, result error) {
	inner, stop := context.WithCancel(ctx)
	defer stop()
	lock.whenTaken(stop)
	var begins sync.Once // run does, or this returns before
	ended := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:          lock,
		LeaseDuration: e.Lease, RenewDeadline: e.Renew, RetryPeriod: e.Retry, Name: e.Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				begins.Do(func() {
					log.Info("leading", "lease", lock.name)
					result = run(held, lock.ends)
					renewed = held.Err() == nil
					close(ended)
					stop()
				})
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
		return true, fmt.Errorf("leader election: %w", err)
	}
	elector.Run(inner)
	begins.Do(func() {
		result = ctx.Err()
		close(ended)
	})
	<-ended
	return renewed, result
}
