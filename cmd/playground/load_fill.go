package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// loadPod is the CPU that every pod asks for.
const loadPod = "250m"

// fill waits for the nodes and puts pods on each.
func (l load) fill(ctx context.Context, p *playground, tell func(string, ...any)) error {
	names, err := l.ready(ctx, p, tell)
	if err != nil {
		return err
	}
	tell("%d nodes are Ready", len(names))
	model, err := l.model(ctx, p, names[0])
	if err != nil {
		return err
	}
	var pods []*corev1.Pod
	for n, node := range names {
		for i := range l.podsEach {
			if one := copyOf(model, node, n, i); n+i > 0 { // the first is the model itself
				pods = append(pods, one)
			}
		}
	}
	if err := p.plane.StorePods(ctx, pods); err != nil {
		return err
	}
	tell("%d pods run on them", len(pods)+1)
	return nil
}

// ready are the names of the nodes, when all are Ready.
func (l load) ready(ctx context.Context, p *playground, tell func(string, ...any)) ([]string, error) {
	deadline, told := time.Now().Add(10*time.Minute), time.Now()
	for {
		nodes, err := p.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: poolLabel, ResourceVersion: "0"})
		var names []string
		if err == nil {
			for _, n := range nodes.Items {
				if slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
					return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
				}) {
					names = append(names, n.Name)
				}
			}
		}
		switch {
		case len(names) == l.nodes:
			return names, nil
		case time.Now().After(deadline):
			return nil, fmt.Errorf("%w: %d of %d nodes are Ready: %w", errPatience, len(names), l.nodes, err)
		case time.Since(told) > 10*time.Second:
			tell("%d of %d nodes are Ready", len(names), l.nodes)
			told = time.Now()
		}
		if err := pause(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}

// model is a pod that the API server admitted and a kubelet started, with all that both wrote into it.
func (l load) model(ctx context.Context, p *playground, node string) (*corev1.Pod, error) {
	one := pod("base", loadPod, "256Mi")
	one.Spec.NodeName = node
	pods := p.client.CoreV1().Pods(metav1.NamespaceDefault)
	meta := named("base-0-0")
	meta.Labels = one.Labels
	if _, err := pods.Create(ctx, &corev1.Pod{ObjectMeta: meta, Spec: one.Spec}, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	var running *corev1.Pod
	err := poll(ctx, time.Minute, func() (bool, error) {
		var err error
		running, err = pods.Get(ctx, meta.Name, metav1.GetOptions{})
		return err == nil && running.Status.Phase == corev1.PodRunning, err
	})
	if err != nil {
		return nil, fmt.Errorf("wait for the first pod to run: %w", err)
	}
	return running, nil
}

// copyOf is the i-th pod of the n-th node.
func copyOf(model *corev1.Pod, node string, n, i int) *corev1.Pod {
	c := model.DeepCopy()
	c.Name, c.UID, c.ResourceVersion = fmt.Sprintf("base-%d-%d", n, i), uuid.NewUUID(), ""
	c.Spec.NodeName = node
	c.Status.HostIP, c.Status.HostIPs = "", nil
	c.Status.PodIP = fmt.Sprintf("10.%d.%d.%d", 128+n/250, n%250, i+2)
	c.Status.PodIPs = []corev1.PodIP{{IP: c.Status.PodIP}}
	return c
}
