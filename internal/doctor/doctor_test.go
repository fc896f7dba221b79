package doctor_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/internal/doctor"
)

// healthy is an installation in which nothing is wrong: two groups, three nodes, one of them of no group.
func healthy() doctor.Facts {
	groups := []*cluster.Group{Group("agents", 0, 5, Machine("0", "agents-0")), Group("render", 1, 9, Machine("7", "render-7"))}
	for _, g := range groups {
		g.Template.Labels = map[string]string{}
	}
	return doctor.Facts{
		Azure: doctor.Azure{
			Place:    doctor.Place{Cloud: "AzurePublicCloud", Subscription: "s", ResourceGroup: "Farm", Location: "westeurope"},
			Reached:  []doctor.Reached{{Name: "Resource Manager", Host: "management.azure.com"}},
			Identity: "the machine's managed identity", ClientID: "client",
			SkewKnown: true, Rights: []doctor.Permission{{Actions: []string{"Microsoft.Compute/*"}}},
			Needed: []string{"Microsoft.Compute/virtualMachineScaleSets/read"},
		},
		Groups:   groups,
		Kube:     doctor.Kube{SkewKnown: true, Checked: 20},
		Snapshot: cluster.New(Start, Objects(Node("agents-0"), Node("render-7"), Node("server")), groups),
	}
}

// pause pauses a group for an hour.
func pause(f *doctor.Facts, id cluster.GroupID) {
	p := cluster.Pauses{id: Start.Add(time.Hour), "render": Start}
	f.Snapshot.Objects.Namespaces = append(f.Snapshot.Objects.Namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: cluster.PauseNamespace, Annotations: map[string]string{cluster.PauseAnnotation: p.Annotation()},
	}})
}

// fails is a failure of a kind.
func fails(kind doctor.FailureKind, sentence string) *doctor.Failure {
	return &doctor.Failure{Kind: kind, Sentence: sentence}
}

// unread has Azure answer in that way about every group.
func unread(f *doctor.Facts, kind doctor.FailureKind, problem string) {
	f.Azure.Unread = map[cluster.GroupID]doctor.FailureKind{}
	for _, g := range append(slices.Clone(f.Groups), f.Snapshot.Groups...) {
		g.Problem, f.Azure.Unread[g.ID] = problem, kind
	}
}

// removing cordons a node as sluice does.
func removing(f *doctor.Facts, name string) {
	n := f.Snapshot.Node(name)
	n.Object.Spec.Taints = append(n.Object.Spec.Taints, cluster.Removal{Since: Start, Why: cluster.Idle}.Taint())
}

