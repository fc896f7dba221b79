package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// TestPodsAreToldOfTheirOwnPlaces lets one thing happen between two cycles to pods that are alike and keep their places: each has to be
// told what a planner tells it that remembers nothing.
func TestPodsAreToldOfTheirOwnPlaces(t *testing.T) {
	const pods = 6
	for name, happens := range map[string]func(pods []*cluster.Pod, nodes []*corev1.Node, g *cluster.Group) ([]*cluster.Pod, []*corev1.Node){
		"nothing": func(pods []*cluster.Pod, nodes []*corev1.Node, _ *cluster.Group) ([]*cluster.Pod, []*corev1.Node) {
			return pods, nodes
		},
		"one goes": func(pods []*cluster.Pod, nodes []*corev1.Node, _ *cluster.Group) ([]*cluster.Pod, []*corev1.Node) {
			return pods[1:], nodes
		},
		"one comes": func(pods []*cluster.Pod, nodes []*corev1.Node, _ *cluster.Group) ([]*cluster.Pod, []*corev1.Node) {
			return append(pods, Pod("later", CPU("1500m"))), nodes
		},
		"one goes and another one comes": func(pods []*cluster.Pod, nodes []*corev1.Node, _ *cluster.Group) ([]*cluster.Pod, []*corev1.Node) {
			return append(pods[1:], Pod("later", CPU("1500m"))), nodes
		},
		"one is bound": func(pods []*cluster.Pod, nodes []*corev1.Node, _ *cluster.Group) ([]*cluster.Pod, []*corev1.Node) {
			return append(pods[1:], Pod("p-0", CPU("1500m"), On("a-0"))), nodes
		},
		"one is bound to a machine that is taken away": func(pods []*cluster.Pod, nodes []*corev1.Node, g *cluster.Group) ([]*cluster.Pod, []*corev1.Node) {
			g.Instances, g.Capacity = append(g.Instances, Machine("2", "a-2", func(in *cluster.Instance) { in.Group = g.ID })), 4
			leaves := Node("a-2", Noticed(cluster.Notice{ID: "n", Kind: "Preempt", Deadline: Start.Add(time.Minute)}))
			return append(pods[1:], Pod("p-0", CPU("1500m"), On("a-2"))), append(nodes, leaves)
		},
		"another pod takes the place of one": func(pods []*cluster.Pod, nodes []*corev1.Node, _ *cluster.Group) ([]*cluster.Pod, []*corev1.Node) {
			return append(pods, Pod("big", On("a-0"), CPU("3"))), nodes
		},
		"a node goes and another one has room": func(pods []*cluster.Pod, _ []*corev1.Node, g *cluster.Group) ([]*cluster.Pod, []*corev1.Node) {
			g.Instances[0] = Machine("9", "a-9", func(in *cluster.Instance) { in.Group = g.ID })
			return pods, []*corev1.Node{Node("a-1"), Node("a-9")}
		},
		"the machine that is coming has come": func(pods []*cluster.Pod, nodes []*corev1.Node, g *cluster.Group) ([]*cluster.Pod, []*corev1.Node) {
			g.Instances = append(g.Instances, Machine("2", "a-2", func(in *cluster.Instance) { in.Group = g.ID }))
			return pods, append(nodes, Node("a-2"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			allowed := policy.Default()
			group := func() *cluster.Group {
				g := Group("a", 0, 5, Machine("0", "a-0"), Machine("1", "a-1"))
				g.Capacity = 3
				return g
			}
			var all []*cluster.Pod
			for i := range pods {
				all = append(all, Pod(fmt.Sprint("p-", i), CPU("1500m")))
			}
			nodes := []*corev1.Node{Node("a-0"), Node("a-1")}
			before := cluster.New(Start, objects(all, nodes), []*cluster.Group{group()})
			var planner plan.Planner
			_, kept := planner.Decide(before, allowed, memory.Memory{})
			second := before.Next(Start.Add(time.Second), objects(all, nodes), []*cluster.Group{group()})
			_, kept = planner.Decide(second, allowed, kept)
			g := group()
			all, nodes = happens(all, nodes, g)
			after := second.Next(Start.Add(2*time.Second), objects(all, nodes), []*cluster.Group{g})
			got, _ := planner.Decide(after, allowed, kept)
			want, _ := plan.Decide(after, allowed, kept)
			if diff := cmp.Diff(want.Verdicts, got.Verdicts); diff != "" {
				t.Errorf("verdicts (-from nothing +planner):\n%s", diff)
			}
		})
	}
}

// TestTemplatesPublishWhatNodesPublishNow has the only node of a group publish two devices, and none from the second cycle on. A pod that
// claims one waits, and so does one that asks for a resource that they serve.
func TestTemplatesPublishWhatNodesPublishNow(t *testing.T) {
	const driver = "gpu.example.com"
	pods := []*cluster.Pod{Pod("full", CPU("4"), On("a-0")), Pod("p", func(p *corev1.Pod) {
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "own", ResourceClaimName: new("own")}}
	}), Pod("q", CPU("1"), asking("example.com/gpu", "1"))}
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "own", UID: "own"}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "a-0-gpus"}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: new("a-0"), Pool: resourcev1.ResourcePool{Name: "a-0", Generation: 1, ResourceSliceCount: 1},
		Devices: []resourcev1.Device{{Name: "gpu-0"}, {Name: "gpu-1"}},
	}}
	var planner plan.Planner
	var s *cluster.Snapshot
	for i, c := range []struct {
		slices []*resourcev1.ResourceSlice
		want   string
	}{
		{[]*resourcev1.ResourceSlice{slice}, "grows NeedsMachine"},
		{nil, "stuck NoGroupFits SchedulerRefused"},
	} {
		o := objects(pods, []*corev1.Node{Node("a-0")})
		o.ResourceClaims, o.ResourceSlices = []*resourcev1.ResourceClaim{claim}, c.slices
		o.DeviceClasses = []*resourcev1.DeviceClass{{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{
			ExtendedResourceName: new("example.com/gpu"),
		}}}
		groups := []*cluster.Group{Group("a", 0, 9, Machine("0", "a-0"))}
		at := Start.Add(time.Duration(i) * time.Second)
		if s == nil {
			s = cluster.New(at, o, groups)
		} else {
			groups[0].Template, groups[0].Learned = s.Groups[0].Template, s.Groups[0].Learned
			s = s.Next(at, o, groups)
		}
		got, _ := planner.Decide(s, policy.Default(), memory.Memory{})
		for _, name := range []string{"p", "q"} {
			if v := verdictOf(got, ref("pod "+name)); v != c.want {
				t.Errorf("cycle %d: pod %s %q, want %q", i, name, v, c.want)
			}
		}
	}
}

