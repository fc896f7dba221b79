package resident

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sluice.dev/sluice/internal/bench/workload"
)

// wardrobe dresses pods as an API server has them, some 4 kB each: what containers run, their environment, probes and statuses, who manages which
// fields. Pods of one owner are alike but for their names.
type wardrobe struct {
	nodes   map[string]string      // one node of each owner
	running map[string]*corev1.Pod // one pod of each owner
}

func newWardrobe(w *workload.World) *wardrobe {
	d := &wardrobe{nodes: map[string]string{}, running: map[string]*corev1.Pod{}}
	for _, p := range w.Pods {
		if app := p.Labels["app"]; d.nodes[app] == "" {
			d.nodes[app], d.running[app] = p.Spec.NodeName, dressPod(p)
		}
	}
	return d
}

// dressed is the pod of that version. It shares its parts with others of its owner.
func (d *wardrobe) dressed(p *corev1.Pod, version int) *corev1.Pod {
	o := *d.running[p.Labels["app"]]
	o.Name, o.UID, o.ResourceVersion, o.Spec.NodeName = p.Name, p.UID, strconv.Itoa(version), p.Spec.NodeName
	if p.Spec.NodeName == "" {
		o.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: corev1.PodQOSBurstable, Conditions: p.Status.Conditions}
	}
	return &o
}

// dressPod is the running pod with all that a kubelet and controllers write.
func dressPod(p *corev1.Pod) *corev1.Pod {
	p = p.DeepCopy()
	app := p.Labels["app"]
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	p.GenerateName = app + "-"
	p.Annotations = map[string]string{
		"checksum/config": "7f2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a2b", "prometheus.io/scrape": "true", "prometheus.io/port": "9090",
	}
	for _, by := range []string{"kube-controller-manager", "kubelet"} {
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: by, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: new(p.CreationTimestamp), FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{` + strings.Repeat(`"f:labels":{"f:app":{},"f:pod-template-hash":{}},`, 16) + `"f:name":{}}}`),
		})
	}
	probe := &corev1.Probe{
		ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080), Scheme: corev1.URISchemeHTTP}},
		TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
	}
	c := &p.Spec.Containers[0]
	c.Image, c.ImagePullPolicy = "registry.example/"+app+":1.42.0", corev1.PullIfNotPresent
	c.Args = []string{"--listen=:8080", "--log-format=json", "--shutdown-delay=5s"}
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {Name: "metrics", ContainerPort: 9090, Protocol: corev1.ProtocolTCP}}
	c.LivenessProbe, c.ReadinessProbe = probe, probe
	c.TerminationMessagePath, c.TerminationMessagePolicy = "/dev/termination-log", corev1.TerminationMessageReadFile
	c.SecurityContext = &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
	c.VolumeMounts = []corev1.VolumeMount{
		{Name: "config", MountPath: "/etc/config", ReadOnly: true}, {Name: "kube-api-access", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
	}
	for i := range 12 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%02d", i), Value: "a value of some length that a service reads at its start"})
	}
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: app + "-config"}, DefaultMode: new(int32(420)),
	}}})
	p.Spec.ServiceAccountName, p.Spec.DNSPolicy, p.Spec.EnableServiceLinks = app, corev1.DNSClusterFirst, new(true)
	p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: new(int64(1000))}

	started := metav1.NewTime(p.CreationTimestamp.Add(8e9))
	p.Status.Phase, p.Status.QOSClass = corev1.PodRunning, corev1.PodQOSBurstable
	p.Status.HostIP, p.Status.PodIP = "10.128.0.1", "10.244.0.1"
	p.Status.HostIPs, p.Status.PodIPs = []corev1.HostIP{{IP: "10.128.0.1"}}, []corev1.PodIP{{IP: "10.244.0.1"}}
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.ContainersReady} {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: started})
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: c.Name, Ready: true, Started: new(true), Image: c.Image, ImageID: "registry.example/" + app + "@sha256:" + strings.Repeat("5a", 32),
		ContainerID: "containerd://" + strings.Repeat("c3", 32), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		AllocatedResources: c.Resources.Requests, Resources: &c.Resources,
	}}
	return p
}

// dressNodes are the nodes with the images, heartbeats, annotations and managed fields that theirs carry, some 9 kB each.
func dressNodes(nodes []*corev1.Node) []*corev1.Node {
	var all []*corev1.Node
	for _, n := range nodes {
		n = n.DeepCopy()
		n.Annotations = map[string]string{
			"csi.volume.kubernetes.io/nodeid":                        `{"disk.csi.azure.com":"` + n.Name + `","file.csi.azure.com":"` + n.Name + `"}`,
			"node.alpha.kubernetes.io/ttl":                           "0",
			"volumes.kubernetes.io/controller-managed-attach-detach": "true",
		}
		for i := range n.Status.Conditions {
			n.Status.Conditions[i].LastHeartbeatTime = metav1.NewTime(workload.At)
			n.Status.Conditions[i].Message = "kubelet is posting ready status and has sufficient resources of this kind available"
		}
		for i := range 40 {
			image := fmt.Sprintf("registry.example/system/image-%02d", i)
			n.Status.Images = append(n.Status.Images, corev1.ContainerImage{Names: []string{image + "@sha256:" + strings.Repeat("1d", 32), image + ":v1.2.3"}, SizeBytes: 123_456_789})
		}
		n.Status.NodeInfo.KubeletVersion, n.Status.NodeInfo.ContainerRuntimeVersion, n.Status.NodeInfo.OSImage = "v1.36.3", "containerd://2.1.4", "Ubuntu 24.04.3 LTS"
		n.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: "kubelet", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: new(n.CreationTimestamp), FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:status":{` + strings.Repeat(`"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:status":{}}},`, 16) + `"f:images":{}}}`),
		}}
		all = append(all, n)
	}
	return all
}
