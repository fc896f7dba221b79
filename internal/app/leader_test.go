package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func election(identity string) Election {
	return Election{Enabled: true, Namespace: "kube-system", Name: "cluster-autoscaler", Identity: identity, Lease: 15 * time.Second, Renew: 10 * time.Second, Retry: 2 * time.Second}
}

// waits runs until its context ends.
func waits(started *time.Time) func(context.Context, func() time.Time) error {
	return func(ctx context.Context, _ func() time.Time) error {
		*started = time.Now()
		<-ctx.Done()
		return ctx.Err()
	}
}

func TestOneReplicaActsAndTheNextTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, log := fake.NewClientset(), slog.New(slog.DiscardHandler)
		first, stopFirst := context.WithCancel(t.Context())
		second, stopSecond := context.WithCancel(t.Context())
		var firstLed, secondLed time.Time
		done := make(chan error, 2)
		go func() { done <- lead(first, election("a").lock(client), election("a"), log, waits(&firstLed)) }()
		time.Sleep(time.Second)
		go func() { done <- lead(second, election("b").lock(client), election("b"), log, waits(&secondLed)) }()
		time.Sleep(time.Minute)
		synctest.Wait()
		if firstLed.IsZero() || !secondLed.IsZero() {
			t.Fatalf("after a minute: first leads since %v, second since %v; want the first alone", firstLed, secondLed)
		}
		stopFirst()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the first ended with %v, want that it was told to", err)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if secondLed.IsZero() {
			t.Error("the second did not take over the lease that was given back")
		}
		stopSecond()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("the second ended with %v, want that it was told to", err)
		}
	})
}

func TestALeaseThatCannotBeRenewedEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, log := fake.NewClientset(), slog.New(slog.DiscardHandler)
		var away atomic.Bool
		client.PrependReactor("update", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return away.Load(), nil, errors.New("the API server is away")
		})
		var led time.Time
		done := make(chan error, 1)
		go func() { done <- lead(t.Context(), election("a").lock(client), election("a"), log, waits(&led)) }()
		time.Sleep(5 * time.Second)
		away.Store(true)
		if err := <-done; !errors.Is(err, ErrLeaseLost) {
			t.Errorf("ended with %v, want %v", err, ErrLeaseLost)
		}
	})
}

func TestWithoutElectionTheLoopRunsAtOnce(t *testing.T) {
	failure := errors.New("no cluster")
	if err := lead(t.Context(), nil, Election{}, nil, func(context.Context, func() time.Time) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("ended with %v, want %v", err, failure)
	}
}
