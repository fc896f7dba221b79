package kube

import corev1 "k8s.io/api/core/v1"

// trimPod keeps what the scheduler's filters read, what ownership, eviction and removal rules read, and nothing of what the
// containers run.
func trimPod(p *corev1.Pod) {
	conditions := p.Status.Conditions
	for i, c := range conditions {
		conditions[i] = corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime}
		if c.Type == corev1.PodScheduled {
			conditions[i].Message = c.Message // the scheduler's own words
		}
	}
	s := p.Status
	*p = corev1.Pod{
		ObjectMeta: trimMeta(p.ObjectMeta),
		Spec:       trimPodSpec(p.Spec),
		Status: corev1.PodStatus{
			Phase:             s.Phase,
			Conditions:        conditions,
			StartTime:         s.StartTime,
			NominatedNodeName: s.NominatedNodeName,

			// What is actually reserved while a pod is resized in place, and by claims.
			Resize:                               s.Resize,
			Resources:                            s.Resources,
			AllocatedResources:                   s.AllocatedResources,
			InitContainerStatuses:                trimContainerStatuses(s.InitContainerStatuses),
			ContainerStatuses:                    trimContainerStatuses(s.ContainerStatuses),
			ResourceClaimStatuses:                s.ResourceClaimStatuses,
			ExtendedResourceClaimStatus:          s.ExtendedResourceClaimStatus,
			NodeAllocatableResourceClaimStatuses: s.NodeAllocatableResourceClaimStatuses,
		},
	}
}

func trimPodSpec(s corev1.PodSpec) corev1.PodSpec {
	return corev1.PodSpec{
		NodeName:                      s.NodeName,
		SchedulerName:                 s.SchedulerName,
		SchedulingGates:               s.SchedulingGates,
		SchedulingGroup:               s.SchedulingGroup,
		NodeSelector:                  s.NodeSelector,
		Affinity:                      s.Affinity,
		TopologySpreadConstraints:     s.TopologySpreadConstraints,
		Tolerations:                   s.Tolerations,
		Priority:                      s.Priority,
		PriorityClassName:             s.PriorityClassName,
		PreemptionPolicy:              s.PreemptionPolicy,
		Overhead:                      s.Overhead,
		Resources:                     s.Resources,
		ResourceClaims:                s.ResourceClaims,
		InitContainers:                trimContainers(s.InitContainers),
		Containers:                    trimContainers(s.Containers),
		Volumes:                       trimVolumes(s.Volumes),
		RestartPolicy:                 s.RestartPolicy,
		RuntimeClassName:              s.RuntimeClassName,
		OS:                            s.OS,
		HostNetwork:                   s.HostNetwork,
		HostUsers:                     s.HostUsers,
		TerminationGracePeriodSeconds: s.TerminationGracePeriodSeconds,
	}
}

func trimContainers(cs []corev1.Container) []corev1.Container {
	for i, c := range cs {
		cs[i] = corev1.Container{Name: c.Name, Ports: c.Ports, Resources: c.Resources, RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules}
	}
	return cs
}

// trimContainerStatuses keeps the statuses that say which resources a container holds.
func trimContainerStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for _, s := range all {
		if s.Resources != nil || len(s.AllocatedResources) > 0 {
			kept = append(kept, corev1.ContainerStatus{Name: s.Name, Resources: s.Resources, AllocatedResources: s.AllocatedResources})
		}
	}
	return kept
}

// trimVolumes keeps the name and type of every volume, and the rest of those that the scheduler looks into. What only a
// kubelet reads goes, and with it the names of secrets and their keys.
func trimVolumes(vs []corev1.Volume) []corev1.Volume {
	for i := range vs {
		v := &vs[i].VolumeSource
		switch {
		case v.EmptyDir != nil:
			v.EmptyDir = &corev1.EmptyDirVolumeSource{Medium: v.EmptyDir.Medium}
		case v.Secret != nil:
			v.Secret = &corev1.SecretVolumeSource{}
		case v.ConfigMap != nil:
			v.ConfigMap = &corev1.ConfigMapVolumeSource{}
		case v.Projected != nil:
			v.Projected = &corev1.ProjectedVolumeSource{}
		case v.DownwardAPI != nil:
			v.DownwardAPI = &corev1.DownwardAPIVolumeSource{}
		case v.Image != nil:
			v.Image = &corev1.ImageVolumeSource{}
		case v.FlexVolume != nil:
			v.FlexVolume = &corev1.FlexVolumeSource{Driver: v.FlexVolume.Driver}
		case v.CSI != nil:
			v.CSI = &corev1.CSIVolumeSource{Driver: v.CSI.Driver}
		case v.GitRepo != nil:
			v.GitRepo = &corev1.GitRepoVolumeSource{}
		case v.AzureFile != nil:
			v.AzureFile = &corev1.AzureFileVolumeSource{}
		}
	}
	return vs
}
