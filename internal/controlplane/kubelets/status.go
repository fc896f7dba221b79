package kubelets

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// sigterm is the exit code of a container that SIGTERM ended.
const sigterm = 128 + 15

// started is the status of a pod all of whose containers run and are ready. Init containers have completed, except
// sidecars, which run.
func (k *Kubelets) started(pod *corev1.Pod, m Machine, now time.Time) corev1.PodStatus {
	at := metav1.NewTime(now)
	ip := m.InternalIP
	if !pod.Spec.HostNetwork || ip == "" {
		ip = k.podIP()
	}
	status := corev1.PodStatus{
		ObservedGeneration: pod.Generation,
		Phase:              corev1.PodRunning,
		StartTime:          &at,
		PodIP:              ip,
		PodIPs:             []corev1.PodIP{{IP: ip}},
		Conditions:         podConditions(pod, corev1.ConditionTrue, "", at),
	}
	if m.InternalIP != "" {
		status.HostIP, status.HostIPs = m.InternalIP, []corev1.HostIP{{IP: m.InternalIP}}
	}
	setContainers(&status, pod, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}}, at)
	return status
}

// ended is the status of a pod whose containers have all left with the given exit code.
func ended(pod *corev1.Pod, phase corev1.PodPhase, exit int32, now time.Time) corev1.PodStatus {
	at := metav1.NewTime(now)
	reason, why := "Completed", "PodCompleted"
	if exit != 0 {
		reason, why = "Error", "PodFailed"
	}
	begun := at
	if pod.Status.StartTime != nil {
		begun = *pod.Status.StartTime
	}
	over := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: exit, Reason: reason, StartedAt: begun, FinishedAt: at}}
	status := corev1.PodStatus{
		ObservedGeneration: pod.Generation,
		Phase:              phase,
		Conditions:         podConditions(pod, corev1.ConditionFalse, why, at),
	}
	setContainers(&status, pod, over, begun)
	return status
}

// setContainers puts all containers and sidecars into state; the other init containers completed when the pod began.
func setContainers(status *corev1.PodStatus, pod *corev1.Pod, state corev1.ContainerState, begun metav1.Time) {
	completed := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: begun, FinishedAt: begun}}
	for _, c := range pod.Spec.InitContainers {
		s := containerStatus(pod, c, state)
		if !sidecar(c) {
			s = containerStatus(pod, c, completed)
			s.Ready = true // of an init container: it has done its work
		}
		status.InitContainerStatuses = append(status.InitContainerStatuses, s)
	}
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, containerStatus(pod, c, state))
	}
}

func sidecar(c corev1.Container) bool {
	return c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

func containerStatus(pod *corev1.Pod, c corev1.Container, state corev1.ContainerState) corev1.ContainerStatus {
	runs := state.Running != nil
	return corev1.ContainerStatus{
		Name:        c.Name,
		Image:       c.Image,
		ImageID:     c.Image,
		ContainerID: fmt.Sprintf("containerd://%s-%s", pod.UID, c.Name),
		State:       state,
		Ready:       runs,
		Started:     &runs,
	}
}

// podConditions are the kubelet's. Initialized has been reached in any case; a pod that ends is no longer ready, because of
// why.
func podConditions(pod *corev1.Pod, ready corev1.ConditionStatus, why string, at metav1.Time) []corev1.PodCondition {
	condition := func(t corev1.PodConditionType, s corev1.ConditionStatus, reason string) corev1.PodCondition {
		c := corev1.PodCondition{Type: t, Status: s, Reason: reason, ObservedGeneration: pod.Generation, LastTransitionTime: at}
		for _, old := range pod.Status.Conditions {
			if old.Type == t && old.Status == s {
				c.LastTransitionTime = old.LastTransitionTime
			}
		}
		return c
	}
	started := corev1.ConditionTrue
	if ready == corev1.ConditionFalse {
		started = corev1.ConditionFalse // no sandbox any more
	}
	return []corev1.PodCondition{
		condition(corev1.PodReadyToStartContainers, started, ""),
		condition(corev1.PodInitialized, corev1.ConditionTrue, ""),
		condition(corev1.ContainersReady, ready, why),
		condition(corev1.PodReady, ready, why),
	}
}

// podIP hands out the addresses of 10.128.0.0/9 one after the other, and again from the start when they are used up.
func (k *Kubelets) podIP() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.lastIP = k.lastIP%(1<<23-2) + 1
	n := k.lastIP
	return fmt.Sprintf("10.%d.%d.%d", 128+n>>16, n>>8&0xff, n&0xff)
}
