package world

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sluice.dev/sluice/internal/kubesim"
)

// gpuResource is what a device plugin announces GPUs as.
const gpuResource = corev1.ResourceName("nvidia.com/gpu")

// model is the pod that a statement describes, labelled app=NAME.
func model(c *kubesim.Cluster, s *statement) (*corev1.Pod, error) {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: s.names[0], Namespace: s.value("namespace", "default")}}
	var err error
	if p.Labels, err = s.pairs("label"); err != nil {
		return nil, err
	}
	if p.Labels == nil {
		p.Labels = map[string]string{}
	}
	if p.Labels["app"] == "" {
		p.Labels["app"] = s.names[0]
	}
	if p.Annotations, err = s.pairs("annotation"); err != nil {
		return nil, err
	}
	if runs, err := s.duration("runs", 0); err != nil {
		return nil, err
	} else if runs > 0 {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[kubesim.RunForAnnotation] = runs.String()
	}
	if p.Spec.NodeSelector, err = s.pairs("selector"); err != nil {
		return nil, err
	}
	if grace, err := s.duration("grace", 30*time.Second); err != nil {
		return nil, err
	} else if s.has("grace") {
		p.Spec.TerminationGracePeriodSeconds = new(int64(grace / time.Second))
	}
	for _, key := range s.set["toleration"] {
		if key == "*" { // of every taint
			key = ""
		}
		p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
	}
	p.Spec.SchedulerName = s.value("scheduler", "")
	for _, gate := range s.set["gate"] {
		p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
	}
	if p.Spec.Containers, err = containers(s); err != nil {
		return nil, err
	}
	if err := volumes(s, p); err != nil {
		return nil, err
	}
	for _, give := range []func(*kubesim.Cluster, *statement, *corev1.Pod) error{claimDevices, mounts, overhead, relations, rank, joinGang} {
		if err := give(c, s, p); err != nil {
			return nil, err
		}
	}
	return p, ensureNamespace(c, p.Namespace)
}

func withResource(all corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) corev1.ResourceList {
	if all == nil {
		all = corev1.ResourceList{}
	}
	all[name] = q
	return all
}

func containers(s *statement) ([]corev1.Container, error) {
	var err error
	c := corev1.Container{Name: "main", Image: "registry.example/" + s.names[0] + ":1", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}
	for setting, name := range map[string]corev1.ResourceName{"cpu": corev1.ResourceCPU, "memory": corev1.ResourceMemory, "gpu": gpuResource} {
		q, ok, err := s.quantity(setting)
		if err != nil {
			return nil, err
		}
		if ok {
			c.Resources.Requests[name] = q
		}
	}
	if c.Resources.Limits, err = s.resources("resource"); err != nil { // of extended resources and huge pages the limit is what is asked for
		return nil, err
	}
	if gpus, ok := c.Resources.Requests[gpuResource]; ok {
		c.Resources.Limits = withResource(c.Resources.Limits, gpuResource, gpus)
	}
	maps.Copy(c.Resources.Requests, c.Resources.Limits)
	for _, said := range s.set["host-port"] {
		port, err := strconv.ParseInt(said, 10, 32)
		if err != nil || port < 1 || port > 65535 {
			return nil, s.bad("host-port", said, "a port, 1 to 65535")
		}
		c.Ports = append(c.Ports, corev1.ContainerPort{ContainerPort: int32(port), HostPort: int32(port)})
	}
	return []corev1.Container{c}, nil
}

func volumes(s *statement, p *corev1.Pod) error {
	if !s.has("volume") {
		return nil
	}
	kind, err := s.oneOf("volume", "empty-dir", "memory", "host-path")
	if err != nil {
		return err
	}
	v := corev1.Volume{Name: "data"}
	switch kind {
	case "empty-dir":
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	case "memory":
		v.EmptyDir = &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}
	case "host-path":
		v.HostPath = &corev1.HostPathVolumeSource{Path: "/var/data"}
	}
	p.Spec.Volumes = []corev1.Volume{v}
	return nil
}

func ensureNamespace(c *kubesim.Cluster, name string) error {
	if _, ok := kubesim.Find[*corev1.Namespace](c, "", name); ok {
		return nil
	}
	_, err := c.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return err
}

// template is what a controller makes of the model.
func template(p *corev1.Pod) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations}, Spec: *p.Spec.DeepCopy()}
	t.Spec.NodeName = ""
	return t
}

func selector(p *corev1.Pod) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}}
}

// doTenant makes pods of which no two are alike.
func doTenant(w *world, s *statement) error {
	n, err := s.number("pods", 100)
	if err != nil {
		return err
	}
	for i := range n {
		one := *s
		one.names = []string{fmt.Sprintf("%s-%d", s.names[0], i+1)}
		if err := doPod(w, &one); err != nil {
			return err
		}
	}
	return nil
}

