package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// versions are those of kubelets, by what their nodes call their machines.
var versions = map[string]string{k3s: "v1.36.3+k3s1"}

// turnedAway is how long a machine waits before it tries again to register.
const turnedAway = 10 * time.Second

// passwordSecret is where a K3s server keeps the password of a node, under that name in kube-system.
func passwordSecret(node string) string { return node + ".node-password.k3s" }

// admits says whether the machine may register. A K3s server remembers the password that the first machine of a name has brought along, and
// turns away every other one of the name for as long as it does, or as the Node object of that machine is there. Once the Node object is gone, and the password with it, an agent that has joined
// with a bootstrap token never joins again: its certificate is refused, and its second request with the token fails.
func (ms *machines) admits(m *machine) bool {
	if ms.groups.sizes[m.ScaleSet].names != k3s {
		return true
	}
	name := passwordSecret(m.ComputerName)
	known, there := kubesim.Find[*corev1.Secret](ms.cluster, metav1.NamespaceSystem, name)
	if n, old := kubesim.Find[*corev1.Node](ms.cluster, "", m.ComputerName); old && n.Status.NodeInfo.SystemUUID != m.VMID {
		return false
	}
	if there {
		return string(known.Data["hash"]) == m.VMID
	}
	if m.known && ms.groups.sizes[m.ScaleSet].joinsOnce {
		return false
	}
	m.known = true
	_, err := ms.cluster.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}, Data: map[string][]byte{"hash": []byte(m.VMID)},
	})
	return err == nil
}

// forgetPassword is what a K3s server does when somebody deletes a Node object (docs.k3s.io, Uninstalling K3s), so that the name can be used
// again. Sluice, which does not know how old the server is, does not rely on that and forgets by its own hand.
func forgetPassword(c *kubesim.Cluster, node string) {
	name := passwordSecret(node)
	if _, there := kubesim.Find[*corev1.Secret](c, metav1.NamespaceSystem, name); there {
		_ = c.Delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name}}, nil) // it is there
	}
}
