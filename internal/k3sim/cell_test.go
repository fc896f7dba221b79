package k3sim

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// cell is a supervisor of a test's own, in front of an API server that several share.
type cell struct {
	*testing.T
	*Server
	api kubernetes.Interface

	mu  sync.Mutex
	log []string
}

func newCell(t *testing.T, api *rest.Config, o Options) *cell {
	t.Helper()
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		t.Fatal(err)
	}
	c := &cell{T: t, api: client}
	o.API, o.Token, o.AgentToken = api, "server-secret", "agent-secret"
	o.Log = func(line string) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.log = append(c.log, line)
	}
	if c.Server, err = Start(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

func (c *cell) logged() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.log, "\n")
}

// agent is a new machine, with a static token unless it is given another one.
func (c *cell) agent(host string) *Agent {
	return &Agent{Server: c.URL(), Token: c.NodeToken(), Host: host, IP: "10.10.0.7", UUID: "uuid-" + random(4), Disk: &Disk{}}
}

func (c *cell) join(a *Agent) *corev1.Node {
	c.Helper()
	if err := a.Join(c.Context()); err != nil {
		c.Fatalf("%s joins: %v", a.Host, err)
	}
	return c.settled(a.Node())
}

// settled is the node once the server's controllers have seen it.
func (c *cell) settled(name string) (n *corev1.Node) {
	c.Helper()
	c.await("the controllers see node "+name, func(ctx context.Context) (err error) {
		if n, err = c.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err == nil && len(n.Finalizers) < 2 {
			err = errors.New("it has no finalizers")
		}
		if secret, no := c.api.CoreV1().Secrets("kube-system").Get(ctx, PasswordOf(name), metav1.GetOptions{}); err == nil && no == nil && len(secret.OwnerReferences) == 0 {
			err = errors.New("its password has no owner")
		}
		return err
	})
	return n
}

func (c *cell) await(what string, holds func(context.Context) error) {
	c.Helper()
	var last error
	err := wait.PollUntilContextTimeout(c.Context(), 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		last = holds(ctx)
		return last == nil, nil
	})
	if err != nil {
		c.Fatalf("%s: %v; %v\n%s", what, err, last, c.logged())
	}
}

// erase deletes a Node object and waits until it, and its password, are gone.
func (c *cell) erase(name string) {
	c.Helper()
	if err := c.api.CoreV1().Nodes().Delete(c.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
	c.await("node "+name+" and its password go", func(ctx context.Context) error {
		_, node := c.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		_, secret := c.api.CoreV1().Secrets("kube-system").Get(ctx, PasswordOf(name), metav1.GetOptions{})
		if apierrors.IsNotFound(node) && apierrors.IsNotFound(secret) {
			return nil
		}
		return fmt.Errorf("node: %v, secret: %v", node, secret)
	})
}

// bootstrap makes the Secret of a bootstrap token by hand, in a group of one's own, as sluice does.
func (c *cell) bootstrap(id string, expires time.Time) string {
	c.Helper()
	secret := random(8)
	_, err := c.api.CoreV1().Secrets("kube-system").Create(c.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "bootstrap-token-" + id}, Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": secret, "expiration": expires.UTC().Format(time.RFC3339),
			"usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:sluice",
		},
	}, metav1.CreateOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return id + "." + secret
}

// ask sends a request as anybody who trusts the server's authority, and says how it was answered.
func (c *cell) ask(method, path string, certificate *tls.Certificate, header map[string]string) (int, string) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.URL()+path, nil)
	if err != nil {
		c.Fatal(err)
	}
	for key, value := range header {
		r.Header.Set(key, value)
	}
	trust := &tls.Config{RootCAs: c.serverCA.pool(), MinVersion: tls.VersionTLS12}
	if certificate != nil {
		trust.Certificates = []tls.Certificate{*certificate}
	}
	resp, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}}).Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Message != "" {
		return resp.StatusCode, status.Message
	}
	return resp.StatusCode, string(body)
}

func basic(user, password string) map[string]string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return map[string]string{"Authorization": r.Header.Get("Authorization")}
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}