// cases is one broken installation for every fault.
var cases = map[string]struct {
	codes  []string
	breaks func(*doctor.Facts)
	says   string // in the first of these findings, with its remedy
}{
	"the configuration is refused": {[]string{doctor.ConfigurationRefused}, func(f *doctor.Facts) { f.Azure.Config = errors.New("vmType: aks is not known; give vmss or standard") }, "vmType"},
	"nothing is named": {[]string{doctor.NothingNamed}, func(f *doctor.Facts) {
		f.Kube = doctor.Kube{Config: errors.New("no API server is named"), Absent: true}
		f.Azure.Metadata, f.Snapshot = fails(doctor.Unreachable, "instance metadata does not answer"), nil
	}, "nothing names a cluster or an Azure"},
	"no API server is named": {[]string{doctor.ClusterUnnamed}, func(f *doctor.Facts) {
		f.Kube, f.Snapshot = doctor.Kube{Config: errors.New("no API server is named"), Absent: true}, nil
	}, "no API server is named"},
	"the cloud is not known": {[]string{doctor.CloudUnknown}, func(f *doctor.Facts) { f.Azure.Unplaced = errors.New("cloud (ARM_CLOUD) is Mars") }, "Mars"},
	"an account cannot be impersonated": {[]string{doctor.AccountNotAssumed}, func(f *doctor.Facts) {
		f.Kube, f.Snapshot = doctor.Kube{As: "robot", Err: fails(doctor.Forbidden, "jane cannot impersonate")}, nil
	}, "--as=robot: jane cannot impersonate"},
	"a setting has no effect": {[]string{doctor.ConfigurationNoted}, func(f *doctor.Facts) { f.Azure.Notes = []string{"strictCacheUpdates has no effect"} }, "strictCacheUpdates"},
	"metadata does not answer": {[]string{doctor.MetadataSilent}, func(f *doctor.Facts) {
		f.Azure.Metadata = fails(doctor.Unreachable, "instance metadata does not answer")
	}, "does not answer"},
	"an endpoint cannot be reached": {[]string{doctor.EndpointUnreachable}, func(f *doctor.Facts) {
		f.Azure.Reached[0].Err = fails(doctor.NameUnresolved, "the name cannot be resolved")
	},
		"Resource Manager at management.azure.com: the name cannot be resolved; correct this machine's DNS"},
	"no token":             {[]string{doctor.TokenRefused}, func(f *doctor.Facts) { f.Azure.Token = fails(doctor.Refused, "Identity not found") }, "the machine's managed identity gets no token: Identity not found"},
	"sign-in is throttled": {[]string{doctor.TokenThrottled}, func(f *doctor.Facts) { f.Azure.Token = fails(doctor.Throttled, "the token authority answers 429") }, "ask again in some minutes"},
	"the clock is wrong":   {[]string{doctor.ClockSkewed}, func(f *doctor.Facts) { f.Azure.Skew = -7 * time.Minute }, "differs by 7m0s from Azure's"},
	"the clock drifts":     {[]string{doctor.ClockDrifts}, func(f *doctor.Facts) { f.Kube.Skew = 30 * time.Second }, "differs by 30s from the API server's"},
	"an action is missing": {[]string{doctor.RightMissing}, func(f *doctor.Facts) {
		f.Azure.Rights[0].NotActions = []string{"Microsoft.Compute/virtualMachineScaleSets/*"}
	}, "may not perform Microsoft.Compute/virtualMachineScaleSets/read in resource group Farm"},
	"rights cannot be read":           {[]string{doctor.RightsUnknown}, func(f *doctor.Facts) { f.Azure.RightsError = fails(doctor.Forbidden, "AuthorizationFailed") }, "AuthorizationFailed"},
	"groups cannot be listed":         {[]string{doctor.GroupsUnlisted}, func(f *doctor.Facts) { f.Azure.List, f.Groups = fails(doctor.Forbidden, "403"), nil }, "cannot be listed: 403; give the identity the role"},
	"a group is paused":               {[]string{doctor.GroupPaused}, func(f *doctor.Facts) { pause(f, "agents") }, "group agents is paused until 2026-01-05T10:00:00Z"},
	"everything is paused":            {[]string{doctor.GroupPaused}, func(f *doctor.Facts) { pause(f, "*") }, "every group is paused until 2026-01-05T10:00:00Z"},
	"a stranger is paused":            {[]string{doctor.GroupPaused}, func(f *doctor.Facts) { pause(f, "agent") }, "and there is no such group"},
	"a flag names a stranger":         {[]string{doctor.GroupStranger}, func(f *doctor.Facts) { f.Strangers = []string{"--schedule names agent"} }, "--schedule names agent, and there is no such group"},
	"no group is named":               {[]string{doctor.NoGroups}, func(f *doctor.Facts) { f.Groups = nil }, "no node group is named"},
	"no scale set has the tags":       {[]string{doctor.NoGroups}, func(f *doctor.Facts) { f.Groups, f.Azure.Discovered = nil, true }, "no scale set of resource group Farm has the tags"},
	"a group is unfit":                {[]string{doctor.GroupUnreadable}, func(f *doctor.Facts) { f.Groups[0].Problem = "it overprovisions" }, "group agents is not managed: it overprovisions"},
	"a group's list is short":         {[]string{doctor.GroupIncomplete}, func(f *doctor.Facts) { f.Snapshot.Group("agents").Read.Complete = false }, "capacity 1, machines listed: 1"},
	"a group has control-plane nodes": {[]string{doctor.GroupControlPlane}, func(f *doctor.Facts) { f.Snapshot.Group("agents").ControlPlane = cluster.RoleOfNode }, "neither grows nor shrinks it"},
	"a size is unknown":               {[]string{doctor.GroupWithoutTemplate}, func(f *doctor.Facts) { f.Snapshot.Group("agents").Template = nil }, "size Standard_D4s_v5 is in no table"},
	"a group is below its min":        {[]string{doctor.GroupBelowMin}, func(f *doctor.Facts) { f.Snapshot.Group("agents").Min = 3 }, "capacity 1, below its min 3"},
	"a group is above its max":        {[]string{doctor.GroupAboveMax}, func(f *doctor.Facts) { f.Snapshot.Group("agents").Max = 0 }, "capacity 1, above its max 0"},
	"a group's last change failed": {[]string{doctor.GroupFailed}, func(f *doctor.Facts) {
		f.Snapshot.Group("agents").Failure = &cluster.Failure{Message: "no room in the zone"}
	}, "no room in the zone"},
	"the cloud repairs machines by itself": {[]string{doctor.GroupOtherHands}, func(f *doctor.Facts) {
		f.Snapshot.Group("agents").OtherActors = []cluster.Actor{{Kind: cluster.HandRepairs, Does: "repairs restart machines", Remedy: "switch them off"}}
	}, "group agents: repairs restart machines"},
	"a price is unknown": {[]string{doctor.SizeUnpriced}, func(f *doctor.Facts) { f.Azure.Unpriced = []string{"Standard_X"} }, "the price of Standard_X in westeurope"},
	"nodes are not as described": {[]string{doctor.TemplateDrifts}, func(f *doctor.Facts) {
		f.Snapshot.Group("agents").Drift = []cluster.Difference{{What: "label pool", Offered: "render", Found: "none"}}
	}, "have label pool none where Azure and tags say render"},
	"a taint stays that a cloud controller manager takes off": {[]string{doctor.NodeTaintStays}, func(f *doctor.Facts) {
		f.Snapshot.Time = Start.Add(15 * time.Minute)
		for _, name := range []string{"agents-0", "server"} {
			n := f.Snapshot.Node(name).Object
			n.CreationTimestamp = metav1.NewTime(Start)
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: cluster.UninitializedTaint, Value: "true", Effect: corev1.TaintEffectNoSchedule})
		}
	}, "uninitialized stays on 2 nodes, and a cloud controller manager should take it off within 15m0s: agents-0, server"},
	"a startup taint stays that a flag names": {[]string{doctor.NodeTaintStays}, func(f *doctor.Facts) {
		f.Snapshot.Group("agents").Passing.Startup = []string{"example.com/warm"}
		n := f.Snapshot.Node("agents-0").Object
		n.CreationTimestamp = metav1.NewTime(Start.Add(-time.Hour))
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "example.com/warm", Effect: corev1.TaintEffectNoSchedule})
	}, "taint example.com/warm stays on 1 node, and the taint's controller should take it off"},
	"a node is not Ready and its group's min keeps it": {[]string{doctor.NodeUnrepaired}, func(f *doctor.Facts) {
		f.Snapshot.Group("agents").Min = 1
		NotReady(f.Snapshot.Time.Add(-20 * time.Minute))(f.Snapshot.Node("agents-0").Object)
	}, "1 node of group agents not Ready for 20m0s or longer, and not deleted, as the group is at its min 1: agents-0"},
	"nodes of K3s do not say their size": {[]string{doctor.SizesUnlabelled}, func(f *doctor.Facts) {
		for _, g := range f.Groups {
			g.Instances, g.Capacity, g.Min = nil, 0, 0
			g.Template.Labels = map[string]string{corev1.LabelInstanceTypeStable: g.Size}
		}
		server := Node("server", func(n *corev1.Node) { n.Spec.ProviderID = "k3s://server" })
		f.Snapshot = cluster.New(Start, Objects(server), f.Groups)
	}, "agents, render; start its agents with --node-label=node.kubernetes.io/instance-type=Standard_D4s_v5 and --kubelet-arg=provider-id=azure:///…"},
	"a scale set is left out": {[]string{doctor.SetLeftOut}, func(f *doctor.Facts) { f.Azure.LeftOut = []doctor.LeftOut{{Name: "spare", Why: "tag min is missing"}} }, "spare is left out: tag min is missing"},
	"a tag cannot be read": {[]string{doctor.GroupNoticed}, func(f *doctor.Facts) {
		f.Azure.Notices = []doctor.Notice{{"agents", "tag x=b:Never has no effect: give value:NoSchedule"}}
	}, "group agents: tag x=b:Never has no effect"},
	"the API server is away":                      {[]string{doctor.ClusterUnreachable}, func(f *doctor.Facts) { f.Kube.Err, f.Snapshot = fails(doctor.Unreachable, "connection refused"), nil }, "connection refused"},
	"a right is missing":                          {[]string{doctor.KubeRightMissing}, func(f *doctor.Facts) { f.Kube.Denied = []doctor.Right{{Right: cluster.EvictPods}} }, "may not create pods/eviction"},
	"a right is missing without which nodes stay": {[]string{doctor.KubeRightMissing}, func(f *doctor.Facts) { f.Kube.Lacks = cluster.Lacks{cluster.PatchNode} }, "may not patch nodes: no node is removed"},
	"a right is done without": {[]string{doctor.KubeRightMissing}, func(f *doctor.Facts) {
		f.Kube.Lacks = cluster.Lacks{cluster.DeleteNodes}
	}, "may not delete nodes: Node objects of deleted machines stay until a cloud controller deletes them"},
	"rights cannot be asked": {[]string{doctor.KubeRightsUnknown}, func(f *doctor.Facts) { f.Kube.RightsErr = fails(doctor.Forbidden, "forbidden") }, "forbidden"},
	"the API server is newer": {[]string{doctor.KubeNewer}, func(f *doctor.Facts) {
		f.Kube.Server = cluster.Server{Version: "v1.37.2", Rules: "1.36", Newer: true}
	}, "the API server has Kubernetes v1.37.2, sluice is older: pods are judged by the rules of 1.36"},
	"an API is served in another version": {[]string{doctor.APIUnread}, func(f *doctor.Facts) {
		f.Kube.Server.Without = []cluster.Without{
			{API: "capacitybuffers.v1beta1.autoscaling.x-k8s.io", Loss: "no room is kept for CapacityBuffers"},
			{API: "podgroups.v1alpha2.scheduling.k8s.io", Others: []string{"v1alpha3", "v1beta1"}, Loss: "pods of a gang are placed one by one"},
		}
	}, "podgroups.v1alpha2.scheduling.k8s.io is served as v1alpha3 and v1beta1 alone: pods of a gang are placed one by one"},
	"two rights are missing": {[]string{doctor.KubeRightMissing}, func(f *doctor.Facts) {
		f.Kube.Account = "jane"
		f.Kube.Denied = []doctor.Right{{Right: cluster.EvictPods}, {Right: cluster.PatchNode}}
	}, "jane lacks 2 of 20 rights: create pods/eviction, patch nodes"},
	"objects cannot be read": {[]string{doctor.KubeRightMissing}, func(f *doctor.Facts) {
		f.Kube.Unread, f.Snapshot = errors.New("the API server denies the right to list pods"), nil
	}, "denies the right to list pods"},
	"several actions are missing": {[]string{doctor.RightMissing}, func(f *doctor.Facts) {
		f.Azure.Rights, f.Azure.Needed = nil, []string{"a/read", "b/read", "c/read", "d/read", "e/read", "f/read", "g/read", "h/read"}
	}, "may not perform 8 of 8 actions in resource group Farm: a/read, b/read, c/read, d/read, e/read, f/read and 2 more"},
	"two machines have one name": {[]string{doctor.NodeAmbiguous}, func(f *doctor.Facts) {
		groups := []*cluster.Group{Group("agents", 0, 5, Machine("0", "agents-0"), Machine("1", "agents-0"))}
		f.Snapshot = cluster.New(Start, Objects(Node("agents-0")), groups)
		f.Groups = groups
	}, "node agents-0 could be machine agents/0 or agents/1"},
	"a machine never joined": {[]string{doctor.MachineWithoutNode}, func(f *doctor.Facts) {
		f.Snapshot.Group("render").Instances[0].Node, f.Snapshot.Group("render").Instances[0].ComputerName = "", "elsewhere"
		f.Snapshot.Group("render").Instances[0].ProviderID = ""
	}, "machine render/7 (elsewhere) runs since 2026-01-04 09:00 and is no node"},
	"a machine is stopped": {[]string{doctor.MachineStopped}, func(f *doctor.Facts) { f.Snapshot.Group("render").Instances[0].State = cluster.StateStopped }, "machine render/7 is stopped"},
	"a machine is gone": {[]string{doctor.NodeWithoutMachine}, func(f *doctor.Facts) {
		f.Snapshot.Node("agents-0").Instance = nil
	}, "node agents-0 belongs to group agents, which lists no such machine"},
	"the cluster is another one": {[]string{doctor.MachineWithoutNode, doctor.NodesUnmatched}, func(f *doctor.Facts) {
		f.Groups = f.Groups[:1]
		f.Snapshot = cluster.New(Start, Objects(Node("elsewhere-0")), f.Groups)
	}, "is no node"},
}

