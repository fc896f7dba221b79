package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

// someSizes are a few sizes as a region may offer them, the cheapest first.
var someSizes = &cluster.Sizes{Where: "westeurope", All: []cluster.Size{
	{Name: "Standard_D2s_v5", Family: "DSv5", Cores: 2, MemoryMiB: 8 << 10, USDPerHour: 0.115},
	{Name: "Standard_F8s_v2", Family: "FSv2", Cores: 8, MemoryMiB: 16 << 10, USDPerHour: 0.2},
	{Name: "Standard_D4s_v5", Family: "DSv5", Cores: 4, MemoryMiB: 16 << 10, USDPerHour: 0.23},
	{Name: "Standard_D8s_v5", Family: "DSv5", Cores: 8, MemoryMiB: 32 << 10, USDPerHour: 0.46},
	{Name: "Standard_NC4as_T4_v3", Family: "NCASv3_T4", Cores: 4, MemoryMiB: 28 << 10, Device: "nvidia.com/gpu", Devices: 1, USDPerHour: 0.6},
	{Name: "Standard_D16s_v5", Family: "DSv5", Cores: 16, MemoryMiB: 64 << 10, USDPerHour: 0.92},
	{Name: "Standard_E32s_v5", Family: "ESv5", Cores: 32, MemoryMiB: 256 << 10},
}}

func TestAStuckPodIsToldWhatWouldMakeRoom(t *testing.T) {
	ask := asking
	selects := func(key, value string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			if p.Spec.NodeSelector == nil {
				p.Spec.NodeSelector = map[string]string{}
			}
			p.Spec.NodeSelector[key] = value
		}
	}
	taint := func(g *cluster.Group) {
		g.Template.Spec.Taints = []corev1.Taint{{Key: "dedicated", Value: "batch", Effect: corev1.TaintEffectNoSchedule}}
	}
	reserving := func(cpu, kept string) func(*cluster.Group) {
		return func(g *cluster.Group) {
			g.Template.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(kept), corev1.ResourcePods: resource.MustParse("110")}
		}
	}
	daemon := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "d", UID: "d"}}
	daemon.Spec.Template.Spec = Pod("d", CPU("300m")).Object().Spec

	for name, tc := range map[string]struct {
		pod    []func(*corev1.Pod)
		group  func(*cluster.Group)
		daemon bool
		want   string // what follows the refusals; "" for nothing
	}{
		"the smallest of the family, though another one is cheaper": {
			pod: []func(*corev1.Pod){CPU("5")}, want: "could hold it if its size were Standard_D8s_v5 instead of Standard_D4s_v5 (the smallest of the family that does)",
		},
		"with what daemons take": {
			pod: []func(*corev1.Pod){CPU("7800m")}, daemon: true,
			want: "could hold it if its size were Standard_D16s_v5 instead of Standard_D4s_v5 (the smallest of the family that does)",
		},
		"with what is held back, in proportion": { // of 4 cores 250m, of 8 twice that
			pod: []func(*corev1.Pod){CPU("7600m")}, group: reserving("3750m", "16Gi"),
			want: "could hold it if its size were Standard_D16s_v5 instead of Standard_D4s_v5 (the smallest of the family that does)",
		},
		"and exactly": {
			pod: []func(*corev1.Pod){CPU("7500m")}, group: reserving("3750m", "16Gi"),
			want: "could hold it if its size were Standard_D8s_v5 instead of Standard_D4s_v5 (the smallest of the family that does)",
		},
		"memory that is held back": {
			pod: []func(*corev1.Pod){ask(corev1.ResourceMemory, "29Gi")}, group: reserving("4", "14Gi"),
			want: "could hold it if its size were Standard_D16s_v5 instead of Standard_D4s_v5 (the smallest of the family that does)",
		},
		"the cheapest of all when the family has none": {
			pod: []func(*corev1.Pod){asking("nvidia.com/gpu", "1")}, want: "could hold it if its size were Standard_NC4as_T4_v3 instead of Standard_D4s_v5 (the cheapest that does)",
		},
		"the smallest when no price is known": {
			pod: []func(*corev1.Pod){ask(corev1.ResourceMemory, "100Gi")}, want: "could hold it if its size were Standard_E32s_v5 instead of Standard_D4s_v5 (the smallest that does)",
		},
		"none when none would do": {pod: []func(*corev1.Pod){CPU("33")}, want: "no size that westeurope offers the group could hold it"},
		"none when nothing is known of sizes": {
			pod: []func(*corev1.Pod){CPU("5")}, group: func(g *cluster.Group) { g.Sizes = nil }, want: "",
		},
		"a group of a size that is not sold any more": {
			pod: []func(*corev1.Pod){CPU("5")}, group: func(g *cluster.Group) { g.Size = "Standard_Old" },
			want: "could hold it if its size were Standard_F8s_v2 instead of Standard_Old (the cheapest that does)",
		},
		"a resource that no size has": {
			pod: []func(*corev1.Pod){asking("example.com/fpga", "2")}, want: "could hold it if its machines announced 2 of example.com/fpga",
		},
		"a device that the size has and its machines did not announce": {
			pod: []func(*corev1.Pod){asking("nvidia.com/gpu", "1")}, group: func(g *cluster.Group) { g.Size = "Standard_NC4as_T4_v3" },
			want: "could hold it if its machines announced 1 of nvidia.com/gpu",
		},
		"a toleration": {
			group: taint, want: "could hold it if the pod tolerated dedicated=batch:NoSchedule",
		},
		"a toleration and a size": {
			pod: []func(*corev1.Pod){CPU("5")}, group: taint,
			want: "could hold it if its size were Standard_D8s_v5 instead of Standard_D4s_v5 (the smallest of the family that does) and the pod tolerated dedicated=batch:NoSchedule",
		},
		"a label": {
			pod: []func(*corev1.Pod){selects("disk", "ssd")}, want: "could hold it if its machines had the label disk=ssd",
		},
		"a zone": {
			pod:   []func(*corev1.Pod){selects(corev1.LabelTopologyZone, "westeurope-2"), CPU("5")},
			group: func(g *cluster.Group) { g.Zones = []string{"westeurope-1", "westeurope-2"} },
			want:  "could hold it if its size were Standard_D8s_v5 instead of Standard_D4s_v5 (the smallest of the family that does) and its next machine were in zone westeurope-2",
		},
		"a label of a zone that the group's nodes do not bear": {
			pod:   []func(*corev1.Pod){selects(corev1.LabelTopologyZone, "westeurope-2")},
			group: func(g *cluster.Group) { g.Zones = []string{"westeurope-2"} },
			want:  "could hold it if its machines had the label topology.kubernetes.io/zone=westeurope-2",
		},
		"a zone that the group never has": {
			pod:   []func(*corev1.Pod){selects(corev1.LabelTopologyZone, "westeurope-3")},
			group: func(g *cluster.Group) { g.Zones = []string{"westeurope-1"} },
			want:  "could hold it if its machines were in zone westeurope-3",
		},
		"none when a label would need two values": {
			pod: []func(*corev1.Pod){selects("disk", "ssd"), func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"hdd"}},
					}}},
				}}}
			}}, want: "",
		},
		"a size by its name": {
			pod:  []func(*corev1.Pod){selects(corev1.LabelInstanceTypeStable, "Standard_F8s_v2")},
			want: "could hold it if its size were Standard_F8s_v2 instead of Standard_D4s_v5 (the cheapest that does)",
		},
		"a size by its name which is too small": {
			pod:  []func(*corev1.Pod){selects(corev1.LabelInstanceTypeStable, "Standard_D4s_v5"), CPU("5")},
			want: "no size that westeurope offers the group could hold it",
		},
		"nothing where other pods decide": {
			pod: []func(*corev1.Pod){CPU("5"), func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}, TopologyKey: corev1.LabelTopologyZone,
				}}}}
			}}, want: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := Group("a", 0, 5)
			g.Sizes = someSizes
			g.Template = g.Template.DeepCopy()
			g.Template.Labels[corev1.LabelTopologyZone] = "westeurope-1"
			g.Template.Labels[corev1.LabelInstanceTypeStable] = "Standard_D4s_v5"
			if tc.group != nil {
				tc.group(g)
			}
			objects := Objects(Pod("p", tc.pod...))
			if tc.daemon {
				objects.DaemonSets = append(objects.DaemonSets, daemon)
			}
			p, _ := plan.Decide(cluster.New(Start, objects, []*cluster.Group{g}), policy.Default(), memory.Memory{})
			complete(t, p)
			v, _ := p.Verdict(reason.Pod("default", "p"))
			var said []string
			for _, r := range v.Because {
				if r.Code == reason.CouldHold || r.Code == reason.NoSizeHolds {
					said = append(said, r.Sentence())
				}
			}
			if d := cmp.Diff(tc.want, strings.Join(said, "; ")); d != "" || v.Outcome != action.PodStuck {
				t.Errorf("%s, and what would make room (-want +got):\n%s", v.Outcome, d)
			}
		})
	}
}

