package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// A life is one time that an elected process ran.
type life struct{ began, ended, leads time.Time }

// lives runs until its context ends, again and again.
func lives(all *[]life) func(context.Context, func() time.Time) error {
	return func(ctx context.Context, leads func() time.Time) error {
		*all = append(*all, life{began: time.Now()})
		<-ctx.Done()
		l := &(*all)[len(*all)-1]
		l.ended, l.leads = time.Now(), leads()
		return ctx.Err()
	}
}

// outage has the lease's API server be away while the returned switch is on.
func outage(client *fake.Clientset) *atomic.Bool {
	var away atomic.Bool
	client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		return away.Load(), nil, errors.New("the API server is away")
	})
	return &away
}

// TestALeaseThatNobodyElseTookIsRenewed has the API server be away for eight seconds up to an hour, from and to odd seconds, since the lease is renewed at even
// ones: the process ends nothing but what it did, before the lease ends, and begins anew within seconds of the API server's return.
func TestALeaseThatNobodyElseTookIsRenewed(t *testing.T) {
	for _, away := range []time.Duration{8 * time.Second, 12 * time.Second, 30 * time.Second, time.Hour} {
		t.Run(away.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, log := fake.NewClientset(), slog.New(slog.DiscardHandler)
				gone := outage(client)
				ctx, stop := context.WithCancel(t.Context())
				var all []life
				done := make(chan error, 1)
				go func() { done <- lead(ctx, election("a").lock(client), election("a"), log, lives(&all)) }()
				time.Sleep(5 * time.Second)
				gone.Store(true)
				time.Sleep(away)
				back := time.Now()
				gone.Store(false)
				time.Sleep(time.Minute)
				synctest.Wait()
				last := all[len(all)-1]
				if away < 10*time.Second && len(all) != 1 || len(all) > 2 {
					t.Fatalf("it began %d times: %v", len(all), all)
				}
				if len(all) == 2 {
					if first := all[0]; !first.ended.Before(first.leads) || last.began.Before(first.ended) || last.began.Sub(back) > 5*time.Second {
						t.Errorf("back at %s, it began to end at %s with a lease until %s, and again at %s", back, first.ended, first.leads, last.began)
					}
				}
				if !last.ended.IsZero() || len(done) > 0 {
					t.Error("it has ended")
				}
				lease, err := client.CoordinationV1().Leases("kube-system").Get(ctx, "cluster-autoscaler", metav1.GetOptions{})
				if err != nil || *lease.Spec.HolderIdentity != "a" || *lease.Spec.LeaseTransitions != 0 {
					t.Errorf("the lease is %v, %v; want that it has been a's throughout", lease, err)
				}
				stop()
				if err := <-done; !errors.Is(err, context.Canceled) {
					t.Errorf("it ended with %v, want that it was told to", err)
				}
				if lease, _ = client.CoordinationV1().Leases("kube-system").Get(t.Context(), "cluster-autoscaler", metav1.GetOptions{}); *lease.Spec.HolderIdentity != "" {
					t.Errorf("the lease was not given back: %v", lease.Spec)
				}
			})
		})
	}
}

// TestALeaseThatAnotherProcessHasHadEndsTheProcess has something happen to the lease while the API server does not answer this process.
func TestALeaseThatAnotherProcessHasHadEndsTheProcess(t *testing.T) {
	for what, to := range map[string]func(*coordinationv1.Lease){
		"another one holds it": func(l *coordinationv1.Lease) {
			l.Spec.HolderIdentity, l.Spec.RenewTime = new("b"), new(metav1.NowMicro())
		},
		"another one held it and gave it back": func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("") },
		"another one held it long ago":         func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("b") },
		"it was deleted":                       nil,
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, log := fake.NewClientset(), slog.New(slog.DiscardHandler)
				gone := outage(client)
				var all []life
				done := make(chan error, 1)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				go func() { done <- lead(ctx, election("a").lock(client), election("a"), log, lives(&all)) }()
				time.Sleep(5 * time.Second)
				gone.Store(true)
				time.Sleep(time.Hour)
				change(t, client, to)
				gone.Store(false)
				back := time.Now()
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if len(all) != 1 || len(done) != 1 {
					t.Fatalf("at %s, back since %s, it lived %v and has ended %d times; want one life and one end", time.Now(), back, all, len(done))
				}
				if err := <-done; !errors.Is(err, ErrLeaseLost) {
					t.Errorf("it ended with %v, want %v", err, ErrLeaseLost)
				}
			})
		})
	}
}

