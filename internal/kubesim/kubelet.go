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

// kubeletSees plans what the pod's kubelet does next, if its machine is there.
func (c *Cluster) kubeletSees(key string, st *podState) {
	pod := st.pod
	if c.machines[pod.Spec.NodeName] == nil || finished(pod) {
		return
	}
	now := c.store.now()
	if pod.DeletionTimestamp != nil {
		takes := orDefault(c.PodStop, defaultPodStop)
		if grace := pod.DeletionGracePeriodSeconds; grace != nil {
			takes = min(takes, time.Duration(*grace)*time.Second)
		}
		if at := now.Add(takes); st.stopAt.IsZero() || at.Before(st.stopAt) {
			st.stopAt = at
			c.timers.remind(at, podStops, key, st.uid)
		}
		return
	}
	switch pod.Status.Phase {
	case corev1.PodPending:
		if st.startAt.IsZero() {
			st.startAt = now.Add(orDefault(c.PodStart, defaultPodStart))
			c.timers.remind(st.startAt, podStarts, key, st.uid)
		}
	case corev1.PodRunning:
		text, ok := pod.Annotations[RunForAnnotation]
		if !ok || !st.finishAt.IsZero() {
			return
		}
		if d, err := time.ParseDuration(text); err == nil {
			st.finishAt = now.Add(d)
			c.timers.remind(st.finishAt, podFinishes, key, st.uid)
		}
	}
}

func (c *Cluster) startPod(key string) {
	e := c.store.entryOf("pods", key)
	pod := e.obj.(*corev1.Pod)
	if pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil {
		return
	}
	now := c.store.stamp()
	m := c.machines[pod.Spec.NodeName]
	revised(c.store, e, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.StartTime = &now
		p.Status.HostIP = m.InternalIP
		p.Status.PodIP = podIP(c.pods.byKey[key].born)
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
func (c *Cluster) finishPod(key string) {
	e := c.store.entryOf("pods", key)
	if pod := e.obj.(*corev1.Pod); pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
		return
	}
	now := c.store.stamp()
	revised(c.store, e, func(p *corev1.Pod) {
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
func (c *Cluster) stopPod(key string) {
	e := c.store.entryOf("pods", key)
	if len(e.obj.GetFinalizers()) == 0 {
		c.store.remove(e)
		return
	}
	obj := e.obj.DeepCopyObject().(*corev1.Pod)
	var none int64
	obj.DeletionGracePeriodSeconds = &none
	obj.Status.Phase = corev1.PodSucceeded
	c.store.replace(e, obj)
}

// deleteOrphans collects the pods of a node that is gone.
func (c *Cluster) deleteOrphans(node string) {
	for _, key := range c.pods.keysOn(node) {
		e := c.store.entryOf("pods", key)
		if len(e.obj.GetFinalizers()) == 0 {
			c.store.remove(e)
		}
	}
}
