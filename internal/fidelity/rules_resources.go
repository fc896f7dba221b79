package fidelity

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const gadget, hugepages corev1.ResourceName = "example.com/gadget", "hugepages-2Mi"

func set(l *corev1.ResourceList, name corev1.ResourceName, value string) {
	if *l == nil {
		*l = corev1.ResourceList{}
	}
	(*l)[name] = resource.MustParse(value)
}

func main(p *corev1.Pod) *corev1.ResourceRequirements { return &p.Spec.Containers[0].Resources }

// oddQuantities are amounts that are no whole number of the unit that the scheduler counts in.
func oddQuantities(d *draft, p *corev1.Pod) {
	set(&main(p).Requests, corev1.ResourceCPU, pick(d, "333333u", "250.5m", "1n", "0.5", "1e-1", "499999u"))
	set(&main(p).Requests, corev1.ResourceMemory, pick(d, "1.5Gi", "1e9", "1073741824001m", "512M", "0.25Gi", "1"))
}

func oddAllocatable(d *draft, n *corev1.Node) {
	set(&n.Status.Allocatable, corev1.ResourceCPU, pick(d, "1999.5m", "3333333u", "2"))
	set(&n.Status.Allocatable, corev1.ResourceMemory, pick(d, "4e9", "4294967296", "4294967295999m", "3.7Gi"))
}

func gadgets(d *draft, n *corev1.Node) {
	if d.chance(0.6) {
		set(&n.Status.Allocatable, gadget, pick(d, "0", "1", "2", "4"))
	}
}

func wantsGadgets(d *draft, p *corev1.Pod) {
	want := pick(d, "0", "1", "1", "2")
	set(&main(p).Requests, gadget, want)
	set(&main(p).Limits, gadget, want)
}

func disk(d *draft, n *corev1.Node) {
	set(&n.Status.Allocatable, corev1.ResourceEphemeralStorage, pick(d, "10Gi", "20Gi", "64Gi"))
}

func wantsDisk(d *draft, p *corev1.Pod) {
	set(&main(p).Requests, corev1.ResourceEphemeralStorage, pick(d, "1Gi", "5Gi", "10Gi", "11Gi"))
}

func hugePages(d *draft, n *corev1.Node) {
	if d.chance(0.6) {
		set(&n.Status.Allocatable, hugepages, pick(d, "64Mi", "128Mi"))
	}
}

func wantsHugePages(d *draft, p *corev1.Pod) {
	want := pick(d, "2Mi", "32Mi", "64Mi")
	set(&main(p).Requests, hugepages, want)
	set(&main(p).Limits, hugepages, want)
	set(&main(p).Requests, corev1.ResourceCPU, "100m")
}

func fewPods(d *draft, n *corev1.Node) {
	set(&n.Status.Allocatable, corev1.ResourcePods, pick(d, "1", "2", "3", "5"))
}

func overhead(d *draft, p *corev1.Pod) {
	set(&p.Spec.Overhead, corev1.ResourceCPU, pick(d, "50m", "250m", "500m"))
	set(&p.Spec.Overhead, corev1.ResourceMemory, pick(d, "64Mi", "512Mi"))
	p.Spec.RuntimeClassName = new("kata")
}

func initContainers(d *draft, p *corev1.Pod) {
	for i := range d.between(1, 3) {
		p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{
			Name: "init-" + string(rune('a'+i)), Resources: corev1.ResourceRequirements{Requests: d.requests()},
		})
	}
}

// sidecars stand before, between and after plain init containers: what they take counts for those that start after them.
func sidecars(d *draft, p *corev1.Pod) {
	for i := range d.between(1, 3) {
		c := corev1.Container{
			Name: "sidecar-" + string(rune('a'+i)), RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
			Resources: corev1.ResourceRequirements{Requests: d.requests()},
		}
		at := d.rand.IntN(len(p.Spec.InitContainers) + 1)
		p.Spec.InitContainers = append(p.Spec.InitContainers[:at:at], append([]corev1.Container{c}, p.Spec.InitContainers[at:]...)...)
	}
	if d.chance(0.5) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "second", Resources: corev1.ResourceRequirements{Requests: d.requests()}})
	}
}

// podLevel sets requests of the whole pod, at least the sum of its containers', as the API server demands.
func podLevel(d *draft, p *corev1.Pod) {
	whole := &corev1.ResourceRequirements{}
	if d.chance(0.8) {
		main(p).Requests = corev1.ResourceList{}
		if d.chance(0.5) {
			set(&main(p).Requests, corev1.ResourceCPU, "100m")
		}
		set(&whole.Requests, corev1.ResourceCPU, pick(d, "500m", "1", "1500m"))
	}
	if d.chance(0.7) {
		delete(main(p).Requests, corev1.ResourceMemory)
		set(&whole.Requests, corev1.ResourceMemory, pick(d, "512Mi", "1Gi", "3Gi"))
	}
	p.Spec.Resources = whole
}

// resizes leaves a pod between two sizes: what it has, what was given to it and what it asks for differ.
func resizes(d *draft, p *corev1.Pod) {
	if !d.chance(0.7) {
		return
	}
	have := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(pick(d, "100m", "500m", "1", "1500m")),
		corev1.ResourceMemory: resource.MustParse(pick(d, "128Mi", "1Gi", "2Gi")),
	}
	status := corev1.ContainerStatus{Name: "main", AllocatedResources: have, Resources: &corev1.ResourceRequirements{Requests: have}}
	if d.chance(0.4) {
		status.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(pick(d, "250m", "1200m")), corev1.ResourceMemory: have[corev1.ResourceMemory],
		}}
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{status}
	switch d.between(0, 2) {
	case 0:
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: pick(d, corev1.PodReasonInfeasible, corev1.PodReasonDeferred),
		})
	case 1:
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodResizeInProgress, Status: corev1.ConditionTrue})
	}
}
