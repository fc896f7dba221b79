package kube

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"sluice.dev/sluice/cluster"
)

var (
	when     = metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	oneCore  = corev1.ResourceList{corev1.ResourceCPU: quantity.MustParse("1")}
	labels   = map[string]string{"app": "web"}
	fullMeta = metav1.ObjectMeta{
		Name: "a", Namespace: "default", UID: "u", Labels: labels, CreationTimestamp: when, DeletionTimestamp: &when,
		DeletionGracePeriodSeconds: new(int64(30)), Finalizers: []string{"keep"}, OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "r", UID: "v", Controller: new(true)}},
		ResourceVersion: "7", Generation: 3, GenerateName: "a-", SelfLink: "/a", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		Annotations: map[string]string{"kept": "true", corev1.LastAppliedConfigAnnotation: "{classified}"},
	}
	keptMeta = metav1.ObjectMeta{
		Name: "a", Namespace: "default", UID: "u", Labels: labels, CreationTimestamp: when, DeletionTimestamp: &when,
		DeletionGracePeriodSeconds: new(int64(30)), Finalizers: []string{"keep"}, OwnerReferences: fullMeta.OwnerReferences,
		Annotations: map[string]string{"kept": "true"},
	}
)

// keptSpec is all of a pod's spec that scheduling and removal read.
func keptSpec() corev1.PodSpec {
	return corev1.PodSpec{
		NodeName: "n", SchedulerName: "default-scheduler", SchedulingGates: []corev1.PodSchedulingGate{{Name: "gate"}},
		NodeSelector: labels, Tolerations: []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists}},
		Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}},
		}}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule}},
		Priority:                  new(int32(5)), PriorityClassName: "high", PreemptionPolicy: new(corev1.PreemptNever), Overhead: oneCore,
		Resources: &corev1.ResourceRequirements{Requests: oneCore}, RestartPolicy: corev1.RestartPolicyNever, HostNetwork: true,
		ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}}, RuntimeClassName: new("kata"), OS: &corev1.PodOS{Name: corev1.Linux},
		TerminationGracePeriodSeconds: new(int64(30)), HostUsers: new(false),
		InitContainers: []corev1.Container{{Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), Resources: corev1.ResourceRequirements{Limits: oneCore}}},
		Containers:     []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: oneCore}, Ports: []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}}},
		Volumes: []corev1.Volume{
			{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
			{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/log"}}},
			{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			{Name: "disk", VolumeSource: corev1.VolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DiskName: "d"}}},
			{Name: "inline", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: "disk.csi.azure.com"}}},
			{Name: "password", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
		},
	}
}

// fullSpec is keptSpec with what only a kubelet reads; every string of that is "classified".
func fullSpec() corev1.PodSpec {
	s := keptSpec()
	for _, c := range []*corev1.Container{&s.InitContainers[0], &s.Containers[0]} {
		c.Image, c.Command, c.Args, c.WorkingDir = "classified", []string{"classified"}, []string{"classified"}, "classified"
		c.Env = []corev1.EnvVar{{Name: "classified", Value: "classified"}}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "classified", MountPath: "classified"}}
		c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"classified"}}}}
		c.TerminationMessagePath = "classified"
	}
	s.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "classified"}}}
	s.ServiceAccountName, s.Hostname = "classified", "classified"
	s.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "classified"}}
	s.Volumes[4].CSI.VolumeAttributes = map[string]string{"classified": "classified"}
	s.Volumes[5].Secret.SecretName = "classified"
	s.Volumes[6].ConfigMap.Name = "classified"
	return s
}

