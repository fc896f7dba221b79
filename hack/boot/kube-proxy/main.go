// Command kube-proxy is Kubernetes' own, for machines that share their kernel with a host: what of its configuration changes the host's is taken out.
package main

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-proxy/app"
	"sigs.k8s.io/yaml"
)

func main() {
	for i, a := range os.Args {
		if path, ok := strings.CutPrefix(a, "--config="); ok {
			ours, err := withoutTheHosts(path)
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Args[i] = "--config=" + ours
		}
	}
	os.Exit(cli.Run(app.NewProxyCommand()))
}

// withoutTheHosts writes the configuration without the size of the table of connections, which all machines of a host share, and without its own place
// before the host's memory runs out.
func withoutTheHosts(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	var c map[string]any
	if err := yaml.Unmarshal(text, &c); err != nil {
		return "", err
	}
	c["conntrack"] = map[string]any{"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"}
	c["oomScoreAdj"] = 0
	if text, err = yaml.Marshal(c); err != nil {
		return "", err
	}
	const ours = "/config.yaml"
	return ours, os.WriteFile(ours, text, 0o600)
}
