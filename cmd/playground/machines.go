package main

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/controlplane/kubelets"
)

const (
	lookEvery = 100 * time.Millisecond // Azure's machines are compared with the nodes
	joining   = 16                     // machines register at once
)

// machines lets the machines of the simulated Azure join the cluster when they have booted, and takes their kubelets away when they
// are gone or off. Node objects stay: to delete them is sluice's business.
type machines struct {
	azure    *azuresim.Server
	kubelets *kubelets.Kubelets
	delay    time.Duration // from the end of the boot to the kubelet's registration
	log      *slog.Logger

	mu     sync.Mutex
	joined map[string]string // node names by vmId
}

// run compares until ctx is done.
func (m *machines) run(ctx context.Context) {
	m.joined = map[string]string{}
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		m.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (m *machines) look(ctx context.Context) {
	up := map[string]bool{}
	var joiners sync.WaitGroup
	seats := make(chan struct{}, joining)
	for _, s := range m.azure.Machines() {
		if s.BootedAt.IsZero() || s.PowerState != "running" || s.ProvisioningState == "Deleting" {
			continue
		}
		up[s.VMID] = true
		m.mu.Lock()
		joined := m.joined[s.VMID] != ""
		m.mu.Unlock()
		if joined || s.NeverJoins || time.Since(s.BootedAt) < m.delay {
			continue
		}
		seats <- struct{}{}
		joiners.Go(func() {
			defer func() { <-seats }()
			m.join(ctx, s)
		})
	}
	joiners.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	for id, node := range m.joined {
		if !up[id] {
			m.kubelets.Leave(node)
			delete(m.joined, id)
		}
	}
}

func (m *machines) join(ctx context.Context, s azuresim.MachineState) {
	if err := m.kubelets.Join(ctx, machineOf(s)); err != nil {
		if ctx.Err() == nil {
			m.log.Warn("machine did not join", "instance", s.Name, "err", err)
		}
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined[s.VMID] = s.ComputerName
}

// machineOf is a machine as its kubelet and the cloud controller would describe it.
func machineOf(s azuresim.MachineState) kubelets.Machine {
	zone := location + "-" + s.Zone
	k := kubelets.Machine{
		Name: s.ComputerName, ProviderID: providerID(s.ID), SystemUUID: s.VMID, InternalIP: s.PrivateIP,
		Labels: map[string]string{
			corev1.LabelInstanceTypeStable: s.Size, corev1.LabelTopologyRegion: location, corev1.LabelTopologyZone: zone,
			"topology.disk.csi.azure.com/zone": zone,
		},
	}
	has := d2s
	for _, g := range groups {
		if g.name != s.ScaleSet {
			continue
		}
		has = g.size
		k.Labels[poolLabel] = g.name
		if g.tainted {
			k.Taints = append(k.Taints, corev1.Taint{Key: poolLabel, Value: g.name, Effect: corev1.TaintEffectNoSchedule})
		}
	}
	if s.ScaleSet == "" {
		const role = "node-role.kubernetes.io/control-plane"
		k.Labels[role] = ""
		k.Taints = append(k.Taints, corev1.Taint{Key: role, Effect: corev1.TaintEffectNoSchedule})
	}
	k.Capacity, k.Allocatable = has.capacity(), has.allocatable()
	return k
}

func (s size) capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(s.cores), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(s.gib)<<30, resource.BinarySI),
	}
}

// allocatable is less than the capacity by what a kubelet keeps for itself and the system, as on every real node.
func (s size) allocatable() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(s.cores)*1000-100, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(s.gib)<<30-1<<30, resource.BinarySI),
	}
}

// providerID is the resource id as the cloud controller writes it on nodes: with a lower-case resource group.
func providerID(id string) string {
	parts := strings.Split(id, "/")
	for i, p := range parts {
		if i > 0 && strings.EqualFold(parts[i-1], "resourceGroups") {
			parts[i] = strings.ToLower(p)
		}
	}
	return "azure://" + strings.Join(parts, "/")
}
