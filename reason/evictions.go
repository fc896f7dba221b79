package reason

// Why a pod keeps its node.
const (
	PodNowhereToGo    Code = "PodNowhereToGo"
	PodOfJob          Code = "PodOfJob"
	PodOfDaemon       Code = "PodOfDaemon"
	PodBare           Code = "PodBare"
	PodsBesides       Code = "PodsBesides"
	PodsLater         Code = "PodsLater"
	PodOverdue        Code = "PodOverdue"
	PodNotSafeToEvict Code = "PodNotSafeToEvict"
	PodDoNotDisrupt   Code = "PodDoNotDisrupt"
	PodLocalStorage   Code = "PodLocalStorage"
	PodOfSystem       Code = "PodOfSystem"
	PodBudget         Code = "PodBudget"
	PodTwoBudgets     Code = "PodTwoBudgets"
	PodCustomOwner    Code = "PodCustomOwner"

	PodControllerMissing Code = "PodControllerMissing"
	PodFewReplicas       Code = "PodFewReplicas"
)

var evictions = table{
	PodNowhereToGo: {
		says:   "pod {pod} has nowhere to go: {why}",
		remedy: "room for pod {pod} on another node that is Ready and stays",
	},
	PodOfJob: {
		says:   "pod {pod} belongs to a Job and runs to its end",
		remedy: "pod {pod} ends; --evict-work or its annotation sluice.dev/evict-work lets it be evicted",
	},
	PodOfDaemon: {
		says:   "pod {pod} of a DaemonSet is work, by {by}",
		remedy: "{by} no longer chooses pod {pod}; --evict-work or its annotation sluice.dev/evict-work lets it be evicted",
	},
	PodBare: {
		says: "pod {pod} has no controller that would make it again",
		remedy: "pod {pod} ends or is deleted; its annotation sluice.dev/evict-work or " +
			"cluster-autoscaler.kubernetes.io/safe-to-evict=true lets it be evicted",
	},
	PodsBesides: {
		says: "and pods besides: {pods}",
		ends: "they leave",
	},
	PodsLater: {
		says: "pods that leave after these, for their priority: {pods}",
		ends: "the pods before them are gone",
	},
	PodOverdue: {
		says: "pod {pod} has not left within {limit}",
		ends: "it is gone",
	},
	PodNotSafeToEvict: {
		says:   "pod {pod} is annotated {annotation}",
		remedy: "pod {pod} ends, or its annotation is taken away; a DaemonSet's comes from its template",
	},
	PodDoNotDisrupt: {
		says:   "pod {pod} is annotated {annotation}",
		remedy: "pod {pod} ends, its annotation is taken away, or the time that it names is over",
	},
	PodLocalStorage: {
		says: "pod {pod} keeps local data in volume {volume}",
		remedy: "name volume {volume} in the pod's annotation cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes, or " +
			"--skip-nodes-with-local-storage=false",
	},
	PodOfSystem: {
		says: "pod {pod} is a system pod without a disruption budget",
		remedy: "a disruption budget that selects pod {pod}, its age beyond --blocking-system-pod-distruption-timeout, or " +
			"--skip-nodes-with-system-pods=false",
	},
	PodBudget: {
		says:   "pod {pod} is held by disruption budget {budget} (allowed disruptions {allowed})",
		remedy: "more healthy pods behind disruption budget {budget}, or a budget that allows more disruptions",
	},
	PodTwoBudgets: {
		says:   "pod {pod} is selected by several disruption budgets ({budgets}): the API server lets none of its evictions pass",
		remedy: "leave only one disruption budget that selects pod {pod}",
	},
	PodCustomOwner: {
		says: "pod {pod} belongs to {owner}, which may not make it again",
		remedy: "the pod's annotation cluster-autoscaler.kubernetes.io/safe-to-evict=true, or " +
			"--skip-nodes-with-custom-controller-pods=false",
	},
	PodControllerMissing: {
		says: "pod {pod} belongs to {owner}, which does not exist and cannot make it again",
		remedy: "pod {pod} ends or is deleted, as Kubernetes' garbage collector does with it while that works; or " +
			"--skip-nodes-with-custom-controller-pods=false",
	},
	PodFewReplicas: {
		says:   "pod {pod} belongs to {owner}, which is to have replicas {replicas} (limit {limit})",
		remedy: "{limit} replicas or more of {owner}, or a lower --min-replica-count",
	},
}
