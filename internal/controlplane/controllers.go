package controlplane

import (
	"context"
	"strings"

	"k8s.io/component-base/configz"
	"k8s.io/klog/v2"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// controllersFlags are for a kube-controller-manager with its defaults: each controller under a service account and the role it has in a real cluster.
// Certificates that are approved are signed. Left out are the controllers that talk to a cloud or hand out pod networks and, unless podGC, the pod garbage
// collector.
func controllersFlags(kubeconfig string, keys *credentials, podGC bool, qps int) []string {
	enabled := "*,-node-ipam-controller,-service-lb-controller,-node-route-controller,-cloud-node-lifecycle-controller"
	if !podGC {
		enabled += ",-pod-garbage-collector-controller"
	}
	return append([]string{
		"--kubeconfig=" + kubeconfig,
		"--controllers=" + enabled,
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + keys.serviceAccount,
		"--root-ca-file=" + keys.ca.certificateFile,
		"--cluster-signing-cert-file=" + keys.ca.certificateFile,
		"--cluster-signing-key-file=" + keys.ca.keyFile,
		"--leader-elect=false",
		"--secure-port=0",
	}, rates(qps, 1.5)...)
}

// startControllers runs kube-controller-manager.
func startControllers(arguments []string) (*component, error) {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	known, disabled, aliases := controllers.KnownControllers(), controllers.ControllersDisabledByDefault(), controllers.ControllerAliases()
	if err := parseFlags(o.Flags(known, disabled, aliases), onlyKnown(arguments, strings.Join(known, "\n"))); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logger("kube-controller-manager")))
	config, err := o.Config(ctx, known, disabled, aliases)
	if err != nil {
		cancel()
		return nil, err
	}
	return run("kube-controller-manager", func(stop context.Context) error {
		defer cancel()
		context.AfterFunc(stop, cancel)
		defer configz.Delete(controllers.ConfigzName) // registered by Run, and refused a second time
		return controllers.Run(ctx, config.Complete())
	}), nil
}
