package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestImportWritesAFileOfWhatItFinds asks Azure alone, and then the API server as well. Neither is changed, and standard output is the file alone.
func TestImportWritesAFileOfWhatItFinds(t *testing.T) {
	f := newFarm(t)
	asks := slices.DeleteFunc(slices.Clone(f.flags), func(s string) bool { return strings.HasPrefix(s, "--nodes=") || strings.HasPrefix(s, "--kubeconfig=") })
	alone := append([]string{"cluster", "import", "--resource-group=farm", "--sign-in=machine", "--subscription=" + subscription}, asks...)
	got := sluice(t.Context(), alone...)
	if got.code != exitActs {
		t.Errorf("exit %d, want %d: %s", got.code, exitActs, got.complaint)
	}
	for _, want := range []string{
		"# Its server is machine server-0, known by the name alone.", "name: farm ", "  # version: v1.36.3", "FILL IN: ", "  - name: agents ", "    # max: 1 ",
	} {
		if !strings.Contains(got.out, want) {
			t.Errorf("the file lacks %q:\n%s", want, got.out)
		}
	}
	for _, want := range []string{"to fill in: line ", ": distribution.version: ", ": sluice.image: "} {
		if !strings.Contains(got.complaint, want) {
			t.Errorf("standard error lacks %q:\n%s", want, got.complaint)
		}
	}

	_, err := f.cluster.Create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kubeadm-config"},
		Data:       map[string]string{"ClusterConfiguration": "kubernetesVersion: v1.35.1\nnetworking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/12}\n"},
	})
	must(t, err)
	at := slices.IndexFunc(f.flags, func(s string) bool { return strings.HasPrefix(s, "--kubeconfig=") })
	got = sluice(t.Context(), append(alone, f.flags[at])...)
	for _, want := range []string{"  kind: kubeadm\n", "  version: v1.35.1\n", "  pods: 10.244.0.0/16\n", "  services: 10.96.0.0/12\n", "  azureDisk: false\n"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("with the API server the file lacks %q (%s):\n%s", want, got.complaint, got.out)
		}
	}
	f.untouched()

	path := filepath.Join(t.TempDir(), "cluster.yaml")
	sluice(t.Context(), append(alone, "--out="+path)...).expect(t, exitActs)
	written, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(written), "name: farm ") {
		t.Errorf("--out wrote %q, %v", written, err)
	}
	again := sluice(t.Context(), append(alone, "--out="+path)...)
	if still, err := os.ReadFile(path); err != nil || string(still) != string(written) || !strings.Contains(again.complaint, "is there already; move it away, or give another --out") {
		t.Errorf("a second time it said %q", again.complaint)
	}
}

func TestImportNeedsAGroup(t *testing.T) {
	got := sluice(t.Context(), "cluster", "import")
	if got.code != exitError || !strings.Contains(got.complaint, "--resource-group is not given") {
		t.Errorf("exit %d, said %q", got.code, got.complaint)
	}
}
