package controlplane

import (
	"os"
	"slices"
	"testing"

	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// TestTheShippedSchedulerProfileFillsNodes reads the example as kube-scheduler would: it is valid, keeps all the plugins that a scheduler has
// without it, and scores nodes by how full they are.
func TestTheShippedSchedulerProfileFillsNodes(t *testing.T) {
	text, err := os.ReadFile("../../deploy/scheduler-most-allocated.yaml")
	if err != nil {
		t.Fatal(err)
	}
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, is := object.(*config.KubeSchedulerConfiguration)
	if !is {
		t.Fatalf("the file is a %T", object)
	}
	if err := validation.ValidateKubeSchedulerConfiguration(c); err != nil {
		t.Error(err)
	}
	if len(c.Profiles) != 1 || c.Profiles[0].SchedulerName != "default-scheduler" {
		t.Fatalf("profiles are %+v, want the default scheduler's alone", c.Profiles)
	}
	for _, name := range []string{"NodeResourcesFit", "NodeResourcesBalancedAllocation", "TaintToleration", "PodTopologySpread"} {
		if !slices.ContainsFunc(c.Profiles[0].Plugins.MultiPoint.Enabled, func(p config.Plugin) bool { return p.Name == name }) {
			t.Errorf("plugin %s is not enabled", name)
		}
	}
	for _, p := range c.Profiles[0].PluginConfig {
		if args, is := p.Args.(*config.NodeResourcesFitArgs); is {
			if got := args.ScoringStrategy.Type; got != config.MostAllocated {
				t.Errorf("nodes are scored by %s, want %s", got, config.MostAllocated)
			}
			return
		}
	}
	t.Error("NodeResourcesFit has no settings")
}
