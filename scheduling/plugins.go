package scheduling

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
)

// plugins are those of kube-scheduler's that are asked about kinds of nodes.
type plugins struct {
	unschedulable fwk.FilterPlugin
	taints        fwk.FilterPlugin
	affinity      interface {
		fwk.FilterPlugin
		fwk.PreFilterPlugin
	}
}

// newPlugins makes the plugins as kube-scheduler's default profile does. Their arguments are constant here, so a plugin that
// refuses them is a defect that every use of a checker shows: it panics.
func newPlugins(ctx context.Context) plugins {
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	type factory func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)
	made := func(f factory, args runtime.Object) fwk.Plugin {
		p, err := f(ctx, args, nil, gates)
		if err != nil {
			panic(fmt.Sprintf("scheduling: make a plugin: %v", err))
		}
		return p
	}
	return plugins{
		unschedulable: made(nodeunschedulable.New, nil).(fwk.FilterPlugin),
		taints:        made(tainttoleration.New, nil).(fwk.FilterPlugin),
		affinity: made(nodeaffinity.New, &config.NodeAffinityArgs{}).(interface {
			fwk.FilterPlugin
			fwk.PreFilterPlugin
		}),
	}
}
