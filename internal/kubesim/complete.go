package kubesim

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// complete fills in what the API server's defaults and built-in admission
// would. It is idempotent.
func (s *store) complete(obj object) error {
	switch o := obj.(type) {
	case *corev1.Pod:
		return s.completePod(o)
	case *resourcev1.ResourceClaim:
		completeDevices(&o.Spec)
	case *resourcev1.ResourceClaimTemplate:
		completeDevices(&o.Spec.Spec)
	case *corev1.LimitRange:
		completeLimits(o)
	case *corev1.Node:
		if o.Status.Allocatable == nil {
			o.Status.Allocatable = o.Status.Capacity.DeepCopy()
		}
	case *corev1.Namespace:
		orElse(&o.Status.Phase, corev1.NamespaceActive)
		if o.DeletionTimestamp == nil {
			o.Spec.Finalizers = []corev1.FinalizerName{corev1.FinalizerKubernetes}
		}
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[corev1.LabelMetadataName] = o.Name
	case *corev1.PersistentVolumeClaim:
		orElse(&o.Status.Phase, corev1.ClaimPending)
		s.completeClaim(o)
	case *corev1.PersistentVolume:
		orElse(&o.Status.Phase, corev1.VolumePending)
	case *storagev1.StorageClass:
		orDefaultTo(&o.VolumeBindingMode, storagev1.VolumeBindingImmediate)
		orDefaultTo(&o.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	case *appsv1.Deployment:
		orDefaultTo(&o.Spec.Replicas, 1)
		completeTemplate(&o.Spec.Template, corev1.RestartPolicyAlways)
	case *appsv1.ReplicaSet:
		orDefaultTo(&o.Spec.Replicas, 1)
		completeTemplate(&o.Spec.Template, corev1.RestartPolicyAlways)
	case *appsv1.StatefulSet:
		orDefaultTo(&o.Spec.Replicas, 1)
		orElse(&o.Spec.PodManagementPolicy, appsv1.OrderedReadyPodManagement)
		completeTemplate(&o.Spec.Template, corev1.RestartPolicyAlways)
	case *appsv1.DaemonSet:
		completeTemplate(&o.Spec.Template, corev1.RestartPolicyAlways)
	case *batchv1.Job:
		completeJob(o)
	}
	return nil
}

// completeClaim gives a claim that names no class, not even "", the default one.
func (s *store) completeClaim(claim *corev1.PersistentVolumeClaim) {
	orDefaultTo(&claim.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	if claim.Spec.StorageClassName != nil || claim.Spec.VolumeName != "" {
		return
	}
	for _, e := range s.tables["storageclasses"].sorted {
		if e.obj.GetAnnotations()[defaultClass] == "true" {
			name := e.obj.GetName()
			claim.Spec.StorageClassName = &name
			return
		}
	}
}

func completeJob(job *batchv1.Job) {
	if job.Spec.Completions == nil && job.Spec.Parallelism == nil {
		orDefaultTo(&job.Spec.Completions, 1)
	}
	orDefaultTo(&job.Spec.Parallelism, 1)
	orDefaultTo(&job.Spec.BackoffLimit, 6)
	orDefaultTo(&job.Spec.Suspend, false)
	completeTemplate(&job.Spec.Template, corev1.RestartPolicyNever)
	if job.Spec.Selector == nil {
		job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{batchv1.ControllerUidLabel: string(job.UID)}}
		if job.Spec.Template.Labels == nil {
			job.Spec.Template.Labels = map[string]string{}
		}
		job.Spec.Template.Labels[batchv1.ControllerUidLabel] = string(job.UID)
		job.Spec.Template.Labels[batchv1.JobNameLabel] = job.Name
	}
}

func completeTemplate(t *corev1.PodTemplateSpec, restart corev1.RestartPolicy) {
	orElse(&t.Spec.RestartPolicy, restart)
	completePodSpec(&t.Spec)
}

func completePodSpec(s *corev1.PodSpec) {
	orElse(&s.RestartPolicy, corev1.RestartPolicyAlways)
	orElse(&s.DNSPolicy, corev1.DNSClusterFirst)
	orElse(&s.SchedulerName, corev1.DefaultSchedulerName)
	orDefaultTo(&s.TerminationGracePeriodSeconds, 30)
	if s.SecurityContext == nil {
		s.SecurityContext = &corev1.PodSecurityContext{}
	}
	for i := range s.InitContainers {
		completeContainer(&s.InitContainers[i], s.HostNetwork)
	}
	for i := range s.Containers {
		completeContainer(&s.Containers[i], s.HostNetwork)
	}
	for i := range s.TopologySpreadConstraints {
		orElse(&s.TopologySpreadConstraints[i].WhenUnsatisfiable, corev1.DoNotSchedule)
	}
}

// completeContainer requests what is limited, and opens on the host what a pod
// on the host's network listens to.
func completeContainer(ct *corev1.Container, hostNetwork bool) {
	fillIn(&ct.Resources.Requests, ct.Resources.Limits)
	for i := range ct.Ports {
		orElse(&ct.Ports[i].Protocol, corev1.ProtocolTCP)
		if hostNetwork && ct.Ports[i].HostPort == 0 {
			ct.Ports[i].HostPort = ct.Ports[i].ContainerPort
		}
	}
}

func (s *store) completePod(pod *corev1.Pod) error {
	if !s.installed[Gangs] {
		pod.Spec.SchedulingGroup = nil // as every field of a feature that is off
	}
	completePodSpec(&pod.Spec)
	if err := s.completePriority(pod); err != nil {
		return err
	}
	if pod.ResourceVersion == "" { // later it is too late
		if err := s.limit(pod); err != nil {
			return err
		}
	}
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if !toleratesKey(pod.Spec.Tolerations, key) {
			seconds := int64(300)
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
	orElse(&pod.Status.Phase, corev1.PodPending)
	if len(pod.Spec.SchedulingGates) > 0 {
		setCondition(pod, s.stamp(), corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonSchedulingGated, Message: "Scheduling is blocked due to non-empty scheduling gates"})
	}
	if pod.Status.QOSClass == "" {
		pod.Status.QOSClass = qosClass(pod)
	}
	return nil
}

// completePriority resolves the priority class, or takes the global default.
func (s *store) completePriority(pod *corev1.Pod) error {
	if pod.Spec.Priority != nil {
		return nil
	}
	var value int32
	policy := corev1.PreemptLowerPriority
	for _, e := range s.tables["priorityclasses"].sorted {
		class := priorityClass(e)
		if pod.Spec.PriorityClassName == class.Name || pod.Spec.PriorityClassName == "" && class.GlobalDefault {
			pod.Spec.PriorityClassName = class.Name
			value = class.Value
			if class.PreemptionPolicy != nil {
				policy = *class.PreemptionPolicy
			}
			pod.Spec.Priority, pod.Spec.PreemptionPolicy = &value, &policy
			return nil
		}
	}
	if pod.Spec.PriorityClassName != "" {
		return apierrors.NewForbidden(corev1.Resource("pods"), pod.Name, fmt.Errorf("no PriorityClass with name %s was found", pod.Spec.PriorityClassName))
	}
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = &value, &policy
	return nil
}

func toleratesKey(tolerations []corev1.Toleration, key string) bool {
	for _, t := range tolerations {
		if (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "") {
			return true
		}
	}
	return false
}

func qosClass(pod *corev1.Pod) corev1.PodQOSClass {
	some, all := false, true
	for _, ct := range pod.Spec.Containers {
		some = some || len(ct.Resources.Requests) > 0
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, ok := ct.Resources.Limits[name]
			request := ct.Resources.Requests[name]
			all = all && ok && limit.Cmp(request) == 0
		}
	}
	switch {
	case all:
		return corev1.PodQOSGuaranteed
	case some:
		return corev1.PodQOSBurstable
	default:
		return corev1.PodQOSBestEffort
	}
}

func orElse[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

func orDefaultTo[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

// percentOrCount resolves a count or a percentage of total, rounded up.
func percentOrCount(v *intstr.IntOrString, total int) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(v, total, true)
	if err != nil {
		return 0 // validation admits none that fail
	}
	return n
}
