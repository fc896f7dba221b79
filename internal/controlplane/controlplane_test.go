package controlplane

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// started runs a control plane for one test. Tests of this package cannot be parallel: a process runs one at a time. It is of another version where
// SLUICE_KUBERNETES names its programs.
func started(t *testing.T, o Options) (*ControlPlane, kubernetes.Interface) {
	t.Helper()
	o.Binaries = os.Getenv("SLUICE_KUBERNETES")
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c, clientFor(t, c.Config())
}

func clientFor(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestNamedDirectoryKeepsItsObjects(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "plane")}
	c, client := started(t, o)
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}

	_, client = started(t, o)
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("object stored before the restart: %v", err)
	}
}

func TestFailedStartNamesTheComponentAndKeepsTheLog(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = Start(t.Context(), Options{Port: taken.Addr().(*net.TCPAddr).Port})
	if err == nil {
		t.Fatal("Start on a port that is taken succeeded")
	}
	_, log, _ := strings.Cut(err.Error(), "(log: ")
	log = strings.TrimSuffix(log, ")")
	if _, stat := os.Stat(log); !strings.HasPrefix(err.Error(), "kube-apiserver: ") || stat != nil {
		t.Errorf("error %q, want it to begin with the component and to end with an existing log", err)
	}

	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(cancelled, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Start with a cancelled context: %v, want %v", err, context.Canceled)
	}
	started(t, Options{}) // a start that did not succeed is not in the way of the next
}

func TestAccessIsAsInARealCluster(t *testing.T) {
	var log strings.Builder
	c, admin := started(t, Options{Log: &log})

	fromFile, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientFor(t, fromFile).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Errorf("administrator's kubeconfig: %v", err)
	}

	stranger := c.Config()
	stranger.Impersonate.UserName = "system:serviceaccount:default:default"
	_, err = clientFor(t, stranger).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("service account without a role lists nodes: %v, want Forbidden", err)
	}

	anonymous := rest.AnonymousClientConfig(c.Config())
	if _, err := clientFor(t, anonymous).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
		t.Error("nobody in particular lists nodes")
	}

	_, err = admin.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "waits"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Errorf("pod created as soon as Start returns: %v", err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	for _, component := range []string{"kube-apiserver", "kube-scheduler", "kube-controller-manager", "etcd"} {
		if !strings.Contains(log.String(), component) {
			t.Errorf("Options.Log has no line of %s", component)
		}
	}
}
