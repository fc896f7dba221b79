package controlplane

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestStoredPodsAreServedAndOutliveARestart stores copies of a pod that the API server answered: they are served as it is, a watch hears of each, and an
// API server that was away in between serves them again at the same address.
func TestStoredPodsAreServedAndOutliveARestart(t *testing.T) {
	c, client := started(t, Options{})
	pods := client.CoreV1().Pods("default")
	first, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "first"},
		Spec:       corev1.PodSpec{NodeName: "nowhere", Containers: []corev1.Container{{Name: "c", Image: "c"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	heard, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: first.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Stop()
	var copies []*corev1.Pod
	for i := range 100 {
		another := first.DeepCopy()
		another.Name, another.UID, another.ResourceVersion = fmt.Sprint("copy-", i), types.UID(fmt.Sprint("uid-", i)), ""
		copies = append(copies, another)
	}
	if err := c.StorePods(t.Context(), copies); err != nil {
		t.Fatal(err)
	}
	for range copies {
		<-heard.ResultChan()
	}
	served := func() *corev1.Pod {
		t.Helper()
		got, err := pods.Get(t.Context(), "copy-42", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got.ResourceVersion = ""
		return got
	}
	if diff := cmp.Diff(copies[42], served()); diff != "" {
		t.Errorf("a stored pod is served otherwise (-want +got):\n%s", diff)
	}

	if err := c.RestartAPIServer(t.Context(), 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(copies[42], served()); diff != "" {
		t.Errorf("after a restart it is served otherwise (-want +got):\n%s", diff)
	}
	for range heard.ResultChan() { // ends because the restart cut the watch
	}
}
