package reason

// What becomes of a node, and why.
const (
	NodeUnmanaged      Code = "NodeUnmanaged"
	NodeStarting       Code = "NodeStarting"
	NodeAwaitsDevices  Code = "NodeAwaitsDevices"
	NodeAwaitsTaint    Code = "NodeAwaitsTaint"
	NodeTaintStays     Code = "NodeTaintStays"
	NodeNotReady       Code = "NodeNotReady"
	NodeUnrepaired     Code = "NodeUnrepaired"
	NodeNeverReady     Code = "NodeNeverReady"
	NodeShunned        Code = "NodeShunned"
	NodeWelcome        Code = "NodeWelcome"
	NodeIdle           Code = "NodeIdle"
	NodeIdleFor        Code = "NodeIdleFor"
	NodeUnderused      Code = "NodeUnderused"
	NodeBusy           Code = "NodeBusy"
	NodeInUse          Code = "NodeInUse"
	NodeCounted        Code = "NodeCounted"
	NodePodsUnseen     Code = "NodePodsUnseen"
	NodeCordoned       Code = "NodeCordoned"
	NodeDraining       Code = "NodeDraining"
	NodeDetaching      Code = "NodeDetaching"
	NodeStays          Code = "NodeStays"
	NodeHandedOver     Code = "NodeHandedOver"
	NodeAdopted        Code = "NodeAdopted"
	NodeStarted        Code = "NodeStarted"
	NodeDrained        Code = "NodeDrained"
	NodeJoined         Code = "NodeJoined"
	NodeClung          Code = "NodeClung"
	NodeLeaving        Code = "NodeLeaving"
	NodeMachineGone    Code = "NodeMachineGone"
	NodeMachineParked  Code = "NodeMachineParked"
	NodeHeldByPerson   Code = "NodeHeldByPerson"
	NodeNoticed        Code = "NodeNoticed"
	NodeNoticeUnclear  Code = "NodeNoticeUnclear"
	NodeFreedByPerson  Code = "NodeFreedByPerson"
	NodeMachineMissing Code = "NodeMachineMissing"
	NodeFinalized      Code = "NodeFinalized"
	NodeControlPlane   Code = "NodeControlPlane"
	NodeAmbiguous      Code = "NodeAmbiguous"
	NodeScaleDownOff   Code = "NodeScaleDownOff"
	NodeHeld           Code = "NodeHeld"
	NodeAskedFor       Code = "NodeAskedFor"
	NodeNotAskedFor    Code = "NodeNotAskedFor"
	NodeProtected      Code = "NodeProtected"
	NodeReceives       Code = "NodeReceives"
	NodeDelayed        Code = "NodeDelayed"
	NodeUnreadyStays   Code = "NodeUnreadyStays"
	NodeRunsDry        Code = "NodeRunsDry"
	NodeRanDry         Code = "NodeRanDry"
	NodeDismisses      Code = "NodeDismisses"
	ControlPlaneTurn   Code = "ControlPlaneTurn"
	ControlPlaneQuorum Code = "ControlPlaneQuorum"
	ControlPlaneGone   Code = "ControlPlaneGone"
	RemovalDisabled    Code = "RemovalDisabled"
	RemovalCoolsDown   Code = "RemovalCoolsDown"
	RemovalBudget      Code = "RemovalBudget"
	EmptiedInVain      Code = "EmptiedInVain"
	RemovalAbandoned   Code = "RemovalAbandoned"
	RemovalRests       Code = "RemovalRests"
	EvictionRests      Code = "EvictionRests"
	RemovalQueued      Code = "RemovalQueued"
	RemovalGathers     Code = "RemovalGathers"

	// Consolidation.
	NodeConsolidated     Code = "NodeConsolidated"
	NodeReplaces         Code = "NodeReplaces"
	GroupReplaces        Code = "GroupReplaces"
	ConsolidationPays    Code = "ConsolidationPays"
	ConsolidationTooDear Code = "ConsolidationTooDear"
	ConsolidationSpent   Code = "ConsolidationSpent"
	ConsolidationWaits   Code = "ConsolidationWaits"

	ClusterMinimum   Code = "ClusterMinimum"
	UnhealthyCluster Code = "UnhealthyCluster"
	RightMissing     Code = "RightMissing"
	NodeObjectStays  Code = "NodeObjectStays"

	// What cluster-autoscaler has begun.
	NodeOfIncumbent     Code = "NodeOfIncumbent"
	NodeLeftByIncumbent Code = "NodeLeftByIncumbent"
)

