package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/controlplane/controlplanetest"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/web"
)

// TestARealAPIServerSaysWhoMayRead: sluice has the rights of deploy/rbac.yaml and deploy/web-authorization.yaml and no others. Whoever is bound to
// sluice-viewer may read its pages, nobody else, and nobody may do more than read.
func TestARealAPIServerSaysWhoMayRead(t *testing.T) {
	config := controlplanetest.Start(t)
	admin, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	grant(t, admin, deploy.RBAC)
	own := rest.AnonymousClientConfig(config)
	own.BearerToken = account(t, admin, deploy.ServiceAccount)
	page := pages(t, Options{Kube: own, Authorize: true, Log: slog.New(slog.DiscardHandler)})
	viewer, stranger := account(t, admin, "prometheus"), account(t, admin, "stranger")

	if status, body := page(http.MethodGet, "/metrics", viewer); status != http.StatusServiceUnavailable || !strings.Contains(body, "system:auth-delegator") {
		t.Errorf("without deploy/web-authorization.yaml: %d %q, want 503 and the remedy", status, body)
	}
	grant(t, admin, deploy.WebAuthorization)
	if _, err := admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sluice-viewer"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: deploy.Namespace, Name: "prometheus"}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for may := http.StatusServiceUnavailable; may != http.StatusOK; { // the API server's authorizer hears of new bindings by a watch
		if may, _ = page(http.MethodGet, "/metrics", viewer); t.Context().Err() != nil {
			t.Fatal(t.Context().Err())
		}
		if may == http.StatusForbidden { // it has heard of the right to ask, and not of the viewer's yet: that answer serves for a minute
			if refused++; refused > 200 {
				t.Fatal("the viewer is refused")
			}
			page = pages(t, Options{Kube: own, Authorize: true, Log: slog.New(slog.DiscardHandler)})
		}
	}
	for _, visit := range []struct {
		method, path, token string
		want                int
	}{
		{http.MethodGet, "/metrics", viewer, 200},
		{http.MethodHead, "/metrics", viewer, 200},
		{http.MethodGet, "/api/v1/entry", viewer, 503}, // no cycle has been completed here
		{http.MethodGet, "/metrics", stranger, 403},
		{http.MethodGet, "/", stranger, 403},
		{http.MethodGet, "/api/v1/entry", stranger, 403}, // though Kubernetes lets everybody with a token get its own /api/v1/entry
		{http.MethodGet, "/metrics", viewer + "x", 401},
		{http.MethodGet, "/metrics", "forged", 401},
		{http.MethodGet, "/metrics", "", 401},
		{http.MethodGet, "/debug/pprof/heap", viewer, 403}, // which sluice-viewer does not include
		{http.MethodGet, "/healthz", "", 200},              // for probes
		{http.MethodGet, "/readyz", "", 503},               // no cycle has been completed here
	} {
		if status, body := page(visit.method, visit.path, visit.token); status != visit.want {
			t.Errorf("%s %s: %d %q, want %d", visit.method, visit.path, status, body, visit.want)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodConnect, "EVICT"} {
		for _, path := range []string{"/", "/metrics", "/healthz", "/api/v1/entry", "/api/v1/verdicts", "/api/v1/explain", "/api/v1/nodes", "/debug/pprof/profile"} {
			if status, body := page(method, path, viewer); status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s by a viewer: %d %q, want 405", method, path, status, body)
			}
		}
	}
}

// pages serves what sluice serves, and visits it.
func pages(t *testing.T, o Options) func(method, path, token string) (int, string) {
	t.Helper()
	var err error
	if o.Listener, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	who, err := o.access()
	if err != nil {
		t.Fatal(err)
	}
	server := web.New(web.Options{Metrics: report.NewMetrics().Handler(), Access: who, Profiling: true})
	ctx, fail := context.WithCancelCause(t.Context())
	stop, err := Serve(o, server.Handler(), fail)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		if err := context.Cause(ctx); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	// #nosec G402 -- the process has made its certificate for itself
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	return func(method, path, token string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "https://"+o.Listener.Addr().String()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, string(body[:min(len(body), 300)])
	}
}

// account makes a service account, where there is none, and a token of it.
func account(t *testing.T, client kubernetes.Interface, name string) string {
	t.Helper()
	accounts := client.CoreV1().ServiceAccounts(deploy.Namespace)
	if _, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	token, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// grant makes the objects of a manifest.
func grant(t *testing.T, client kubernetes.Interface, manifest []byte) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: deploy.Namespace}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		o, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		switch o := o.(type) {
		case *corev1.ServiceAccount:
			_, err = client.CoreV1().ServiceAccounts(o.Namespace).Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.ClusterRole:
			_, err = client.RbacV1().ClusterRoles().Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.ClusterRoleBinding:
			_, err = client.RbacV1().ClusterRoleBindings().Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.Role:
			_, err = client.RbacV1().Roles(o.Namespace).Create(t.Context(), o, metav1.CreateOptions{})
		case *rbacv1.RoleBinding:
			_, err = client.RbacV1().RoleBindings(o.Namespace).Create(t.Context(), o, metav1.CreateOptions{})
		default:
			t.Fatalf("%T is no right", o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
