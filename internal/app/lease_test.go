package app

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// slowLock takes its time to answer, and may refuse.
type slowLock struct {
	resourcelock.Interface
	takes  time.Duration
	answer error
	held   resourcelock.LeaderElectionRecord
}

func (l *slowLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &l.held, nil, l.answer
}

func (l *slowLock) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return l.Update(ctx, r)
}

func (l *slowLock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	time.Sleep(l.takes)
	return l.answer
}

// TestALeaseEndsALengthAfterTheTimeThatItBears, however long the answer took and however late it was sent: others count from that time, too (S-23).
func TestALeaseEndsALengthAfterTheTimeThatItBears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := &slowLock{takes: 4 * time.Second}
		d := &dated{Interface: lock, holder: "a", lease: 15 * time.Second}
		held := func(by string) resourcelock.LeaderElectionRecord {
			r := resourcelock.LeaderElectionRecord{HolderIdentity: by, RenewTime: metav1.Now()}
			time.Sleep(time.Second) // it was read before it was written
			return r
		}
		if !d.ends().IsZero() {
			t.Error("a lease that nobody has asked for ends some time")
		}
		ends := time.Now().Add(15 * time.Second)
		if err := d.Create(t.Context(), held("a")); err != nil || !d.ends().Equal(ends) {
			t.Errorf("created: %v, it ends at %s, want %s", err, d.ends(), ends)
		}
		ends = time.Now().Add(15 * time.Second)
		if err := d.Update(t.Context(), held("a")); err != nil || !d.ends().Equal(ends) {
			t.Errorf("renewed: %v, it ends at %s, want %s", err, d.ends(), ends)
		}
		if err := d.Update(t.Context(), held("b")); err != nil || !d.ends().Equal(ends) {
			t.Errorf("given to another: %v, it ends at %s, want %s", err, d.ends(), ends)
		}
		lock.answer = errors.New("the answer was lost")
		if err := d.Update(t.Context(), held("a")); !errors.Is(err, lock.answer) || !d.ends().Equal(ends) {
			t.Errorf("not renewed: %v, it ends at %s, want %s", err, d.ends(), ends)
		}
	})
}

// TestALeaseThatAnotherOneHasEndsAtOnce, whatever it said of its end, and never comes back.
func TestALeaseThatAnotherOneHasEndsAtOnce(t *testing.T) {
	lease := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	for what, c := range map[string]struct {
		after time.Duration // since it was renewed
		holds string
		err   error
		taken bool
	}{
		"another one has it":                   {2 * time.Second, "b", nil, true},
		"nobody has it":                        {2 * time.Second, "", nil, true},
		"another one has it, long after":       {time.Hour, "b", nil, true},
		"this one has it":                      {2 * time.Second, "a", nil, false},
		"this one has it, long after":          {time.Hour, "a", nil, false},
		"it is not there, and lasts still":     {2 * time.Second, "", apierrors.NewNotFound(lease, "ca"), false},
		"it is not there, and has ended":       {time.Hour, "", apierrors.NewNotFound(lease, "ca"), true},
		"nobody answers":                       {time.Hour, "", errors.New("connection refused"), false},
		"nobody answers, after it was renewed": {2 * time.Second, "", errors.New("connection refused"), false},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lock := &slowLock{}
				d := &dated{Interface: lock, holder: "a", lease: 15 * time.Second}
				told := 0
				d.whenTaken(func() { told++ })
				if err := d.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "a", RenewTime: metav1.Now()}); err != nil {
					t.Fatal(err)
				}
				ends := d.ends()
				time.Sleep(c.after)
				lock.held, lock.answer = resourcelock.LeaderElectionRecord{HolderIdentity: c.holds, RenewTime: metav1.NewTime(time.Now().Add(-time.Hour)), LeaseDurationSeconds: 15}, c.err
				_, _, err := d.Get(t.Context())
				if d.taken() != c.taken || errors.Is(err, errTaken) != c.taken || (told > 0) != c.taken {
					t.Errorf("taken %t, read %v, told %d times; want taken %t", d.taken(), err, told, c.taken)
				}
				if c.taken && d.ends().After(time.Now()) || !c.taken && !d.ends().Equal(ends) {
					t.Errorf("it ends at %s, before %s, now %s", d.ends(), ends, time.Now())
				}
			})
		})
	}
}