func doPod(w *world, s *statement) error {
	p, err := model(w.cluster, s)
	if err != nil {
		return err
	}
	owner, err := owner(w.cluster, s.value("owner", "replicaset"), p)
	if err != nil {
		return err
	}
	if owner != nil {
		p.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	if on := s.value("on", ""); on != "" {
		if p.Spec.NodeName, err = w.machines.node(s, on); err != nil {
			return err
		}
		now := metav1.NewTime(w.now())
		p.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now}
		ready, err := s.oneOf("ready", "true", "false")
		if err != nil {
			return err
		}
		for _, t := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
			c := corev1.PodCondition{Type: t, Status: corev1.ConditionTrue, LastTransitionTime: now}
			if ready == "false" && (t == corev1.ContainersReady || t == corev1.PodReady) {
				c.Status, c.Reason = corev1.ConditionFalse, "ContainersNotReady"
			}
			p.Status.Conditions = append(p.Status.Conditions, c)
		}
	}
	_, err = w.cluster.Create(p)
	return err
}

// owner makes a controller for one pod, with the pod already counted; nil for a bare pod.
func owner(c *kubesim.Cluster, kind string, p *corev1.Pod) (*metav1.OwnerReference, error) {
	meta := metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}
	var made kubesim.Object
	one := new(int32(1))
	version := "apps/v1"
	switch strings.ToLower(kind) {
	case "none":
		return nil, nil
	case "replicaset":
		kind, made = "ReplicaSet", &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: one, Selector: selector(p), Template: template(p)}}
	case "statefulset":
		kind, made = "StatefulSet", &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: one, Selector: selector(p), Template: template(p)}}
	case "job":
		version, kind, made = "batch/v1", "Job", &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Completions: one, Parallelism: one, Template: template(p)}}
	default: // a kind of somebody else's; what holds its place is an object that nobody acts upon
		version, made = "example.com/v1", &corev1.ConfigMap{ObjectMeta: meta}
	}
	o, err := add(c, made)
	if err != nil {
		return nil, err
	}
	return &metav1.OwnerReference{APIVersion: version, Kind: kind, Name: p.Name, UID: o.GetUID(), Controller: new(true)}, nil
}

func doDeployment(w *world, s *statement) error {
	p, err := model(w.cluster, s)
	if err != nil {
		return err
	}
	n, err := s.number("replicas", 1)
	if err != nil {
		return err
	}
	_, err = add(w.cluster, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(n)), Selector: selector(p), Template: template(p)},
	})
	return err
}

func doJob(w *world, s *statement) error {
	p, err := model(w.cluster, s)
	if err != nil {
		return err
	}
	n, err := s.number("pods", 1)
	if err != nil {
		return err
	}
	_, err = add(w.cluster, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace},
		Spec:       batchv1.JobSpec{Completions: new(int32(n)), Parallelism: new(int32(n)), Template: template(p)},
	})
	return err
}

func doDaemonSet(w *world, s *statement) error {
	p, err := model(w.cluster, s)
	if err != nil {
		return err
	}
	_, err = w.cluster.Create(&appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace},
		Spec:       appsv1.DaemonSetSpec{Selector: selector(p), Template: template(p)},
	})
	return err
}

func doBudget(w *world, s *statement) error {
	over, err := s.pairs("selector")
	if err != nil {
		return err
	}
	if over == nil {
		over = map[string]string{"app": s.names[0]}
	}
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: s.names[0], Namespace: s.value("namespace", "default")}}
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: over}
	if s.has("min-available") == s.has("max-unavailable") {
		return fmt.Errorf("budget %s: give one of min-available and max-unavailable", s.names[0])
	}
	if s.has("min-available") {
		b.Spec.MinAvailable = new(intstr.Parse(s.value("min-available", "")))
	} else {
		b.Spec.MaxUnavailable = new(intstr.Parse(s.value("max-unavailable", "")))
	}
	if s.has("unhealthy") {
		said, err := s.oneOf("unhealthy", "if-healthy-budget", "always-allow")
		if err != nil {
			return err
		}
		b.Spec.UnhealthyPodEvictionPolicy = new(map[string]policyv1.UnhealthyPodEvictionPolicyType{
			"if-healthy-budget": policyv1.IfHealthyBudget, "always-allow": policyv1.AlwaysAllow,
		}[said])
	}
	_, err = w.cluster.Create(b)
	return err
}

func findReplicaSet(c *kubesim.Cluster, namespace, name string) (*appsv1.ReplicaSet, bool) {
	return kubesim.Find[*appsv1.ReplicaSet](c, namespace, name)
}
