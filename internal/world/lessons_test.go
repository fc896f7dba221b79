package world

import (
	"strings"
	"testing"
)

// TestANodeThatDoesNotTakeThePodBuysNoSecondOne has one machine bought for a pod, on the word of the cloud, which turns out to be wrong. It counts the
// machines that are bought for that one pod within an hour and a half.
func TestANodeThatDoesNotTakeThePodBuysNoSecondOne(t *testing.T) {
	const base = "group agents size=Standard_D4s_v5 min=1 max=2 machines=1 disks=8\npod base-0 cpu=3 on=agents_0\n"
	for name, test := range map[string]struct {
		script string
		bought int
		said   string
	}{
		"fewer cores than described": {
			"group render size=Standard_D16s_v5 cpu=8 min=0 max=5\npod web-0 cpu=12\nadvance 90m\n", 1, "InsufficientResource resource=cpu needs=12 free=8",
		},
		"less memory than described": {
			"group render size=Standard_D16s_v5 memory=30Gi min=0 max=5\npod web-0 memory=50Gi\nadvance 90m\n", 1, "InsufficientResource resource=memory needs=50Gi free=30Gi",
		},
		"a label that it does not bear": {
			"group render size=Standard_D16s_v5 tag=k8s.io_cluster-autoscaler_node-template_label_disk:fast min=0 max=5\npod web-0 cpu=1 selector=disk=fast\nadvance 90m\n",
			1, "label disk (described fast, found none)",
		},
		"a zone that its label does not say": {
			"group render size=Standard_D16s_v5 zones=1 node-label=topology.kubernetes.io/zone=0 min=0 max=5\n" +
				"pod web-0 cpu=1 selector=topology.kubernetes.io/zone=westeurope-1\nadvance 90m\n", 1, "label topology.kubernetes.io/zone (described westeurope-1, found 0)",
		},
		"one of several zones that labels do not say": {
			"group render size=Standard_D16s_v5 zones=1,2 node-label=topology.kubernetes.io/zone=0 min=0 max=5\n" +
				"pod web-0 cpu=1 selector=topology.kubernetes.io/zone=westeurope-1\nadvance 90m\n", 1, "described westeurope-2, found 0",
		},
		"a zone that a tag tells and its machine is not in": {
			"group render size=Standard_D16s_v5 zones=1 tag=k8s.io_cluster-autoscaler_node-template_label_topology.kubernetes.io_zone:westeurope-2 min=0 max=5\n" +
				"pod web-0 cpu=1 selector=topology.kubernetes.io/zone=westeurope-2\nadvance 90m\n", 1, "described westeurope-2, found westeurope-1",
		},
		"a taint that nobody described": {
			"group render size=Standard_D16s_v5 node-taint=team=y:NoSchedule min=0 max=5\npod web-0 cpu=12\nadvance 90m\n", 1, "UntoleratedTaint taint=team=y:NoSchedule",
		},
		"a startup taint that nobody takes off: tried again an hour later": {
			"group render size=Standard_D16s_v5 node-taint=startup-taint.cluster-autoscaler.kubernetes.io/x=y:NoSchedule min=0 max=5\npod web-0 cpu=12\nadvance 90m\n",
			2, "UntoleratedTaint taint=startup-taint.cluster-autoscaler.kubernetes.io/x=y:NoSchedule",
		},
		"the same where machines have five minutes to become nodes": {
			"policy max-node-provision-time=5m\ngroup render size=Standard_D16s_v5 node-taint=startup-taint.cluster-autoscaler.kubernetes.io/x=y:NoSchedule min=0 max=5\n" +
				"pod web-0 cpu=12\nadvance 60m\n", 1, "UntoleratedTaint taint=startup-taint.cluster-autoscaler.kubernetes.io/x=y:NoSchedule",
		},
		"a node that no cloud controller manager initializes, the same": {
			"group render size=Standard_D16s_v5 node-taint=node.cloudprovider.kubernetes.io/uninitialized=true:NoSchedule min=0 max=5\npod web-0 cpu=12\nadvance 90m\n",
			2, "a cloud controller manager took node.cloudprovider",
		},
		"a GPU that is never announced": {
			"group render size=Standard_NC4as_T4_v3 cpu=4 memory=28Gi gpu=1 gpu-after=100h min=0 max=5\npod web-0 gpu=1\nadvance 90m\n", 1, "nvidia.com/gpu (described 1, found none)",
		},
		"a device that is never announced": {
			"group render size=Standard_D16s_v5 tag=k8s.io_cluster-autoscaler_node-template_resources_example.com_fpga:1 min=0 max=5\n" +
				"pod web-0 resource=example.com/fpga=1\nadvance 90m\n", 1, "example.com/fpga (described 1, found none)",
		},
		"fewer volumes than the size attaches": {
			"group render size=Standard_D16s_v5 disks=1 min=0 max=5\nstorageclass d\npvc x class=d\npod web-0 cpu=12 disk=d claim=x\nadvance 90m\n", 1, "exceed max volume count",
		},
		"not what an older node is, which a person has changed": {
			"group render size=Standard_D16s_v5 node-taint=team=y:NoSchedule min=1 max=6 machines=1\nadvance 10m\nuntaint render_0 team\npod full-0 cpu=15\nadvance 1m\n" +
				"pod web-0 cpu=12\nadvance 90m\n", 2, "UntoleratedTaint taint=team=y:NoSchedule",
		},
	} {
		t.Run(name, func(t *testing.T) {
			script, flags := test.script, ""
			if strings.HasPrefix(script, "policy") {
				flags, script, _ = strings.Cut(script, "\n")
				flags += "\n"
			}
			parsed, err := parse([]byte(flags + base + script))
			if err != nil {
				t.Fatal(err)
			}
			var told strings.Builder
			w := newWorld(Options{}, nil, &told)
			defer w.close()
			if err := w.play(t.Context(), parsed); err != nil {
				t.Fatal(err)
			}
			there := 0
			if strings.Contains(script, "machines=1") {
				there = 1
			}
			if got := w.machines.born["render"] - there; got != test.bought {
				t.Errorf("%d machines were bought, want %d:\n%s", got, test.bought, told.String())
			}
			if !strings.Contains(told.String(), test.said) {
				t.Errorf("nothing says %q:\n%s", test.said, told.String())
			}
		})
	}
}