// TestAGrowthFromZeroIsNoFault while its machines have the time to join, nor a node that came when the list had been read.
func TestAGrowthFromZeroIsNoFault(t *testing.T) {
	for name, c := range map[string]struct {
		state cluster.State
		age   time.Duration
		fault bool
	}{
		"machines are made":                 {cluster.StateCreating, time.Minute, false},
		"machines boot":                     {cluster.StateRunning, 5 * time.Minute, false},
		"machines have had time to join":    {cluster.StateRunning, 20 * time.Minute, true},
		"machines are made again and again": {cluster.StateCreating, 20 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := healthy()
			f.Groups = f.Groups[:1]
			for _, in := range f.Groups[0].Instances {
				in.State, in.Created, in.Node = c.state, Start.Add(-c.age), ""
			}
			f.Snapshot = cluster.New(Start, Objects(Node("server-0")), f.Groups)
			found := slices.ContainsFunc(doctor.Diagnose(f), func(d doctor.Finding) bool { return d.Code == doctor.NodesUnmatched })
			if found != c.fault {
				t.Errorf("found %t, want %t", found, c.fault)
			}
		})
	}
	f := healthy()
	n := f.Snapshot.Node("agents-0")
	own := *n.Object
	own.CreationTimestamp.Time = f.Snapshot.Group("agents").Read.At.Add(time.Second)
	n.Object, n.Instance = &own, nil
	for _, d := range doctor.Diagnose(f) {
		if d.Code == doctor.NodeWithoutMachine {
			t.Errorf("a node that came after the list: %+v", d)
		}
	}
}

