package azure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
)

// scaleSet is a regular Linux set of the size in west Europe.
func scaleSet(size string, change func(*armcompute.VirtualMachineScaleSet, *armcompute.VirtualMachineScaleSetVMProfile)) *armcompute.VirtualMachineScaleSet {
	profile := &armcompute.VirtualMachineScaleSetVMProfile{StorageProfile: &armcompute.VirtualMachineScaleSetStorageProfile{}}
	set := &armcompute.VirtualMachineScaleSet{
		Name: new("pool"), Location: new("WestEurope"), SKU: &armcompute.SKU{Name: new(size), Capacity: new(int64(0))}, Tags: map[string]*string{},
		Properties: &armcompute.VirtualMachineScaleSetProperties{VirtualMachineProfile: profile},
	}
	if change != nil {
		change(set, profile)
	}
	return set
}

// page shows what a group's next machine will be, a line for each fact.
func page(g *cluster.Group) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if g.Template == nil {
		line("no template: %s", g.Remedy)
	} else {
		n := g.Template
		names := map[string]string{}
		for name, q := range n.Status.Capacity {
			names[string(name)] = q.String()
			if a := n.Status.Allocatable[name]; a.Cmp(q) != 0 {
				line("allocatable %s differs: %s", name, a.String())
			}
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			line("%s %s", name, names[name])
		}
		line("%s %s", n.Status.NodeInfo.OperatingSystem, n.Status.NodeInfo.Architecture)
		guessed := strings.Split(n.Annotations[cluster.GuessedLabels], ",")
		for _, key := range slices.Sorted(maps.Keys(n.Labels)) {
			if strings.HasPrefix(key, "beta.kubernetes.io/") || strings.HasPrefix(key, "failure-domain.beta.kubernetes.io/") {
				newer := map[string]string{
					"beta.kubernetes.io/arch": corev1.LabelArchStable, "beta.kubernetes.io/os": corev1.LabelOSStable, corev1.LabelInstanceType: corev1.LabelInstanceTypeStable,
					corev1.LabelFailureDomainBetaRegion: corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone: corev1.LabelTopologyZone,
				}[key]
				if n.Labels[key] == n.Labels[newer] {
					continue // as its newer form
				}
			}
			mark := ""
			if slices.Contains(guessed, key) {
				mark = " (guessed)"
			}
			line("label %s=%s%s", key, n.Labels[key], mark)
		}
		for _, taint := range n.Spec.Taints {
			line("taint %s", taint.ToString())
		}
	}
	if g.VolumeLimit > 0 {
		line("attaches %d", g.VolumeLimit)
	}
	if g.PriceUSDPerHour > 0 {
		line("costs %v", g.PriceUSDPerHour)
	}
	return b.String()
}

