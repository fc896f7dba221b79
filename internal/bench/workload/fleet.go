package workload

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
)

// machinesMost is the largest number of machines of a scale set.
const machinesMost = 1000

// born is when the machines of every world were made.
var born = At.Add(-30 * 24 * time.Hour)

// pool is what the machines of a group are beside their size.
type pool struct {
	name  string // the label agentpool
	taint string // value of a taint "dedicated", "" for none
	zone  int    // of the next machine
}

// newGroup is an empty group of machines of a size, 0 to 1,000 of them, completely read.
func newGroup(id string, s Size, p pool) *cluster.Group {
	return &cluster.Group{
		ID: cluster.GroupID(id), Max: machinesMost, Size: s.Name, PriceUSDPerHour: s.Hourly, Template: template(s, p),
		VolumeLimit: int(min(2*s.Cores, 64)), Read: cluster.Read{At: At, Complete: true, Version: "1"},
	}
}

// template is a node as a machine of the group becomes one.
func template(s Size, p pool) *corev1.Node {
	all, allocatable := s.capacity()
	zone := zoneName(p.zone)
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			"agentpool":                         p.name,
			"kubernetes.azure.com/agentpool":    p.name,
			"topology.disk.csi.azure.com/zone":  zone,
			corev1.LabelArchStable:              "amd64",
			corev1.LabelOSStable:                "linux",
			corev1.LabelInstanceTypeStable:      s.Name,
			corev1.LabelTopologyRegion:          "eastus",
			corev1.LabelTopologyZone:            zone,
			"kubernetes.azure.com/storagetier":  "Premium_LRS",
			"kubernetes.azure.com/os-sku":       "Ubuntu",
			"kubernetes.azure.com/mode":         "user",
			"kubernetes.azure.com/role":         "agent",
			"kubernetes.azure.com/cluster":      "sluice",
			"kubernetes.azure.com/node-image":   "AKSUbuntu-2204gen2containerd",
			"kubernetes.azure.com/network-name": "vnet",
		}},
		Status: corev1.NodeStatus{
			Capacity: all, Allocatable: allocatable,
			NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64"},
		},
	}
	if p.taint != "" {
		n.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: p.taint, Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

func zoneName(zone int) string { return fmt.Sprintf("eastus-%d", zone) }

// join adds a running machine to the group and the Ready node that it became.
func (w *World) join(g *cluster.Group, s Size, p pool, no int) *corev1.Node {
	serial := strconv.FormatInt(int64(no), 36)
	name := string(g.ID) + "000000"[len(serial):] + serial
	at := len(w.Nodes)
	uid := fmt.Sprintf("%08x-5a1c-4e00-8000-%012x", at+1, at+1)
	in := &cluster.Instance{
		ID: cluster.InstanceID(strconv.Itoa(no)), Group: g.ID, UID: uid,
		ProviderID:   fmt.Sprintf("azure:///subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachineScaleSets/%s/virtualMachines/%d", g.ID, no),
		ComputerName: name, PrivateIPs: []string{fmt.Sprintf("10.%d.%d.%d", 128+at>>16, at>>8&255, at&255)},
		Size: s.Name, Zone: zoneName(p.zone), Created: born, State: cluster.StateRunning,
	}
	g.Instances = append(g.Instances, in)
	g.Capacity++

	created := metav1.NewTime(born.Add(2 * time.Minute))
	n := template(s, p)
	n.Name, n.UID, n.CreationTimestamp = name, types.UID("node-"+uid), created
	n.Labels[corev1.LabelHostname] = name
	n.Spec.ProviderID = in.ProviderID
	n.Status.NodeInfo.SystemUUID = uid
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: in.PrivateIPs[0]}, {Type: corev1.NodeHostName, Address: name}}
	for _, c := range []struct {
		kind   corev1.NodeConditionType
		status corev1.ConditionStatus
		reason string
	}{
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"},
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"},
	} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{Type: c.kind, Status: c.status, Reason: c.reason, LastTransitionTime: created})
	}
	w.Nodes = append(w.Nodes, n)
	return n
}

// sized are so many empty groups, one for each size and zone: all zones of the first size, then of the next. Those of every second
// size are dedicated to batch work by a taint.
func sized(n int) []*cluster.Group {
	var groups []*cluster.Group
	for i := range n {
		s, zone := sizes[i/3], 1+i%3
		p := pool{name: "general", zone: zone}
		if i/3%2 == 1 {
			p.name, p.taint = "batch", "batch"
		}
		groups = append(groups, newGroup(fmt.Sprintf("%s-%d", s.slug(), zone), s, p))
	}
	return groups
}