func TestAHealthyInstallationHasNoFindings(t *testing.T) {
	all := doctor.Diagnose(healthy())
	for _, f := range all {
		if f.Status != doctor.OK || f.Code != "" || f.Remedy != "" {
			t.Errorf("found %+v", f)
		}
	}
	for _, c := range doctor.Checks {
		if !slices.ContainsFunc(all, func(f doctor.Finding) bool { return f.Check == c }) {
			t.Errorf("nothing is said of %s", c)
		}
	}
	if w := doctor.Worst(all); w != doctor.OK {
		t.Errorf("the worst is %q", w)
	}
}

func TestEveryFaultIsNamedWithItsRemedy(t *testing.T) {
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			facts := healthy()
			tc.breaks(&facts)
			var codes []string
			for _, f := range doctor.Diagnose(facts) {
				if f.Code == "" {
					continue
				}
				if said := f.Message + "; " + f.Remedy; len(codes) == 0 && !strings.Contains(said, tc.says) {
					t.Errorf("says %q, want it to say %q", said, tc.says)
				}
				codes = append(codes, f.Code)
				if f.Remedy == "" || f.Status != doctor.Warning && f.Status != doctor.Problem || strings.Contains(f.Message, "\n") {
					t.Errorf("%+v: want a warning or problem in one line with a remedy", f)
				}
			}
			if d := cmp.Diff(tc.codes, codes); d != "" {
				t.Errorf("codes (-want +got):\n%s", d)
			}
		})
	}
}

