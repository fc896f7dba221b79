package app

import (
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/kube"
)

// TestTheInstallationRuns applies deploy/ as it stands to a cluster on the simulated Azure, which nobody has configured: the pods run on the control plane, and
// the program finds out by instance metadata and its managed identity where it is. It buys a machine and deletes it. Then it goes, and nothing of it is left on
// any object. The chart's pod is that of the manifest, as hack/chart tests.
func TestTheInstallationRuns(t *testing.T) {
	f := newTakeover(t)
	m := incumbent{manifest: "deployment", servers: true, groups: []group{{name: "agents", min: 1, tags: map[string]string{
		"cluster-autoscaler-enabled": "true", "min": "1", "max": "10",
	}}}}
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(deploy.Deployment, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := decoded.(*appsv1.Deployment)
	f.azure.build(t, m)
	t.Cleanup(func() { f.clear(t, of.Namespace) })
	f.until(t, m, "its machines are nodes", func() bool { return len(f.names(m)) == len(f.nodes(t, m)) })
	for _, name := range f.names(m) {
		f.pod(t, "base-"+name, name)
	}

	began := time.Now()
	grant(t, f.admin, deploy.RBAC)
	c := f.start(t, m, f.deploy(t, m, of, deploy.Deployment))
	f.until(t, m, "it is healthy", func() bool { status, _ := c.get(t, "/health-check"); return status == http.StatusOK })
	f.until(t, m, "it has decided", func() bool {
		_, err := f.admin.CoreV1().ConfigMaps(of.Namespace).Get(t.Context(), cluster.StatusName, metav1.GetOptions{})
		return err == nil
	})
	t.Logf("from nothing to a first decision: %s", time.Since(began).Round(time.Millisecond))

	node := f.growth(t, m, "web-0")
	f.end(t, "web-0")
	f.until(t, m, "the machine is gone again", func() bool { return len(f.names(m)) == 1 })
	f.until(t, m, "its Node object is gone, too", func() bool {
		_, err := f.admin.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
		return err != nil
	})

	began = time.Now()
	f.stop(t)
	hands := kube.Operator{Client: f.admin}
	at := kube.Place{Namespace: of.Namespace, Lease: "cluster-autoscaler", Status: cluster.StatusName}
	if err := hands.GiveBack(t.Context(), at, false, false, time.Now(), func(kube.Returned) {}); err != nil {
		t.Error(err)
	}
	if err := hands.GiveBack(t.Context(), at, true, false, time.Now(), func(r kube.Returned) { t.Errorf("%s still has %s", r.Object, r.What) }); err != nil {
		t.Error(err)
	}
	t.Logf("and back: %s", time.Since(began).Round(time.Millisecond))
}