// TestAKubeletsFeaturesAreLearned has a pod restart as a whole, which kubelets may have declared since 1.35. A group that has had no node
// is tried once; what its node declares then decides.
func TestAKubeletsFeaturesAreLearned(t *testing.T) {
	restarts := Pod("p", CPU("1"), func(p *corev1.Pod) {
		p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
	})
	declares := func(n *corev1.Node) { n.Status.DeclaredFeatures = []string{"RestartAllContainersOnContainerExits"} }
	one := func() *cluster.Group { return Group("a", 0, 9, Machine("0", "a-0")) }
	for name, c := range map[string]struct {
		group *cluster.Group
		nodes []*corev1.Node
		want  string
	}{
		"no node has shown what it declares": {Group("a", 0, 9), nil, "grows NeedsMachine"},
		"the last one declares nothing":      {one(), []*corev1.Node{Node("a-0")}, "stuck NoGroupFits SchedulerRefused"},
		"the last one declares it":           {one(), []*corev1.Node{Node("a-0", declares)}, "grows NeedsMachine"},
	} {
		t.Run(name, func(t *testing.T) {
			all := []*cluster.Pod{restarts}
			for _, n := range c.nodes {
				all = append(all, Pod("full", CPU("4"), On(n.Name)))
			}
			got, _ := plan.Decide(cluster.New(Start, objects(all, c.nodes), []*cluster.Group{c.group}), policy.Default(), memory.Memory{})
			if v := verdictOf(got, ref("pod p")); v != c.want {
				t.Errorf("%q, want %q", v, c.want)
			}
		})
	}
}

// objects are these pods and nodes, of pods that are alike with one class.
func objects(pods []*cluster.Pod, nodes []*corev1.Node) cluster.Objects {
	var all []any
	for i, p := range pods {
		for _, like := range pods[:i] {
			if p.Key == like.Key {
				p.Class = like.Class
			}
		}
		all = append(all, p)
	}
	for _, n := range nodes {
		all = append(all, n)
	}
	return Objects(all...)
}
