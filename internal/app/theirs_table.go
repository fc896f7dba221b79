package app

// Reasons that several flags share.
const (
	counted  = "a decision takes as long as its work, which is bounded"
	one      = "one decision serves all pods"
	unread   = "cluster-autoscaler does not read it either"
	anew     = "every request is judged in every cycle"
	stderr   = "the log goes to standard error, one line a message"
	levels   = "see --v"
	aws      = "it is for AWS"
	gce      = "it is for Google's clouds"
	alone    = "a decision uses one core"
	provider = "no group is made or deleted on Azure; groups are scale sets and availability sets that exist"
)

// TheirFlags are the flags of cluster-autoscaler that sluice has no setting for, with those that cluster-autoscaler has had and that manifests
// still give. The others are rows of the table of settings.
var TheirFlags = []TheirFlag{
	// The process.
	{Name: "cluster-name", Kind: "string", Taken: NoEffect, Why: "it is a name for people; see --cluster-id"},
	{Name: "feature-gates", Kind: "string", Taken: Refused, Why: "sluice has no feature gates; leave the flag out, and see the flag of what the gate is for"},

	// Leader election.
	{Name: "leader-elect-resource-lock", Kind: "string", Default: "leases", Taken: Refused, Why: "a lease is the only lock that Kubernetes still has; give leases, or leave the flag out"},
	{Name: "leader-elect-resource-namespace", Kind: "string", Taken: NoEffect, Why: "cluster-autoscaler keeps its lease in --namespace whatever this says, and sluice has to hold the same one"},

	// The log.
	{Name: "add-dir-header", Kind: "bool", Default: "false", Taken: NoEffect, Why: stderr},
	{Name: "alsologtostderr", Kind: "bool", Default: "false", Taken: NoEffect, Why: stderr},
	{Name: "alsologtostderrthreshold", Kind: "string", Default: "INFO", Taken: NoEffect, Why: stderr},
	{Name: "legacy-stderr-threshold-behavior", Kind: "bool", Default: "true", Taken: NoEffect, Why: stderr},
	{Name: "log-backtrace-at", Kind: "string", Default: ":0", Taken: NoEffect, Why: stderr},
	{Name: "log-dir", Kind: "string", Taken: NoEffect, Why: stderr},
	{Name: "log-file", Kind: "string", Taken: NoEffect, Why: stderr},
	{Name: "log-file-max-size", Kind: "int", Default: "1800", Taken: NoEffect, Why: stderr},
	{Name: "log-flush-frequency", Kind: "duration", Default: "5s", Taken: NoEffect, Why: stderr},
	{Name: "log-json-info-buffer-size", Kind: "string", Default: "0", Taken: NoEffect, Why: stderr},
	{Name: "log-json-split-stream", Kind: "bool", Default: "false", Taken: NoEffect, Why: stderr},
	{Name: "log-text-info-buffer-size", Kind: "string", Default: "0", Taken: NoEffect, Why: stderr},
	{Name: "log-text-split-stream", Kind: "bool", Default: "false", Taken: NoEffect, Why: stderr},
	{Name: "logtostderr", Kind: "bool", Default: "true", Taken: NoEffect, Why: stderr},
	{Name: "one-output", Kind: "bool", Default: "false", Taken: NoEffect, Why: stderr},
	{Name: "skip-headers", Kind: "bool", Default: "false", Taken: NoEffect, Why: stderr},
	{Name: "skip-log-headers", Kind: "bool", Default: "false", Taken: NoEffect, Why: stderr},
	{Name: "stderrthreshold", Kind: "string", Default: "INFO", Taken: NoEffect, Why: stderr},
	{Name: "scheduler-verbosity", Kind: "int", Default: "-1", Taken: NoEffect, Why: levels},
	{Name: "vmodule", Kind: "string", Taken: NoEffect, Why: levels},

	// Groups and cycles.
	{Name: "frequent-loops-enabled", Kind: "bool", Default: "true", Taken: NoEffect, Why: "what happens in the cluster starts a cycle, at most one in a short window; see --scan-interval"},
	{Name: "unready-nodes-scope", Kind: "string", Default: "cluster", Taken: Refused, Why: "nodes that are not Ready are counted in the whole cluster; give cluster, or leave the flag out"},
	{Name: "capacity-quotas-enabled", Kind: "bool", Default: "false", Taken: Refused, Why: "CapacityQuotas are not read, so their limits would not hold; bound the cluster with --max-nodes-total, --cores-total and --memory-total"},
	{Name: "predicate-parallelism", Kind: "int", Default: "4", Taken: NoEffect, Why: alone},
	{Name: "cluster-snapshot-parallelism", Kind: "int", Default: "16", Taken: NoEffect, Why: alone},

	// Scale-up.
	{Name: "estimator", Kind: "string", Default: "binpacking", Taken: Refused, Why: "there is one way to count machines; give binpacking, or leave the flag out"},
	{Name: "balancing-label", Kind: "stringArray", Taken: NoEffect, Why: "cluster-autoscaler does not read it on Azure either; see --balancing-ignore-label"},
	{Name: "force-ds", Kind: "bool", Default: "false", Taken: Refused, Why: "a group whose machines are too small for some DaemonSet grows all the same, without that daemon; leave the flag out"},
	{Name: "node-info-cache-expire-time", Kind: "duration", Default: "87600h0m0s", Taken: NoEffect, Why: "what a group's nodes are like is learned anew in every cycle"},
	{Name: "scale-from-unschedulable", Kind: "bool", Default: "false", Taken: NoEffect, Why: "the next machine is never expected to be cordoned"},
	{Name: "scheduler-config-file", Kind: "string", Taken: Refused, Why: "pods are placed as kube-scheduler does by default; leave the flag out"},
	{Name: "parallel-scale-up", Kind: "bool", Default: "false", Taken: NoEffect, Why: "no group waits for another"},
	{Name: "salvo-scale-up", Kind: "bool", Default: "false", Taken: NoEffect, Why: one},
	{Name: "salvo-scale-up-budget", Kind: "duration", Default: "1m0s", Taken: NoEffect, Why: one},
	{Name: "max-nodegroup-binpacking-duration", Kind: "duration", Default: "10s", Taken: NoEffect, Why: counted},
	{Name: "max-binpacking-time", Kind: "duration", Default: "5m0s", Taken: NoEffect, Why: counted},
	{Name: "fastpath-binpacking-enabled", Kind: "bool", Default: "false", Taken: NoEffect, Why: "pods that are alike are always judged once"},
	{Name: "enable-inter-pod-affinity-hostname-fast-path", Kind: "bool", Default: "false", Taken: NoEffect, Why: "affinity is always counted by domain"},
	{Name: "scaleup-simulation-for-skipped-node-groups-enabled", Kind: "bool", Default: "false", Taken: NoEffect, Why: "every group's reason is always told"},
	{Name: "enable-proactive-scaleup", Kind: "bool", Default: "false", Taken: NoEffect, Why: "a cycle runs as soon as pods are there, so that none are made up before"},
	{Name: "pod-injection-limit", Kind: "int", Default: "5000", Taken: NoEffect, Why: "no pods are made up"},
	{Name: "enable-graceful-degradation", Kind: "bool", Default: "false", Taken: NoEffect, Why: counted},
	{Name: "pending-pods-batching-timeout", Kind: "duration", Default: "4m0s", Taken: NoEffect, Why: counted},
	{Name: "enable-dynamic-resource-allocation", Kind: "bool", Default: "true", Taken: Refused, Why: "resource claims are always looked at, as in cluster-autoscaler since 1.35; give true, or leave the flag out"},
	{Name: "enable-csi-node-aware-scheduling", Kind: "bool", Default: "true", Taken: NoEffect, Why: "how many volumes a node may attach is always counted"},

	// Optional APIs.
	{Name: "provisioning-request-initial-backoff-time", Kind: "duration", Default: "1m0s", Taken: NoEffect, Why: anew},
	{Name: "provisioning-request-max-backoff-time", Kind: "duration", Default: "10m0s", Taken: NoEffect, Why: anew},
	{Name: "provisioning-request-max-backoff-cache-size", Kind: "int", Default: "1000", Taken: NoEffect, Why: anew},
	{Name: "check-capacity-batch-processing", Kind: "bool", Default: "false", Taken: NoEffect, Why: anew},
	{Name: "check-capacity-provisioning-request-max-batch-size", Kind: "int", Default: "10", Taken: NoEffect, Why: anew},
	{Name: "check-capacity-provisioning-request-batch-timebox", Kind: "duration", Default: "10s", Taken: NoEffect, Why: anew},
	{Name: "capacity-buffer-pod-dry-run-enabled", Kind: "bool", Default: "true", Taken: NoEffect, Why: "no pod is made to find out what one would be like"},
	{Name: "capacity-buffer-ready-replicas-enabled", Kind: "bool", Default: "true", Taken: NoEffect, Why: "a buffer's status says what is worked out for it, and no more"},

	// Scale-down.
	{Name: "unremovable-node-recheck-timeout", Kind: "duration", Default: "5m0s", Taken: NoEffect, Why: "which nodes can be emptied is known anew in every cycle"},
	{Name: "max-pod-eviction-time", Kind: "duration", Default: "2m0s", Taken: NoEffect, Why: "--max-drain-time bounds a drain from its taint to its last pod"},
	{Name: "cordon-node-before-terminating", Kind: "bool", Default: "true", Taken: NoEffect, Why: "a node that leaves is always cordoned, so that no pod is bound to it after its last check"},
	{Name: "dynamic-node-delete-delay-after-taint-enabled", Kind: "bool", Default: "false", Taken: NoEffect, Why: "see --node-delete-delay-after-taint"},
	{Name: "node-deletion-batcher-interval", Kind: "duration", Default: "0s", Taken: NoEffect, Why: "all machines of a group that are ready go in one request"},
	{Name: "node-deletion-candidate-ttl", Kind: "duration", Default: "0s", Taken: NoEffect, Why: "a removal that has begun is read off the node, and other timers start anew"},
	{Name: "max-bulk-soft-taint-time", Kind: "duration", Default: "3s", Taken: NoEffect, Why: counted},
	{Name: "scale-down-simulation-timeout", Kind: "duration", Default: "30s", Taken: NoEffect, Why: counted},
	{Name: "node-removal-latency-tracking-enabled", Kind: "bool", Default: "false", Taken: NoEffect, Why: "the journal has every step of a removal"},
	{Name: "max-node-skip-eval-time-tracker-enabled", Kind: "bool", Default: "false", Taken: NoEffect, Why: "every node is looked at in every cycle"},
	{Name: "scale-down-non-empty-candidates-count", Kind: "int", Default: "30", Taken: NoEffect, Why: unread},
	{Name: "scale-down-candidates-pool-min-count", Kind: "int", Default: "50", Taken: NoEffect, Why: unread},
	{Name: "scale-down-candidates-pool-ratio", Kind: "float64", Default: "0.1", Taken: NoEffect, Why: unread},

	// Other clouds. On Azure they change nothing in cluster-autoscaler either.
	{Name: "async-node-groups", Kind: "bool", Default: "false", Taken: NoEffect, Why: provider},
	{Name: "aws-use-static-instance-list", Kind: "bool", Default: "false", Taken: NoEffect, Why: aws},
	{Name: "bulk-mig-instances-listing-enabled", Kind: "bool", Default: "false", Taken: NoEffect, Why: gce},
	{Name: "clusterapi-cloud-config-authoritative", Kind: "bool", Default: "false", Taken: NoEffect, Why: "it is for Cluster API"},
	{Name: "gce-concurrent-refreshes", Kind: "int", Default: "1", Taken: NoEffect, Why: gce},
	{Name: "gce-mig-instances-min-refresh-wait-time", Kind: "duration", Default: "5s", Taken: NoEffect, Why: gce},
	{Name: "regional", Kind: "bool", Default: "false", Taken: NoEffect, Why: unread},

	// Those that are gone.
	{Name: "parallel-drain", Kind: "bool", Default: "true", Taken: NoEffect, Why: "drains are always parallel; see --max-drain-parallelism", Gone: "1.32"},
	{Name: "gce-expander-ephemeral-storage-support", Kind: "bool", Default: "false", Taken: NoEffect, Why: gce, Gone: "1.33"},
	{Name: "node-autoprovisioning-enabled", Kind: "bool", Default: "false", Taken: Refused, Why: provider, Gone: "1.33"},
	{Name: "max-autoprovisioned-node-group-count", Kind: "int", Default: "15", Taken: NoEffect, Why: provider, Gone: "1.33"},
}
