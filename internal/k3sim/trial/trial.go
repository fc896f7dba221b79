// Package trial tries on machines that boot what sluice rests on in K3s: how agents join, how a name is used again, what becomes of a Node that is
// deleted, and of a machine that was switched off.
//
// [Try] is the same for an official K3s and for the stand-in of package k3sim, which it holds to the other.
package trial

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// Machines boot, run commands and are switched off.
type Machines interface {
	// PowerOn boots the machine of a name: a new one, with that cloud-init data, or one that was switched off, with its disk as it was.
	PowerOn(ctx context.Context, name string, userData []byte) error

	// Run has a shell run a command as root, and returns its standard output.
	Run(ctx context.Context, name, command string) (string, error)

	// PowerOff switches a machine off. Its disk stays.
	PowerOff(ctx context.Context, name string) error

	// Discard deletes a machine that is off, with its disk: the next one of its name is a new one.
	Discard(ctx context.Context, name string) error

	// Address is where the others reach a machine, and this process by Dial.
	Address(name string) string
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// Where things are on a machine.
const (
	Kubeconfig = "/etc/rancher/k3s/k3s.yaml"
	Config     = "/etc/rancher/k3s/config.yaml"
	Log        = "/var/log/k3s.log"
	ClientCert = "/var/lib/rancher/k3s/agent/client-kubelet.crt"
	Starter    = "/usr/local/sbin/start-k3s"
)

// userData starts K3s as a server or an agent, with a binary that comes from a URL. cloud-init runs it at the first boot alone: after a later one
// [Starter] is run by hand.
var userData = template.Must(template.New("").Parse(`#!/bin/sh
set -eu
mkdir -p /etc/rancher/k3s /usr/local/sbin
test -x /usr/local/bin/k3s || { curl -sSf -o /usr/local/bin/k3s '{{.From}}'; chmod 755 /usr/local/bin/k3s; }
cat > ` + Config + ` <<'END'
{{.Config}}END
chmod 600 ` + Config + `
cat > ` + Starter + ` <<'END'
#!/bin/sh
pgrep -x k3s-{{.Role}} > /dev/null || setsid /usr/local/bin/k3s {{.Role}} >> ` + Log + ` 2>&1 < /dev/null &
END
chmod 755 ` + Starter + `
` + Starter + `
`))

// Trial is one try.
type Trial struct {
	Machines Machines
	From     string        // URL at which machines fetch the K3s binary
	Patience time.Duration // how long one step may take; 0 means five minutes
}

// run is a try that is under way.
type run struct {
	*testing.T
	Trial
	api    kubernetes.Interface
	server string // URL of the supervisor
}

// Try starts a server and two agents, and has them live through all of it.
func Try(t *testing.T, trial Trial) {
	t.Helper()
	if trial.Patience == 0 {
		trial.Patience = 5 * time.Minute
	}
	r := &run{T: t, Trial: trial}
	r.startServer()
	token := r.token("sluice")
	first := r.joins("agent-1", token)
	second := r.joins("agent-2", token) // a token is not one-use
	r.looksAsSeen("agent-1")
	r.nameUsedAgain("agent-2", token, second)
	r.parked("agent-1", first)
	r.removed("agent-2")
	r.forgotten("agent-1")
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// await repeats until it holds.
func (r *run) await(what string, holds func(context.Context) error) {
	r.Helper()
	var last error
	err := wait.PollUntilContextTimeout(r.Context(), 200*time.Millisecond, r.Patience, true, func(ctx context.Context) (bool, error) {
		last = holds(ctx)
		return last == nil, nil
	})
	if err != nil {
		r.Fatalf("%s: %v; %v", what, err, last)
	}
	r.Log(what)
}

func (r *run) powerOn(name, role, config string) {
	r.Helper()
	var b bytes.Buffer
	r.must(userData.Execute(&b, struct{ From, Role, Config string }{r.From, role, config}))
	r.must(r.Machines.PowerOn(r.Context(), name, b.Bytes()))
}

// startServer waits for a kubeconfig, which the server writes, and for its API.
func (r *run) startServer() {
	r.Helper()
	r.powerOn("server", "server", "token: "+random(16)+"\nagent-token: "+random(16)+"\ndisable: [traefik, metrics-server, servicelb]\n")
	r.await("the server answers", func(ctx context.Context) error {
		text, err := r.Machines.Run(ctx, "server", "cat "+Kubeconfig)
		if err != nil {
			return err
		}
		config, err := clientcmd.RESTConfigFromKubeConfig([]byte(text))
		if err != nil {
			return err
		}
		config.Host = strings.Replace(config.Host, "127.0.0.1", r.Machines.Address("server"), 1)
		config.Dial = r.Machines.Dial
		config.ServerName = "localhost" // its certificate has that name, whatever its address is
		r.server = config.Host
		if r.api, err = kubernetes.NewForConfig(config); err != nil {
			return err
		}
		_, err = r.api.Discovery().ServerVersion()
		return err
	})
}

// token makes a bootstrap token as sluice does: a Secret by hand, in a group of its own.
func (r *run) token(id string) string {
	r.Helper()
	secret := random(8)
	_, err := r.api.CoreV1().Secrets(metav1.NamespaceSystem).Create(r.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "bootstrap-token-" + id}, Type: corev1.SecretTypeBootstrapToken,
		StringData: map[string]string{
			"token-id": id, "token-secret": secret, "usage-bootstrap-authentication": "true", "auth-extra-groups": "system:bootstrappers:sluice",
			"expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
		},
	}, metav1.CreateOptions{})
	r.must(err)
	return id + "." + secret
}

