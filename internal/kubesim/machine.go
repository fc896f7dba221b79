package kubesim

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	defaultNotReadyAfter = 40 * time.Second
	defaultOrphanAfter   = 60 * time.Second
)

// Machine is a computer with a kubelet on it.
type Machine struct {
	Name       string // of the Node it registers
	ProviderID string
	SystemUUID string
	InternalIP string

	KubeletVersion string // "" means v1.36.3

	Labels      map[string]string // besides hostname, os and arch
	Annotations map[string]string
	Finalizers  []string // that hold its Node object
	Taints      []corev1.Taint

	Capacity    corev1.ResourceList // pods: 110 if not given
	Allocatable corev1.ResourceList // nil means Capacity, of whose memory huge pages are set aside

	// AttachLimits is how many volumes each CSI driver can attach, by the
	// driver's name: what the machine's CSINode says. Without any there is none.
	AttachLimits map[string]int32

	ReadyAfter time.Duration // from registration to Ready; 0 means at once
}

type machine struct {
	Machine
	readyAt time.Time
}

// Join registers a machine as its kubelet would: it creates the Node, or takes
// over an existing one of that name, whose spec stays as it is but for an empty
// provider ID. A Node that is deleted while its machine is there does not come
// back by itself, and a Node that was made otherwise has no kubelet.
func (c *Cluster) Join(m Machine) error {
	c.lock()
	defer c.mu.Unlock()
	m.Capacity = m.Capacity.DeepCopy()
	if m.Capacity == nil {
		m.Capacity = corev1.ResourceList{}
	}
	if _, ok := m.Capacity[corev1.ResourcePods]; !ok {
		m.Capacity[corev1.ResourcePods] = resource.MustParse("110")
	}
	if m.Allocatable = m.Allocatable.DeepCopy(); m.Allocatable == nil {
		m.Allocatable = allocatable(m.Capacity)
	} else if _, ok := m.Allocatable[corev1.ResourcePods]; !ok {
		m.Allocatable[corev1.ResourcePods] = m.Capacity[corev1.ResourcePods].DeepCopy()
	}
	arrived := &machine{Machine: m, readyAt: c.store.now().Add(m.ReadyAfter)}
	c.kubelets.machines[m.Name] = arrived
	delete(c.controllers.lifecycle.lostAt, m.Name)

	if e := c.store.entryOf("nodes", m.Name); e != nil {
		revised(c.store, e, func(n *corev1.Node) {
			orElse(&n.Spec.ProviderID, m.ProviderID)
			if n.Labels == nil {
				n.Labels = map[string]string{}
			}
			maps.Copy(n.Labels, arrived.labels())
			arrived.report(n, c.store.stamp())
		})
	} else {
		n := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: arrived.labels(), Annotations: maps.Clone(m.Annotations), Finalizers: slices.Clone(m.Finalizers)},
			Spec:       corev1.NodeSpec{ProviderID: m.ProviderID, Taints: slices.Clone(m.Taints)},
		}
		arrived.report(n, c.store.stamp())
		if _, err := c.store.create(kindOf(n), n, true); err != nil {
			delete(c.kubelets.machines, m.Name)
			return err
		}
	}
	c.controllers.volumes.register(arrived)
	if m.ReadyAfter > 0 {
		c.timers.remind(arrived.readyAt, machineReady, m.Name, "")
	} else {
		c.kubelets.setNodeReady(m.Name, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
	}
	for _, key := range c.pods.keysOn(m.Name) {
		c.kubeletSees(key, c.pods.onNode[m.Name][key])
	}
	return nil
}

// allocatable is what a kubelet that reserves nothing gives to pods: the memory
// of huge pages is theirs alone.
func allocatable(capacity corev1.ResourceList) corev1.ResourceList {
	all := capacity.DeepCopy()
	for name, q := range capacity {
		if memory := all[corev1.ResourceMemory]; strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			memory.Sub(q)
			all[corev1.ResourceMemory] = memory
		}
	}
	return all
}

// Leave takes a machine away, as a power cut does: its kubelet stops, its Node
// and pods stay until somebody notices. It is a no-op for an unknown machine.
func (c *Cluster) Leave(name string) {
	c.lock()
	defer c.mu.Unlock()
	if c.kubelets.machines[name] == nil {
		return
	}
	delete(c.kubelets.machines, name)
	c.controllers.lifecycle.lostAt[name] = c.store.now().Add(orDefault(c.NotReadyAfter, defaultNotReadyAfter))
	c.timers.remind(c.controllers.lifecycle.lostAt[name], machineMissed, name, "")
	for _, st := range c.pods.onNode[name] {
		st.startAt, st.stopAt, st.finishAt = time.Time{}, time.Time{}, time.Time{}
	}
}

func (m *machine) labels() map[string]string {
	l := map[string]string{
		corev1.LabelHostname: m.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
	}
	maps.Copy(l, m.Labels)
	return l
}

// report writes what a kubelet knows of its machine into the Node's status.
func (m *machine) report(n *corev1.Node, now metav1.Time) {
	n.Status.Capacity = m.Capacity
	n.Status.Allocatable = m.Allocatable
	n.Status.NodeInfo = corev1.NodeSystemInfo{
		MachineID: m.SystemUUID, SystemUUID: m.SystemUUID, KubeletVersion: cmp.Or(m.KubeletVersion, "v1.36.3"), OperatingSystem: "linux", Architecture: "amd64",
		ContainerRuntimeVersion: "containerd://2.1.0",
	}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: m.Name}}
	if m.InternalIP != "" {
		n.Status.Addresses = slices.Insert(n.Status.Addresses, 0, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: m.InternalIP})
	}
	for _, t := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		setNodeCondition(n, now, corev1.NodeCondition{Type: t, Status: corev1.ConditionFalse, Reason: "KubeletHasNoPressure"})
	}
	setNodeCondition(n, now, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionFalse, Reason: "KubeletNotReady",
		Message: "container runtime network not ready"})
}
