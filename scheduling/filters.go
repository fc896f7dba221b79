package scheduling

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
)

// filter is one plugin. before is nil when it prepares nothing for a pod.
type filter struct {
	name   string
	before fwk.PreFilterPlugin
	ask    fwk.FilterPlugin
}

// Where the plugins stand in [Checker.filters]: the order in which kube-scheduler asks them, and so the order of refusals.
const (
	askUnschedulable = iota
	askNodeName
	askTaints
	askNodeAffinity
	askPorts
	askResources
	askSpread
	askPodAffinity
	asked // their number
)

type filters [asked]filter

// newFilters makes the plugins as kube-scheduler's default profile does. Their arguments are constant here, so a plugin that
// refuses them is a defect that every use of a checker shows: it panics.
//
// NB: PodTopologySpread's system defaults are preferences and filter nothing, so its list of defaults is empty and it needs
// no services and replica sets.
func newFilters(ctx context.Context, h fwk.Handle) filters {
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	type factory func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)
	recipes := [asked]struct {
		make factory
		args runtime.Object
	}{
		askUnschedulable: {nodeunschedulable.New, nil},
		askNodeName:      {nodename.New, nil},
		askTaints:        {tainttoleration.New, nil},
		askNodeAffinity:  {nodeaffinity.New, &config.NodeAffinityArgs{}},
		askPorts:         {nodeports.New, nil},
		askResources: {noderesources.NewFit, &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{
			Type:      config.LeastAllocated,
			Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}},
		}}},
		askSpread:      {podtopologyspread.New, &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}},
		askPodAffinity: {interpodaffinity.New, &config.InterPodAffinityArgs{HardPodAffinityWeight: 1}},
	}
	var fs filters
	for i, r := range recipes {
		p, err := r.make(ctx, r.args, h, gates)
		if err != nil {
			panic(fmt.Sprintf("scheduling: make plugin %d: %v", i, err))
		}
		before, _ := p.(fwk.PreFilterPlugin)
		fs[i] = filter{p.Name(), before, p.(fwk.FilterPlugin)}
	}
	return fs
}