// TestALeaseThatHasRunOutIsFree by what it bears itself: at once where the same clock wrote it, and where another one did only when no clock can be so wrong
// and the holder has not renewed it between two reads. What bears no length has none.
func TestALeaseThatHasRunOutIsFree(t *testing.T) {
	const own = "server-1_0a0a0a0a"
	for what, c := range map[string]struct {
		holder  string
		ago     time.Duration // it was renewed
		reads   int
		renewed time.Duration // between two reads the time that it bears moves by this
		free    bool
	}{
		"of this machine, just run out":                 {own + "_1", 16 * time.Second, 1, 0, true},
		"of this machine, not run out":                  {own + "_1", 14 * time.Second, 2, 0, false},
		"of this machine, from the future":              {own + "_1", -time.Hour, 2, 0, false},
		"of a machine whose name begins as this one's":  {own + "b_1", time.Minute, 2, 0, false},
		"of another machine, run out a minute ago":      {"server-2_0b0b0b0b_1", 75 * time.Second, 5, 0, false},
		"of another machine, run out for long":          {"server-2_0b0b0b0b_1", 4 * time.Minute, 2, 0, true},
		"of another machine, run out for long, first":   {"server-2_0b0b0b0b_1", 4 * time.Minute, 1, 0, false},
		"of another machine by a clock hours behind":    {"server-2_0b0b0b0b_1", 4 * time.Hour, 5, 2 * time.Second, false},
		"of another machine that bears the same name":   {"server-1_0c0c0c0c_1", time.Minute, 2, 0, false},
		"of cluster-autoscaler, which names no machine": {"ca-5d8f-x2x_1d6a", 4 * time.Minute, 2, 0, true},
		"of cluster-autoscaler, run out a minute ago":   {"ca-5d8f-x2x_1d6a", 75 * time.Second, 5, 0, false},
		"of nobody, which client-go takes anyhow":       {"", time.Hour, 1, 0, false},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lock := &slowLock{}
				d := &dated{Interface: lock, holder: own + "_2", machine: own, lease: 15 * time.Second}
				r := resourcelock.LeaderElectionRecord{HolderIdentity: c.holder, RenewTime: metav1.NewTime(time.Now().Add(-c.ago)), LeaseDurationSeconds: 15}
				var got *resourcelock.LeaderElectionRecord
				for range c.reads {
					lock.held = r
					var err error
					if got, _, err = d.Get(t.Context()); err != nil {
						t.Fatal(err)
					}
					r.RenewTime = metav1.NewTime(r.RenewTime.Add(c.renewed))
				}
				if bare, _, _ := d.Get(t.Context()); c.free && bare.HolderIdentity != "" {
					t.Error("it is free once")
				}
				lock.held.LeaseDurationSeconds = 0
				if bare, _, _ := d.Get(t.Context()); bare.HolderIdentity != c.holder {
					t.Error("it bears no length and is free")
				}
				if free := c.holder != "" && got.HolderIdentity == ""; free != c.free {
					t.Errorf("free %t, want %t", free, c.free)
				}
				if lock.held.HolderIdentity != c.holder {
					t.Error("what was read was changed")
				}
			})
		})
	}
}

// TestALeaseSaysWhyItCannotBeHad has the API server answer a lock in different ways.
func TestALeaseSaysWhyItCannotBeHad(t *testing.T) {
	lease := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	forbidden := apierrors.NewForbidden(lease, "cluster-autoscaler", errors.New("no"))
	synctest.Test(t, func(t *testing.T) {
		lock := &slowLock{}
		d := &dated{Interface: lock, name: "kube-system/cluster-autoscaler", holder: "a", lease: 15 * time.Second}
		want := func(sentence, when string) {
			t.Helper()
			got := ""
			if err := d.problem(); err != nil {
				got = err.Error()
			}
			if got != sentence {
				t.Errorf("%s: %q, want %q", when, got, sentence)
			}
		}
		get := func(holder string, err error) {
			lock.held, lock.answer = resourcelock.LeaderElectionRecord{HolderIdentity: holder, RenewTime: metav1.Now()}, err
			_, _, _ = d.Get(t.Context())
		}
		update := func(err error) {
			lock.answer = err
			_ = d.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "a"})
		}
		const (
			name   = "lease kube-system/cluster-autoscaler "
			rights = name + "cannot be had: the API server does not allow this process to %s it; give it the rights of deploy/rbac.yaml"
		)
		want(name+"has not been read yet", "at the start")
		get("", errors.New("connection refused"))
		want(name+"cannot be had: the API server does not answer; the log says why", "it is down")
		get("", forbidden)
		want(fmt.Sprintf(rights, "read"), "it may not be read")
		get("", apierrors.NewServiceUnavailable("etcd is away"))
		want(name+"cannot be had: the API server does not read it (ServiceUnavailable); the log says why", "etcd is away")
		get("b", nil)
		want("", "another replica holds it")
		leads := func(who string) {
			t.Helper()
			if got := d.leader(); got != who {
				t.Errorf("%q leads, want %q", got, who)
			}
		}
		leads("b")
		time.Sleep(20 * time.Second)
		want(name+"cannot be had: the API server has not answered about it for 20s (limit 15s)", "a request hangs")
		lock.held = resourcelock.LeaderElectionRecord{}
		get("b", nil)
		update(apierrors.NewConflict(lease, "cluster-autoscaler", errors.New("too late")))
		want("", "another replica was faster")
		update(forbidden)
		want(fmt.Sprintf(rights, "write"), "it may not be written")
		_, _, _ = d.Get(t.Context())
		lock.answer = nil
		_, _, _ = d.Get(t.Context())
		want(fmt.Sprintf(rights, "write"), "it may be read still, and nobody renews it")
		time.Sleep(time.Second)
		get("b", nil)
		want("", "another replica has renewed it since")
		update(forbidden)
		update(nil)
		want("", "this one holds it")
		get("", apierrors.NewNotFound(lease, "cluster-autoscaler"))
		want("", "nobody has made it yet")
		leads("")
	})
}
