package app

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// read parses a command line of policy flags.
func read(args ...string) (*policy.Policy, *pflag.FlagSet, error) {
	f := pflag.NewFlagSet("policy", pflag.ContinueOnError)
	f.Usage = func() {}
	said := PolicyFlags(f)
	if err := f.Parse(args); err != nil {
		return nil, f, err
	}
	p, err := said()
	return p, f, err
}

func TestWithoutFlagsThePolicyIsTheDefault(t *testing.T) {
	p, _, err := read()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(policy.Default(), p); d != "" {
		t.Errorf("without flags (-want +got):\n%s", d)
	}
}

// samples are a value for each flag of a policy, other than its default.
var samples = map[string]string{
	"max-nodes-total": "101", "cores-total": "102:103", "memory-total": "104:105", "max-node-provision-time": "106s", "max-node-startup-time": "147s",
	"initial-node-group-backoff-duration": "107s", "max-node-group-backoff-duration": "108s", "node-group-backoff-reset-timeout": "109s",
	"scale-down-enabled": "false", "scale-down-unneeded-time": "110s", "scale-down-unready-time": "111s",
	"scale-down-utilization-threshold": "0.12", "scale-down-gpu-utilization-threshold": "0.13", "busy-threshold": "0.15", "busy-limit": "145m", "compat": "false", "scale-down-delay-after-add": "113s", "node-delete-delay-after-taint": "114s", "load-balancer-exclusion-delay": "133s", "max-detach-time": "134s",
	"max-scale-down-parallelism": "115", "max-empty-bulk-delete": "146", "max-bulk-soft-taint-count": "132", "max-drain-parallelism": "116", "max-emptied-percentage": "14.5", "emptied-window": "142s", "cluster-id": "uid-143", "max-graceful-termination-sec": "117", "max-drain-time": "118s", "remove-control-plane-nodes": "true", "after-drain-time": "wait", "drain-priority-config": "0:600,1000:60", "daemonset-eviction-for-empty-nodes": "true", "daemonset-eviction-for-occupied-nodes": "false",
	"skip-nodes-with-local-storage": "false", "skip-nodes-with-system-pods": "false", "run-dry": "false", "scale-down-delay-after-delete": "135s", "scale-down-delay-after-failure": "136s", "scale-down-delay-type-local": "true", "scale-down-unready-enabled": "false",
	"ignore-daemonsets-utilization": "true", "ignore-mirror-pods-utilization": "true", "node-deletion-delay-timeout": "137s", "skip-nodes-with-custom-controller-pods": "false", "min-replica-count": "139", "blocking-system-pod-distruption-timeout": "138s", "evict-work": "namespace/render=131m", "daemon-work": "render/tier=work",
	"consolidate": "all", "consolidation-expected-time": "139m", "consolidation-pod-cost": "0.14", "consolidation-per-day": "141",
	"ok-total-unready-count": "119", "max-total-unready-percentage": "12.5",
	"expander": "priority,grpc,random", "max-nodes-per-scaleup": "120", "enforce-node-group-min-size": "true", "burst-window": "131s", "new-pod-scale-up-delay": "121s", "gang-hold": "129s",
	"expendable-pods-priority-cutoff": "-122", "balance-similar-node-groups": "true", "balancing-ignore-label": "example.com/rack",
	"memory-difference-ratio": "0.123", "max-allocatable-difference-ratio": "0.124", "max-free-difference-ratio": "0.125",
	"headroom": "agents=cores:126", "schedule": "agents: Mon-Fri 08:00-20:00 Europe/Berlin min=12 max=127", "ceiling": "agents=usd:128/24h", "gpu-total": "nvidia.com/gpu:148:149", "scale-up-from-zero": "false",
	"drain-target": "namespace/render=129m", "enable-provisioning-requests": "true", "check-capacity-processor-instance": "east",
	"startup-taint": "example.com/one", "ignore-taint": "example.com/one", "startup-taint-prefix": "example.com/two-", "status-taint": "example.com/three",
	"bypassed-scheduler-names": "volcano", "allowed-scheduler-names": "default-scheduler,volcano",
	"force-delete-unregistered-nodes": "true", "keep-failed-machine": "144s", "force-delete-failed-nodes": "true",
	"capacity-buffer-controller-enabled": "true", "capacity-buffer-pod-injection-enabled": "true",
}

