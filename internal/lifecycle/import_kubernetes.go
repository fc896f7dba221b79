package lifecycle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/internal/clusterfile"
)

// Kubernetes is what an API server knows of its cluster, and Azure does not. The zero value knows nothing.
type Kubernetes struct {
	Nodes []Member

	Kind, Version  string // as the file has them; "" is not known
	CNI            string
	Pods, Services string   // ranges
	Drivers        []string // CSI drivers that are installed
	Odd            []string // what the file cannot say of it, one sentence each
}

// Member is a node, as far as an import goes by it.
type Member struct {
	Name, ProviderID string
	Server           bool
	Labels           map[string]string // those that people give
	Taints           []string          // as the file writes them
}

// Heard is what an API server was asked for.
type Heard struct {
	Nodes    []corev1.Node
	Kubeadm  string   // ClusterConfiguration of the ConfigMap kubeadm-config; "" where there is none
	Services []string // ranges of the ServiceCIDR kubernetes; none before Kubernetes 1.33
	Drivers  []string
}

// The defaults of K3s.
const (
	k3sPods     = "10.42.0.0/16"
	k3sServices = "10.43.0.0/16"
)

// Understand reads what an API server said.
func Understand(h Heard) Kubernetes {
	k := Kubernetes{Drivers: h.Drivers}
	versions := map[string]int{}
	for i := range h.Nodes {
		n := &h.Nodes[i]
		_, control := n.Labels["node-role.kubernetes.io/control-plane"]
		_, master := n.Labels["node-role.kubernetes.io/master"]
		k.Nodes = append(k.Nodes, Member{
			Name: n.Name, ProviderID: n.Spec.ProviderID, Server: control || master, Labels: people(n.Labels), Taints: taints(n.Spec.Taints),
		})
		v := n.Status.NodeInfo.KubeletVersion
		if versions[v]++; control || master {
			k.Version = cmp.Or(k.Version, v)
			k.k3s(n)
		}
		if n.Annotations["flannel.alpha.coreos.com/backend-type"] != "" {
			k.CNI = clusterfile.Flannel
		}
	}
	if k.Version == "" && len(versions) == 1 {
		k.Version = slices.Collect(maps.Keys(versions))[0]
	}
	switch {
	case strings.Contains(k.Version, "+k3s"):
		k.Kind = clusterfile.K3s
	case strings.Contains(k.Version, "+rke2"):
		k.odd("the cluster is RKE2 %s, which the file does not make", k.Version)
	case h.Kubeadm != "":
		k.Kind = clusterfile.Kubeadm
		k.kubeadm(h.Kubeadm)
	case len(h.Nodes) > 0:
		k.odd("the nodes run %s, and there is no ConfigMap kubeadm-config: it is neither K3s nor made by kubeadm", k.Version)
	}
	if len(h.Nodes) > 0 {
		k.CNI = cmp.Or(k.CNI, clusterfile.None)
	}
	delete(versions, k.Version)
	if len(versions) > 0 {
		k.odd("nodes run other releases than the server: %s", strings.Join(slices.Sorted(maps.Keys(versions)), ", "))
	}
	k.Pods, k.Services = k.one("pods", k.Pods), k.one("services", cmp.Or(strings.Join(h.Services, ","), k.Services))
	return k
}

func (k *Kubernetes) odd(format string, args ...any) {
	if s := fmt.Sprintf(format, args...); !slices.Contains(k.Odd, s) {
		k.Odd = append(k.Odd, s)
	}
}

// one is the first IPv4 range of a list with commas.
func (k *Kubernetes) one(of, list string) string {
	first := ""
	for _, text := range strings.Split(list, ",") {
		p, err := netip.ParsePrefix(strings.TrimSpace(text))
		switch {
		case err != nil:
		case p.Addr().Is4() && first == "":
			first = p.Masked().String()
		default:
			k.odd("the range of %s is %s, and the file has one IPv4 range", of, list)
		}
	}
	return first
}

