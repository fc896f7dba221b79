// Package plugins makes kube-scheduler's own plugins, as its default profile does, and what they are asked with.
package plugins

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
)

// Prepared is a plugin that prepares for a pod before it is asked about nodes.
type Prepared interface {
	fwk.PreFilterPlugin
	fwk.FilterPlugin
}

// Factory is how kube-scheduler makes a plugin.
type Factory func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)

// Gates are the feature gates as plugins read them.
func Gates() feature.Features {
	return feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
}

// Make makes a plugin. Its arguments are constant here, so one that refuses them is a defect that every use of a checker shows: it panics.
func Make[T fwk.Plugin](from Factory, args runtime.Object, h fwk.Handle) T {
	p, err := from(Quiet(), args, h, Gates())
	Must("make a plugin", err)
	return p.(T)
}

// Must panics on an error that only a defect of this program causes.
func Must(what string, err error) {
	if err != nil {
		panic(fmt.Sprintf("scheduling: %s: %v", what, err))
	}
}

// Encoded is all that an API object says, as a key of a map. The keys of its own maps are in order.
func Encoded(o interface{ Marshal() ([]byte, error) }) string {
	raw, err := o.Marshal()
	Must("encode an object", err)
	return string(raw)
}

// Quiet is a context whose logger says nothing.
func Quiet() context.Context { return logr.NewContext(context.Background(), logr.Discard()) }

// Bare is the node without pods, as plugins look at it.
func Bare(n *corev1.Node) *framework.NodeInfo {
	info := framework.NewNodeInfo()
	info.SetNode(n)
	return info
}
