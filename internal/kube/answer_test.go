package kube

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

func provisioningRequest() *kubesim.ProvisioningRequest {
	return &kubesim.ProvisioningRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "r"}, Spec: map[string]any{
		"provisioningClassName": "check-capacity.autoscaling.x-k8s.io", "podSets": []any{map[string]any{"podTemplateRef": map[string]any{"name": "t"}, "count": int64(3)}},
	}}
}

func TestAnswersStandInTheStatusOfRequests(t *testing.T) {
	c := &kubesim.Cluster{}
	c.Install(kubesim.ProvisioningRequests)
	create(t, c, provisioningRequest())
	uid := uidOf[*kubesim.ProvisioningRequest](t, c, "default", "r")
	n := 0
	w := writerBehind(t, c, http.MethodPatch, func() {
		if n++; n == 1 { // somebody else's condition comes between
			edit(t, c, "default", "r", func(r *kubesim.ProvisioningRequest) {
				r.Status = map[string]any{"conditions": []any{map[string]any{"type": "Quota", "status": "True", "reason": "x", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}
			})
		}
	})
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	say := func(reason string, at time.Time) {
		t.Helper()
		cond := metav1.Condition{Type: "Provisioned", Status: metav1.ConditionTrue, Reason: reason, Message: "3 pods fit"}
		if err := w.AnswerRequest(t.Context(), "default", "r", uid, []metav1.Condition{cond}, nil, at); err != nil {
			t.Fatal(err)
		}
	}
	say("CapacityIsFound", at)
	say("CapacityIsFound", at.Add(time.Hour)) // says nothing new
	say("CapacityIsProvisioned", at.Add(2*time.Hour))
	if err := w.AnswerRequest(t.Context(), "default", "r", "another", nil, map[string]string{"a": "b"}, at); err != nil {
		t.Fatal(err)
	}
	r, _ := kubesim.Find[*kubesim.ProvisioningRequest](c, "default", "r")
	want := map[string]any{"conditions": []any{
		map[string]any{"type": "Quota", "status": "True", "reason": "x", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"},
		map[string]any{"type": "Provisioned", "status": "True", "reason": "CapacityIsProvisioned", "message": "3 pods fit", "lastTransitionTime": "2026-03-01T12:00:00Z", "observedGeneration": int64(1)},
	}}
	if diff := cmp.Diff(want, r.Status); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n != 3 {
		t.Errorf("%d patches, want 3: one met a conflict, one changed nothing", n)
	}
}

func TestAnswersStandInTheStatusOfBuffers(t *testing.T) {
	c := &kubesim.Cluster{}
	c.Install(kubesim.CapacityBuffers)
	create(t, c, &kubesim.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b"}, Spec: map[string]any{"replicas": int64(2)}})
	w := Writer{Client: clientOf(t, c)}
	uid := uidOf[*kubesim.CapacityBuffer](t, c, "default", "b")
	status := cluster.CapacityBufferStatus{Replicas: new(int32(2)), PodTemplateRef: &cluster.LocalReference{Name: "t"}}
	if err := w.AnswerBuffer(t.Context(), "default", "b", uid, nil, status, time.Time{}); err != nil {
		t.Fatal(err)
	}
	b, _ := kubesim.Find[*kubesim.CapacityBuffer](c, "default", "b")
	if b.Status["replicas"] != int64(2) || b.Status["podTemplateRef"].(map[string]any)["name"] != "t" || b.Status["podTemplateGeneration"] != nil {
		t.Errorf("status %v", b.Status)
	}
}