var nodes = table{
	NodeUnmanaged: {
		says:   "belongs to no node group that sluice manages",
		remedy: "name its scale set with --nodes, or tag it for --node-group-auto-discovery",
	},
	NodeStarting: {
		says:   "started {age} ago, not Ready yet",
		remedy: "the node becomes Ready, or is older than --max-node-startup-time",
	},
	NodeAwaitsDevices: {
		says:   "started {age} ago, {devices} not announced yet",
		remedy: "its device plugin announces {devices}, or the node is older than --max-node-startup-time",
	},
	NodeAwaitsTaint: {
		says:   "started {age} ago, bears taint {taint} until {who} takes it off (limit {limit})",
		remedy: "{who} takes {taint} off it, or the node is older than --max-node-startup-time",
	},
	NodeTaintStays: {says: "bears taint {taint} {age} after its start (limit {limit}), which {who} should take off"},
	NodeNotReady: {
		says:   "not Ready for {age} (limit {limit})",
		remedy: "time: it goes when it has not been Ready for {limit} (--scale-down-unready-time)",
		ends:   "it is cordoned, unless it is Ready then",
	},
	NodeUnrepaired: {
		says:   "not Ready for {age} (limit {limit}), and not deleted: a person has to repair machine {instance}",
		remedy: "repair machine {instance} (restart or reimage it), or a lower min of its group, which lets it go",
	},
	NodeNeverReady: {says: "node {node} is not Ready {age} after it joined (limit {limit})"},
	NodeShunned:    {says: "could go; the scheduler prefers other nodes meanwhile"},
	NodeWelcome:    {says: "needed again; the scheduler may use it like any other"},
	NodeIdle: {
		says:   "nothing but {pods} for {idle} (limit {limit})",
		remedy: "time: it goes when it has been idle for {limit} (--scale-down-unneeded-time)",
		ends:   "it is cordoned, unless something keeps it then",
	},
	NodeIdleFor: {
		says: "idle for {idle}",
		ends: "its machine is deleted, unless a pod needs it",
	},
	NodeUnderused: {
		says:   "requests {used} of its {resource} (threshold {threshold}) and its pods fit elsewhere, for {idle} (limit {limit})",
		remedy: "time: it goes when that has been so for {limit} (--scale-down-unneeded-time)",
		ends:   "it is cordoned, unless something keeps it then",
	},
	NodeBusy: {
		says:   "requests {used} of its {resource} (threshold {threshold})",
		remedy: "less than {threshold} of its {resource} asked for, or a higher --scale-down-utilization-threshold",
	},
	NodeInUse: {
		says:   "uses {used} of its cpu (threshold {threshold}), measured {age} ago, kept for that for {kept} (limit {limit})",
		remedy: "its measured use falls to {threshold} or below, it has stayed for {limit} (--busy-limit), or a higher --busy-threshold",
	},
	NodeCounted: {
		says:   "pending pod {pod} counts on it",
		remedy: "pod {pod} finds its place elsewhere, or is gone",
	},
	NodePodsUnseen: {
		says:   "stays until a cycle has looked at {pods} more pods that wait (limit {limit} comparisons a cycle)",
		remedy: "a cycle has looked at all pods that wait",
	},
	NodeCordoned: {
		says:   "tainted {age} ago, machine is {fate} after {delay}",
		remedy: "time: the next step follows after {delay}",
		ends:   "its machine is asked to go",
	},
	NodeDraining: {
		says:   "pods still to leave: {pods}",
		remedy: "its pods leave; sluice undrain {node} takes back what a person asked for",
	},
	NodeDetaching: {
		says:   "empty, volumes still attached: {volumes} (waited for at most {limit})",
		remedy: "its volumes are detached, or {limit} are over (--max-detach-time)",
	},
	NodeStays:      {says: "its machine stays after all"},
	NodeHandedOver: {says: "its group is managed no more, at the latest since {since}, and it is given back"},
	NodeAdopted: {
		says: "its removal was begun by {owner}, and goes on here",
		ends: "the next step of its removal",
	},
	NodeStarted: {says: "its machine was switched off, and is started again"},
	NodeDrained: {
		says: "empty{but}, machine is being {fate}",
		ends: "its machine is gone",
	},
	NodeJoined: {says: "pod {pod} has come to it since its cordon"},
	NodeClung:  {says: "empty but for pods that tolerate its taints and would come back: {pods}; machine is being {fate} with them"},
	NodeLeaving: {
		says: "machine {instance} is being {fate}",
		ends: "its machine is gone",
	},
	NodeMachineGone:   {says: "machine is gone (id {instance} is not in the complete list of {group})"},
	NodeMachineParked: {says: "machine {instance} is parked: switched off, and started again before a new one is made"},
	NodeHeldByPerson: {
		says:   "cordoned by an operator or another controller",
		remedy: "kubectl uncordon {node}; after that, sluice drain {node} drains it and deletes its machine",
	},
	NodeNoticed: {
		says:   "Azure has announced {kind} for {at}; its pods leave in time",
		remedy: "nothing: the machine stops at its time, or Azure takes the notice back",
	},
	NodeNoticeUnclear: {
		says:   "its annotation {annotation} cannot be read: nothing is done for it, and the node is kept",
		remedy: "the agent on the node writes its notice anew; or kubectl taint node {node} sluice.dev/notice-, when there is none",
	},
	NodeFreedByPerson: {says: "uncordoned by an operator or another controller"},
	NodeMachineMissing: {
		says:   "its machine is not in the list of group {group}",
		remedy: "a complete list in which its machine is again; a node that stays silent without a machine is deleted by itself",
	},
	NodeFinalized: {
		says:   "its Node object was deleted {age} ago, and waits for the finalizers {finalizers}",
		remedy: "the controllers that remove {finalizers} run again (those of K3s: in its server); sluice does not remove finalizers",
	},
	NodeControlPlane: {
		says:   "is a control-plane node",
		remedy: "--remove-control-plane-nodes: then such nodes leave one at a time, while a quorum is left",
	},
	NodeAmbiguous: {
		says:   "its machine is not certain, it could be {instances}",
		remedy: "kubectl delete node, where its machine is gone; else a provider id, name or address on the node that only one machine has",
	},
	NodeScaleDownOff: {
		says:   "annotated to stay (scale-down-disabled=true or do-not-disrupt=true)",
		remedy: "take the annotation cluster-autoscaler.kubernetes.io/scale-down-disabled or karpenter.sh/do-not-disrupt off the node",
	},
	NodeHeld: {
		says:   "held until {until}, by annotation sluice.dev/hold-until",
		remedy: "sluice release {node}, or wait until {until}",
		ends:   "the hold ends; sluice release ends it now",
	},
	NodeAskedFor: {
		says: "an operator asked at {at} for it to be drained and its machine deleted",
		ends: "its pods leave, then its machine",
	},
	NodeNotAskedFor: {says: "no operator asks any more for it to be drained"},
	NodeProtected: {
		says:   "its machine {instance} is protected in the cloud",
		remedy: "take the protection from scale-in off machine {instance}",
	},
	NodeReceives: {
		says:   "pods of nodes that leave before it find their places on it",
		remedy: "the nodes that leave before it are gone; then it is looked at anew",
	},
	NodeDelayed: {
		says:   "empty, waits for annotation {annotation} to be taken away (for {limit} at most)",
		remedy: "take the annotation {annotation} off the node, or wait until {limit} are over (--node-deletion-delay-timeout)",
	},
	NodeUnreadyStays: {
		says:   "is not Ready, and machines of such nodes are not deleted (--scale-down-unready-enabled=false)",
		remedy: "--scale-down-unready-enabled=true",
	},
	NodeRunsDry: {
		says:   "runs dry, since others could do its work: pods that still work {pods}, {wait}{costs}",
		remedy: "its work ends; --evict-work and the annotation sluice.dev/evict-work let work be evicted",
	},
	NodeRanDry: {
		says:   "nobody works on it any more; pods still to leave: {pods}",
		remedy: "its pods leave, then its machine goes; a pending pod that it could hold takes it back",
	},
	NodeDismisses: {
		says: "empty, its daemons end: {pods}",
		remedy: "time: they are waited for as long as their grace period lasts (--daemonset-eviction-for-empty-nodes, " +
			"--daemonset-eviction-for-occupied-nodes)",
	},
	ControlPlaneTurn: {
		says:   "control-plane node {other} is on its way out, they leave one at a time",
		remedy: "node {other} is gone, its object too",
	},
	ControlPlaneQuorum: {
		says:   "without it the control plane would have {left} of its {voters} voters, and needs {needs}",
		remedy: "more control-plane nodes that are Ready",
	},
	ControlPlaneGone: {
		says: "its machine is not in the list of group {group}; the Node object of a control-plane node whose machine others deleted is " +
			"left to people",
		remedy: "kubectl delete node {node}, once nothing of it votes in etcd any more, or a complete list in which its machine is again",
	},
	RemovalDisabled: {
		says:   "removal is switched off",
		remedy: "--scale-down-enabled=true",
	},
	RemovalCoolsDown: {
		says:   "no removal until {until}, {delay} after {after}",
		remedy: "time: until {until}; the delays are --scale-down-delay-after-add, -after-delete and -after-failure",
		ends:   "nodes may be cordoned again",
		turn:   true,
	},
	RemovalBudget: {
		says:   "removals in flight: {inflight} (limit {limit})",
		remedy: "removals that are under way end, or a higher --max-scale-down-parallelism or --max-drain-parallelism",
		turn:   true,
	},
	EmptiedInVain: {
		says:   "emptying a node of group {group} came to nothing at {at}; none is emptied before {until}",
		remedy: "time, or sluice drain {node}, which asks for it by hand",
		ends:   "nodes of group {group} may be drained again",
	},
	RemovalAbandoned: {says: "removal abandoned"},
	RemovalRests: {
		says:   "deleting machines of group {group} failed, next try at {until}: {message}",
		remedy: "the next try at {until}; mend what the cloud says",
		ends:   "the deletion is tried again",
	},
	EvictionRests: {
		says:   "evicting pods of node {node} failed, next try at {until}: {message}",
		remedy: "the next try at {until}; mend what the API server says",
		ends:   "the evictions are tried again",
	},
	RemovalQueued: {
		says:   "group {group} is still deleting other machines: {deleting}",
		remedy: "the deletions of group {group} that are under way end",
	},
	RemovalGathers: {
		says: "waits {wait} for other machines of group {group} that are about to leave, as they are deleted by one request at a time: " +
			"{others}",
		remedy: "{wait} pass, or the others are ready",
		ends:   "their machines are deleted together",
	},
	NodeConsolidated: {
		says: "its pods ({pods}) move, which saves {saving} USD an hour",
		ends: "its pods leave, then its machine",
	},
	NodeReplaces: {
		says:   "takes the pods of node {node}, which costs more",
		remedy: "node {node} is gone, or keeps its pods",
	},
	GroupReplaces: {
		says: "capacity {from} -> {to} (max {max}) for pods of node {node}, which saves {saving} USD an hour",
		ends: "the cloud answers",
	},
	ConsolidationPays: {
		says: "its pods ({pods}) fit {into}, which saves {saving} USD an hour, worth {worth} USD in {expected}; moving costs {cost} USD; " +
			"so for {idle} (limit {limit})",
		remedy: "time: its pods move when that has been so for {limit} (--scale-down-unneeded-time)",
		ends:   "it is cordoned, unless something keeps it then",
	},
	ConsolidationTooDear: {
		says:   "moving its pods ({pods}) would save {saving} USD an hour, worth {worth} USD in {expected}, and cost {cost} USD",
		remedy: "a larger saving, a longer --consolidation-expected-time, or a lower --consolidation-pod-cost",
	},
	ConsolidationSpent: {
		says: "emptying it would save {saving} USD an hour, but the nodes that may be emptied for a saving within a day have been (limit " +
			"{limit})",
		remedy: "time, or a higher --consolidation-per-day",
	},
	ConsolidationWaits: {
		says:   "waits for a machine of group {group} that takes its pods, which saves {saving} USD an hour",
		remedy: "a machine of group {group} is Ready",
	},
	ClusterMinimum: {
		says:   "cluster minimum of {resource} reached ({have} - {node} < {minimum})",
		remedy: "a lower minimum in --cores-total, --memory-total or --gpu-total",
	},
	UnhealthyCluster: {
		says:   "{unready} of {nodes} nodes are not Ready (tolerated: {tolerated})",
		remedy: "fewer nodes that are not Ready, or a higher --ok-total-unready-count or --max-total-unready-percentage",
	},
	RightMissing: {
		says:   "sluice may not {right}: {loss}",
		remedy: "the right to {right}, for sluice's service account, as in deploy/rbac.yaml",
	},
	NodeObjectStays: {
		says:   "its Node object stays until a cloud controller deletes it: sluice may not {right}",
		remedy: "a cloud controller manager, kubectl delete node {node}, or the right to {right}",
	},
	NodeOfIncumbent: {
		says:   "cluster-autoscaler is removing it, since {since}",
		remedy: "cluster-autoscaler ends, or kubectl taint node {node} ToBeDeletedByClusterAutoscaler-",
	},
	NodeLeftByIncumbent: {
		says:   "cluster-autoscaler began to remove it at {since}, before sluice led: it is given back",
		remedy: "time: it is given back by the cycle that sees it",
	},
}
