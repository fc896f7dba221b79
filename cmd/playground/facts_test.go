package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

func TestLatencyRunsFromTheLastUnschedulablePodToTheAcceptedRequest(t *testing.T) {
	refused := resize(12, "agents", 5)
	refused.Status = 412
	web := func(unschedulable float64) podHistory {
		return podHistory{app: webApp, unschedulable: at(unschedulable)}
	}
	e := episode{app: webApp, groups: []group{agents, render}, span: span{at(10), at(30)}}
	cases := map[string]struct {
		pods     []podHistory
		requests []azuresim.Request
		want     growthFact
	}{
		"one request": {
			[]podHistory{web(10.5), web(11), {app: "other", unschedulable: at(11.9)}}, []azuresim.Request{resize(12, "agents", 7)},
			growthFact{requests: 1, answered: true, machines: 6, latency: time.Second},
		},
		"a refused request before it counts, and does not answer": {
			[]podHistory{web(11)}, []azuresim.Request{refused, resize(13, "agents", 7)},
			growthFact{requests: 2, answered: true, machines: 6, latency: 2 * time.Second},
		},
		"only a refused request": {[]podHistory{web(11)}, []azuresim.Request{refused}, growthFact{requests: 1}},
		"requests for other groups and at other times": {
			[]podHistory{web(11)}, []azuresim.Request{resize(5, "agents", 2), resize(12, "render", 7), resize(31, "agents", 7)}, growthFact{},
		},
		"machines are counted from the capacity before": {
			[]podHistory{web(11)}, []azuresim.Request{resize(5, "agents", 3), remove(6, "agents", "0"), resize(12, "agents", 7)},
			growthFact{requests: 1, answered: true, machines: 5, latency: time.Second},
		},
		"no pod turned unschedulable": {nil, []azuresim.Request{resize(12, "agents", 7)}, growthFact{requests: 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := &facts{pods: c.pods, requests: c.requests}
			c.want.app, c.want.group = webApp, agents.name
			if diff := cmp.Diff(c.want, f.growthOf(e, agents), cmp.AllowUnexported(growthFact{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuantilesAreValuesThatOccurred(t *testing.T) {
	values := []time.Duration{5, 1, 4, 2, 3}
	for q, want := range map[float64]time.Duration{0: 1, 0.2: 1, 0.21: 2, 0.5: 3, 0.95: 5, 1: 5} {
		if got := quantile(values, q); got != want {
			t.Errorf("quantile %g of %v is %d, want %d", q, values, got, want)
		}
	}
	if got := median(nil); got != 0 {
		t.Errorf("median of nothing is %d, want 0", got)
	}
}

func TestEveryKindOfRequestHasAPurpose(t *testing.T) {
	for kind, want := range map[string]purpose{
		"GET virtualMachineScaleSets":                    read,
		"LIST virtualMachineScaleSets/virtualMachines":   read,
		"PATCH virtualMachineScaleSets":                  write,
		"POST virtualMachineScaleSets/delete":            write,
		"DELETE virtualMachineScaleSets/virtualMachines": write,
		"POST virtualMachineScaleSets/deallocate":        write,
		"GET operations":                                 progress,
		"POST token":                                     identity,
		"GET metadata/identity":                          identity,
		"GET metadata/instance":                          identity,
	} {
		if got := purposeOf(kind); got != want {
			t.Errorf("%s is a %s, want %s", kind, got, want)
		}
	}
}

func TestNodesSayWhatAzureSaysOfTheirMachines(t *testing.T) {
	m := machineOf(azuresim.MachineState{
		ID:       "/subscriptions/s/resourceGroups/Playground/providers/Microsoft.Compute/virtualMachineScaleSets/burst/virtualMachines/3",
		ScaleSet: "burst", ComputerName: "burst000003", VMID: "v", Size: "Standard_D2s_v5", Zone: "2", PrivateIP: "10.0.0.9",
	})
	if want := "azure:///subscriptions/s/resourceGroups/playground/providers/Microsoft.Compute/virtualMachineScaleSets/burst/virtualMachines/3"; m.ProviderID != want {
		t.Errorf("provider id %s, want %s", m.ProviderID, want)
	}
	if m.Labels["topology.kubernetes.io/zone"] != "westeurope-2" || m.Labels[poolLabel] != "burst" || len(m.Taints) != 1 {
		t.Errorf("labels %v, taints %v", m.Labels, m.Taints)
	}
	if have, free := m.Capacity.Cpu().MilliValue(), m.Allocatable.Cpu().MilliValue(); have != 2000 || free >= have {
		t.Errorf("capacity %dm, allocatable %dm", have, free)
	}
	if m := machineOf(azuresim.MachineState{ComputerName: controlPlane}); len(m.Taints) != 1 || m.Labels[poolLabel] != "" {
		t.Errorf("control plane: labels %v, taints %v", m.Labels, m.Taints)
	}
}