func (r *run) agent(name, token string) {
	r.Helper()
	r.powerOn(name, "agent", "server: "+r.server+"\ntoken: "+token+"\nnode-name: "+name+"\n")
}

// joins starts a new agent, and returns its node once that is Ready and the server's controllers have seen it.
func (r *run) joins(name, token string) *corev1.Node {
	r.Helper()
	r.agent(name, token)
	return r.ready(name)
}

func (r *run) ready(name string) (n *corev1.Node) {
	r.Helper()
	r.await(name+" is Ready", func(ctx context.Context) (err error) {
		if n, err = r.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err != nil {
			return err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(n.Finalizers) > 0 {
				return nil
			}
		}
		return fmt.Errorf("conditions %v, finalizers %v", n.Status.Conditions, n.Finalizers)
	})
	return n
}

// looksAsSeen holds a node and its password to what package k3sim has as seen.
func (r *run) looksAsSeen(name string) {
	r.Helper()
	n := r.ready(name)
	if want := "k3s://" + name; n.Spec.ProviderID != want || n.Labels[corev1.LabelInstanceTypeStable] != "k3s" {
		r.Errorf("%s calls its machine %q, of size %q", name, n.Spec.ProviderID, n.Labels[corev1.LabelInstanceTypeStable])
	}
	for _, key := range []string{"k3s.io/hostname", "k3s.io/internal-ip", "k3s.io/node-args", "k3s.io/node-config-hash", "k3s.io/node-env"} {
		if n.Annotations[key] == "" {
			r.Errorf("%s has no annotation %s", name, key)
		}
	}
	r.await("the Node owns its password", func(ctx context.Context) error {
		secret, err := r.api.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, password(name), metav1.GetOptions{})
		switch {
		case err != nil:
			return err
		case secret.Type != "k3s.cattle.io/node-password" || secret.Immutable == nil || !*secret.Immutable || !strings.HasPrefix(string(secret.Data["hash"]), "$1:"):
			return fmt.Errorf("it is of type %s, immutable %v", secret.Type, secret.Immutable)
		case len(secret.OwnerReferences) != 1 || secret.OwnerReferences[0].UID != n.UID:
			return fmt.Errorf("its owners are %v", secret.OwnerReferences)
		}
		return nil
	})
	requests, err := r.api.CertificatesV1().CertificateSigningRequests().List(r.Context(), metav1.ListOptions{})
	r.must(err)
	for _, q := range requests.Items {
		if strings.HasPrefix(q.Spec.SignerName, "kubernetes.io/kube-apiserver-client-kubelet") {
			r.Errorf("%s asked for a certificate by a signing request", q.Spec.Username)
		}
	}
}

