package scheduling

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

const zone = corev1.LabelTopologyZone

// node has 4 cores, 16Gi and room for 110 pods unless an option says otherwise.
func node(name string, options ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Allocatable: quantities("cpu", "4", "memory", "16Gi", "ephemeral-storage", "100Gi", "pods", "110"),
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	n.Status.Capacity = n.Status.Allocatable
	for _, o := range options {
		o(n)
	}
	return n
}

func nodeLabel(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func allocatable(pairs ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Allocatable = n.Status.Allocatable.DeepCopy()
		for name, q := range quantities(pairs...) {
			n.Status.Allocatable[name] = q
		}
	}
}

func taint(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func unschedulable(n *corev1.Node) { n.Spec.Unschedulable = true }

// pod is one container without requests in namespace default.
func pod(name string, options ...func(*corev1.Pod)) *cluster.Pod {
	return cluster.NewPods(object(name, options...))[0]
}

// object is such a pod as the API server has it.
func object(name string, options ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}},
	}
	for _, o := range options {
		o(p)
	}
	return p
}

func requests(pairs ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests = quantities(pairs...) }
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
func in(namespace string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Namespace = namespace }
}
func app(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Labels["app"] = name } }

func hostPort(port int32, protocol corev1.Protocol, ip string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{HostPort: port, Protocol: protocol, HostIP: ip})
	}
}

func tolerates(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
}

func selects(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

func term(app, key string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
}

func near(app, key string) func(*corev1.Pod) { return nearTerm(term(app, key)) }

func nearTerm(t corev1.PodAffinityTerm) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		affinity(p).PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{t}}
	}
}

func awayFrom(app, key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		affinity(p).PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(app, key)}}
	}
}

func affinity(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func spread(app, key string, skew int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
			MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		})
	}
}

func daemonSet(name string, options ...func(*corev1.Pod)) *appsv1.DaemonSet {
	p := object("", options...)
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name, UID: "uid-of-the-daemon-set"},
		Spec:       appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: p.Spec}},
	}
}

func quantities(pairs ...string) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		l[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return l
}

// snapshot is a cluster of these nodes, pods, daemon sets and namespaces.
func snapshot(objects ...any) *cluster.Snapshot {
	var o cluster.Objects
	for _, object := range objects {
		switch object := object.(type) {
		case *corev1.Node:
			o.Nodes = append(o.Nodes, object)
		case *cluster.Pod:
			o.Pods = append(o.Pods, object)
		case *appsv1.DaemonSet:
			o.DaemonSets = append(o.DaemonSets, object)
		case *corev1.Namespace:
			o.Namespaces = append(o.Namespaces, object)
		default:
			panic("no object of a cluster")
		}
	}
	return cluster.New(midnight, o, nil)
}

// sentences are the refusals in words, nil for none.
func sentences(rs []reason.Reason) []string {
	var out []string
	for _, r := range rs {
		out = append(out, r.String())
	}
	return out
}

func names(pods []*cluster.Pod) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}

var midnight = time.Unix(1_700_000_000, 0)
