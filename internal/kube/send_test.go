package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

// TestNodesAreUpdatedWherePatchingThemIsDenied wants a cordon to succeed by an update, what others wrote meanwhile to stay, and the guard to be asked before
// each further try; fields that this program does not know are sent back as they came.
func TestNodesAreUpdatedWherePatchingThemIsDenied(t *testing.T) {
	c := &kubesim.Cluster{}
	create(t, c, node("a"))
	c.Deny("", "patch", "nodes")
	races, asked := 0, 0
	w := writerBehind(t, c, http.MethodPut, func() {
		if races++; races < 3 {
			if err := kubesim.Edit(c, "", "a", func(n *corev1.Node) {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: fmt.Sprintf("example.com/%d", races), Effect: corev1.TaintEffectNoSchedule})
			}); err != nil {
				t.Error(err)
			}
		}
	})
	w.Still = func() error { asked++; return nil }
	if err := w.Cordon(context.Background(), "a", uidOf[*corev1.Node](t, c, "", "a"), removal, machine, false); err != nil {
		t.Fatal(err)
	}
	got := marksOf(t, c, "a")
	if races != 3 || asked != 3 || !got.Unschedulable || got.Machine != machine.String() || len(got.Taints) != 3 {
		t.Errorf("after %d updates, asked %d times, the node has %+v, want three of each and all taints", races, asked, got)
	}

	c.Deny("", "update", "nodes")
	if err := w.Uncordon(context.Background(), "a", uidOf[*corev1.Node](t, c, "", "a")); !errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), "patch") {
		t.Errorf("without both rights: %v, want the one that deploy/rbac.yaml grants", err)
	}
}

// TestAnUpdateLosesNoField sends back what a newer API server has and this program does not know.
func TestAnUpdateLosesNoField(t *testing.T) {
	c := &kubesim.Cluster{}
	n := node("a")
	n.Spec.Taints = []corev1.Taint{foreign}
	create(t, c, n)
	var sent string
	config := c.RESTConfig()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPut {
				raw, _ := io.ReadAll(r.Body)
				sent, r.Body = string(raw), io.NopCloser(strings.NewReader(string(raw)))
			}
			a, err := next.RoundTrip(r)
			if err == nil && r.Method == http.MethodGet && strings.HasPrefix(r.Header.Get("Accept"), "application/json") {
				raw, _ := io.ReadAll(a.Body)
				body := strings.Replace(string(raw), `"spec":{`, `"spec":{"invented":7,`, 1)
				a.Body, a.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			}
			return a, err
		})
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := Writer{Client: client, Lacks: func(r Right) bool { return r == cluster.PatchNode }}
	if err := w.Cordon(context.Background(), "a", uidOf[*corev1.Node](t, c, "", "a"), removal, machine, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(sent, `"invented":7`) {
		t.Errorf("the update was %s, want all that was read", sent)
	}
}