func TestTheNextMachineOfAnEmptyGroup(t *testing.T) {
	type profile = armcompute.VirtualMachineScaleSetVMProfile
	tag := func(set *armcompute.VirtualMachineScaleSet, pairs ...string) {
		for _, p := range pairs {
			k, v, _ := strings.Cut(p, "=")
			set.Tags[k] = &v
		}
	}
	for name, tc := range map[string]struct {
		set  *armcompute.VirtualMachineScaleSet
		want string
	}{
		"nothing but a size": {scaleSet("Standard_D4s_v5", nil), `
cpu 4
memory 16Gi
pods 110
linux amd64
label kubernetes.io/arch=amd64
label kubernetes.io/os=linux
label node.kubernetes.io/instance-type=Standard_D4s_v5
label topology.disk.csi.azure.com/zone=
label topology.kubernetes.io/region=westeurope
label topology.kubernetes.io/zone=0
attaches 8
costs 0.23
`},
		"zones, disks and tags as they are": {scaleSet("Standard_E16-4s_v5", func(s *armcompute.VirtualMachineScaleSet, p *profile) {
			s.Zones = []*string{new("2"), new("3")}
			p.StorageProfile.OSDisk = &armcompute.VirtualMachineScaleSetOSDisk{
				DiskSizeGB: new(int32(128)), ManagedDisk: &armcompute.VirtualMachineScaleSetManagedDiskParameters{StorageAccountType: new(armcompute.StorageAccountTypesPremiumLRS)},
			}
			p.StorageProfile.DataDisks = []*armcompute.VirtualMachineScaleSetDataDisk{{}, {}}
			tag(s, "owner=team-a", "cost centre=12", "kubernetes.io/os=beos", "min=0", "sluice.dev_removal=deallocate", "aks-managed-poolName=np1", "poolName=old")
		}), `
cpu 4
ephemeral-storage 128Gi
memory 128Gi
pods 110
linux amd64
label agentpool=np1 (guessed)
label aks-managed-poolName=np1 (guessed)
label kubernetes.azure.com/agentpool=np1 (guessed)
label kubernetes.azure.com/storageprofile=managed (guessed)
label kubernetes.azure.com/storagetier=Premium_LRS (guessed)
label kubernetes.io/arch=amd64
label kubernetes.io/os=linux
label min=0 (guessed)
label node.kubernetes.io/instance-type=Standard_E16-4s_v5
label owner=team-a (guessed)
label poolName=old (guessed)
label storageprofile=managed (guessed)
label storagetier=Premium_LRS (guessed)
label topology.disk.csi.azure.com/zone=westeurope-2
label topology.kubernetes.io/region=westeurope
label topology.kubernetes.io/zone=westeurope-2
attaches 30
costs 1.216
`},
		"GPUs as spot, on the host's disk": {scaleSet("Standard_NC64as_T4_v3", func(s *armcompute.VirtualMachineScaleSet, p *profile) {
			s.Location = new("eastus")
			p.Priority = new(armcompute.VirtualMachinePriorityTypesSpot)
			p.StorageProfile.OSDisk = &armcompute.VirtualMachineScaleSetOSDisk{DiffDiskSettings: &armcompute.DiffDiskSettings{Option: new(armcompute.DiffDiskOptionsLocal)}}
		}), `
cpu 64
memory 440Gi
nvidia.com/gpu 4
pods 110
linux amd64
label accelerator=nvidia (guessed)
label kubernetes.azure.com/accelerator=nvidia (guessed)
label kubernetes.azure.com/scalesetpriority=spot (guessed)
label kubernetes.azure.com/storageprofile=ephemeral (guessed)
label kubernetes.io/arch=amd64
label kubernetes.io/os=linux
label node.kubernetes.io/instance-type=Standard_NC64as_T4_v3
label storageprofile=ephemeral (guessed)
label topology.disk.csi.azure.com/zone=
label topology.kubernetes.io/region=eastus
label topology.kubernetes.io/zone=0
attaches 32
costs 0.518758
`},
		"ARM, with every kind of tag": {scaleSet("Standard_D16pds_v6", func(s *armcompute.VirtualMachineScaleSet, _ *profile) {
			tag(s,
				"pool=plain", labelTag+"pool=said", labelTag+"example.com_a~2b=c", labelTag+"topology.kubernetes.io_zone=westeurope-9",
				taintTag+"dedicated=arm:NoSchedule", taintTag+"spare=:PreferNoSchedule", resourceTag+"example.com_licence=3", resourceTag+"pods=30",
				resourceTag+"ephemeral-storage=20Gi",
			)
		}), `
cpu 16
ephemeral-storage 20Gi
example.com/licence 3
memory 64Gi
pods 30
linux arm64
label example.com/a_b=c
label failure-domain.beta.kubernetes.io/zone=0
label kubernetes.io/arch=arm64
label kubernetes.io/os=linux
label node.kubernetes.io/instance-type=Standard_D16pds_v6
label pool=said
label topology.disk.csi.azure.com/zone=
label topology.kubernetes.io/region=westeurope
label topology.kubernetes.io/zone=westeurope-9
taint dedicated=arm:NoSchedule
taint spare:PreferNoSchedule
attaches 48
`},
		"AMD's GPU has its own name": {scaleSet("Standard_NV8as_v4", nil), `
amd.com/gpu 1
cpu 8
memory 28Gi
pods 110
linux amd64
label kubernetes.io/arch=amd64
label kubernetes.io/os=linux
label node.kubernetes.io/instance-type=Standard_NV8as_v4
label topology.disk.csi.azure.com/zone=
label topology.kubernetes.io/region=westeurope
label topology.kubernetes.io/zone=0
attaches 16
`},
		"Windows costs more than the table knows": {scaleSet("Standard_D2s_v5", func(_ *armcompute.VirtualMachineScaleSet, p *profile) {
			p.OSProfile = &armcompute.VirtualMachineScaleSetOSProfile{WindowsConfiguration: &armcompute.WindowsConfiguration{}}
		}), `
cpu 2
memory 8Gi
pods 110
windows amd64
label kubernetes.io/arch=amd64
label kubernetes.io/os=windows
label node.kubernetes.io/instance-type=Standard_D2s_v5
label topology.disk.csi.azure.com/zone=
label topology.kubernetes.io/region=westeurope
label topology.kubernetes.io/zone=0
attaches 4
`},
		"a size that no table knows": {scaleSet("Standard_D4ps_v99", nil), `
no template: tag the scale set with k8s.io_cluster-autoscaler_node-template_resources_cpu and k8s.io_cluster-autoscaler_node-template_resources_memory
`},
		"the same with tags": {scaleSet("Standard_D4ps_v99", func(s *armcompute.VirtualMachineScaleSet, _ *profile) {
			tag(s, resourceTag+"cpu=4", resourceTag+"memory=16Gi")
		}), `
cpu 4
memory 16Gi
pods 110
linux arm64
label kubernetes.io/arch=arm64
label kubernetes.io/os=linux
label node.kubernetes.io/instance-type=Standard_D4ps_v99
label topology.disk.csi.azure.com/zone=
label topology.kubernetes.io/region=westeurope
label topology.kubernetes.io/zone=0
`},
	} {
		t.Run(name, func(t *testing.T) {
			g := &cluster.Group{ID: "pool"}
			(*facts)(nil).describe(g, (&scaleSets{}).translate(tc.set))
			if d := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), page(g)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestPredictionsCanBeSwitchedOff(t *testing.T) {
	m := &model{size: "Standard_NC4as_T4_v3", location: "eastus", spot: true, disks: disks{os: true}, tags: map[string]string{"poolName": "a", "plain": "b"}}
	g := &cluster.Group{}
	(&facts{sizes: &sizeList{start: idle}, prices: &priceList{}}).describe(g, m)
	if got := g.Template.Annotations[cluster.GuessedLabels]; got != "plain,poolName" {
		t.Errorf("guessed %s, want the tags as they are and nothing else", got)
	}
}
