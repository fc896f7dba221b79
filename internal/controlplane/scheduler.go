package controlplane

import (
	"context"

	"k8s.io/component-base/configz"
	"k8s.io/klog/v2"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// schedulerFlags are for a kube-scheduler with its default configuration (back-off of 1 to 10 seconds a pod) except for the client's rate limits; where it
// listens is not among them.
func schedulerFlags(kubeconfig string, qps int) []string {
	return append([]string{"--kubeconfig=" + kubeconfig, "--leader-elect=false"}, rates(qps, 2)...)
}

// startScheduler runs kube-scheduler without an endpoint of its own. The second result blocks until its caches are filled.
func startScheduler(arguments []string) (*component, func(context.Context) error, error) {
	o := options.NewOptions()
	if err := parseFlags(*o.Flags, append(arguments, "--secure-port=0")); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger("kube-scheduler")))
	config, s, err := scheduler.Setup(ctx, o)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return run("kube-scheduler", func(stop context.Context) error {
		defer cancel()
		context.AfterFunc(stop, cancel)
		defer configz.Delete("componentconfig") // registered by Run, and refused a second time
		return scheduler.Run(ctx, config, s)
	}), s.WaitForHandlersSync, nil
}
