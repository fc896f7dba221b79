package setting

// The tags that override a flag for one node group begin so: those that cluster-autoscaler has too, and sluice's own. They are spelled as
// Azure has them, which allows no "/" in the name of a tag.
const (
	Option = "k8s.io_cluster-autoscaler_node-template_autoscaling-options_"
	Own    = "sluice.dev_"
)

// Table is every setting of sluice run, and of a node group. What no flag sets stands at its end.
var Table = []Section{
	{"Node groups", []Row{
		{Flag: "nodes", First: true, Theirs: true, Help: "a node group as min:max:scale-set-name; may be repeated"},
		{Flag: "node-group-auto-discovery", First: true, Theirs: true, Help: "find node groups by the tags of scale sets: " +
			"label:tag=value[,tag=value][,min=N][,max=N]. Tags min and max on the scale set win; may be repeated, all must match. With neither " +
			"this nor --nodes: scale sets tagged cluster-autoscaler-enabled=true"},
		{Flag: "schedule", Key: "growth.schedules", Tag: Own + "schedule", Help: "min and max of a group in hours of the week, as GROUP: " +
			"DAYS HOURS ZONE min=N max=N, such as agents: Mon-Fri 08:00-20:00 Europe/Berlin min=3 max=20. Of several in force the last wins. " +
			"The tag {tag} of a scale set says the same; may be repeated"},
		{Flag: "headroom", Key: "growth.headroom", Tag: Own + "headroom", Help: "room that a group keeps free for pods to come, as " +
			"GROUP=machines:N or GROUP=cores:N; the tag {tag} of a scale set says the same; may be repeated"},
		{Flag: "enforce-node-group-min-size", Key: "growth.enforceMin", Theirs: true,
			Help: "raise a group that is below its min; a min that a schedule sets is enforced without this"},
		{Flag: "manage-autoscaled-scale-sets", Help: "manage scale sets that an Azure autoscale setting drives too, instead of refusing them"},
		{Flag: "manage-aks-scale-sets", Help: "manage scale sets that AKS owns too, instead of refusing them"},
	}},
	{"Which group grows", []Row{
		{Flag: "expander", Key: "growth.expanders", Blank: "least-cost", Theirs: true, There: "least-waste",
			Why: "the machines of all groups are chosen together, so that they cost least", Help: "which group grows when several could: " +
				"filters with commas between them, of least-cost, random, most-pods, least-waste, least-nodes, price, priority and grpc. What " +
				"several leave is drawn by lot. Without the flag the machines of all groups are chosen together so that they cost least"},
		{Flag: "grpc-expander-url", Theirs: true,
			Help: "address of the server that --expander=grpc asks, such as expander.kube-system.svc:7000"},
		{Flag: "grpc-expander-cert", Theirs: true, Help: "PEM file of the certificate, or of its authority, that this server shows"},
		{Flag: "balance-similar-node-groups", Key: "growth.balance.similar,omitzero", Theirs: true,
			Help: "spread growth over groups whose nodes are alike, so that they become equally large"},
		{Flag: "balancing-ignore-label", Key: "growth.balance.ignoreLabels", Theirs: true,
			Help: "a label in which groups may differ and be alike, beside zone, host name and the like; may be repeated"},
		{Flag: "memory-difference-ratio", Key: "growth.balance.memory", Default: "0.015", Unit: Share, Such: "0.05", Theirs: true,
			Help: "share by which the memory of machines may differ in groups that are alike"},
		{Flag: "max-allocatable-difference-ratio", Key: "growth.balance.allocatable", Default: "0.05", Unit: Share, Such: "0.05", Theirs: true,
			Help: "share by which what nodes can give to pods may differ in groups that are alike"},
		{Flag: "max-free-difference-ratio", Key: "growth.balance.free", Default: "0.05", Unit: Share, Such: "0.05", Theirs: true,
			Help: "share by which what daemons leave of it may differ in groups that are alike"},
	}},
	{"Which pods count", []Row{
		{Flag: "new-pod-scale-up-delay", Key: "growth.podDelay", Unit: Span, Such: "30s", Theirs: true,
			Help: "a pod is no reason to grow before it is so old; the annotation cluster-autoscaler.kubernetes.io/pod-scale-up-delay may say " +
				"more"},
		{Flag: "burst-window", Key: "growth.burstWindow", Default: "10s", Unit: Span, Such: "10s", Help: "while pods keep coming, a group is " +
			"asked for machines again when a rush of them pauses, and so long after at the latest. The first pods never wait; 0: it is asked " +
			"whenever pods come"},
		{Flag: "gang-hold", Key: "growth.gangHold", Default: "5m", Unit: Span, Such: "5m",
			Help: "how long machines are kept for a gang of pods that cannot be whole; after that they are as idle as any others"},
		{Flag: "expendable-pods-priority-cutoff", Key: "growth.priorityCutoff", Default: "-10", Theirs: true,
			Help: "a pod of a lower priority is expendable: nothing grows for it, and it keeps no node"},
		{Flag: "allowed-scheduler-names", Key: "growth.schedulers", Field: "growth.schedulers.allowed", Unit: Commas, Theirs: true,
			Help: "schedulers with commas between them whose pods are a reason to grow; all when none is named; every one of " +
				"--bypassed-scheduler-names must be among them"},
		{Flag: "bypassed-scheduler-names", Key: "growth.bypassed", Field: "growth.schedulers.bypassed", Unit: Commas, Theirs: true,
			Help: "schedulers with commas between them whose pods are a reason to grow before they have been looked at"},
		{Flag: "drain-target", Key: "growth.drainTargets", Help: "work a backlog off within a time instead of a place for every pod at once, " +
			"as namespace/NAME=20m or GROUP=20m. How long pods run is their annotation sluice.dev/run-time, else learned from earlier pods of " +
			"their owner; may be repeated"},
	}},
	{"What new nodes are like", []Row{
		{Flag: "startup-taint", Key: "growth.taints.startup", Theirs: true, Help: "key of a taint that somebody takes off a new node when he " +
			"is done with it: until then the node is not ready, and the next machine is not expected to keep it; may be repeated"},
		{Flag: "startup-taint-prefix", Key: "growth.taints.prefixes", Theirs: true, Help: "prefix of the keys of such taints; may be repeated"},
		{Flag: "ignore-taint", Alias: "startup-taint", Theirs: true, Help: "the old name of --startup-taint"},
		{Flag: "status-taint", Key: "growth.taints.status", Theirs: true, Help: "key of a taint that says how a node is doing: the node is " +
			"ready, and the next machine is not expected to bear it; may be repeated"},
	}},
	{"Room that objects ask for", []Row{
		{Flag: "enable-provisioning-requests", Key: "growth.requests.enabled,omitzero", Theirs: true,
			Help: "answer ProvisioningRequests of the classes check-capacity.autoscaling.x-k8s.io and " +
				"best-effort-atomic-scale-up.autoscaling.x-k8s.io; their pods are then no reason to grow by themselves"},
		{Flag: "check-capacity-processor-instance", Key: "growth.requests.instance", Theirs: true,
			Help: "answer only those check-capacity requests whose parameter processorInstance says this; without it those that say none"},
		{Flag: "capacity-buffer-controller-enabled", Key: "growth.buffers.translate,omitzero", Theirs: true,
			Help: "work out for how many pods like which every CapacityBuffer is, and write it into its status"},
		{Flag: "capacity-buffer-pod-injection-enabled", Key: "growth.buffers.keep,omitzero", Theirs: true,
			Help: "keep room free for the pods of CapacityBuffers, and buy it where it lacks"},
	}},
	{"Limits of growth", []Row{
		{Flag: "max-nodes-total", First: true, Key: "growth.maxNodes", Field: "growth.max.nodes", Unit: Count, Theirs: true,
			Help: "most nodes in the whole cluster, managed or not; growth is cut to it; 0: no limit"},
		{Flag: "cores-total", Key: "removal.minCores growth.maxCores", Field: "removal.keep.cores growth.max.cores", Default: "0:320000", Unit: Bounds, Theirs: true,
			Help: "least and most cores of the whole cluster; growth is cut to the max, removal stops at the min; with a max of 0 nothing grows"},
		{Flag: "memory-total", Key: "removal.minMemoryGiB growth.maxMemoryGiB", Field: "removal.keep.memoryGiB growth.max.memoryGiB", Default: "0:6400000", Unit: Bounds, Theirs: true,
			Help: "least and most GiB of memory of the whole cluster, as --cores-total"},
		{Flag: "gpu-total", Key: "growth.gpus", Field: "growth.max.GPUs", Theirs: true, Help: "least and most GPUs of a kind in the whole cluster, as KIND:MIN:MAX. " +
			"KIND is a resource such as nvidia.com/gpu, or a value of the nodes' label accelerator; may be repeated"},
		{Flag: "scale-up-from-zero", Key: "growth.needsReady,omitzero", Default: "true", Unit: Inverse, Theirs: true,
			Help: "grow also while no node of the cluster is Ready"},
		{Flag: "max-nodes-per-scaleup", Key: "growth.maxAtOnce", Field: "growth.max.atOnce", Default: "1000", Unit: Cap, Theirs: true,
			Help: "most machines that one decision adds to one group; 0: no limit"},
		{Flag: "ceiling", Key: "growth.ceilings", Tag: Own + "ceiling", Help: "stop growth at machines:N/WINDOW added, usd:N/WINDOW that " +
			"machines cost, or usd-per-hour:N, of all groups together; GROUP=... for one of them; the tag {tag} of a scale set says the same; " +
			"may be repeated"},
	}},
	{"When growth fails", []Row{
		{Flag: "max-node-provision-time", Key: "growth.provision", Field: "growth.node.provisionTime", Default: "15m", Unit: Wait, Theirs: true,
			Help: "a machine without a node after this long is given up"},
		{Flag: "max-node-startup-time", Key: "growth.startup", Field: "growth.node.startupTime", Default: "15m", Unit: Wait, Theirs: true,
			Help: "a node that is not Ready so long after it registered counts as one that fails to start, and no pod waits for it"},
		{Flag: "initial-node-group-backoff-duration", Key: "growth.backoffFirst", Field: "growth.backoff.initial", Default: "5m", Unit: Wait, Theirs: true,
			Help: "how long a group rests after its first failure"},
		{Flag: "max-node-group-backoff-duration", Key: "growth.backoffMost", Field: "growth.backoff.max", Default: "30m", Unit: Wait, Theirs: true,
			Help: "a group's rest doubles from failure to failure up to this"},
		{Flag: "node-group-backoff-reset-timeout", Key: "growth.backoffReset", Field: "growth.backoff.reset", Default: "3h", Unit: Wait, Theirs: true,
			Help: "after this long without failures the next one counts as the first"},
		{Flag: "keep-failed-machine", Key: "removal.keepUnjoined,omitzero", Field: "removal.unregistered.keep", Default: "1h", Unit: Span,
			Help: "once three machines of a group have not become Ready nodes and none has since, the group gets one at a time. The last that " +
				"failed is kept for so long, so that somebody can find out why, unless the group is at its max; 0: none is kept"},
		{Flag: "force-delete-unregistered-nodes", Key: "removal.forceUnjoined,omitzero", Field: "removal.unregistered.force", Theirs: true,
			Help: "delete a machine that did not become a node in time even where its group falls below its min"},
		{Flag: "force-delete-failed-nodes", Key: "removal.forceFailed,omitzero", Theirs: true,
			Help: "delete a machine that the cloud could not make even where its group falls below its min"},
	}},
	{"Removal", []Row{
		{Flag: "scale-down-enabled", Key: "removal.enabled", Default: "true", Theirs: true,
			Help: "cordon and drain nodes that are not needed, and delete their machines"},
		{Flag: "scale-down-unneeded-time", First: true, Key: "removal.unneeded", Field: "removal.unneededTime", Default: "10m", Unit: Span, Tag: Option + "scaledownunneededtime",
			Theirs: true, Help: "how long a node must have been idle or underused before it goes"},
		{Flag: "scale-down-unready-time", Key: "removal.unready", Field: "removal.unreadyTime", Default: "20m", Unit: Span, Tag: Option + "scaledownunreadytime",
			Theirs: true, Help: "how long a node that is not Ready must have been unneeded before it goes"},
		{Flag: "scale-down-utilization-threshold", First: true, Key: "removal.threshold", Field: "removal.utilization.threshold", Default: "0.5", Unit: Share,
			Tag: Option + "scaledownutilizationthreshold", Theirs: true,
			Help: "share of CPU or memory requested, at or below which a node is underused"},
		{Flag: "scale-down-gpu-utilization-threshold", Key: "removal.gpuThreshold", Field: "removal.utilization.GPUThreshold", Default: "0.5", Unit: Share,
			Tag: Option + "scaledowngpuutilizationthreshold", Theirs: true,
			Help: "share of GPUs requested, at or below which a node that has GPUs is underused"},
		{Flag: "busy-threshold", Key: "removal.busyThreshold,omitzero", Field: "removal.busy.threshold", Default: "0.5", Unit: Share,
			Help: "share of allocatable CPU above which a node stays though it is idle or underused, as metrics.k8s.io measures it, where " +
				"sluice may read that; 0: requests alone decide, as in cluster-autoscaler"},
		{Flag: "busy-limit", Key: "removal.busyLimit,omitzero", Field: "removal.busy.limit", Default: "6h", Unit: Span,
			Help: "for how long a node stays for its measured CPU alone; 0: no limit"},
		{Flag: "compat", Help: "take cluster-autoscaler's default for each flag that is not given and has another one here, as the table of " +
			"defaults says. Leave out what sluice alone looks at before a node goes: its measured use, as with --busy-threshold=0"},
		{Flag: "scale-down-unready-enabled", Key: "removal.unreadyEnabled", Default: "true", Theirs: true,
			Help: "cordon, drain and delete nodes that are not Ready as well"},
		{Flag: "ignore-daemonsets-utilization", Key: "removal.ignoreDaemons", Field: "removal.utilization.ignoreDaemons", Theirs: true,
			Help: "leave pods of DaemonSets out of how much of a node is requested"},
		{Flag: "ignore-mirror-pods-utilization", Key: "removal.ignoreMirrors", Field: "removal.utilization.ignoreMirrors", Theirs: true,
			Help: "leave static pods out of how much of a node is requested"},
		{Flag: "scale-down-delay-after-add", Key: "removal.afterAdd", Field: "removal.delay.afterAdd", Default: "10m", Unit: Span, Theirs: true,
			Help: "no removal so long after a growth"},
		{Flag: "scale-down-delay-after-delete", Key: "removal.afterDelete", Field: "removal.delay.afterDelete", Unit: Span, Theirs: true,
			Help: "no removal so long after machines were deleted"},
		{Flag: "scale-down-delay-after-failure", Key: "removal.afterFailure", Field: "removal.delay.afterFailure", Default: "3m", Unit: Span, Theirs: true,
			Help: "no removal so long after a node could not be tainted"},
		{Flag: "scale-down-delay-type-local", Key: "removal.localDelays", Field: "removal.delay.local", Theirs: true, Help: "the three delays hold for each group by itself"},
		{Flag: "node-deletion-delay-timeout", Key: "removal.deletionDelay", Field: "removal.delay.deletion", Default: "2m", Unit: Span, Theirs: true,
			Help: "how long an empty node waits for its annotations delay-deletion.cluster-autoscaler.kubernetes.io/... to be taken away"},
		{Flag: "node-delete-delay-after-taint", Key: "removal.afterTaint", Field: "removal.delay.afterTaint", Default: "5s", Unit: Span, Theirs: true,
			Help: "pause between cordoning a node and the next step"},
		{Flag: "load-balancer-exclusion-delay", Key: "removal.exclusion", Field: "removal.delay.exclusion", Default: "5s", Unit: Span,
			Help: "a node on its way out is labelled so that load balancers outside of the cluster leave it out. The next step waits for so " +
				"long; 0: no label"},
		{Flag: "max-detach-time", Key: "removal.maxDetach", Field: "removal.delay.detach", Default: "2m", Unit: Span,
			Help: "how long an empty node waits for its volumes to be detached before its machine is deleted all the same"},
		{Flag: "max-bulk-soft-taint-count", Key: "removal.maxSoftTaints", Field: "removal.maxCandidateTaints", Default: "10", Unit: Count, Theirs: true,
			Help: "most soft taints that one cycle puts on nodes that could go, or takes off nodes that are needed again. 0: none is put on, " +
				"and those that are there come off"},
		{Flag: "max-scale-down-parallelism", Key: "removal.maxInFlight", Field: "removal.parallelism", Default: "10", Unit: Places, Theirs: true,
			Help: "most nodes at once on their way to being ready for deletion, idle ones included. All that are ready in a group are deleted " +
				"in one request and no longer count"},
		{Flag: "max-empty-bulk-delete", Alias: "max-scale-down-parallelism", Yields: true, Theirs: true,
			Help: "the old name of --max-scale-down-parallelism, where that is not given"},
		{Flag: "max-drain-parallelism", Key: "removal.maxDrains", Field: "removal.drain.parallelism", Default: "1", Unit: Places, Theirs: true,
			Help: "most nodes at once whose pods are being evicted; they count in --max-scale-down-parallelism"},
		{Flag: "max-emptied-percentage", Key: "removal.emptied", Field: "removal.emptied.percent", Default: "5", Unit: Percent, Such: "5",
			Help: "share of a group's nodes, in percent and at least one node, that are emptied of pods within --emptied-window, whatever for; " +
				"nodes that nobody has to leave do not count, and what a person asks for does not wait"},
		{Flag: "emptied-window", Key: "removal.window", Field: "removal.emptied.window", Default: "10m", Unit: Span,
			Help: "see --max-emptied-percentage; a process without the record of the one before waits for so long; 0: no bound"},
		{Flag: "max-graceful-termination-sec", Key: "removal.maxGrace", Field: "removal.drain.maxGrace", Default: "600", Unit: Seconds,
			Theirs: true, Help: "longest grace period given to an evicted pod, in seconds"},
		{Flag: "remove-control-plane-nodes", Key: "removal.controlPlane,omitzero", Help: "manage groups that have control-plane or etcd " +
			"nodes as any other, and delete such nodes as well, one at a time and only while a quorum of them is left; kubeadm takes no deleted " +
			"machine out of etcd, so see what docs/safety.md says of S-17"},
		{Flag: "max-drain-time", Key: "removal.drainDeadline", Field: "removal.drain.deadline", Default: "15m", Unit: Wait, Help: "so long after its node was cordoned a pod " +
			"is to have left, or --after-drain-time says what then; a pod's annotation sluice.dev/drain-time gives it another time"},
		{Flag: "after-drain-time", Key: "removal.afterDeadline", Field: "removal.drain.afterDeadline", Default: "abort", Help: "what becomes of a drain when a pod has not left in " +
			"its time. abort gives the node back, wait goes on waiting, force lets the machine go with a pod that was told to end and has not. " +
			"Budgets and work hold in any case. A pod's annotation sluice.dev/after-drain-time wins"},
		{Flag: "drain-priority-config", Key: "removal.bands", Field: "removal.drain.bands", Theirs: true, Help: "the order in which pods leave a node, as " +
			"PRIORITY:SECONDS,... with the longest grace period of each band. The lowest band leaves first, each other one when that before it " +
			"is gone. Without the flag critical pods leave last"},
		{Flag: "daemonset-eviction-for-empty-nodes", Key: "removal.emptyDaemons", Field: "removal.drain.emptyDaemons", Theirs: true, Help: "evict the pods of DaemonSets from a " +
			"node that has no others before its machine goes; a pod's annotation cluster-autoscaler.kubernetes.io/enable-ds-eviction says " +
			"otherwise for it"},
		{Flag: "daemonset-eviction-for-occupied-nodes", Key: "removal.occupiedDaemons", Field: "removal.drain.occupiedDaemons", Default: "true", Theirs: true,
			Help: "the same for a node whose other pods were evicted, once these are gone"},
		{Flag: "run-dry", Key: "removal.runDry", Field: "removal.work.runDry", Default: "true", Help: "taint a node that nothing but work holds which is not evicted, so " +
			"that new work goes elsewhere and the machine goes when the work is done; a pending pod that fits takes the taint off"},
		{Flag: "evict-work", Key: "removal.work", Field: "removal.work.evict", Help: "when pods of Jobs, and of DaemonSets that are work by --daemon-work, may be evicted " +
			"after all, as namespace/NAME=PATIENCE or GROUP=PATIENCE. PATIENCE is never, now, or for how long their node runs dry first, such " +
			"as 2h. A namespace wins over a group, a pod's annotation sluice.dev/evict-work over both; may be repeated"},
		{Flag: "daemon-work", Key: "removal.daemonWork", Field: "removal.work.daemons", Tag: Own + "daemon-work", Help: "pods of DaemonSets that are work as a Job's and " +
			"keep their node, as NAMESPACE/SELECTOR with a label selector, such as render/app=worker. A daemon's pod annotated " +
			"safe-to-evict=false or do-not-disrupt is work without it. The tag {tag} of a scale set says the same of its nodes; may be repeated"},
		{Flag: "consolidate", Key: "removal.consolidation.groups", Help: "also empty nodes of this group whose pods could run elsewhere for " +
			"less, on other nodes or on one smaller machine; all for every group; nothing is moved that may not be evicted; may be repeated"},
		{Flag: "consolidation-expected-time", Key: "removal.consolidation.expected,omitzero", Default: "1h", Unit: Span, Such: "1h",
			Help: "for how long a saving is expected to last; what it saves in that time must be more than moving the pods costs"},
		{Flag: "consolidation-pod-cost", Key: "removal.consolidation.podUSD,omitzero", Default: "0.01", Unit: USD, Such: "0.01",
			Help: "what moving a pod is thought to cost, in dollars"},
		{Flag: "consolidation-per-day", Key: "removal.consolidation.perDay,omitzero", Default: "10", Unit: Count,
			Help: "most nodes emptied for a saving within 24 hours"},
		{Flag: "skip-nodes-with-local-storage", Key: "removal.localStorage", Field: "removal.skip.localStorage", Default: "true", Theirs: true,
			Help: "a pod with a hostPath or emptyDir volume keeps its node"},
		{Flag: "skip-nodes-with-system-pods", Key: "removal.systemPods", Field: "removal.skip.systemPods", Default: "true", Theirs: true,
			Help: "a kube-system pod without a disruption budget keeps its node while it is younger than an hour"},
		{Flag: "blocking-system-pod-distruption-timeout", Key: "removal.systemPodAge", Field: "removal.skip.systemPodAge", Default: "1h",
			Unit: Span, Theirs: true, Help: "age up to which a kube-system pod without a disruption budget keeps its node"},
		{Flag: "skip-nodes-with-custom-controller-pods", Key: "removal.customOwners", Field: "removal.skip.customControllerPods",
			Default: "true", Theirs: true,
			Help: "a pod keeps its node whose controller is none of Kubernetes' own, which may not make it again, or does not exist"},
		{Flag: "min-replica-count", Key: "removal.minReplicas,omitzero", Field: "removal.skip.minReplicas", Unit: Count, Theirs: true,
			Help: "a pod keeps its node while its ReplicaSet or ReplicationController is to have fewer replicas; not with " +
				"--skip-nodes-with-custom-controller-pods=false"},
		{Flag: "ok-total-unready-count", Key: "health.unreadyCount", Default: "3", Unit: Count, Theirs: true,
			Help: "so many nodes may always be not Ready; removal stops when more are, and more than --max-total-unready-percentage"},
		{Flag: "max-total-unready-percentage", Key: "health.unreadyPercent", Default: "45", Unit: Percent, Such: "45", Theirs: true,
			Help: "share of all nodes that may be not Ready before removal stops, in percent"},
	}},
	{"Azure", []Row{
		{Flag: "cloud-provider", Default: "azure", Theirs: true, Help: "the cloud; azure is the only one"},
		{Flag: "cloud-config", First: true, Theirs: true,
			Help: "path of an azure.json, as cloud-provider-azure and cluster-autoscaler read it; the environment wins over it"},
		{Flag: "azure-api-share", Default: "0.5",
			Help: "share of Azure's published request limits that sluice may spend, 0.01 to 1; the rest is for others in the subscription"},
		{Flag: "azure-resource-manager-endpoint", Help: "Resource Manager endpoint; empty: that of the cloud"},
		{Flag: "azure-authority-host", Help: "token authority; empty: that of the cloud"},
		{Flag: "azure-metadata-endpoint", Help: "instance metadata endpoint; empty: the link-local address of every Azure machine"},
	}},
	{"Prices", []Row{
		{Flag: "prices-file", Help: "CSV file with your own prices (size,region,priority,usd_per_hour); they win over all others"},
		{Flag: "retail-prices",
			Help: "ask Azure's public price list once a day, without credentials; otherwise prices are those of a table that sluice brings along"},
		{Flag: "retail-prices-endpoint", Help: "where the price list is; empty: public Azure"},
	}},
	{"The API server", []Row{
		{Flag: "kubeconfig", First: true, Theirs: true,
			Help: "path of a kubeconfig; empty: $KUBECONFIG, else ~/.kube/config, else the pod's service account, else that of K3s, RKE2 or kubeadm on this " +
				"machine"},
		{Flag: "kubernetes", Theirs: true, Help: "URL of the API server, in place of the one that the kubeconfig names"},
		{Flag: "kube-api-content-type", Default: "application/json", Theirs: true, There: "application/vnd.kubernetes.protobuf",
			Why: "JSON is read by proxies and recorders on the way, too", Help: "the form in which the API server is spoken to: " +
				"application/json or application/vnd.kubernetes.protobuf; objects of CustomResourceDefinitions are JSON in either case"},
		{Flag: "kube-client-qps", Default: "50", Theirs: true, There: "5", Why: "many nodes that leave at once do not wait for one another",
			Help: "most requests a second to the API server, in the long run; below zero: no limit"},
		{Flag: "kube-client-burst", Default: "100", Theirs: true, There: "10",
			Why: "many nodes that leave at once do not wait for one another", Help: "most requests to the API server at once"},
		{Flag: "user-agent", Theirs: true, There: "cluster-autoscaler",
			Why:  "the API server's logs name sluice and its version, unless they are told otherwise",
			Help: "how the API server's logs name this program; empty: sluice with its version"},
	}},
	{"The process", []Row{
		{Flag: "cluster-id", Key: "clusterID", Help: "the cluster that the node groups belong to: the UID of its namespace kube-system, as " +
			"kubectl get namespace kube-system -o jsonpath={.metadata.uid} tells it. In any other cluster nothing is changed. Without the flag " +
			"it is the cluster that is watched"},
		{Flag: "namespace", Default: "kube-system", Theirs: true,
			Help: "namespace of the lease, the status ConfigMap and the ConfigMap cluster-autoscaler-priority-expander"},
		{Flag: "status-namespace", Default: "kube-system",
			Help: "namespace of the status ConfigMap and the ConfigMap cluster-autoscaler-priority-expander: run's --namespace"},
		{Flag: "scan-interval", Default: "10s", Theirs: true, Help: "a cycle at least so often; what happens in the cluster starts one sooner"},
		{Flag: "dry-run", First: true, Help: "decide and tell, but change nothing"},
		{Flag: "hand-back",
			Help: "when told to stop, take everything of sluice off nodes and pods, for another autoscaler; sluice uninstall does the rest"},
	}},
	{"Metrics, health and pages", []Row{
		{Flag: "address", First: true, Default: ":8085", Theirs: true,
			Help: "address of metrics, health and the read-only API; 127.0.0.1:8085 for this machine alone; empty: none"},
		{Flag: "web-authorization", Help: "answer at --address, but for health, only those whose bearer token the API server knows and lets " +
			"get the path, and over TLS; needs deploy/web-authorization.yaml"},
		{Flag: "tls-cert-file", Help: "PEM file of the certificate that --address shows; without it answers go in the clear, or with " +
			"--web-authorization under a certificate that the process makes for itself"},
		{Flag: "tls-private-key-file", Help: "PEM file of the key of --tls-cert-file"},
		{Flag: "emit-per-nodegroup-metrics", Theirs: true,
			Help: "also serve cluster-autoscaler's metrics that have one series for each node group; sluice's own are always there"},
		{Flag: "profiling", Theirs: true, Help: "answer /debug/pprof/ at --address as well, for go tool pprof"},
		{Flag: "debugging-snapshot-enabled", Theirs: true, Help: "answer /snapshotz at --address as well: nodes, pods and node groups as the " +
			"latest cycle saw them, as JSON, without annotations and environments"},
		{Flag: "max-inactivity", Default: "10m", Theirs: true,
			Help: "/healthz and /health-check fail when no cycle has begun for so long, so that a kubelet starts the process anew"},
		{Flag: "max-failing-time", Default: "15m", Unit: Wait, Theirs: true,
			Help: "they fail when no cycle has succeeded for so long: the cluster could not be read, or no node group"},
		{Flag: "max-startup-time", Default: "20m", Theirs: true,
			Help: "until the first cycle succeeds this holds in place of both; at least the longer of them"},
	}},
	{"Join by proof", []Row{
		{Flag: "join-address", Help: "where machines prove who they are and get a token to join with, such as :7443; empty: nowhere; needs " +
			"deploy/join.yaml"},
		{Flag: "join-tls-file", Default: "/etc/sluice/join/tls.pem", Help: "PEM file of the certificate and key by whose fingerprint machines know " +
			"--join-address; sluice join key makes one"},
		{Flag: "join-server", Help: "the API server as machines reach it before they have joined, such as https://10.10.0.4:6443; " +
			"empty: what the service kubernetes points at"},
		{Flag: "join-ca-file", Help: "PEM file of the certificate authority of --join-server, of k3s just as /cacerts has it; empty: that of the kubeconfig"},
		{Flag: "join-distribution", Default: "k3s", Help: "what machines run: k3s or kubeadm"},
		{Flag: "join-resource-groups", Unit: Commas, Help: "resource groups with commas between them whose machines may join; empty: sluice's own"},
		{Flag: "join-pools", Unit: Commas, Help: "scale sets with commas between them whose machines may join; empty: all of --join-resource-groups"},
		{Flag: "join-max-age", Default: "30m", Unit: Span, Such: "30m", Help: "a machine that was made longer ago may not join"},
		{Flag: "join-token-life", Default: "10m", Unit: Span, Such: "10m", Help: "for how long a machine may use its token; it ends before when the machine is a node"},
		{Flag: "attest-aia", Default: "https://www.microsoft.com/pkiops/certs", Help: "where certificates of those who sign for Azure are fetched when " +
			"they are not known; empty: nowhere, and --attest-certificates has to have them"},
		{Flag: "attest-certificates", Help: "PEM file of more such certificates; those that vouch for themselves are trusted in the place of Microsoft's " +
			"and DigiCert's roots"},
	}},
	{"Journal, status, events and log", []Row{
		{Flag: "journal", First: true, Help: "file that records every cycle, for explain and replay; empty: none"},
		{Flag: "journal-max-bytes", Default: "67108864", Unit: Places, Help: "size at which the journal's file is closed and compressed, and a new one begins; after 90 minutes it " +
			"is as well"},
		{Flag: "journal-keep", Default: "168h", Unit: Wait, Help: "a closed file of the journal is removed when its last entry is older"},
		{Flag: "journal-keep-bytes", Default: "1073741824", Unit: Places, Help: "most bytes of all closed files of the journal; the oldest are removed first"},
		{Flag: "write-status-configmap", Default: "true", Theirs: true, Help: "keep the status ConfigMap up to date"},
		{Flag: "status-config-map-name", Default: "cluster-autoscaler-status", Theirs: true, Help: "name of the status ConfigMap"},
		{Flag: "record-duplicated-events", Theirs: true,
			Help: "send an Event again in each cycle while it stays true, instead of after five minutes"},
		{Flag: "v", Short: "v", Theirs: true, Help: "log verbosity; 4 and above: debug"},
		{Flag: "log-format", Default: "text", Help: "text or json"},
		{Flag: "logging-format", Alias: "log-format", Theirs: true, Help: "cluster-autoscaler's name of --log-format"},
	}},
	{"Leader election", []Row{
		{Flag: "leader-elect", Default: "true", Theirs: true, Help: "of several replicas let one act"},
		{Flag: "leader-elect-resource-name", Default: "cluster-autoscaler", Theirs: true,
			Help: "name of the lease; cluster-autoscaler's own, so that the two never act at once"},
		{Flag: "leader-elect-lease-duration", Default: "15s", Theirs: true, Help: "how long a lease lasts"},
		{Flag: "leader-elect-renew-deadline", Default: "10s", Theirs: true,
			Help: "the leader stops when it could not renew for this long, and goes on when it can"},
		{Flag: "leader-elect-retry-period", Default: "2s", Theirs: true, Help: "pause between tries to get or renew the lease"},
	}},
	{"", []Row{
		{Tag: Own + "removal"},         // delete, or deallocate: machines are switched off and kept
		{Tag: Own + "model"},           // any word: another one says that new machines are made otherwise
		{Key: "installation"},          // the lease that replicas share
		{Key: "removal.lost,omitzero"}, // within which nodes are lost together (S-43); a playground has no hours
	}},
}
