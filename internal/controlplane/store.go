package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

const (
	storing  = 32 // objects on their way into etcd at once
	putTries = 10 // of one object: etcd gives up what a busy machine keeps waiting for too long
)

// StorePods puts pods into etcd in the form in which kube-apiserver keeps them, and kube-apiserver hears of them by its watch as of any other write.
// A pod costs a thousandth of what its creation, binding and start by requests do, so that a cluster of tens of thousands is full in seconds. Nothing
// is admitted, completed or checked: a pod must be as kube-apiserver would have stored it, with a UID and without a resource version; the best source is
// a copy of one that it answered. A pod of the same name is overwritten.
func (c *ControlPlane) StorePods(ctx context.Context, pods []*corev1.Pod) error {
	client := v3client.New(c.etcd)
	defer client.Close() //nolint:errcheck // it is a function call away, there is no connection
	types := runtime.NewScheme()
	if err := corev1.AddToScheme(types); err != nil {
		return err
	}
	encoder := protobuf.NewSerializer(types, types)
	work := make(chan *corev1.Pod)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	for range storing {
		running.Go(func() {
			for pod := range work {
				var object bytes.Buffer
				err := encoder.Encode(pod, &object)
				for tries := 0; err == nil || tries > 0 && tries < putTries && ctx.Err() == nil; tries++ {
					if _, err = client.Put(ctx, "/registry/pods/"+pod.Namespace+"/"+pod.Name, object.String()); err == nil {
						break
					}
				}
				if err != nil {
					cancel(fmt.Errorf("store pod %s/%s: %w", pod.Namespace, pod.Name, err))
				}
			}
		})
	}
	for _, pod := range pods {
		stored := *pod
		stored.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		select {
		case work <- &stored:
		case <-ctx.Done():
		}
	}
	close(work)
	running.Wait()
	return context.Cause(ctx)
}
