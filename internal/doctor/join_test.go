package doctor_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/internal/doctor"
)

const (
	resources = "/subscriptions/s/resourceGroups/farm/providers/Microsoft.Compute/"
	uniformID = "azure://" + resources + "virtualMachineScaleSets/agents/virtualMachines/7"
	singleID  = "azure://" + resources + "virtualMachines/agents_7"
)

// joins is a cluster of one group with one machine, which is node agents000007, and a server that is no machine of a group. A case changes any of it
// before it becomes a snapshot.
type joins struct {
	doctor.Joining
	machine *cluster.Instance
	node    *corev1.Node
	objects []any
	groups  []*cluster.Group
}

func healthyJoins() *joins {
	in := Machine("7", "agents000007", func(in *cluster.Instance) {
		in.Group, in.UID, in.ProviderID, in.Zone, in.Size = "agents", "11111111-2222-3333-4444-555555555555", uniformID, "westeurope-1", "Standard_D4s_v5"
	})
	n := Node("agents000007", func(n *corev1.Node) {
		n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = uniformID, in.UID
		n.Labels[corev1.LabelInstanceTypeStable], n.Labels[corev1.LabelTopologyZone], n.Labels[corev1.LabelTopologyRegion] = "Standard_D4s_v5", "westeurope-1", "westeurope"
	})
	server := Node("server", func(n *corev1.Node) {
		n.Labels["node-role.kubernetes.io/control-plane"], n.Spec.ProviderID = "true", "azure://"+resources+"virtualMachines/server"
	})
	g := Group("agents", 0, 5, in)
	g.Template.Labels = map[string]string{}
	return &joins{Joining: doctor.Joining{Region: "westeurope"}, machine: in, node: n, objects: []any{n, server}, groups: []*cluster.Group{g}}
}

func (j *joins) snapshot() *doctor.Joining {
	j.Snapshot = cluster.New(Start, Objects(j.objects...), j.groups)
	return &j.Joining
}

// alone takes the node away, so that the machine has none.
func (j *joins) alone() { j.objects = j.objects[1:] }

func (j *joins) controller() {
	j.objects = append(j.objects, Pod("cloud-controller-manager-7f", On("server"), func(p *corev1.Pod) { p.Namespace = "kube-system" }))
}