// nameUsedAgain gives a machine's name to a new one: it joins once the old Node is deleted, and not before.
func (r *run) nameUsedAgain(name, token string, old *corev1.Node) {
	r.Helper()
	r.must(r.Machines.PowerOff(r.Context(), name))
	r.must(r.Machines.Discard(r.Context(), name))
	r.agent(name, token)
	r.await("a new "+name+" is turned away while the old Node is there", r.logs(name, "Node password rejected"))
	r.deletes(name)
	if n := r.ready(name); n.UID == old.UID {
		r.Errorf("%s has the old Node object", name)
	}
}

// logs says whether a machine's log has some words.
func (r *run) logs(name, words string) func(context.Context) error {
	return func(ctx context.Context) error {
		text, err := r.Machines.Run(ctx, name, "cat "+Log)
		if err != nil || strings.Contains(text, words) {
			return err
		}
		return fmt.Errorf("its log does not say %q", words)
	}
}

// deletes deletes a Node object, and waits until that one is gone.
func (r *run) deletes(name string) {
	r.Helper()
	old, err := r.api.CoreV1().Nodes().Get(r.Context(), name, metav1.GetOptions{})
	r.must(err)
	r.must(r.api.CoreV1().Nodes().Delete(r.Context(), name, metav1.DeleteOptions{}))
	r.await("Node "+name+" goes", func(ctx context.Context) error {
		if n, err := r.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err == nil && n.UID == old.UID {
			return errors.New("it is there")
		} else if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// parked switches a machine off and on again, without a token that is valid: it is the same node.
func (r *run) parked(name string, before *corev1.Node) {
	r.Helper()
	r.must(r.Machines.PowerOff(r.Context(), name))
	r.must(r.api.CoreV1().Secrets(metav1.NamespaceSystem).Delete(r.Context(), "bootstrap-token-sluice", metav1.DeleteOptions{}))
	r.await(name+" is silent", func(ctx context.Context) error {
		n, err := r.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return errors.New("it is Ready")
			}
		}
		return nil
	})
	r.must(r.Machines.PowerOn(r.Context(), name, nil))
	r.start(name)
	if n := r.ready(name); n.UID != before.UID {
		r.Errorf("%s is another node after it was parked", name)
	}
}

func (r *run) start(name string) {
	r.Helper()
	_, err := r.Machines.Run(r.Context(), name, Starter)
	r.must(err)
}

// removed switches a machine off for good: its Node object takes its password along.
func (r *run) removed(name string) {
	r.Helper()
	r.must(r.Machines.PowerOff(r.Context(), name))
	r.must(r.Machines.Discard(r.Context(), name))
	r.deletes(name)
	r.await("the password of "+name+" goes", func(ctx context.Context) error {
		_, err := r.api.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, password(name), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})
}

// forgotten deletes the Node object under a machine that runs. It comes back with a token that is valid once its client certificate is removed; whether
// it does before that differs between releases, and is told.
func (r *run) forgotten(name string) {
	r.Helper()
	token := r.token("second")
	r.deletes(name)
	r.must(r.Machines.PowerOff(r.Context(), name))
	r.must(r.Machines.PowerOn(r.Context(), name, nil))
	_, err := r.Machines.Run(r.Context(), name, fmt.Sprintf("sed -i 's/^token: .*/token: %s/' %s", token, Config))
	r.must(err)
	r.start(name)
	never := r.logs(name, "with Body length 0")
	r.await(name+" is back, or says that it never will be", func(ctx context.Context) error {
		if _, err := r.api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{}); err == nil {
			return nil
		}
		return never(ctx)
	})
	if _, err := r.api.CoreV1().Nodes().Get(r.Context(), name, metav1.GetOptions{}); err == nil {
		r.Logf("TOLD: on this release %s joins again by itself after its Node was deleted", name)
		return
	}
	r.Logf("TOLD: on this release %s never joins again after its Node was deleted, until its client certificate is removed", name)
	_, err = r.Machines.Run(r.Context(), name, "rm -f "+ClientCert)
	r.must(err)
	r.ready(name)
}

// password is the name of the Secret of a node's password.
func password(node string) string { return node + ".node-password.k3s" }

// random is that many bytes in hexadecimal.
func random(bytes int) string {
	b := make([]byte, bytes)
	if _, err := rand.Read(b); err != nil {
		panic("trial: " + err.Error()) // never, says crypto/rand
	}
	return hex.EncodeToString(b)
}
