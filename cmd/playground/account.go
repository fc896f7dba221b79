package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/deploy"
)

// tokenLife is longer than anybody keeps a playground.
const tokenLife = 30 * 24 * time.Hour

// account makes sluice's service account as deploy/rbac.yaml describes it, and returns a client configuration for it. What the API
// server denies to it is noted in denied.
func account(ctx context.Context, admin *rest.Config, client kubernetes.Interface, denied *denials) (*rest.Config, error) {
	if err := applyRBAC(ctx, client, deploy.RBAC); err != nil {
		return nil, err
	}
	if err := awaitRights(ctx, client); err != nil {
		return nil, err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenLife / time.Second))}}
	token, err := client.CoreV1().ServiceAccounts(deploy.Namespace).CreateToken(ctx, deploy.ServiceAccount, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("get a token for service account %s: %w", deploy.ServiceAccount, err)
	}
	c := &rest.Config{
		Host: admin.Host, BearerToken: token.Status.Token, UserAgent: "sluice/" + version, QPS: 50, Burst: 100,
		TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData, CAFile: admin.CAFile},
	}
	c.Wrap(denied.watch)
	return c, nil
}

// applyRBAC creates the objects of a manifest.
func applyRBAC(ctx context.Context, client kubernetes.Interface, manifest []byte) error {
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read deploy/rbac.yaml: %w", err)
		}
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
		if err != nil {
			return fmt.Errorf("read deploy/rbac.yaml: %w", err)
		}
		var o metav1.CreateOptions
		switch object := object.(type) {
		case *corev1.ServiceAccount:
			_, err = client.CoreV1().ServiceAccounts(object.Namespace).Create(ctx, object, o)
		case *rbacv1.ClusterRole:
			_, err = client.RbacV1().ClusterRoles().Create(ctx, object, o)
		case *rbacv1.ClusterRoleBinding:
			_, err = client.RbacV1().ClusterRoleBindings().Create(ctx, object, o)
		case *rbacv1.Role:
			_, err = client.RbacV1().Roles(object.Namespace).Create(ctx, object, o)
		case *rbacv1.RoleBinding:
			_, err = client.RbacV1().RoleBindings(object.Namespace).Create(ctx, object, o)
		default:
			err = fmt.Errorf("a %T is no part of an identity", object)
		}
		if err != nil {
			return fmt.Errorf("apply deploy/rbac.yaml: %w", err)
		}
	}
}

// awaitRights waits until the API server's authorizer has heard of the roles, which it does by a watch: one right of each is enough.
func awaitRights(ctx context.Context, client kubernetes.Interface) error {
	for _, right := range []authorizationv1.ResourceAttributes{
		{Verb: "watch", Resource: "pods"},
		{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: deploy.Namespace},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + deploy.Namespace + ":" + deploy.ServiceAccount, ResourceAttributes: &right,
		}}
		err := poll(ctx, 10*time.Second, func() (bool, error) {
			answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			return err == nil && answer.Status.Allowed, err
		})
		if err != nil {
			return fmt.Errorf("wait for service account %s to have the right to %s %s: %w", deploy.ServiceAccount, right.Verb, right.Resource, err)
		}
	}
	return nil
}

// denials notes what the API server forbids to a client.
type denials struct {
	mu  sync.Mutex
	all []string // "PATCH /api/v1/nodes/agents000001", each once
}

func (d *denials) watch(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusForbidden {
			d.mu.Lock()
			defer d.mu.Unlock()
			if what := r.Method + " " + r.URL.Path; !slices.Contains(d.all, what) {
				d.all = append(d.all, what)
			}
		}
		return resp, err
	})
}

func (d *denials) list() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