func (j *joins) waits() {
	j.node.Spec.Taints = append(j.node.Spec.Taints, corev1.Taint{Key: cluster.UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
}

// seen replaces the node by the one that was seen of K3s.
func (j *joins) seen(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../k3sim/testdata/node.yaml")
	if err != nil {
		t.Fatal(err)
	}
	j.node = &corev1.Node{}
	if err := yaml.UnmarshalStrict(text, j.node); err != nil {
		t.Fatal(err)
	}
	j.node.CreationTimestamp = metav1.NewTime(Start.Add(-24 * time.Hour))
	j.machine.ComputerName, j.machine.UID = "agents00002F", j.node.Status.NodeInfo.SystemUUID
	j.objects[0] = j.node
}

// trapped is one cluster for each trap.
var trapped = map[string]struct {
	breaks func(*testing.T, *joins)
	codes  []string // of the node, or of the machine without one
	worst  doctor.Status
	says   string // in the first of them
	mends  string
}{
	"nothing": {func(*testing.T, *joins) {}, nil, doctor.OK, "", ""},
	"two nodes of one machine": {func(_ *testing.T, j *joins) {
		j.objects = append(j.objects, Node("renamed", func(n *corev1.Node) { n.Status.NodeInfo.SystemUUID = j.machine.UID }))
	}, []string{doctor.TwoNodesOneMachine, doctor.TwoNodesOneMachine}, doctor.Problem, "nodes agents000007 and renamed both claim machine agents/7", "delete the Node object"},
	"a node of an earlier machine": {func(_ *testing.T, j *joins) {
		j.machine.UID, j.machine.Created = "99999999-2222-3333-4444-555555555555", Start.Add(-time.Minute)
	}, []string{doctor.NodeOfEarlierMachine, doctor.MachineNameTaken}, doctor.Problem, "node agents000007 is of an earlier machine", "kubectl delete node agents000007"},
	"a node that could be two machines": {func(_ *testing.T, j *joins) {
		j.node.Status.NodeInfo.SystemUUID, j.node.Spec.ProviderID = "", "k3s://agents000007"
		j.groups[0].Instances = append(j.groups[0].Instances, Machine("8", "agents000007", func(in *cluster.Instance) { in.Group = "agents" }))
	}, []string{doctor.NodeAmbiguous}, doctor.Problem, "could be machine agents/7 or agents/8", "different computer names"},
	"a node whose machine is gone": {func(_ *testing.T, j *joins) {
		j.groups[0].ProviderIDPrefix, j.groups[0].Instances, j.groups[0].Capacity = strings.TrimSuffix(uniformID, "7"), nil, 0
	}, []string{doctor.NodeWithoutMachine}, doctor.Warning, "which lists no such machine", "kubectl delete node agents000007"},
	"a deletion that hangs": {func(t *testing.T, j *joins) {
		j.seen(t)
		at := metav1.NewTime(Start.Add(-3 * time.Minute))
		j.node.DeletionTimestamp = &at
	}, []string{doctor.NodeDeletionHangs, doctor.InstanceTypeOfK3s, doctor.ZoneMissing, doctor.RegionMissing}, doctor.Problem,
		"deleted 3m ago, and finalizers hold it: wrangler.cattle.io/node, wrangler.cattle.io/managed-etcd-controller", "run in K3s's servers"},
	"as K3s makes it": {func(t *testing.T, j *joins) { j.seen(t) }, []string{doctor.InstanceTypeOfK3s, doctor.ZoneMissing, doctor.RegionMissing}, doctor.Warning,
		"labelled node.kubernetes.io/instance-type=k3s", "--node-label=node.kubernetes.io/instance-type=Standard_D4s_v5"},
	"as K3s makes it, beside Azure's cloud controller": {func(t *testing.T, j *joins) {
		j.seen(t)
		j.controller()
	}, []string{doctor.ProviderIDOfK3s, doctor.InstanceTypeOfK3s, doctor.ZoneMissing, doctor.RegionMissing}, doctor.Problem,
		"calls its machine k3s://agents00002f", "--kubelet-arg=provider-id=" + uniformID},
	"as K3s makes it, and Azure is not read": {func(t *testing.T, j *joins) {
		j.seen(t)
		j.groups, j.Unread = nil, "Azure could not be asked"
	}, []string{doctor.ProviderIDOfK3s}, doctor.Warning, "only its unique id can tell", "provider-id=azure:///…"},
	"a node id": {func(_ *testing.T, j *joins) {
		j.node.Name, j.node.Labels[corev1.LabelHostname] = "agents000007-0badcafe", "agents000007-0badcafe"
	}, []string{doctor.NodeNameWithID}, doctor.Warning, "has an id behind its computer name", "--with-node-id"},
	"a node id, where Azure's cloud controller goes by names": {func(_ *testing.T, j *joins) {
		j.node.Name, j.node.Labels[corev1.LabelHostname] = "agents000007-0badcafe", "agents000007-0badcafe"
		j.controller()
	}, []string{doctor.NodeNameWithID}, doctor.Problem, "has an id", ""},
	"the name in Azure": {func(_ *testing.T, j *joins) {
		j.node.Name, j.node.Labels[corev1.LabelHostname] = "agents-7", "agents-7"
	}, []string{doctor.NodeNameOfInstance}, doctor.Warning, "has its machine's name in Azure, and its computer name is agents000007", "--hostname-override"},
	"the name of a flexible machine in Azure": {func(_ *testing.T, j *joins) {
		j.node.Name, j.node.Labels[corev1.LabelHostname] = "agents-7", "agents-7"
		j.node.Spec.ProviderID, j.machine.ProviderID = singleID, singleID
	}, []string{doctor.NodeNameOfInstance}, doctor.Warning, "has its machine's name in Azure", ""},
	"another name": {func(_ *testing.T, j *joins) {
		j.node.Name, j.node.Labels[corev1.LabelHostname] = "worker", "worker"
	}, []string{doctor.NodeNameOther}, doctor.Warning, "node worker is machine agents/7, whose computer name is agents000007", "--node-name"},
	"another hostname label": {func(_ *testing.T, j *joins) { j.node.Labels[corev1.LabelHostname] = "worker" }, []string{doctor.HostnameLabelOther}, doctor.Warning,
		"labelled kubernetes.io/hostname=worker", "kubernetes.io/hostname=agents000007"},
	"capitals, and bytes in Azure's order": {func(_ *testing.T, j *joins) {
		j.machine.ComputerName, j.node.Status.NodeInfo.SystemUUID = "AGENTS000007", "11111111-2222-3333-4444-555555555555"
		j.machine.UID = cluster.Swapped(j.node.Status.NodeInfo.SystemUUID)
	}, nil, doctor.OK, "", ""},
	"the provider id in capitals": {func(_ *testing.T, j *joins) {
		j.node.Spec.ProviderID = strings.Replace(uniformID, "farm", "FARM", 1)
	}, nil, doctor.OK, "", ""},
	"no provider id": {func(_ *testing.T, j *joins) { j.node.Spec.ProviderID = "" }, nil, doctor.OK, "", ""},
	"no provider id, and Azure's cloud controller": {func(_ *testing.T, j *joins) {
		j.node.Spec.ProviderID = ""
		j.controller()
	}, []string{doctor.ProviderIDEmpty}, doctor.Problem, "has no provider id: Azure's cloud controller manager does not find its machine", "--provider-id=" + uniformID},
	"no provider id and no unique id, of another name": {func(_ *testing.T, j *joins) {
		j.node.Spec.ProviderID, j.node.Status.NodeInfo.SystemUUID, j.node.Name, j.node.Labels[corev1.LabelHostname] = "", "", "worker", "worker"
		j.node.Status.Addresses = nil
	}, []string{doctor.ProviderIDEmpty, doctor.MachineWithoutNode}, doctor.Warning, "no machine of a managed group is it", ""},
	"the provider id of another cloud": {func(_ *testing.T, j *joins) { j.node.Spec.ProviderID = "aws:///eu-central-1a/i-0d33022be1ed6ac78" },
		[]string{doctor.ProviderIDForeign}, doctor.Problem, "aws:///eu-central-1a/i-0d33022be1ed6ac78, which is none of Azure's", ""},
	"a provider id with four slashes": {func(_ *testing.T, j *joins) {
		j.node.Spec.ProviderID = "azure:///" + resources + "virtualMachines/agents_7"
	},
		[]string{doctor.ProviderIDMalformed}, doctor.Problem, "has no form of Azure's", "three slashes"},
	"a provider id of the other kind": {func(_ *testing.T, j *joins) { j.node.Spec.ProviderID = singleID }, []string{doctor.ProviderIDOtherForm}, doctor.Problem,
		"the provider id of a flexible scale set or a single machine, and its machine is of a uniform scale set", uniformID},
	"a provider id of another machine": {func(_ *testing.T, j *joins) { j.node.Spec.ProviderID = strings.TrimSuffix(uniformID, "7") + "3" },
		[]string{doctor.ProviderIDOfAnother}, doctor.Problem, "virtualMachines/3, and is machine agents/7", "out of the image"},
	"no labels": {func(_ *testing.T, j *joins) { j.node.Labels = map[string]string{corev1.LabelHostname: "agents000007"} },
		[]string{doctor.InstanceTypeMissing, doctor.ZoneMissing, doctor.RegionMissing}, doctor.Warning, "its machine's is Standard_D4s_v5", ""},
	"other labels": {func(_ *testing.T, j *joins) {
		j.node.Labels[corev1.LabelInstanceTypeStable], j.node.Labels[corev1.LabelTopologyZone], j.node.Labels[corev1.LabelTopologyRegion] = "Standard_D2s_v5", "1", "northeurope"
	}, []string{doctor.InstanceTypeWrong, doctor.ZoneWrong, doctor.RegionWrong}, doctor.Problem, "Standard_D2s_v5, and its machine is Standard_D4s_v5", ""},
	"a machine of no zone": {func(_ *testing.T, j *joins) { j.machine.Zone, j.node.Labels[corev1.LabelTopologyZone] = "", "0" }, nil, doctor.OK, "", ""},
	"no cloud controller": {func(_ *testing.T, j *joins) {
		j.waits()
		j.node.Spec.ProviderID = ""
	}, []string{doctor.NoCloudController}, doctor.Problem, "for 24h, and no cloud controller manager is seen", "--cloud-provider=external"},
	"a node that is new": {func(_ *testing.T, j *joins) {
		j.waits()
		j.node.CreationTimestamp = metav1.NewTime(Start.Add(-time.Minute))
		j.machine.Created = Start.Add(-2 * time.Minute)
	}, nil, doctor.OK, "", ""},
	"a cloud controller that does not find the machine": {func(_ *testing.T, j *joins) {
		j.waits()
		j.controller()
	}, []string{doctor.CloudControllerFails}, doctor.Problem, "does not find its machine", "vmType"},
	"a name that is taken": {func(_ *testing.T, j *joins) {
		j.machine.UID, j.machine.Created = "99999999-2222-3333-4444-555555555555", Start.Add(-time.Hour)
	}, []string{doctor.NodeOfEarlierMachine, doctor.MachineNameTaken}, doctor.Problem, "", ""},
	"a password that stays": {func(_ *testing.T, j *joins) {
		j.alone()
		j.Passwords = map[string]bool{"agents000007": true}
	}, []string{doctor.NodePasswordStays}, doctor.Problem, "and the password of a node agents000007 is kept", "delete secret agents000007.node-password.k3s"},
	"a password of a machine that joins": {func(_ *testing.T, j *joins) {
		j.alone()
		j.machine.Created, j.Passwords = Start.Add(-time.Minute), map[string]bool{"agents000007": true}
	}, nil, doctor.OK, "", ""},
	"a computer name that no node has": {func(_ *testing.T, j *joins) {
		j.alone()
		j.machine.ComputerName = "agents_7"
	}, []string{doctor.ComputerNameInvalid}, doctor.Problem, "computer name agents_7", "give group agents a computerNamePrefix"},
	"a boot log that shows the cause": {func(_ *testing.T, j *joins) {
		j.alone()
		j.machine.Diagnosis = &cluster.Diagnosis{Cause: "the disk is full", Remedy: "give the machine a larger OS disk", Lines: []string{"tar: write error: No space left on device", "login:"}}
	}, []string{doctor.MachineFails}, doctor.Problem, "is no node: the disk is full (tar: write error: No space left on device)", "a larger OS disk"},
	"a machine that failed": {func(_ *testing.T, j *joins) {
		j.alone()
		j.machine.State, j.machine.Failure = cluster.StateFailed, &cluster.Failure{Message: "no room"}
	}, []string{doctor.MachineFails}, doctor.Problem, "Azure says that it failed: no room", "sluice deletes the machine"},
	"capitals, and no node": {func(_ *testing.T, j *joins) {
		j.alone()
		j.machine.ComputerName = "AGENTS000007"
	}, []string{doctor.ComputerNameCapital}, doctor.Warning, "AGENTS000007 in small letters", "nodeRegistration.name"},
	"a boot log that shows nothing": {func(_ *testing.T, j *joins) {
		j.alone()
		j.machine.Diagnosis = &cluster.Diagnosis{Lines: []string{"login:"}}
	}, []string{doctor.MachineWithoutNode}, doctor.Warning, "is no node; its boot log shows no known cause (login:)", ""},
	"no boot log": {func(_ *testing.T, j *joins) {
		j.alone()
		j.machine.Diagnosis = &cluster.Diagnosis{Problem: "its boot log is empty"}
	}, []string{doctor.MachineWithoutNode}, doctor.Warning, "is no node; its boot log is empty", ""},
	"a parked machine": {func(_ *testing.T, j *joins) {
		j.groups[0].Parks, j.groups[0].Parked, j.groups[0].Instances, j.groups[0].Capacity = true, j.groups[0].Instances, nil, 0
	}, nil, doctor.OK, "", ""},
	"vmType standard, and a uniform scale set": {func(_ *testing.T, j *joins) {
		j.controller()
		j.VMType = "standard"
	}, []string{doctor.VMTypeWrong}, doctor.Problem, "vmType is standard, and 1 node of uniform scale sets: agents000007", "set vmType to vmss"},
	"vmType vmssflex, and a uniform scale set": {func(_ *testing.T, j *joins) {
		j.controller()
		j.VMType = "vmssflex"
	}, []string{doctor.VMTypeWrong}, doctor.Problem, "group agents are of a uniform scale set", "set vmType to vmss"},
	"vmType vmss, and a flexible scale set": {func(_ *testing.T, j *joins) {
		j.controller()
		j.VMType, j.node.Spec.ProviderID, j.machine.ProviderID = "vmss", singleID, singleID
	}, []string{doctor.VMTypeWrong}, doctor.Problem, "of a flexible scale set", "vmssflex"},
	"vmType vmss, and a flexible scale set, and no cloud controller": {func(_ *testing.T, j *joins) {
		j.VMType, j.node.Spec.ProviderID, j.machine.ProviderID = "vmss", singleID, singleID
	}, nil, doctor.OK, "", ""},
	"vmType vmss for both": {func(_ *testing.T, j *joins) {
		j.controller()
		j.VMType, j.Mixed, j.node.Spec.ProviderID, j.machine.ProviderID = "vmss", true, singleID, singleID
	}, nil, doctor.OK, "", ""},
	"vmType vmss": {func(_ *testing.T, j *joins) {
		j.controller()
		j.VMType = "vmss"
	}, nil, doctor.OK, "", ""},
}

func TestEveryTrapIsNamedWithItsRemedy(t *testing.T) {
	named := map[string]bool{}
	for name, tc := range trapped {
		t.Run(name, func(t *testing.T) {
			j := healthyJoins()
			tc.breaks(t, j)
			all, _ := doctor.Join(j.snapshot(), "")
			var codes []string
			for _, f := range all {
				if f.Code == "" {
					continue
				}
				named[f.Code] = true
				codes = append(codes, f.Code)
				if f.Remedy == "" || f.Subject == "" || strings.ContainsAny(f.Message+f.Remedy, "\n{}") {
					t.Errorf("%+v: want a sentence and a remedy in one line", f)
				}
			}
			if diff := cmp.Diff(tc.codes, codes); diff != "" {
				t.Fatalf("codes (-want +got):\n%s", diff)
			}
			if worst := doctor.Worst(all); worst != tc.worst && j.Unread == "" {
				t.Errorf("the worst is %s, want %s", worst, tc.worst)
			}
			if len(codes) > 0 && (!strings.Contains(all[0].Message, tc.says) || !strings.Contains(all[0].Remedy, tc.mends)) {
				t.Errorf("says %q; %q, want %q; %q", all[0].Message, all[0].Remedy, tc.says, tc.mends)
			}
		})
	}
	for _, code := range doctor.JoinCodes() {
		if !named[code] {
			t.Errorf("no case brings %s about", code)
		}
	}
}

// TestANodeIsFoundByAnyOfItsNames asks for one subject in each way.
func TestANodeIsFoundByAnyOfItsNames(t *testing.T) {
	for name, want := range map[string]bool{"agents000007": true, "AGENTS000007": true, "agents/7": true, "server": true, "agents000008": false, "agents": false} {
		all, known := doctor.Join(healthyJoins().snapshot(), name)
		if known != want || want && len(all) == 0 || doctor.Worst(append(all, doctor.Finding{Status: doctor.OK})) != doctor.OK {
			t.Errorf("%s: known %t, %+v", name, known, all)
		}
	}
}

// TestAMachineThatIsNotLateIsTold asks for machines of which nothing is wrong, or that others speak of.
func TestAMachineThatIsNotLateIsTold(t *testing.T) {
	for want, change := range map[string]func(*cluster.Instance){
		"machine agents/7 (agents000007) is 3m old and has time to join until it is 15m old": func(in *cluster.Instance) { in.Created = Start.Add(-3 * time.Minute) },
		"machine agents/7 (agents000007) is stopped, and no node":                            func(in *cluster.Instance) { in.State = cluster.StateStopped },
	} {
		j := healthyJoins()
		j.alone()
		change(j.machine)
		all, known := doctor.Join(j.snapshot(), "agents/7")
		if !known || len(all) != 1 || all[0].Message != want || all[0].Status != doctor.OK {
			t.Errorf("%+v, want %s", all, want)
		}
		if all, _ := doctor.Join(j.snapshot(), ""); doctor.Worst(all) != doctor.OK {
			t.Errorf("of all: %+v", all)
		}
	}
}

func TestOneNodeIsToldAreaByArea(t *testing.T) {
	j := healthyJoins()
	j.seen(t)
	j.controller()
	j.Passwords = map[string]bool{"agents00002f": true}
	all, _ := doctor.Join(j.snapshot(), "agents00002f")
	narrow(t, func(b *bytes.Buffer) error { return doctor.PrintJoin(b, all) }, `
machine        ok       node agents00002f is machine agents/7, by its unique id
name           ok       node agents00002f has the computer name of its machine, agents00002F
provider-id    problem  node agents00002f calls its machine k3s://agents00002f: Azure's cloud
                        controller manager does not find its machine
                        ProviderIDOfK3s: start agents with
                        --kubelet-arg=provider-id=azure:///subscriptions/s/resourceGroups/farm/providers/Microsoft.Compute/virtualMachineScaleSets/agents/virtualMachines/7,
                        and delete the Node object before its machine starts again: a provider id
                        never changes
                        known: kubernetes/autoscaler#4995, kubernetes-sigs/cloud-provider-azure#5237
labels         warning  node agents00002f is labelled node.kubernetes.io/instance-type=k3s: pods
                        that select a size do not find it
                        InstanceTypeOfK3s: start agents with
                        --node-label=node.kubernetes.io/instance-type=Standard_D4s_v5
                        known: kubernetes-sigs/cloud-provider-azure#5849
               warning  node agents00002f has no label topology.kubernetes.io/zone; its machine's is
                        westeurope-1
                        ZoneMissing: start kubelet with
                        --node-labels=topology.kubernetes.io/zone=westeurope-1, or run Azure's cloud
                        controller manager
               warning  node agents00002f has no label topology.kubernetes.io/region; its machine's
                        is westeurope
                        RegionMissing: start kubelet with
                        --node-labels=topology.kubernetes.io/region=westeurope, or run Azure's cloud
                        controller manager
taints         ok       it waits for no cloud controller
password       ok       k3s keeps its password: no other machine can take its name while the Node
                        object is there

1 problem, 3 warnings.
`)
}

func TestAllNodesAreToldInATable(t *testing.T) {
	j := healthyJoins()
	for i := range 14 {
		name := fmt.Sprintf("agents0001%02d", i)
		in := Machine(fmt.Sprint(100+i), name, func(in *cluster.Instance) {
			in.Group, in.UID, in.Zone = "agents", fmt.Sprintf("aaaaaaaa-2222-3333-4444-5555555555%02d", i), "westeurope-2"
		})
		j.groups[0].Instances = append(j.groups[0].Instances, in)
		j.objects = append(j.objects, Node(name, func(n *corev1.Node) {
			n.Status.NodeInfo.SystemUUID = in.UID
			n.Labels[corev1.LabelInstanceTypeStable], n.Labels[corev1.LabelTopologyRegion] = "Standard_D4s_v5", "westeurope"
		}))
	}
	j.groups[0].Capacity = len(j.groups[0].Instances)
	j.node.Spec.ProviderID = "azure:////subscriptions/s"
	all, _ := doctor.Join(j.snapshot(), "")
	narrow(t, func(b *bytes.Buffer) error { return doctor.PrintJoins(b, all) }, `
NAME          STATUS   CODES
agents000007  problem  ProviderIDMalformed
agents000100  warning  ZoneMissing
agents000101  warning  ZoneMissing
agents000102  warning  ZoneMissing
agents000103  warning  ZoneMissing
agents000104  warning  ZoneMissing
agents000105  warning  ZoneMissing
agents000106  warning  ZoneMissing
agents000107  warning  ZoneMissing
agents000108  warning  ZoneMissing
agents000109  warning  ZoneMissing
and 4 more    warning  ZoneMissing

ProviderIDMalformed (known: kubernetes-sigs/cluster-api-provider-azure#1279)
  node agents000007 calls its machine azure:////subscriptions/s, which has no form of Azure's
  start kubelet with
  --provider-id=azure:///subscriptions/s/resourceGroups/farm/providers/Microsoft.Compute/virtualMachineScaleSets/agents/virtualMachines/7,
  three slashes in front, and delete the Node object before its machine starts again

ZoneMissing
  node agents000100 has no label topology.kubernetes.io/zone; its machine's is westeurope-2
  start kubelet with --node-labels=topology.kubernetes.io/zone=westeurope-2, or run Azure's cloud
  controller manager

1 problem, 14 warnings.
`)
	all, _ = doctor.Join(healthyJoins().snapshot(), "")
	narrow(t, func(b *bytes.Buffer) error { return doctor.PrintJoins(b, all) }, `
machine        ok       2 nodes and 1 machine of groups: they come together as they should

Nothing is wrong.
`)
}

// narrow holds what is printed to a text, and each line to a terminal of 100 columns, but for a word that is longer.
func narrow(t *testing.T, show func(*bytes.Buffer) error, want string) {
	t.Helper()
	var b bytes.Buffer
	if err := show(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for line := range strings.Lines(b.String()) {
		if len([]rune(line)) > 101 && slices.Max(lengths(line)) < 76 {
			t.Errorf("%d columns: %s", len([]rune(line))-1, line)
		}
	}
}

func lengths(line string) (all []int) {
	for _, word := range strings.Fields(line) {
		all = append(all, len(word))
	}
	return append(all, 0)
}

var update = flag.Bool("update", false, "write the page of traps")

// TestPageOfJoinTraps holds docs/reference/join.md to the table.
func TestPageOfJoinTraps(t *testing.T) {
	const page = "../../docs/reference/join.md"
	want := doctor.JoinPage()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run go test ./internal/doctor -run PageOfJoinTraps -update (-want +got):\n%s", diff)
	}
}
