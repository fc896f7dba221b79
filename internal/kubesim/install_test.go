package kubesim_test

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/internal/kubesim"
)

func TestOptionalAPIsAreThereOnlyWhenInstalled(t *testing.T) {
	w := newWorld(t)
	has := func(groupVersion, resource string) bool {
		list, err := w.Discovery().ServerResourcesForGroupVersion(groupVersion)
		if apierrors.IsNotFound(err) {
			return false
		}
		return slices.ContainsFunc(must(list, err).APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
	}
	for api, at := range map[kubesim.API][2]string{
		kubesim.ProvisioningRequests: {"autoscaling.x-k8s.io/v1", "provisioningrequests"},
		kubesim.CapacityBuffers:      {"autoscaling.x-k8s.io/v1beta1", "capacitybuffers"},
		kubesim.Coscheduling:         {"scheduling.x-k8s.io/v1alpha1", "podgroups"},
		kubesim.Gangs:                {"scheduling.k8s.io/v1beta1", "podgroups"},
	} {
		path := "/apis/" + at[0] + "/" + at[1]
		if has(at[0], at[1]) {
			t.Errorf("%s is announced before it is installed", api)
		}
		if _, err := w.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(ctx); !apierrors.IsNotFound(err) {
			t.Errorf("%s answers before it is installed: %v", api, err)
		}
		w.Install(api)
		if !has(at[0], at[1]) {
			t.Errorf("%s is not announced", api)
		}
		if _, err := w.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(ctx); err != nil {
			t.Errorf("%s: %v", api, err)
		}
		w.Uninstall(api)
		if has(at[0], at[1]) {
			t.Errorf("%s is announced after it was taken away", api)
		}
	}
}

func TestCustomObjectsKeepWhatTheySay(t *testing.T) {
	w := newWorld(t)
	w.Install(kubesim.ProvisioningRequests)
	api := w.CoreV1().RESTClient()
	path := "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests"
	body := `{"apiVersion":"autoscaling.x-k8s.io/v1","kind":"ProvisioningRequest","metadata":{"name":"r"},"spec":{"provisioningClassName":"check-capacity.autoscaling.x-k8s.io","podSets":[{"count":3}]},"status":{"conditions":[]}}`
	if _, err := api.Post().AbsPath(path).Body([]byte(body)).DoRaw(ctx); err != nil {
		t.Fatal(err)
	}
	patch := func(sub, body string) error {
		_, err := api.Patch(types.MergePatchType).AbsPath(path + "/r" + sub).Body([]byte(body)).DoRaw(ctx)
		return err
	}
	if err := patch("/status", `{"spec":{"podSets":null},"status":{"conditions":[{"type":"Accepted","status":"True"}]}}`); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Patch(types.StrategicMergePatchType).AbsPath(path + "/r").Body([]byte(`{}`)).DoRaw(ctx); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("a strategic merge patch of a custom resource: %v", err)
	}
	r, _ := kubesim.Find[*kubesim.ProvisioningRequest](w.Cluster, "default", "r")
	if n := r.Spec["podSets"].([]any)[0].(map[string]any)["count"]; n != int64(3) {
		t.Errorf("a write to the status changed the spec: %v", r.Spec)
	}
	if len(r.Status["conditions"].([]any)) != 1 || r.Generation != 1 {
		t.Errorf("status %v, generation %d", r.Status, r.Generation)
	}
}