// TestOneCauseIsToldOnce holds that what rests on a fault is not judged, and that nothing is called good unseen: for each fault the findings
// that are not ok, and which checks depend on which.
func TestOneCauseIsToldOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		breaks  func(*doctor.Facts)
		code    string
		remedy  string
		depends map[string]string // check: cause
	}{
		"a setting": {func(f *doctor.Facts) {
			*f = doctor.Facts{Azure: doctor.Azure{Config: errors.New("--nodes=agents: it has no two colons")}}
		}, doctor.ConfigurationRefused, "correct the setting", map[string]string{
			"metadata": "configuration", "endpoints": "configuration", "identity": "configuration", "rights": "configuration", "kubernetes": "configuration",
			"clock": "configuration", "groups": "configuration", "tags": "configuration", "nodes": "configuration",
		}},
		"the name of Resource Manager": {func(f *doctor.Facts) {
			f.Azure.Reached[0].Err, f.Azure.SkewKnown = fails(doctor.NameUnresolved, "the name cannot be resolved"), false
			f.Azure.RightsError, f.Azure.List = f.Azure.Reached[0].Err, f.Azure.Reached[0].Err
			unread(f, doctor.NoAnswer, "the name cannot be resolved")
		}, doctor.EndpointUnreachable, "DNS", map[string]string{
			"rights": "endpoints", "clock": "endpoints", "groups": "endpoints", "tags": "endpoints", "nodes": "endpoints",
		}},
		"a proxy's page in the place of Azure": {func(f *doctor.Facts) {
			f.Azure.Reached[0].Err = fails(doctor.Foreign, "management.azure.com answers 502 as text/html")
			f.Azure.RightsError = f.Azure.Reached[0].Err
			unread(f, doctor.Failing, "502")
		}, doctor.EndpointUnreachable, "proxy", map[string]string{"rights": "endpoints", "groups": "endpoints", "tags": "endpoints", "nodes": "endpoints"}},
		"the name of the authority": {func(f *doctor.Facts) {
			f.Azure.Reached = append(f.Azure.Reached, doctor.Reached{Name: doctor.Authority, Host: "login", Err: fails(doctor.NameUnresolved, "the name cannot be resolved")})
			f.Azure.Token, f.Azure.SkewKnown = fails(doctor.NameUnresolved, "no token"), false
			unread(f, doctor.Forbidden, "no token")
		}, doctor.EndpointUnreachable, "DNS", map[string]string{
			"identity": "endpoints", "rights": "endpoints", "clock": "endpoints", "groups": "endpoints", "tags": "endpoints", "nodes": "endpoints",
		}},
		"an identity that the machine has not got": {func(f *doctor.Facts) {
			f.Azure.Token = fails(doctor.Refused, "Identity not found")
			unread(f, doctor.Forbidden, "Identity not found")
		}, doctor.TokenRefused, "assign that identity", map[string]string{"rights": "identity", "groups": "identity", "tags": "identity", "nodes": "identity"}},
		"no role": {func(f *doctor.Facts) {
			f.Azure.RightsError = fails(doctor.Forbidden, "AuthorizationFailed")
			unread(f, doctor.Forbidden, "may not read")
		}, doctor.RightMissing, "deploy/azure-role.json", map[string]string{"groups": "rights", "tags": "rights", "nodes": "rights"}},
		"a role without the right to read": {func(f *doctor.Facts) {
			f.Azure.Rights = nil
			unread(f, doctor.Forbidden, "may not read")
		}, doctor.RightMissing, "deploy/azure-role.json", map[string]string{"groups": "rights", "tags": "rights", "nodes": "rights"}},
		"a role for scale sets alone, where there are availability sets": {func(f *doctor.Facts) {
			f.Azure.Needed = append(f.Azure.Needed, "Microsoft.Resources/deployments/write")
			f.Azure.Roles = map[string]string{"Microsoft.Resources/deployments/write": "deploy/azure-role-availability-sets.json"}
		}, doctor.RightMissing, "the role in deploy/azure-role-availability-sets.json,", map[string]string{}},
		"scale sets that are not there": {func(f *doctor.Facts) { unread(f, doctor.NotFound, "no such scale set") },
			doctor.GroupUnreadable, "--nodes, or the place: ARM_SUBSCRIPTION_ID is s, ARM_RESOURCE_GROUP is Farm", map[string]string{"tags": "groups", "nodes": "groups"}},
		"groups that are not answered": {func(f *doctor.Facts) { unread(f, doctor.NoAnswer, "no answer in time") },
			doctor.GroupUnreadable, "--timeout", map[string]string{"tags": "groups", "nodes": "groups"}},
		"the API server": {func(f *doctor.Facts) {
			f.Kube, f.Snapshot = doctor.Kube{Err: fails(doctor.NoAnswer, "10.0.0.1:6443 gave no answer in time")}, nil
		}, doctor.ClusterUnreachable, "--timeout", map[string]string{"clock": "kubernetes", "nodes": "kubernetes"}},
		"a token of the API server's": {func(f *doctor.Facts) {
			f.Kube, f.Snapshot = doctor.Kube{Err: fails(doctor.Stranger, "Unauthorized")}, nil
		}, doctor.ClusterUnreachable, "token or certificate", map[string]string{"clock": "kubernetes", "nodes": "kubernetes"}},
	} {
		t.Run(name, func(t *testing.T) {
			facts := healthy()
			tc.breaks(&facts)
			wrong, depends := 0, map[string]string{}
			for _, f := range doctor.Diagnose(facts) {
				switch {
				case f.Cause != "":
					depends[f.Check] = f.Cause
					if f.Status != doctor.Unknown {
						t.Errorf("%+v: want it unknown", f)
					}
				case f.Status == doctor.OK:
				case f.Code == tc.code && strings.Contains(f.Remedy, tc.remedy):
					wrong++
				default:
					t.Errorf("%+v: want %s with a remedy that says %q", f, tc.code, tc.remedy)
				}
			}
			if wrong != 1 {
				t.Errorf("the cause is told %d times", wrong)
			}
			if d := cmp.Diff(tc.depends, depends); d != "" {
				t.Errorf("what depends on what (-want +got):\n%s", d)
			}
		})
	}
}