func TestEveryPolicyFlagSetsItsOwnField(t *testing.T) {
	set := maps.Clone(samples)
	set["drain-priority-config"] = "" // not beside a longest grace period
	weekdays, err := cluster.ParseSchedule("Mon-Fri 08:00-20:00 Europe/Berlin min=12 max=127")
	if err != nil {
		t.Fatal(err)
	}
	workers, err := cluster.ParsePodSelector("render/tier=work")
	if err != nil {
		t.Fatal(err)
	}
	want := &policy.Policy{
		Growth: policy.Growth{
			NeedsReady: true, EnforceMin: true,
			Max:         policy.Max{Nodes: 101, Cores: 103, MemoryGiB: 105, AtOnce: 120, GPUs: []policy.GPUTotal{{Kind: "nvidia.com/gpu", Min: 148, Max: 149}}},
			Node:        policy.NodeTimes{ProvisionTime: 106 * time.Second, StartupTime: 147 * time.Second},
			Backoff:     policy.Backoff{Initial: 107 * time.Second, Max: 108 * time.Second, Reset: 109 * time.Second},
			BurstWindow: 131 * time.Second, PodDelay: 121 * time.Second, PriorityCutoff: -122, GangHold: 129 * time.Second,
			Taints:       cluster.Taints{Startup: []string{"example.com/one", "example.com/one"}, Prefixes: []string{"example.com/two-"}, Status: []string{"example.com/three"}},
			Schedulers:   policy.Schedulers{Bypassed: []string{"volcano"}, Allowed: []string{"default-scheduler", "volcano"}},
			Expanders:    []policy.Expander{policy.Priority, policy.GRPC, policy.Random},
			Balance:      policy.Balance{Similar: true, IgnoreLabels: []string{"example.com/rack"}, Memory: 0.123, Allocatable: 0.124, Free: 0.125},
			Headroom:     []policy.GroupHeadroom{{Group: "agents", Headroom: cluster.Headroom{Cores: 126}}},
			Schedules:    []policy.GroupSchedule{{Group: "agents", Schedule: weekdays}},
			Ceilings:     []policy.GroupCeiling{{Group: "agents", Ceiling: cluster.Ceiling{Unit: cluster.CeilingUSD, Limit: 128, Window: 24 * time.Hour}}},
			DrainTargets: []policy.DrainTarget{{Namespace: "render", Within: 129 * time.Minute}},
			Requests:     policy.Requests{Enabled: true, Instance: "east"}, Buffers: policy.Buffers{Translate: true, Keep: true},
		},
		Removal: policy.Removal{
			ControlPlane: true, ForceFailed: true, UnneededTime: 110 * time.Second, UnreadyTime: 111 * time.Second,
			Utilization: policy.Utilization{Threshold: 0.12, GPUThreshold: 0.13, IgnoreDaemons: true, IgnoreMirrors: true},
			Busy:        policy.Busy{Threshold: 0.15, Limit: 145 * time.Minute},
			Delay: policy.Delay{
				AfterAdd: 113 * time.Second, AfterDelete: 135 * time.Second, AfterFailure: 136 * time.Second, Local: true,
				AfterTaint: 114 * time.Second, Exclusion: 133 * time.Second, Deletion: 137 * time.Second, Detach: 134 * time.Second,
			},
			Skip:        policy.Skip{SystemPodAge: 138 * time.Second, MinReplicas: 139},
			Keep:        policy.Keep{Cores: 102, MemoryGiB: 104},
			Work:        policy.WorkRules{Evict: []policy.WorkRule{{Namespace: "render", Patience: policy.Patience(131 * time.Minute)}}, Daemons: []cluster.PodSelector{workers}},
			Parallelism: 115, MaxCandidateTaints: 132,
			Drain:         policy.Drain{Parallelism: 116, Deadline: 118 * time.Second, AfterDeadline: policy.Wait, MaxGrace: 117 * time.Second, EmptyDaemons: true},
			Emptied:       policy.Emptied{Percent: 14.5, Window: 142 * time.Second},
			Unregistered:  policy.Unregistered{Keep: 144 * time.Second, Force: true},
			Consolidation: policy.Consolidation{Groups: []cluster.GroupID{"all"}, Expected: 139 * time.Minute, PodUSD: 0.14, PerDay: 141},
		},
		Health:    policy.Health{UnreadyCount: 119, UnreadyPercent: 12.5},
		ClusterID: "uid-143",
	}
	var args []string
	for name, value := range set {
		args = append(args, "--"+name+"="+value)
	}
	p, f, err := read(args...)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, p); d != "" {
		t.Errorf("the policy (-want +got):\n%s", d)
	}
	f.VisitAll(func(f *pflag.Flag) {
		if _, ok := set[f.Name]; !ok && !Moot(f) && !RefusedFlag(f) {
			t.Errorf("--%s is not set by this test", f.Name)
		}
	})
}

