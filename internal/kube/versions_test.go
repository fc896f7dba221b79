package kube

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/cluster"
)

// TestAnOlderVersionIsServedAsWell has an API server that knows CapacityBuffers in their first version alone, as clusters of a year ago do.
func TestAnOlderVersionIsServedAsWell(t *testing.T) {
	const path = "/apis/autoscaling.x-k8s.io/v1alpha1/capacitybuffers"
	buffer := map[string]any{
		"apiVersion": "autoscaling.x-k8s.io/v1alpha1", "kind": "CapacityBuffer", "metadata": map[string]any{"namespace": "default", "name": "b", "uid": "u", "resourceVersion": "7"},
		"spec": map[string]any{"replicas": 3},
	}
	var patched []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch own := strings.Replace(path, "/capacitybuffers", "/namespaces/default/capacitybuffers/b", 1); {
		case r.URL.Path == path && r.URL.Query().Get("watch") != "":
			answer = map[string]any{"type": "ADDED", "object": buffer}
		case r.URL.Path == path:
			answer = map[string]any{"metadata": map[string]any{"resourceVersion": "7"}, "items": []any{buffer}}
		case r.URL.Path == own && r.Method == http.MethodGet:
			answer = buffer
		case r.URL.Path == own+"/status" && r.Method == http.MethodPatch:
			patched = append(patched, r.URL.Path)
			answer = buffer
		default:
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	buffers := resourcesOf(client, "").buffers

	list, err := buffers.list(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if l := list.(*customList[cluster.CapacityBuffer]); len(l.Items) != 1 || *l.Items[0].Spec.Replicas != 3 {
		t.Errorf("listed: %+v", list)
	}
	w, err := buffers.watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if e := <-w.ResultChan(); e.Object.(*cluster.CapacityBuffer).Name != "b" {
		t.Errorf("watched: %+v", e)
	}
	ready := metav1.Condition{Type: cluster.BufferReady, Status: metav1.ConditionTrue, Reason: "AttributesSetSuccessfully"}
	if err := (Writer{Client: client}).AnswerBuffer(t.Context(), "default", "b", "u", []metav1.Condition{ready}, cluster.CapacityBufferStatus{}, time.Unix(0, 0)); err != nil || len(patched) != 1 {
		t.Errorf("answered by %d patches: %v", len(patched), err)
	}
	if err := (Writer{Client: client}).AnswerBuffer(t.Context(), "default", "gone", "u", []metav1.Condition{ready}, cluster.CapacityBufferStatus{}, time.Unix(0, 0)); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
}