// TestEachCheckIsToldWhenItIsKnown lets facts become known from the last check to the first, and holds that the order stays.
func TestEachCheckIsToldWhenItIsKnown(t *testing.T) {
	var d doctor.Diagnosis
	known := map[string]bool{}
	var told []string
	for i := len(doctor.Checks) - 1; i >= 0; i-- {
		if check, _ := d.Awaits(); check != doctor.Checks[0] {
			t.Fatalf("waits for %s", check)
		}
		known[doctor.Checks[i]] = true
		for _, f := range d.Next(healthy(), func(check string) bool { return known[check] }) {
			if len(told) == 0 || told[len(told)-1] != f.Check {
				told = append(told, f.Check)
			}
		}
		if i > 0 && told != nil {
			t.Fatalf("told of %s before %s is known", told, doctor.Checks[0])
		}
	}
	if d := cmp.Diff(doctor.Checks, told); d != "" {
		t.Errorf("told (-want +got):\n%s", d)
	}
	if check, _ := d.Awaits(); check != "" {
		t.Errorf("at the end it waits for %s", check)
	}
}

func TestWhatWasNotAnsweredInTimeIsUnknown(t *testing.T) {
	facts := healthy()
	facts.Unknown = map[string]string{"kubernetes": "not everything was answered within 30s"}
	for _, f := range doctor.Diagnose(facts) {
		want := doctor.OK
		if f.Check == "kubernetes" || f.Check == "nodes" {
			want = doctor.Unknown
		}
		if f.Status != want {
			t.Errorf("%s is %s (%s), want %s", f.Check, f.Status, f.Message, want)
		}
	}
}