// TestCompatLeavesOutMeasuredUse holds that the flag wins over the one of which it is a part.
func TestCompatLeavesOutMeasuredUse(t *testing.T) {
	for _, args := range [][]string{{"--compat"}, {"--compat", "--busy-threshold=0.7"}} {
		p, _, err := read(args...)
		if err != nil {
			t.Fatal(err)
		}
		want := policy.Default()
		want.Removal.Busy.Threshold, want.Growth.Expanders = 0, []policy.Expander{policy.LeastWaste}
		if d := cmp.Diff(want, p); d != "" {
			t.Errorf("%v (-want +got):\n%s", args, d)
		}
	}
}

// TestABadPolicyFlagIsNamedWithWhatIsAllowed holds the sentences that the command line and scenarios share.
func TestABadPolicyFlagIsNamedWithWhatIsAllowed(t *testing.T) {
	for arg, allowed := range map[string]string{
		"max-nodes-total=many":                       "a whole number",
		"max-nodes-total=-1":                         "give 0 or more",
		"cores-total=320":                            "min:max",
		"cores-total=9:3":                            "max at least min",
		"cores-total=-1:3":                           "min:max",
		"memory-total=1:2:3":                         "min:max",
		"memory-total=:":                             "min:max",
		"max-node-provision-time=15":                 "a duration",
		"max-node-provision-time=0s":                 "above zero",
		"max-node-group-backoff-duration=1m":         "at least --initial-node-group-backoff-duration",
		"scale-down-enabled=perhaps":                 "true or false",
		"scale-down-utilization-threshold=1.5":       "between 0 and 1",
		"scale-down-utilization-threshold=half":      "a number",
		"busy-threshold=80":                          "between 0 and 1",
		"busy-limit=-1s":                             "zero or more",
		"max-graceful-termination-sec=10m":           "whole seconds",
		"max-graceful-termination-sec=-1":            "zero or more",
		"max-graceful-termination-sec=9999999999999": "whole seconds",
		"max-drain-parallelism=0":                    "give 1 or more",
		"max-total-unready-percentage=101":           "between 0 and 100",
		"expander=cheapest":                          `there is no expander "cheapest"; give one or several of least-cost, random,`,
		"expander=":                                  `there is no expander ""`,
		"expander=random,price":                      "put it last",
		"expander=price,price":                       "price stands there twice",
		"expander=least-cost,random":                 "stands alone",
		"max-nodes-per-scaleup=-1":                   "0 is no limit",
		"new-pod-scale-up-delay=-1s":                 "zero or more",
		"gang-hold=-1s":                              "zero or more",
		"expendable-pods-priority-cutoff=low":        "a whole number",
		"memory-difference-ratio=1.5":                "between 0 and 1",
		"max-free-difference-ratio=NaN":              "between 0 and 1",
		"balancing-ignore-label=":                    "leave the flag out",
		"headroom=machines:2":                        "it names no group",
		"headroom=agents=2":                          "give machines:N or cores:N",
		"schedule=Mon-Fri min=3":                     "it names no group",
		"schedule=agents: Mon-Fri":                   "neither min nor max",
		"ceiling==usd:1/1h":                          "it names no group before =",
		"ceiling=agents=usd:1":                       "has a window",
		"min-replica-count=many":                     "a whole number",
		"min-replica-count=-1":                       "give 0 or more",
		"after-drain-time=kill":                      "abort, wait or force",
		"drain-priority-config=high:60":              "give PRIORITY:SECONDS",
		"drain-priority-config=0:60,0:90":            "priority 0 has two bands",
		"drain-target=20m":                           "names no group and no namespace",
		"drain-target=namespace/=20m":                "names no group and no namespace",
		"drain-target=agents=0s":                     "no duration above zero",
	} {
		t.Run(arg, func(t *testing.T) {
			name, _, _ := strings.Cut(arg, "=")
			_, _, err := read("--" + arg)
			if err == nil {
				t.Fatal("no error")
			}
			said := err.Error()
			if bad := new(pflag.InvalidValueError); errors.As(err, &bad) {
				said = BadValue(bad.GetFlag(), bad.GetValue()).Error()
			}
			for _, want := range []string{"--" + name, allowed} {
				if !strings.Contains(said, want) {
					t.Errorf("the error is %q, which does not say %q", said, want)
				}
			}
		})
	}
}

