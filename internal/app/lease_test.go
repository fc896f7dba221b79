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
	})
}