func TestTheGroupThatLacksLeastIsNamedFirst(t *testing.T) {
	sized := func(id, cpu string) *cluster.Group {
		g := Group(id, 0, 5)
		g.Template = g.Template.DeepCopy()
		g.Template.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse(cpu)
		return g
	}
	tainted := sized("d", "7900m")
	tainted.Template.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	groups := []*cluster.Group{sized("a", "1"), sized("b", "7900m"), sized("c", "6"), tainted, sized("e", "7950m"), sized("f", "9")}
	kept := memory.Memory{Groups: map[cluster.GroupID]memory.GroupMemory{}}
	for _, id := range []cluster.GroupID{"e", "f"} {
		kept.Groups[id] = memory.GroupMemory{Backoff: memory.Backoff{Until: Start.Add(time.Minute), Code: "AllocationFailed", Message: "none left"}}
	}
	p, _ := plan.Decide(cluster.New(Start, Objects(Pod("p", CPU("8"))), groups), policy.Default(), kept)
	v, _ := p.Verdict(reason.Pod("default", "p"))
	var order []string
	for _, r := range v.Because[1:] {
		order = append(order, r.About.Name+" "+string(r.Code))
	}
	want := []string{"f GroupBackoff", "b InsufficientResource", "c InsufficientResource", "a InsufficientResource", "e InsufficientResource", "e GroupBackoff", " MoreGroups"}
	if d := cmp.Diff(want, order); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
}