// change has somebody else change the lease, or delete it.
func change(t *testing.T, client *fake.Clientset, to func(*coordinationv1.Lease)) {
	t.Helper()
	kind := coordinationv1.SchemeGroupVersion.WithResource("leases")
	o, err := client.Tracker().Get(kind, "kube-system", "cluster-autoscaler")
	if err != nil {
		t.Fatal(err)
	}
	if to == nil {
		err = client.Tracker().Delete(kind, "kube-system", "cluster-autoscaler")
	} else {
		l := o.DeepCopyObject().(*coordinationv1.Lease)
		to(l)
		err = client.Tracker().Update(kind, l, "kube-system")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheLeaseOfADeadLeaderIsTaken at once where it has certainly run out, and a length after it was first seen where a clock may be wrong.
func TestTheLeaseOfADeadLeaderIsTaken(t *testing.T) {
	for what, c := range map[string]struct {
		holder string
		ago    time.Duration // it was renewed
		most   time.Duration // until it is taken
		least  time.Duration
	}{
		"of this machine, run out for a minute":    {"server-1_0a0a0a0a_1", 75 * time.Second, 0, 0},
		"of this machine, 5 s before its end":      {"server-1_0a0a0a0a_1", 10 * time.Second, 10 * time.Second, 5 * time.Second},
		"of another machine, run out for a minute": {"server-2_0b0b0b0b_1", 75 * time.Second, 20 * time.Second, 15 * time.Second},
		"of another machine, run out for long":     {"server-2_0b0b0b0b_1", time.Hour, 5 * time.Second, 2 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				at := metav1.NewMicroTime(time.Now().Add(-c.ago))
				client := fake.NewClientset(&coordinationv1.Lease{
					ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cluster-autoscaler"},
					Spec:       coordinationv1.LeaseSpec{HolderIdentity: &c.holder, RenewTime: &at, AcquireTime: &at, LeaseDurationSeconds: new(int32(15)), LeaseTransitions: new(int32(3))},
				})
				e := election("server-1_0a0a0a0a_2")
				e.Machine = "server-1_0a0a0a0a"
				ctx, stop := context.WithCancel(t.Context())
				var all []life
				done := make(chan error, 1)
				began := time.Now()
				go func() { done <- lead(ctx, e.lock(client), e, slog.New(slog.DiscardHandler), lives(&all)) }()
				time.Sleep(time.Minute)
				stop()
				if err := <-done; !errors.Is(err, context.Canceled) || len(all) != 1 {
					t.Fatalf("it ended with %v and lived %v", err, all)
				}
				if took := all[0].began.Sub(began); took < c.least || took > c.most {
					t.Errorf("it was taken after %s, want %s to %s", took, c.least, c.most)
				}
			})
		})
	}
}

// TestTwoProcessesHaveTwoNames also on one machine, where one of them may be dead.
func TestTwoProcessesHaveTwoNames(t *testing.T) {
	machine, one := Identify("server-1")
	again, two := Identify("server-1")
	if one == two || machine != again {
		t.Errorf("processes %s and %s on machines %s and %s", one, two, machine, again)
	}
	if machine != "" && (!strings.HasPrefix(one, machine+"_") || !strings.HasPrefix(machine, "server-1_")) {
		t.Errorf("process %s on machine %s", one, machine)
	}
}

// TestARunThatFailsEndsTheProcess while it leads: only where the lease is not renewed does it begin anew.
func TestARunThatFailsEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, failure := fake.NewClientset(), errors.New("forbidden")
		e := election("a")
		err := lead(t.Context(), e.lock(client), e, slog.New(slog.DiscardHandler), func(context.Context, func() time.Time) error { return failure })
		if !errors.Is(err, failure) {
			t.Errorf("ended with %v, want %v", err, failure)
		}
	})
}

func TestWithoutElectionTheLoopRunsAtOnce(t *testing.T) {
	failure := errors.New("no cluster")
	if err := lead(t.Context(), nil, Election{}, nil, func(context.Context, func() time.Time) error { return failure }); !errors.Is(err, failure) {
		t.Errorf("ended with %v, want %v", err, failure)
	}
}
