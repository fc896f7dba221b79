package scheduling

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"

	"sluice.dev/sluice/cluster"
)

// oracle asks kube-scheduler's own plugins, node by node, about the world that a checker pretends now. It is what the checker's
// counters are held to.
type oracle struct {
	fwk.Handle // what is not defined here belongs to scoring, binding and pod groups, which nobody asks for
	fwk.SharedLister
	c         *Checker
	ctx       context.Context
	infos     []fwk.NodeInfo
	nodes     map[string]fwk.NodeInfo
	informers informers.SharedInformerFactory
	filters   []fwk.FilterPlugin
}

func newOracle(c *Checker) *oracle {
	o := &oracle{c: c, ctx: logr.NewContext(context.Background(), logr.Discard()), nodes: map[string]fwk.NodeInfo{}, informers: informers.NewSharedInformerFactory(nil, 0)}
	for _, name := range c.Nodes() {
		info := framework.NewNodeInfo()
		info.SetNode(c.Node(name))
		for _, p := range c.Pods(name) {
			pi, _ := framework.NewPodInfo(p.Object())
			info.AddPodInfo(pi)
		}
		o.infos = append(o.infos, info)
		o.nodes[name] = info
	}
	for _, ns := range c.snapshot.Objects.Namespaces {
		if err := o.informers.Core().V1().Namespaces().Informer().GetIndexer().Add(ns); err != nil {
			panic(err)
		}
	}
	gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	type factory func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)
	for _, recipe := range []struct {
		make factory
		args runtime.Object
	}{
		{nodeunschedulable.New, nil},
		{nodename.New, nil},
		{tainttoleration.New, nil},
		{nodeaffinity.New, &config.NodeAffinityArgs{}},
		{nodeports.New, nil},
		{noderesources.NewFit, &config.NodeResourcesFitArgs{ScoringStrategy: &config.ScoringStrategy{
			Type: config.LeastAllocated, Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}},
		}}},
		{podtopologyspread.New, &config.PodTopologySpreadArgs{DefaultingType: config.ListDefaulting}},
		{interpodaffinity.New, &config.InterPodAffinityArgs{HardPodAffinityWeight: 1}},
	} {
		p, err := recipe.make(o.ctx, recipe.args, o, gates)
		if err != nil {
			panic(err)
		}
		o.filters = append(o.filters, p.(fwk.FilterPlugin))
	}
	return o
}

// fits says, for every node, "" when the scheduler would bind the pod there and the plugin that refuses otherwise.
func (o *oracle) fits(p *cluster.Pod) map[string]string {
	object := p.Object()
	if o.c.snapshot.Node(p.Node) != nil {
		object.Spec.NodeName = ""
	}
	out := map[string]string{}
	state := framework.NewCycleState()
	skip := map[string]bool{}
	for _, f := range o.filters {
		before, ok := f.(fwk.PreFilterPlugin)
		if !ok {
			continue
		}
		_, status := before.PreFilter(o.ctx, state, object, o.infos)
		skip[f.Name()] = status.IsSkip()
		if !status.IsSuccess() && !status.IsSkip() {
			for _, n := range o.infos {
				out[n.Node().Name] = f.Name()
			}
			return out
		}
	}
	for _, n := range o.infos {
		for _, f := range o.filters {
			if !skip[f.Name()] && !f.Filter(o.ctx, state, object, n).IsSuccess() {
				out[n.Node().Name] = f.Name()
				break
			}
		}
	}
	return out
}

func (o *oracle) SnapshotSharedLister() fwk.SharedLister                 { return o }
func (o *oracle) SharedInformerFactory() informers.SharedInformerFactory { return o.informers }
func (o *oracle) Parallelizer() fwk.Parallelizer                         { return serial{} }
func (o *oracle) SharedDRAManager() fwk.SharedDRAManager                 { return nil }
func (o *oracle) NodeInfos() fwk.NodeInfoLister                          { return o }
func (o *oracle) List() ([]fwk.NodeInfo, error)                          { return o.infos, nil }
func (o *oracle) HavePodsWithAffinityList() ([]fwk.NodeInfo, error)      { return o.infos, nil }
func (o *oracle) HavePodsWithRequiredAntiAffinityList() ([]fwk.NodeInfo, error) {
	return o.infos, nil
}

func (o *oracle) HavePodsWithRequiredNonHostScopedAntiAffinityList() ([]fwk.NodeInfo, error) {
	return o.infos, nil
}

func (o *oracle) Get(name string) (fwk.NodeInfo, error) {
	if n, ok := o.nodes[name]; ok {
		return n, nil
	}
	return nil, fmt.Errorf("there is no node %q", name)
}

type serial struct{}

func (serial) Until(_ context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	for i := range pieces {
		do(i)
	}
}
