package k3sim

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// testNames is the table of machine names that are used again.
func testNames(c *cell) {
	const rejected = "Node password rejected, duplicate hostname"
	refused := func(t *testing.T, a *Agent, want string) {
		t.Helper()
		for range 2 { // it is tried for ever
			if err := a.Join(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Fatalf("joins with %v, want %q", err, want)
			}
		}
	}
	c.Run("a new machine while the old Node is there", func(t *testing.T) {
		c.join(c.agent("again1"))
		next := c.agent("again1")
		refused(t, next, rejected)
		if log := c.logged(); !strings.Contains(log, "unable to verify password for node again1: hash does not match") || !strings.Contains(log, "HTTP 403") {
			t.Errorf("the server logs %s", log)
		}
		c.erase("again1")
		c.join(next)
	})
	c.Run("with a node id", func(t *testing.T) {
		c.join(c.agent("again2"))
		next := c.agent("again2")
		next.WithNodeID = true
		if n := c.join(next); len(n.Name) != len("again2-")+8 || !strings.HasPrefix(n.Name, "again2-") {
			t.Errorf("it is node %s", n.Name)
		}
		name := next.Node()
		if c.join(next); next.Node() != name {
			t.Errorf("started again it is %s and no more %s", next.Node(), name)
		}
	})
	c.Run("the Node is deleted under an agent", func(t *testing.T) {
		a := c.agent("again3")
		a.Token = c.bootstrap("again3", time.Now().Add(time.Hour))
		c.join(a)
		c.erase("again3")
		if err := a.Beat(t.Context()); err == nil {
			t.Error("a kubelet that runs has registered its node again")
		}
		before := *a.Disk
		refused(t, a, "http: ContentLength=") // 189 was seen
		if err := a.Join(t.Context()); err == nil || !strings.Contains(err.Error(), "with Body length 0") {
			t.Errorf("started again, with its data folder: %v", err)
		}
		if !strings.Contains(c.logged(), "unable to verify node identity") {
			t.Errorf("the server logs %s", c.logged())
		}
		if diff := cmp.Diff(before, *a.Disk); diff != "" {
			t.Errorf("a try that fails changes the disk:\n%s", diff)
		}
		a.Disk.ClientCert = nil // agent/client-kubelet.crt is removed
		c.join(a)
	})
	c.Run("the token is deleted and the Node is there", func(t *testing.T) {
		a := c.agent("again4")
		a.Token = c.bootstrap("again4", time.Now().Add(time.Hour))
		before := c.join(a).UID
		if err := c.api.CoreV1().Secrets("kube-system").Delete(t.Context(), "bootstrap-token-again4", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if after := c.join(a).UID; after != before {
			t.Errorf("it is another node: %s, before %s", after, before)
		}
	})
	c.Run("a data folder of another name", func(t *testing.T) {
		a := c.agent("again5")
		c.join(a)
		copied := *a.Disk
		next := c.agent("again6")
		next.Disk = &copied
		refused(t, next, "400 Bad Request")
		if !strings.Contains(c.logged(), "header node name does not match auth node name") {
			t.Errorf("the server logs %s", c.logged())
		}
	})
	c.Run("names in capitals", func(t *testing.T) {
		if n := c.join(c.agent("AGAIN00002F")); n.Name != "again00002f" || n.Annotations["k3s.io/hostname"] != "AGAIN00002F" {
			t.Errorf("it is node %s of host %s", n.Name, n.Annotations["k3s.io/hostname"])
		}
	})
}

// testFinalizers deletes a Node while no server runs its controllers.
func testFinalizers(c *cell) {
	a := c.agent("held1")
	c.join(a)
	c.Pause(true)
	if err := c.api.CoreV1().Nodes().Delete(c.Context(), "held1", metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
	n, err := c.api.CoreV1().Nodes().Get(c.Context(), "held1", metav1.GetOptions{})
	if err != nil || n.DeletionTimestamp == nil || !slices.Equal(n.Finalizers, Finalizers) {
		c.Fatalf("the node is %+v, %v", n.ObjectMeta, err)
	}
	if err := c.agent("held1").Join(c.Context()); err == nil || !strings.Contains(err.Error(), "Node password rejected") {
		c.Errorf("a new machine of that name: %v", err)
	}
	c.Pause(false)
	c.await("the node goes", func(ctx context.Context) error {
		if _, err := c.api.CoreV1().Nodes().Get(ctx, "held1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %w", err)
		}
		return nil
	})
	c.join(c.agent("held1"))
}

// testOrphans lets a machine fetch certificates and never register.
func testOrphans(c *cell, pass func(time.Duration)) {
	c.join(c.agent("orphan0"))
	half := with(with(basic("node", "agent-secret"), headerName, "orphan1"), headerPassword, "first")
	if code, says := c.ask(http.MethodGet, "/v1-k3s/client-kubelet.crt", nil, half); code != http.StatusOK {
		c.Fatal(code, says)
	}
	sweep := func() bool {
		if err := c.Sweep(c.Context()); err != nil {
			c.Fatal(err)
		}
		_, err := c.api.CoreV1().Secrets("kube-system").Get(c.Context(), PasswordOf("orphan1"), metav1.GetOptions{})
		return err == nil
	}
	if pass(9 * time.Minute); !sweep() {
		c.Error("a password is forgotten before ten minutes are over")
	}
	if pass(2 * time.Minute); sweep() {
		c.Error("a password of no node is kept")
	}
	if _, err := c.api.CoreV1().Secrets("kube-system").Get(c.Context(), PasswordOf("orphan0"), metav1.GetOptions{}); err != nil {
		c.Errorf("the password of a node: %v", err)
	}
}
