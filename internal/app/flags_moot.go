package app

import (
	"time"

	"github.com/spf13/pflag"
)

// moot is the annotation of a flag that is accepted for the sake of cluster-autoscaler's manifests and changes nothing.
const moot = "sluice_moot"

// Moot says whether the flag changes nothing whatever it says.
func Moot(f *pflag.Flag) bool { return f.Annotations[moot] != nil }

// mootFlags declares flags that tune how cluster-autoscaler searches, with its defaults. Here the work of a decision is counted, not timed,
// and there is one way to search.
func mootFlags(f *pflag.FlagSet) {
	declare := func(name, why string, as func(name, usage string)) {
		as(name, "no effect: "+why)
		f.Lookup(name).Annotations = map[string][]string{moot: {why}}
	}
	truth := func(name, usage string) { f.Bool(name, false, usage) }
	number := func(value int) func(string, string) {
		return func(name, usage string) { f.Int(name, value, usage) }
	}
	span := func(value time.Duration) func(string, string) {
		return func(name, usage string) { f.Duration(name, value, usage) }
	}
	const counted = "a decision takes as long as its work, which is bounded"
	declare("estimator", "there is one way to count machines", func(name, usage string) { f.String(name, "binpacking", usage) })
	declare("max-nodegroup-binpacking-duration", counted, span(10*time.Second))
	declare("max-binpacking-time", counted, span(5*time.Minute))
	declare("salvo-scale-up-budget", "one decision serves all pods", span(time.Minute))
	declare("salvo-scale-up", "one decision serves all pods", truth)
	declare("parallel-scale-up", "no group waits for another", truth)
	declare("fastpath-binpacking-enabled", "pods that are alike are always judged once", truth)
	declare("enable-inter-pod-affinity-hostname-fast-path", "affinity is always counted by domain", truth)
	declare("scaleup-simulation-for-skipped-node-groups-enabled", "every group's reason is always told", truth)
	declare("max-bulk-soft-taint-time", counted, span(3*time.Second))
	declare("predicate-parallelism", "a decision uses one core", number(4))
	declare("cluster-snapshot-parallelism", "a decision uses one core", number(16))
	declare("node-info-cache-expire-time", "what a group's nodes are like is learned anew in every cycle", span(87600*time.Hour))
	declare("unremovable-node-recheck-timeout", "which nodes can be emptied is known anew in every cycle", span(5*time.Minute))
	declare("node-deletion-batcher-interval", "all machines of a group that are ready go in one request", span(0))
	declare("node-deletion-candidate-ttl", "a removal that has begun is read off the node, and other timers start anew", span(0))
	declare("scale-down-simulation-timeout", counted, span(30*time.Second))
	declare("max-pod-eviction-time", "--max-drain-time bounds a drain from its taint to its last pod", span(2*time.Minute))
	declare("cordon-node-before-terminating", "a node that leaves is always cordoned", func(name, usage string) { f.Bool(name, true, usage) })
	declare("dynamic-node-delete-delay-after-taint-enabled", "see --node-delete-delay-after-taint", truth)
	declare("node-removal-latency-tracking-enabled", "the journal has every step of a removal", truth)
	declare("max-node-skip-eval-time-tracker-enabled", "every node is looked at in every cycle", truth)
	const unread = "cluster-autoscaler does not read it either"
	declare("scale-down-non-empty-candidates-count", unread, number(30))
	declare("scale-down-candidates-pool-min-count", unread, number(50))
	declare("scale-down-candidates-pool-ratio", unread, func(name, usage string) { f.Float64(name, 0.1, usage) })
	declare("parallel-drain", unread, func(name, usage string) { f.Bool(name, true, usage) })
	const anew = "every request is judged in every cycle"
	declare("provisioning-request-initial-backoff-time", anew, span(time.Minute))
	declare("provisioning-request-max-backoff-time", anew, span(10*time.Minute))
	declare("provisioning-request-max-backoff-cache-size", anew, number(1000))
	declare("check-capacity-batch-processing", anew, truth)
	declare("check-capacity-provisioning-request-max-batch-size", anew, number(10))
	declare("check-capacity-provisioning-request-batch-timebox", anew, span(10*time.Second))
	declare("capacity-buffer-pod-dry-run-enabled", "no pod is made to find out what one would be like", func(name, usage string) { f.Bool(name, true, usage) })
	declare("balancing-label", "cluster-autoscaler does not read it on Azure either; see --balancing-ignore-label", func(name, usage string) { f.StringArray(name, nil, usage) })
}