// TestNodesThatSluiceRemovesAreNoFinding has a node whose machine is gone, and one whose machine is stopped: sluice is removing both.
func TestNodesThatSluiceRemovesAreNoFinding(t *testing.T) {
	for name, breaks := range map[string]func(*doctor.Facts){
		"gone":    func(f *doctor.Facts) { f.Snapshot.Node("agents-0").Instance = nil },
		"stopped": func(f *doctor.Facts) { f.Snapshot.Group("agents").Instances[0].State = cluster.StateStopped },
	} {
		t.Run(name, func(t *testing.T) {
			facts := healthy()
			breaks(&facts)
			if doctor.Worst(doctor.Diagnose(facts)) != doctor.Warning {
				t.Fatal("without the taint there is no warning: the test shows nothing")
			}
			removing(&facts, "agents-0")
			for _, f := range doctor.Diagnose(facts) {
				if f.Status != doctor.OK {
					t.Errorf("found %+v", f)
				}
			}
		})
	}
}

func TestTheRightsOfTheServiceAccountAreOffered(t *testing.T) {
	const service = "system:serviceaccount:kube-system:sluice"
	for name, tc := range map[string]struct {
		kube   doctor.Kube
		says   string
		offers bool
	}{
		"a person":            {doctor.Kube{Account: "jane", Service: service}, "grants jane", true},
		"as sluice":           {doctor.Kube{Account: service, As: service, Service: service}, "grants " + service, false},
		"sluice itself":       {doctor.Kube{Account: service, Service: service}, "grants " + service, false},
		"an unknown person":   {doctor.Kube{Service: service}, "grants this account", true},
		"as somebody unnamed": {doctor.Kube{As: "robot", Service: service}, "grants robot", false},
	} {
		t.Run(name, func(t *testing.T) {
			facts := healthy()
			facts.Kube = tc.kube
			for _, f := range doctor.Diagnose(facts) {
				if f.Check == "kubernetes" && (!strings.Contains(f.Message, tc.says) || strings.Contains(f.Message, "--as="+service) != tc.offers) {
					t.Errorf("says %q, want %q, and the flag offered: %t", f.Message, tc.says, tc.offers)
				}
			}
		})
	}
}

func TestEveryCodeHasACase(t *testing.T) {
	for _, c := range doctor.Codes {
		found := false
		for _, tc := range cases {
			found = found || slices.Contains(tc.codes, c)
		}
		if !found {
			t.Errorf("no case brings %s about", c)
		}
	}
}

