package kubesim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	defaultPodStart = 2 * time.Second
	defaultPodStop  = 2 * time.Second
)

// kubelets are those of the machines that are there: they run the pods on their nodes.
type kubelets struct {
	store  *store
	pods   *podIndex
	timers *timers

	machines map[string]*machine // by node name
}

// sees plans what the pod's kubelet does next, if its machine is there: a pod takes so long to start and to stop.
func (k *kubelets) sees(key string, st *podState, start, stop time.Duration) {
	pod := st.pod
	if k.machines[pod.Spec.NodeName] == nil || finished(pod) {
		return
	}
	now := k.store.now()
	if pod.DeletionTimestamp != nil {
		takes := stop
		if grace := pod.DeletionGracePeriodSeconds; grace != nil {
			takes = min(takes, time.Duration(*grace)*time.Second)
		}
		if at := now.Add(takes); st.stopAt.IsZero() || at.Before(st.stopAt) {
			st.stopAt = at
			k.timers.remind(at, podStops, key, st.uid)
		}
		return
	}
	switch pod.Status.Phase {
	case corev1.PodPending:
		if st.startAt.IsZero() {
			st.startAt = now.Add(start)
			k.timers.remind(st.startAt, podStarts, key, st.uid)
		}
	case corev1.PodRunning:
		text, ok := pod.Annotations[RunForAnnotation]
		if !ok || !st.finishAt.IsZero() {
			return
		}
		if d, err := time.ParseDuration(text); err == nil {
			st.finishAt = now.Add(d)
			k.timers.remind(st.finishAt, podFinishes, key, st.uid)
		}
	}
}

func (k *kubelets) startPod(key string) {
	e := k.store.entryOf("pods", key)
	pod := e.obj.(*corev1.Pod)
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}
	now := k.store.stamp()
	m := k.machines[pod.Spec.NodeName]
	revised(k.store, e, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.StartTime = &now
		p.Status.HostIP = m.InternalIP
		p.Status.PodIP = podIP(k.pods.byKey[key].born)
		p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}}
		for _, t := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled} {
			setCondition(p, now, corev1.PodCondition{Type: t, Status: corev1.ConditionTrue})
		}
		p.Status.ContainerStatuses = nil
		for _, ct := range p.Spec.Containers {
			started := true
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: ct.Name, Image: ct.Image, Ready: true, Started: &started,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			})
		}
	})
}

func podIP(n uint64) string { return fmt.Sprintf("10.%d.%d.%d", 64+n>>16&63, n>>8&255, n&255) }

// finishPod has every container exit with success.
func (k *kubelets) finishPod(key string) {
	e := k.store.entryOf("pods", key)
	if pod := e.obj.(*corev1.Pod); pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
		return
	}
	now := k.store.stamp()
	revised(k.store, e, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		for _, t := range []corev1.PodConditionType{corev1.PodReady, corev1.ContainersReady} {
			setCondition(p, now, corev1.PodCondition{Type: t, Status: corev1.ConditionFalse, Reason: "PodCompleted"})
		}
		for i := range p.Status.ContainerStatuses {
			s := &p.Status.ContainerStatuses[i]
			s.Ready = false
			done := corev1.ContainerStateTerminated{Reason: "Completed", FinishedAt: now}
			if s.State.Running != nil {
				done.StartedAt = s.State.Running.StartedAt
			}
			s.State = corev1.ContainerState{Terminated: &done}
		}
	})
}

// stopPod ends the graceful deletion of a pod.
func (k *kubelets) stopPod(key string) {
	e := k.store.entryOf("pods", key)
	if len(e.obj.GetFinalizers()) == 0 {
		k.store.remove(e)
		return
	}
	obj := e.obj.DeepCopyObject().(*corev1.Pod)
	var none int64
	obj.DeletionGracePeriodSeconds = &none
	obj.Status.Phase = corev1.PodSucceeded
	k.store.replace(e, obj)
}

// setNodeReady writes the Ready condition and, as the same hand would, the
// taints that follow from it.
func (k *kubelets) setNodeReady(name string, s corev1.ConditionStatus, reason, message string) {
	e := k.store.entryOf("nodes", name)
	if e == nil {
		return
	}
	now := k.store.stamp()
	revised(k.store, e, func(n *corev1.Node) {
		setNodeCondition(n, now, corev1.NodeCondition{Type: corev1.NodeReady, Status: s, Reason: reason, Message: message})
		n.Spec.Taints = conditionTaints(n)
	})
	if s != corev1.ConditionTrue {
		return
	}
	for _, key := range k.pods.keysOn(name) {
		pod := k.store.entryOf("pods", key)
		if p := pod.obj.(*corev1.Pod); p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && !ready(p) {
			revised(k.store, pod, func(p *corev1.Pod) {
				setCondition(p, now, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
			})
		}
	}
}

func (k *kubelets) machineBecomesReady(name string) {
	k.setNodeReady(name, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status")
}
