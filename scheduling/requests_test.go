package scheduling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"sluice.dev/sluice/cluster"
)

func TestRequestsCountAsTheSchedulerDoes(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  *cluster.Pod
		want []string
	}{
		"a pod without requests takes nothing": {pod("p"), nil},
		"containers add up": {
			pod("p", requests("cpu", "1"), container("500m")), []string{"cpu", "1500m"},
		},
		"an init container that needs less changes nothing": {
			pod("p", requests("cpu", "2"), initContainer("1")), []string{"cpu", "2"},
		},
		"an init container that needs more decides": {
			pod("p", requests("cpu", "2"), initContainer("3")), []string{"cpu", "3"},
		},
		"a sidecar runs beside the containers": {
			pod("p", requests("cpu", "2"), sidecar("1")), []string{"cpu", "3"},
		},
		"a sidecar runs beside the init containers after it": {
			pod("p", requests("cpu", "1"), sidecar("1"), initContainer("3")), []string{"cpu", "4"},
		},
		"a sidecar does not run beside the init containers before it": {
			pod("p", requests("cpu", "1"), initContainer("3"), sidecar("1")), []string{"cpu", "3"},
		},
		"overhead comes on top": {
			pod("p", requests("cpu", "2", "memory", "1Gi"), initContainer("3"), overhead("cpu", "250m", "memory", "64Mi")), []string{"cpu", "3250m", "memory", "1088Mi"},
		},
		"requests of the pod as a whole stand in the place of its containers'": {
			pod("p", requests("cpu", "2", "memory", "1Gi"), whole("cpu", "3")), []string{"cpu", "3", "memory", "1Gi"},
		},
		"a resize in progress counts the larger": {
			pod("p", requests("cpu", "1"), on("a"), func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{
					Name: "main", AllocatedResources: quantities("cpu", "2"), Resources: &corev1.ResourceRequirements{Requests: quantities("cpu", "2")},
				}}
			}), []string{"cpu", "2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := Requests(tt.pod)
			if diff := cmp.Diff(quantities(tt.want...), got, quantity); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if len(tt.want) == 0 {
				return
			}
			// The scheduler's own count of the pod where it runs.
			c := NewChecker(snapshot(node("a", allocatable("cpu", "64"))))
			c.Place(tt.pod, "a")
			cpu, requested := got[corev1.ResourceCPU], newOracle(c).nodes["a"].GetRequested().GetMilliCPU()
			if requested != cpu.MilliValue() || c.Free(0)[1] != 64000-requested {
				t.Errorf("the scheduler counts %dm of cpu, Requests %v, the checker has %dm left of 64", requested, &cpu, c.Free(0)[1])
			}
		})
	}
}

func TestUtilizationIsTheLargerShare(t *testing.T) {
	gpu := func(n string) func(*corev1.Node) { return allocatable("nvidia.com/gpu", n) }
	for name, tt := range map[string]struct {
		node     *corev1.Node
		pods     []*cluster.Pod
		resource corev1.ResourceName
		share    float64
	}{
		"an empty node":                       {node("n"), nil, "cpu", 0},
		"more cpu than memory":                {node("n"), []*cluster.Pod{pod("a", requests("cpu", "1")), pod("b", requests("cpu", "1", "memory", "4Gi"))}, "cpu", 0.5},
		"more memory than cpu":                {node("n"), []*cluster.Pod{pod("a", requests("cpu", "1", "memory", "12Gi"))}, "memory", 0.75},
		"equal shares":                        {node("n"), []*cluster.Pod{pod("a", requests("cpu", "1", "memory", "4Gi"))}, "cpu", 0.25},
		"init containers count":               {node("n"), []*cluster.Pod{pod("a", initContainer("3"))}, "cpu", 0.75},
		"more than there is":                  {node("n"), []*cluster.Pod{pod("a", requests("cpu", "6"))}, "cpu", 1.5},
		"a gpu node counts gpus alone":        {node("n", gpu("4")), []*cluster.Pod{pod("a", requests("cpu", "4", "nvidia.com/gpu", "1"))}, "nvidia.com/gpu", 0.25},
		"a gpu node whose driver is not up":   {node("n", func(n *corev1.Node) { n.Status.Capacity = quantities("nvidia.com/gpu", "4") }), []*cluster.Pod{pod("a", requests("cpu", "4"))}, "nvidia.com/gpu", 0},
		"a node without gpus that names them": {node("n", gpu("0")), []*cluster.Pod{pod("a", requests("cpu", "2"))}, "cpu", 0.5},
		"a node that says nothing is used up": {&corev1.Node{}, nil, "cpu", 1},
	} {
		t.Run(name, func(t *testing.T) {
			resource, share := NewChecker(snapshot()).Utilization(tt.node, tt.pods)
			if resource != tt.resource || share != tt.share {
				t.Errorf("%s %v, want %s %v", resource, share, tt.resource, tt.share)
			}
		})
	}
}

func TestUtilizationLeavesThePodsRequestsAlone(t *testing.T) {
	pods := []*cluster.Pod{pod("a", requests("cpu", "1")), pod("b", requests("cpu", "1"))}
	c := NewChecker(snapshot())
	for range 2 {
		if _, share := c.Utilization(node("n"), pods); share != 0.5 {
			t.Errorf("share %v, want 0.5", share)
		}
	}
}

var quantity = cmp.Comparer(func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 })

func container(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "more", Resources: corev1.ResourceRequirements{Requests: quantities("cpu", cpu)}})
	}
}

func initContainer(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "init", Resources: corev1.ResourceRequirements{Requests: quantities("cpu", cpu)}})
	}
}

func sidecar(cpu string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		initContainer(cpu)(p)
		p.Spec.InitContainers[len(p.Spec.InitContainers)-1].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	}
}

func overhead(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Overhead = quantities(pairs...) }
}

func whole(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Resources = &corev1.ResourceRequirements{Requests: quantities(pairs...)}
	}
}
