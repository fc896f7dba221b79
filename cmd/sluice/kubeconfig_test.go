package main

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
)

// TestTheUsualKubeconfigIsTheFirstThatCanBeRead plays servers of each distribution, and a person who may not read what is there.
func TestTheUsualKubeconfigIsTheFirstThatCanBeRead(t *testing.T) {
	const k3s, rke2, kubeadm = "/etc/rancher/k3s/k3s.yaml", "/etc/rancher/rke2/rke2.yaml", "/etc/kubernetes/admin.conf"
	for name, c := range map[string]struct {
		there, secret []string
		want          string
		says          []string
	}{
		"nothing is there":       {nil, nil, "", nil},
		"K3s":                    {[]string{k3s}, nil, k3s, nil},
		"RKE2":                   {[]string{rke2}, nil, rke2, nil},
		"kubeadm":                {[]string{kubeadm}, nil, kubeadm, nil},
		"two of them":            {[]string{kubeadm, k3s}, nil, k3s, nil},
		"K3s, of root alone":     {nil, []string{k3s}, "", []string{k3s, "K3s", "sudo", "--write-kubeconfig-mode"}},
		"kubeadm, of root alone": {nil, []string{kubeadm}, "", []string{kubeadm, "kubeadm", "sudo", "~/.kube/config"}},
		"two, of root alone":     {nil, []string{k3s, kubeadm}, "", []string{k3s}},
		"one of two can be read": {[]string{kubeadm}, []string{k3s}, kubeadm, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path, err := usualKubeconfig(func(path string) error {
				switch {
				case slices.Contains(c.there, path):
					return nil
				case slices.Contains(c.secret, path):
					return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
				}
				return &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
			})
			if path != c.want || (err != nil) != (c.says != nil) {
				t.Fatalf("%q, %v, want %q", path, err, c.want)
			}
			for _, words := range c.says {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("the error does not say %q: %v", words, err)
				}
			}
		})
	}
}

// TestTheUsualKubeconfigComesLast holds that whatever names an API server wins over it, a pod's service account too.
func TestTheUsualKubeconfigComesLast(t *testing.T) {
	theirs := file(t, "k3s.yaml", "")
	home := file(t, "config", "")
	was, homeWas := usuals, clientcmd.RecommendedHomeFile
	t.Cleanup(func() { usuals, clientcmd.RecommendedHomeFile = was, homeWas })
	usuals = []usual{{"K3s", theirs, "sudo"}}
	for name, c := range map[string]struct {
		flag, server, variable, pod, home string
		want                              string
	}{
		"nothing is named":  {want: theirs},
		"--kubeconfig":      {flag: "/mine", want: "/mine"},
		"--kubernetes":      {server: "https://10.0.0.1:6443"},
		"KUBECONFIG":        {variable: "/nowhere"},
		"a pod":             {pod: "10.43.0.1"},
		"a file in my home": {home: home},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", c.variable)
			t.Setenv("KUBERNETES_SERVICE_HOST", c.pod)
			if clientcmd.RecommendedHomeFile = c.home; c.home == "" {
				clientcmd.RecommendedHomeFile = filepath.Join(t.TempDir(), "absent")
			}
			rules := clientcmd.NewDefaultClientConfigLoadingRules()
			rules.ExplicitPath = c.flag
			if err := orUsual(rules, c.server); err != nil || rules.ExplicitPath != c.want {
				t.Errorf("%q, %v, want %q", rules.ExplicitPath, err, c.want)
			}
		})
	}
}

// TestAVerbFindsTheKubeconfigOfThisMachine asks an API server that only such a file names.
func TestAVerbFindsTheKubeconfigOfThisMachine(t *testing.T) {
	nowhere(t)
	refused := freeAddress(t)
	was, homeWas := usuals, clientcmd.RecommendedHomeFile
	t.Cleanup(func() { usuals, clientcmd.RecommendedHomeFile = was, homeWas })
	usuals, clientcmd.RecommendedHomeFile = []usual{{"K3s", kubeconfig(t, "http://"+refused), "sudo"}}, filepath.Join(t.TempDir(), "absent")
	t.Setenv("KUBECONFIG", "")
	sluice(t.Context(), "resume").complains(t, refused, "refuse")

	usuals[0].path = file(t, "k3s.yaml", "dear diary\nit is late\n")
	sluice(t.Context(), "resume").complains(t, usuals[0].path, "correct the kubeconfig")

	may := openable
	t.Cleanup(func() { openable = may })
	openable = func(string) error { return fs.ErrPermission }
	sluice(t.Context(), "resume").complains(t, usuals[0].path, "the kubeconfig of K3s, may not be read by you: sudo")
	sluice(t.Context(), "doctor", "--azure-metadata-endpoint=http://"+refused).expect(t, exitActs, "ClusterUnnamed", "may not be read by you")
	usuals = nil
	sluice(t.Context(), "resume").complains(t, "no API server is named")
}
