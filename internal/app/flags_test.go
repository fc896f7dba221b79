package app

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

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

func TestEveryPolicyFlagSetsItsOwnField(t *testing.T) {
	set := map[string]string{
		"max-nodes-total": "101", "cores-total": "102:103", "memory-total": "104:105", "max-node-provision-time": "106s",
		"initial-node-group-backoff-duration": "107s", "max-node-group-backoff-duration": "108s", "node-group-backoff-reset-timeout": "109s",
		"scale-down-enabled": "false", "scale-down-unneeded-time": "110s", "scale-down-unready-time": "111s",
		"scale-down-utilization-threshold": "0.12", "scale-down-gpu-utilization-threshold": "0.13", "scale-down-delay-after-add": "113s", "node-delete-delay-after-taint": "114s",
		"max-scale-down-parallelism": "115", "max-drain-parallelism": "116", "max-graceful-termination-sec": "117", "max-drain-time": "118s",
		"skip-nodes-with-local-storage": "false", "skip-nodes-with-system-pods": "false",
		"ok-total-unready-count": "119", "max-total-unready-percentage": "12.5",
	}
	want := &policy.Policy{
		Growth: policy.Growth{
			MaxNodes: 101, MaxCores: 103, MaxMemoryGiB: 105, Provision: 106 * time.Second,
			BackoffFirst: 107 * time.Second, BackoffMost: 108 * time.Second, BackoffReset: 109 * time.Second,
		},
		Removal: policy.Removal{
			Unneeded: 110 * time.Second, Unready: 111 * time.Second, Threshold: 0.12, GPUThreshold: 0.13, AfterAdd: 113 * time.Second, AfterTaint: 114 * time.Second,
			MaxInFlight: 115, MaxDrains: 116, MaxGrace: 117 * time.Second, DrainDeadline: 118 * time.Second, MinCores: 102, MinMemoryGiB: 104,
		},
		Health: policy.Health{UnreadyCount: 119, UnreadyPercent: 12.5},
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
		if _, ok := set[f.Name]; !ok {
			t.Errorf("--%s is not set by this test", f.Name)
		}
	})
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
		"max-graceful-termination-sec=10m":           "whole seconds",
		"max-graceful-termination-sec=-1":            "zero or more",
		"max-graceful-termination-sec=9999999999999": "whole seconds",
		"max-drain-parallelism=0":                    "give 1 or more",
		"max-total-unready-percentage=101":           "between 0 and 100",
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
	if got := fmt.Sprint(p.Removal.MinCores, p.Growth.MaxCores); got != "2 8" {
		t.Errorf("the bounds are %s, want those that were good: 2 8", got)
	}
}
