package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/client-go/tools/clientcmd"
)

// usual is where a distribution of Kubernetes writes an administrator's kubeconfig on its servers, and how one gets to read it.
type usual struct{ of, path, remedy string }

const begins = "run this with sudo, or start the server with --write-kubeconfig-mode=640 and --write-kubeconfig-group=GROUP"

var usuals = []usual{
	{"K3s", "/etc/rancher/k3s/k3s.yaml", begins},
	{"RKE2", "/etc/rancher/rke2/rke2.yaml", begins},
	{"kubeadm", "/etc/kubernetes/admin.conf", "run this with sudo, or copy it to ~/.kube/config and make that yours"},
}

// usualKubeconfig is the first kubeconfig of usuals that can be opened, "" when none is there. It is an error when one is there, and none may be read:
// "no API server is named" would then send its reader the wrong way.
func usualKubeconfig(open func(path string) error) (path string, err error) {
	for _, u := range usuals {
		switch fault := open(u.path); {
		case fault == nil:
			return u.path, nil
		case errors.Is(fault, fs.ErrPermission) && err == nil:
			err = fmt.Errorf("%s, the kubeconfig of %s, may not be read by you: %s", u.path, u.of, u.remedy)
		}
	}
	return "", err
}

// orUsual has rules take the usual kubeconfig of this machine where neither a flag nor the environment names an API server, there is no
// ~/.kube/config, and this is no pod, which has a service account. The error is for where nothing else is found.
func orUsual(rules *clientcmd.ClientConfigLoadingRules, server string) error {
	if rules.ExplicitPath != "" || server != "" || os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return nil
	}
	for _, path := range rules.GetLoadingPrecedence() {
		if _, err := os.Stat(path); err == nil {
			return nil
		}
	}
	path, err := usualKubeconfig(openable)
	rules.ExplicitPath = path
	return err
}

// openable says why a file cannot be read. Tests say it of files that root can read.
var openable = func(path string) error {
	f, err := os.Open(path) //nolint:gosec // one of usuals
	if err != nil {
		return err
	}
	return f.Close()
}
