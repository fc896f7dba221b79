package guard_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/guard"
	"sluice.dev/sluice/policy"
)

// ceiling sets a ceiling, and a price of 0.2 an hour for each machine.
func (w *world) ceiling(text string) {
	c, err := policy.ParseGroupCeiling(text)
	if err != nil {
		panic(err)
	}
	w.policy.Growth.Ceilings = append(w.policy.Growth.Ceilings, c)
	for _, g := range w.groups {
		g.PriceUSDPerHour = 0.2
	}
}

func TestAGrowthUpToACeilingOfCostPasses(t *testing.T) {
	w := growing()
	w.ceiling("usd-per-hour:1")
	if err := w.check(); err != nil {
		t.Error(err)
	}
}

// TestGPUsOfTheClusterAreBounded grows a group with GPUs, of which the cluster may have so many.
func TestGPUsOfTheClusterAreBounded(t *testing.T) {
	for _, c := range []struct {
		name string
		most int64
		want string
	}{{"one GPU", 1, "S-06"}, {"as many as there are then", 5, ""}} {
		t.Run(c.name, func(t *testing.T) {
			w := growing()
			w.groups[0].Template = Node("", func(n *corev1.Node) { n.Status.Capacity["nvidia.com/gpu"] = resource.MustParse("1") })
			for _, n := range w.objects.Nodes {
				n.Status.Capacity["nvidia.com/gpu"] = resource.MustParse("1")
			}
			w.policy.Growth.Max.GPUs = []policy.GPUTotal{{Kind: "nvidia.com/gpu", Max: c.most}}
			var got string
			if refusal := new(guard.Refusal); errors.As(w.check(), &refusal) {
				got = refusal.Property
			}
			if got != c.want {
				t.Errorf("refused by %q, want %q", got, c.want)
			}
		})
	}
}