// k3s reads the arguments with which a server of K3s runs, from its node. What hides a secret there is not repeated.
func (k *Kubernetes) k3s(n *corev1.Node) {
	var args []string
	if json.Unmarshal([]byte(n.Annotations["k3s.io/node-args"]), &args) != nil || len(args) == 0 || args[0] != "server" {
		return
	}
	k.Pods, k.Services = cmp.Or(k.Pods, k3sPods), cmp.Or(k.Services, k3sServices)
	k.CNI = clusterfile.Flannel
	var more []string
	for i := 1; i < len(args); i++ {
		name, value, given := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") {
			continue
		}
		if !given && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
		switch name {
		case "cluster-cidr":
			k.Pods = value
		case "service-cidr":
			k.Services = value
		case "flannel-backend":
			if value == "none" {
				k.CNI = clusterfile.None
			} else {
				more = append(more, name)
			}
		case "datastore-endpoint":
			k.odd("K3s keeps its data in a database elsewhere; the file's server keeps it on its own disk")
		case "token", "token-file", "agent-token", "agent-token-file", "node-ip", "node-name", "node-external-ip", "advertise-address", "bind-address",
			"tls-san", "write-kubeconfig-mode", "write-kubeconfig-group", "cloud-provider", "kubelet-arg", "data-dir":
		default:
			more = append(more, name)
		}
	}
	slices.Sort(more)
	if more = slices.Compact(more); len(more) > 0 {
		k.odd("K3s' server runs with arguments that the file does not have: %s", strings.Join(more, ", "))
	}
}

// kubeadm reads kubeadm's ClusterConfiguration.
func (k *Kubernetes) kubeadm(text string) {
	var c struct {
		Version    string `json:"kubernetesVersion"`
		Networking struct {
			Pods     string `json:"podSubnet"`
			Services string `json:"serviceSubnet"`
		} `json:"networking"`
		Etcd struct {
			External any `json:"external"`
		} `json:"etcd"`
		APIServer         map[string]any `json:"apiServer"`
		ControllerManager map[string]any `json:"controllerManager"`
		Scheduler         map[string]any `json:"scheduler"`
	}
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		k.odd("the ConfigMap kubeadm-config cannot be read")
		return
	}
	k.Version = cmp.Or(c.Version, k.Version)
	k.Pods, k.Services = c.Networking.Pods, c.Networking.Services
	if c.Etcd.External != nil {
		k.odd("etcd runs elsewhere; the file's server runs it itself")
	}
	for _, part := range []struct {
		name string
		of   map[string]any
	}{{"API server", c.APIServer}, {"controller manager", c.ControllerManager}, {"scheduler", c.Scheduler}} {
		if dig(part.of, "extraArgs") != nil || dig(part.of, "extraVolumes") != nil {
			k.odd("kubeadm gives the %s arguments or volumes that the file does not have", part.name)
		}
	}
}

// people keeps the labels that people give nodes: those that Kubernetes, a cloud or a distribution writes are made again by themselves.
func people(labels map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range labels {
		space, _, _ := strings.Cut(key, "/")
		ofSystem := strings.HasSuffix(space, "kubernetes.io") || strings.HasSuffix(space, "k8s.io") || strings.HasSuffix(space, "azure.com") ||
			strings.HasSuffix(space, "k3s.io") || strings.HasSuffix(space, "cattle.io") || strings.HasPrefix(space, "sluice.dev")
		if !strings.Contains(key, "/") || !ofSystem {
			out[key] = value
		}
	}
	return out
}

// taints are those of a node that people give, as the file writes them.
func taints(all []corev1.Taint) (out []string) {
	for _, t := range all {
		space, _, _ := strings.Cut(t.Key, "/")
		if strings.HasSuffix(space, "kubernetes.io") || strings.HasPrefix(space, "sluice.dev") || strings.HasSuffix(space, "cloudprovider") {
			continue
		}
		out = append(out, t.Key+"="+t.Value+":"+string(t.Effect))
	}
	slices.Sort(out)
	return out
}