func TestARefusedBoundChangesNothing(t *testing.T) {
	f := pflag.NewFlagSet("policy", pflag.ContinueOnError)
	said := PolicyFlags(f)
	for _, value := range []string{"2:8", "5:wide"} {
		if err := f.Set("cores-total", value); (err != nil) != (value == "5:wide") {
			t.Errorf("--cores-total=%s: error %v", value, err)
		}
	}
	p, err := said()
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(p.Removal.Keep.Cores, p.Growth.Max.Cores); got != "2 8" {
		t.Errorf("the bounds are %s, want those that were good: 2 8", got)
	}
}

func TestRepeatedPolicyFlagsAddUp(t *testing.T) {
	p, f, err := read("--expander=priority,price", "--expander=random", "--headroom=a=machines:1", "--headroom=b=cores:2", "--schedule=a: Sat,Sun max=0", "--schedule=a: daily min=1", "--ceiling=machines:9/1h", "--ceiling=usd-per-hour:5")
	if err != nil {
		t.Fatal(err)
	}
	if want := []policy.Expander{policy.Priority, policy.Price, policy.Random}; !cmp.Equal(p.Growth.Expanders, want) {
		t.Errorf("expanders %v, want %v", p.Growth.Expanders, want)
	}
	for name, want := range map[string]string{
		"expander": "priority,price,random", "headroom": "a=machines:1, b=cores:2", "ceiling": "machines:9/1h0m0s, usd-per-hour:5",
		"schedule": "a: Sat-Sun 00:00-24:00 UTC max=0, a: daily 00:00-24:00 UTC min=1",
	} {
		if got := f.Lookup(name).Value.String(); got != want {
			t.Errorf("--%s is %q, want %q", name, got, want)
		}
	}
}

func TestFlagsWithoutEffectLeaveThePolicyAlone(t *testing.T) {
	p, f, err := read("--max-nodegroup-binpacking-duration=1s", "--parallel-scale-up", "--predicate-parallelism=8", "--balancing-label=a")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(policy.Default(), p); d != "" {
		t.Errorf("the policy (-want +got):\n%s", d)
	}
	if !Moot(f.Lookup("salvo-scale-up")) || Moot(f.Lookup("expander")) {
		t.Error("which flags have no effect is not told from the flags")
	}
}

// TestAValueIsRefusedByTheNameThatWasGiven gives a count that makes no sense by its old name.
func TestAValueIsRefusedByTheNameThatWasGiven(t *testing.T) {
	for line, want := range map[string]string{
		"--max-empty-bulk-delete=0":                                "--max-empty-bulk-delete=0: give 1 or more",
		"--max-scale-down-parallelism=0":                           "--max-scale-down-parallelism=0: give 1 or more",
		"--max-scale-down-parallelism=0 --max-empty-bulk-delete=3": "--max-scale-down-parallelism=0: give 1 or more",
		"--max-empty-bulk-delete=0 --max-scale-down-parallelism=3": "",
	} {
		said := ""
		if _, _, err := read(strings.Fields(line)...); err != nil {
			said = err.Error()
		}
		if said != want {
			t.Errorf("%s: %q, want %q", line, said, want)
		}
	}
}

// TestASenselessNumberIsKnown is what sluice adopt says REFUSED of.
func TestASenselessNumberIsKnown(t *testing.T) {
	_, f, err := read("--max-empty-bulk-delete=0", "--max-node-provision-time=0s", "--scale-down-utilization-threshold=0.6")
	if err == nil {
		t.Error("a policy without sense is taken")
	}
	for name, refused := range map[string]bool{"max-empty-bulk-delete": true, "max-node-provision-time": true, "scale-down-utilization-threshold": false, "compat": false} {
		if why := Senseless(f.Lookup(name)); (why != nil) != refused {
			t.Errorf("--%s: %v", name, why)
		}
	}
}
