package kube_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
	"sluice.dev/sluice/internal/kube"
)

// TestARealAPIServerIsFollowedWhileItIsWrittenTo has several nodes be made, cordoned, emptied and deleted beside each other while the watches tell of it
// and others read what they told: it ends as a list says.
func TestARealAPIServerIsFollowedWhileItIsWrittenTo(t *testing.T) {
	api, err := kubernetes.NewForConfig(controlplanetest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	observer := kube.NewObserver(api, kube.Options{})
	if err := observer.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	reading, stop := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	triggered := 0
	readers.Go(func() { // as the loop does
		for {
			select {
			case <-observer.Triggers():
				triggered++
			case <-reading.Done():
				return
			}
			if _, err := observer.Objects(); err != nil {
				t.Error(err)
			}
		}
	})
	for i := range 4 {
		writers.Go(func() {
			for turn := range 5 {
				if err := liveOneLife(t.Context(), api, fmt.Sprintf("n-%d-%d", i, turn)); err != nil {
					t.Error(err)
				}
				if _, err := observer.Objects(); err != nil {
					t.Error(err)
				}
				if silent := observer.Silent(time.Now()); silent < 0 {
					t.Errorf("silent for %s", silent)
				}
			}
		})
	}
	writers.Wait()
	// The watches tell a moment after the API server has accepted the last write.
	var difference string
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		listed, err := kube.List(ctx, api, kube.Besides{})
		if err != nil {
			return false, err
		}
		observed, err := observer.Objects()
		difference = cmp.Diff(listed, observed, cmpopts.EquateEmpty())
		return difference == "", err
	})
	if err != nil {
		t.Errorf("%v; observed otherwise than listed (-listed +observed)\n%s", err, difference)
	}
	stop()
	readers.Wait()
	if all, err := observer.Objects(); err != nil || len(all.Nodes) != 4 || triggered == 0 {
		t.Errorf("%d nodes are left after %d triggers, want those 4 that are kept: %v", len(all.Nodes), triggered, err)
	}
}

// liveOneLife makes a node with a pod on it, cordons it and takes that back, cordons it again, evicts the pod, and deletes the node unless it is of a first turn.
func liveOneLife(ctx context.Context, api kubernetes.Interface, name string) error {
	n, err := api.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	p, err := api.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: name, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	removal, machine := cluster.Removal{Since: time.Unix(1_700_000_000, 0).UTC(), Why: "idle"}, cluster.Machine{Group: "agents", ID: "2", UID: name}
	w := kube.Writer{Client: api}
	for range 2 {
		if err := w.Cordon(ctx, name, n.UID, removal, machine, true); err != nil {
			return err
		}
		if err := w.Uncordon(ctx, name, n.UID); err != nil {
			return err
		}
	}
	if err := w.Evict(ctx, p.Namespace, p.Name, p.UID, 0); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	var turn int
	if _, err := fmt.Sscanf(name, "n-%d-%d", new(int), &turn); err != nil || turn == 0 {
		return err
	}
	if err := w.Cordon(ctx, name, n.UID, removal, machine, true); err != nil {
		return err
	}
	for { // the node controller changes the node as well
		if err := w.DeleteNode(ctx, name, n.UID, "", nil); !errors.Is(err, kube.ErrConflict) {
			return err
		}
	}
}