func TestPermissionsAreReadAsAzureReadsThem(t *testing.T) {
	const action = "Microsoft.Compute/virtualMachineScaleSets/delete/action"
	for name, tc := range map[string]struct {
		permissions []doctor.Permission
		want        bool
	}{
		"none":                                {nil, false},
		"the action in another letter case":   {[]doctor.Permission{{Actions: []string{"microsoft.compute/VIRTUALMACHINESCALESETS/delete/action"}}}, true},
		"everything":                          {[]doctor.Permission{{Actions: []string{"*"}}}, true},
		"a wildcard at the end":               {[]doctor.Permission{{Actions: []string{"Microsoft.Compute/virtualMachineScaleSets/*"}}}, true},
		"a wildcard in the middle":            {[]doctor.Permission{{Actions: []string{"Microsoft.Compute/*/action"}}}, true},
		"reads alone":                         {[]doctor.Permission{{Actions: []string{"*/read"}}}, false},
		"taken back by the same role":         {[]doctor.Permission{{Actions: []string{"*"}, NotActions: []string{"*/delete/action"}}}, false},
		"taken back by one, given by another": {[]doctor.Permission{{Actions: []string{"*"}, NotActions: []string{"*"}}, {Actions: []string{"Microsoft.Compute/*"}}}, true},
		"of another provider":                 {[]doctor.Permission{{Actions: []string{"Microsoft.Network/*"}}}, false},
		"a longer one":                        {[]doctor.Permission{{Actions: []string{action + "/more"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := doctor.Allowed(tc.permissions, action); got != tc.want {
				t.Errorf("allowed: %t, want %t", got, tc.want)
			}
		})
	}
}

func TestTheReportReadsWell(t *testing.T) {
	facts := healthy()
	facts.Azure.Rights = nil
	facts.Kube.Server = cluster.Server{Version: "v1.31.14", Rules: "1.36", Without: []cluster.Without{
		{API: "resourceslices.v1.resource.k8s.io", Loss: "devices of pods and nodes are not counted"},
		{API: "mutatingadmissionpolicies.v1.admissionregistration.k8s.io", Loss: "no capacity gate can be applied"},
	}}
	facts.Kube.Denied = []doctor.Right{{Right: cluster.Right{Verb: "get", Resource: "leases", Group: "coordination.k8s.io"}, Name: "cluster-autoscaler", Namespace: "kube-system"}}
	facts.Snapshot.Nodes[0].Object.Labels = map[string]string{corev1.LabelHostname: "x"}
	var text bytes.Buffer
	if err := doctor.Print(&text, doctor.Diagnose(facts)); err != nil {
		t.Fatal(err)
	}
	want := `configuration  ok       every setting is understood and takes effect
metadata       ok       works in subscription s, resource group Farm, westeurope, cloud AzurePublicCloud
endpoints      ok       Resource Manager at management.azure.com answers
identity       ok       the machine's managed identity (client id client) gets tokens
rights         problem  the machine's managed identity may not perform Microsoft.Compute/virtualMachineScaleSets/read in resource group Farm
                        RightMissing: give it the role in deploy/azure-role.json, or another one with that action, on the resource group (az role assignment create --assignee client ...)
kubernetes     problem  this account may not get leases.coordination.k8s.io cluster-autoscaler in namespace kube-system
                        KubeRightMissing: apply deploy/rbac.yaml
               ok       the API server has Kubernetes v1.31.14; pods are judged by the rules of 1.36
               ok       resourceslices.v1.resource.k8s.io is not served: devices of pods and nodes are not counted; mutatingadmissionpolicies.v1.admissionregistration.k8s.io is not served: no capacity gate can be applied
clock          ok       this machine's clock differs by 0s from Azure's
               ok       this machine's clock differs by 0s from the API server's
groups         ok       group agents: 1 machine (min 0, max 5)
               ok       group render: 1 machine (min 1, max 9)
tags           ok       every tag of 2 groups that is meant for an autoscaler is understood
nodes          ok       2 machines in the groups, of which 2 nodes; 1 node of no group

2 problems, 0 warnings.
`
	if d := cmp.Diff(want, text.String()); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
	facts = doctor.Facts{
		Azure: doctor.Azure{Place: facts.Azure.Place, Reached: []doctor.Reached{{Name: doctor.Manager, Host: "management.azure.com", Err: fails(doctor.Foreign, "502 as text/html")}}},
		Kube:  doctor.Kube{Err: fails(doctor.Unreachable, "10.0.0.1:6443 cannot be reached")},
	}
	text.Reset()
	if err := doctor.Print(&text, doctor.Diagnose(facts)); err != nil {
		t.Fatal(err)
	}
	want = `configuration  ok       every setting is understood and takes effect
metadata       ok       works in subscription s, resource group Farm, westeurope, cloud AzurePublicCloud
endpoints      problem  Resource Manager at management.azure.com: 502 as text/html
                        EndpointUnreachable: look at the proxy or gateway between (HTTPS_PROXY, NO_PROXY), or correct the endpoint
identity       ok       the identity gets tokens
kubernetes     problem  the API server cannot be asked: 10.0.0.1:6443 cannot be reached
                        ClusterUnreachable: open the way from this machine to that host and port (route, firewall, HTTPS_PROXY), or correct the endpoint
not checked             rights, clock, groups, tags, nodes: depend on endpoints

2 problems, 0 warnings.
`
	if d := cmp.Diff(want, text.String()); d != "" {
		t.Errorf("report (-want +got):\n%s", d)
	}
	var doc bytes.Buffer
	if err := doctor.PrintJSON(&doc, doctor.Diagnose(facts)); err != nil {
		t.Fatal(err)
	}
	var back struct {
		Worst    string
		Findings []doctor.Finding
	}
	if err := json.Unmarshal(doc.Bytes(), &back); err != nil || back.Worst != "problem" || len(back.Findings) == 0 {
		t.Errorf("JSON reads back as worst %q with %d findings, error %v", back.Worst, len(back.Findings), err)
	}
}
