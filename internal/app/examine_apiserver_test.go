package app

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/controlplane"
	"sluice.dev/sluice/internal/doctor"
	"sluice.dev/sluice/policy"
)

// TestARealAPIServerSaysWhatAnotherAccountMay has an administrator look on behalf of sluice's service account, before and after deploy/rbac.yaml is
// applied, and the service account on behalf of somebody else.
func TestARealAPIServerSaysWhatAnotherAccountMay(t *testing.T) {
	c, err := controlplane.Start(t.Context(), controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	const service = "system:serviceaccount:" + deploy.Namespace + ":" + deploy.ServiceAccount
	look := func(config *rest.Config, as string) doctor.Kube {
		var facts doctor.Kube
		l := &lesson{known: map[string]bool{}, tell: func(f doctor.Facts, _ func(string) bool) { facts = f.Kube }}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		examineKube(ctx, Options{Kube: config, Policy: policy.Default(), Log: slog.New(slog.DiscardHandler), Election: Election{Namespace: deploy.Namespace}}, Examination{As: as}, l)
		return facts
	}

	if k := look(c.Config(), ""); k.Err != nil || len(k.Denied) > 0 || k.Checked == 0 || k.Account == "" || k.Service != service {
		t.Errorf("an administrator: %+v", k)
	}
	if k := look(c.Config(), service); k.Err != nil || k.Account != service || len(k.Denied)+len(k.Lacks) != k.Checked || len(k.Denied) == 0 || k.Unread == nil {
		t.Errorf("sluice without any right: %d of %d denied, %+v", len(k.Denied), k.Checked, k)
	}
	grant(t, admin, deploy.RBAC)
	for k := look(c.Config(), service); len(k.Denied) > 0 || k.Unread != nil; k = look(c.Config(), service) { // the authorizer hears of new bindings by a watch
		if t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
	}
	own := rest.AnonymousClientConfig(c.Config())
	own.BearerToken = account(t, admin, deploy.ServiceAccount)
	if k := look(own, ""); k.Err != nil || k.Account != service || len(k.Denied) > 0 {
		t.Errorf("sluice itself: %+v", k)
	}
	if k := look(own, "jane"); k.Err == nil || k.Err.Kind != doctor.Forbidden || !strings.Contains(k.Err.Sentence, "impersonate") {
		t.Errorf("sluice on behalf of another: %+v", k)
	}
}