func TestTrim(t *testing.T) {
	driver := storagev1.CSINodeDriver{Name: "disk.csi.azure.com", TopologyKeys: []string{"zone"}, Allocatable: &storagev1.VolumeNodeResources{Count: new(int32(8))}}
	wholeDriver := driver
	wholeDriver.NodeID = "classified"
	volumeMeta := fullMeta
	volumeMeta.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "n", "volume.kubernetes.io/storage-provisioner": "classified"}
	keptVolumeMeta := keptMeta
	keptVolumeMeta.Annotations = map[string]string{"volume.kubernetes.io/selected-node": "n"}
	standardMeta, keptStandardMeta := fullMeta, keptMeta
	standardMeta.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true", "meta.helm.sh/release-name": "classified"}
	keptStandardMeta.Annotations = map[string]string{"storageclass.kubernetes.io/is-default-class": "true"}
	for name, test := range map[string]struct{ whole, want runtime.Object }{
		"a claim": {
			&corev1.PersistentVolumeClaim{
				ObjectMeta: volumeMeta,
				Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "v", StorageClassName: new("d"), DataSource: &corev1.TypedLocalObjectReference{Name: "classified"}},
				Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, Capacity: oneCore},
			},
			&corev1.PersistentVolumeClaim{
				ObjectMeta: keptVolumeMeta, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "v", StorageClassName: new("d")},
				Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
			},
		},
		"a volume": {
			&corev1.PersistentVolume{ObjectMeta: fullMeta, Spec: corev1.PersistentVolumeSpec{
				MountOptions: []string{"classified"}, ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: "c", UID: "u", ResourceVersion: "8"},
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
					Driver: driver.Name, VolumeHandle: "h", VolumeAttributes: map[string]string{"classified": "classified"}, NodeStageSecretRef: &corev1.SecretReference{Name: "classified"}}},
			}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound, Message: "classified"}},
			&corev1.PersistentVolume{ObjectMeta: without(keptMeta), Spec: corev1.PersistentVolumeSpec{
				ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: "c", UID: "u"},
				PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver.Name, VolumeHandle: "h"}},
			}, Status: corev1.PersistentVolumeStatus{Phase: corev1.VolumeBound}},
		},
		"a storage class": {
			&storagev1.StorageClass{ObjectMeta: fullMeta, Provisioner: driver.Name, Parameters: map[string]string{"classified": "classified"}},
			&storagev1.StorageClass{ObjectMeta: without(keptMeta), Provisioner: driver.Name},
		},
		"a default storage class": {
			&storagev1.StorageClass{ObjectMeta: standardMeta, Provisioner: driver.Name},
			&storagev1.StorageClass{ObjectMeta: keptStandardMeta, Provisioner: driver.Name},
		},
		"a CSINode": {
			&storagev1.CSINode{ObjectMeta: fullMeta, Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{wholeDriver}}},
			&storagev1.CSINode{ObjectMeta: without(keptMeta), Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{driver}}},
		},
		"a CSIDriver": {
			&storagev1.CSIDriver{ObjectMeta: fullMeta, Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true), TokenRequests: []storagev1.TokenRequest{{Audience: "classified"}}}},
			&storagev1.CSIDriver{ObjectMeta: without(keptMeta), Spec: storagev1.CSIDriverSpec{StorageCapacity: new(true)}},
		},
		"an attachment": {
			&storagev1.VolumeAttachment{
				ObjectMeta: fullMeta, Spec: storagev1.VolumeAttachmentSpec{Attacher: driver.Name, NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("v")}},
				Status: storagev1.VolumeAttachmentStatus{Attached: true, AttachmentMetadata: map[string]string{"classified": "classified"}},
			},
			&storagev1.VolumeAttachment{
				ObjectMeta: without(keptMeta), Spec: storagev1.VolumeAttachmentSpec{Attacher: driver.Name, NodeName: "n", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: new("v")}},
				Status: storagev1.VolumeAttachmentStatus{Attached: true},
			},
		},
		"a resource claim": {
			&resourcev1.ResourceClaim{
				ObjectMeta: fullMeta, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
					Requests: []resourcev1.DeviceRequest{{Name: "gpu"}}, Config: []resourcev1.DeviceClaimConfiguration{{Requests: []string{"classified"}}}}},
				Status: resourcev1.ResourceClaimStatus{
					Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Config: []resourcev1.DeviceAllocationConfiguration{{Requests: []string{"classified"}}}}},
					Devices:    []resourcev1.AllocatedDeviceStatus{{Driver: "classified"}},
				},
			},
			&resourcev1.ResourceClaim{
				ObjectMeta: keptMeta, Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "gpu"}}}},
				Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{}},
			},
		},
		"a provisioning request": {
			&cluster.ProvisioningRequest{ObjectMeta: fullMeta, Status: cluster.ProvisioningRequestStatus{Conditions: []metav1.Condition{{Type: "Accepted", Status: "True", Message: "classified"}}}},
			&cluster.ProvisioningRequest{ObjectMeta: generated(keptMeta), Status: cluster.ProvisioningRequestStatus{Conditions: []metav1.Condition{{Type: "Accepted", Status: "True"}}}},
		},
		"a pod template": {
			&corev1.PodTemplate{ObjectMeta: fullMeta, Template: corev1.PodTemplateSpec{Spec: fullSpec()}},
			&corev1.PodTemplate{ObjectMeta: generated(keptMeta), Template: corev1.PodTemplateSpec{Spec: keptSpec()}},
		},
		"a pod": {
			&corev1.Pod{ObjectMeta: fullMeta, Spec: fullSpec(), Status: corev1.PodStatus{
				Phase: corev1.PodRunning, StartTime: &when, NominatedNodeName: "n", HostIP: "10.0.0.4", PodIP: "10.1.0.4", QOSClass: corev1.PodQOSBurstable,
				Conditions: []corev1.PodCondition{
					{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes", LastProbeTime: when, LastTransitionTime: when},
					{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "classified", ObservedGeneration: 4},
				},
				Resources:         &corev1.ResourceRequirements{Requests: oneCore},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Image: "classified", RestartCount: 4, AllocatedResources: oneCore}, {Name: "other", ImageID: "classified"}},
			}},
			&corev1.Pod{ObjectMeta: keptMeta, Spec: keptSpec(), Status: corev1.PodStatus{
				Phase: corev1.PodRunning, StartTime: &when, NominatedNodeName: "n",
				Conditions: []corev1.PodCondition{
					{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes", LastTransitionTime: when},
					{Type: corev1.PodReady, Status: corev1.ConditionFalse},
				},
				Resources:         &corev1.ResourceRequirements{Requests: oneCore},
				ContainerStatuses: []corev1.ContainerStatus{{Name: "main", AllocatedResources: oneCore}},
			}},
		},
		"a node": {
			&corev1.Node{
				ObjectMeta: fullMeta,
				Spec:       corev1.NodeSpec{ProviderID: "azure:///x", Unschedulable: true, Taints: []corev1.Taint{foreign}, PodCIDR: "10.0.0.0/24"},
				Status: corev1.NodeStatus{
					Capacity: oneCore, Allocatable: oneCore, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.4"}},
					Conditions:      []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "classified", LastHeartbeatTime: when, LastTransitionTime: when}},
					NodeInfo:        corev1.NodeSystemInfo{SystemUUID: "U", OperatingSystem: "linux", Architecture: "amd64", KernelVersion: "6"},
					Images:          []corev1.ContainerImage{{Names: []string{"classified"}}},
					VolumesAttached: []corev1.AttachedVolume{{Name: "v"}},
				},
			},
			&corev1.Node{
				ObjectMeta: keptMeta,
				Spec:       corev1.NodeSpec{ProviderID: "azure:///x", Unschedulable: true, Taints: []corev1.Taint{foreign}},
				Status: corev1.NodeStatus{
					Capacity: oneCore, Allocatable: oneCore, Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.4"}},
					Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: when}},
					NodeInfo:   corev1.NodeSystemInfo{SystemUUID: "U", OperatingSystem: "linux", Architecture: "amd64"},
				},
			},
		},
		"a daemon set": {
			&appsv1.DaemonSet{
				ObjectMeta: fullMeta,
				Spec: appsv1.DaemonSetSpec{
					Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: fullSpec()},
					MinReadySeconds: 4,
				},
				Status: appsv1.DaemonSetStatus{NumberReady: 3},
			},
			&appsv1.DaemonSet{ObjectMeta: keptMeta, Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: keptSpec()},
			}},
		},
		"a disruption budget": {
			&policyv1.PodDisruptionBudget{
				ObjectMeta: fullMeta, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1))},
				Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1, ExpectedPods: 2, ObservedGeneration: 3},
			},
			&policyv1.PodDisruptionBudget{
				ObjectMeta: keptMeta, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromInt32(1))},
				Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 2, DesiredHealthy: 1, ExpectedPods: 2},
			},
		},
		"a namespace": {
			&corev1.Namespace{ObjectMeta: fullMeta, Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"kubernetes"}}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}},
			&corev1.Namespace{ObjectMeta: keptMeta, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := test.whole.DeepCopyObject()
			for _, times := range []string{"once", "twice"} {
				got, err := Trim(o)
				if err != nil {
					t.Fatal(err)
				}
				if got != any(o) {
					t.Error("another object was returned")
				}
				if diff := cmp.Diff(test.want, o); diff != "" {
					t.Errorf("trimmed %s (-want +got)\n%s", times, diff)
				}
			}
			if b, err := json.Marshal(o); err != nil || strings.Contains(string(b), "classified") {
				t.Errorf("%s, %v", b, err)
			}
		})
	}
}

// without is the metadata of an object of whose annotations none is read.
func without(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.Annotations = nil
	return m
}

// generated is the metadata of an object whose generation is read.
func generated(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.Generation = 3
	return m
}

func TestTrimRefusesWhatNoDecisionReads(t *testing.T) {
	if _, err := Trim(&corev1.Secret{}); err == nil {
		t.Error("a secret went through")
	}
}
