package controlplane

import (
	"context"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/podgc"
)

// startPodGC runs the pod garbage collector of kube-controller-manager, which then leaves it out, with a quarantine of
// the caller's choice: there is no flag for it.
func startPodGC(config *rest.Config, quarantine time.Duration) (*component, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	const terminatedPods = 12500 // kube-controller-manager's default
	return run("pod-garbage-collector", func(ctx context.Context) error {
		ctx = klog.NewContext(ctx, logger("pod-garbage-collector"))
		factory := informers.NewSharedInformerFactory(client, 0)
		core := factory.Core().V1()
		gc := podgc.NewPodGCInternal(ctx, client, core.Pods(), core.Nodes(), terminatedPods, quarantine/2, quarantine)
		factory.Start(ctx.Done())
		defer factory.Shutdown()
		gc.Run(ctx)
		return ctx.Err()
	}), nil
}
