package reason

// What holds a group, or moves it.
const (
	GroupSteady        Code = "GroupSteady"
	GroupGrows         Code = "GroupGrows"
	GroupGrowing       Code = "GroupGrowing"
	GroupLate          Code = "GroupLate"
	GroupAsked         Code = "GroupAsked"
	GroupShrinking     Code = "GroupShrinking"
	GroupAtMax         Code = "GroupAtMax"
	GroupAtMin         Code = "GroupAtMin"
	GroupBelowMin      Code = "GroupBelowMin"
	GroupListsFewer    Code = "GroupListsFewer"
	GroupAwaits        Code = "GroupAwaits"
	GroupBackoff       Code = "GroupBackoff"
	GroupBreaker       Code = "GroupBreaker"
	GroupStrays        Code = "GroupStrays"
	GroupControlPlane  Code = "GroupControlPlane"
	GroupPaused        Code = "GroupPaused"
	GroupLost          Code = "GroupLost"
	GroupNoTemplate    Code = "GroupNoTemplate"
	TemplateDrift      Code = "TemplateDrift"
	TemplateRenewed    Code = "TemplateRenewed"
	GroupTaintStays    Code = "GroupTaintStays"
	GroupUnready       Code = "GroupUnready"
	GroupUnrepaired    Code = "GroupUnrepaired"
	GroupDeletionStuck Code = "GroupDeletionStuck"
	GroupUnreadable    Code = "GroupUnreadable"
	MachinesTaken      Code = "MachinesTaken"
	GroupIncomplete    Code = "GroupIncomplete"
	GroupContradicted  Code = "GroupContradicted"
	GroupDeleted       Code = "GroupDeleted"
	GroupForeign       Code = "GroupForeign"
	ClusterNodesLimit  Code = "ClusterNodesLimit"
	ClusterCoresLimit  Code = "ClusterCoresLimit"
	ClusterMemoryLimit Code = "ClusterMemoryLimit"
	ClusterGPULimit    Code = "ClusterGPULimit"
	ClusterNotReady    Code = "ClusterNotReady"
)

var groups = table{
	GroupSteady: {says: "nodes {nodes}, capacity {capacity} (min {min}, max {max})"},
	GroupGrows: {
		says: "capacity {from} -> {to} (max {max}) for pending pods: {pods}",
		ends: "the cloud answers",
	},
	GroupGrowing: {
		says: "machines on their way: {coming}",
		ends: "its machines become Ready nodes",
	},
	GroupLate: {
		says: "machines that are late: {machines}, others took {longest} at most; pods ask other groups first",
		ends: "these machines become Ready nodes, or are given up",
	},
	GroupAsked: {
		says:   "was asked for a capacity of {capacity}, and the cloud has not answered yet; nothing else is asked about it until it does",
		remedy: "the cloud's answer about group {group}; it is given up after 30 s, and what the group is then is read",
		ends:   "the cloud answers; without an answer for 30 s the group is read again",
	},
	GroupShrinking: {
		says: "machines on their way out: {leaving}",
		ends: "its machines are gone",
	},
	GroupAtMax: {
		says: "max node group size reached (capacity {capacity}, max {max})",
		ends: "one of its machines leaves, or a higher max",
	},
	GroupAtMin: {
		says:   "min node group size reached (capacity {capacity}, min {min})",
		remedy: "a lower min of group {group}",
	},
	GroupBelowMin: {
		says:   "capacity {capacity} is below min {min}; no machine is deleted",
		remedy: "a lower min of group {group}, or --enforce-node-group-min-size to raise it to its min",
	},
	GroupListsFewer: {
		says:   "lists {machines} machines of its capacity {capacity}, and keeps its min {min} of those",
		remedy: "the machines that group {group} lacks appear in its list, or a lower min",
	},
	GroupAwaits: {
		says:   "keeps its min {min} of the {machines} machines that it has; on their way, and not counted on: {coming}",
		remedy: "the machines run that group {group} awaits, or a lower min",
	},
	GroupBackoff: {
		says: "in backoff until {until} after {code}: {message}",
		ends: "it may grow again",
	},
	GroupBreaker: {
		says: "the last {machines} machines or more have not become Ready nodes: it gets one at a time until one does",
		ends: "one of its machines becomes a Ready node",
	},
	GroupStrays: {
		says: "machines that have run for {limit} or more and are no nodes: {machines}; it gets no more of them until fewer do",
		ends: "fewer of its machines run without a node",
	},
	GroupControlPlane: {
		says: "{role}, and neither grows nor shrinks: it should not be managed",
		remedy: "take the group's tags or its --nodes away, or give workers another identity than sluice's; with " +
			"--remove-control-plane-nodes it is managed as any other",
	},
	GroupPaused: {
		says:   "paused until {until}",
		remedy: "sluice resume {group}, or wait until {until}",
		ends:   "the pause ends; sluice resume ends it now",
	},
	GroupLost: {
		says:   "nodes lost (Node object or heartbeat gone): {machines}; their machines stay (S-43), the first until {until}",
		remedy: "the kubelets report again; or, when nothing there is needed any more, sluice acknowledge {group}",
		ends:   "one of its lost machines goes, unless its node comes back; sluice acknowledge lets them go sooner",
	},
	GroupNoTemplate: {
		says: "size {size} is unknown and the group has no Ready node to learn from; {remedy}",
		ends: "one of its nodes is Ready, or somebody tells what its size has",
	},
	TemplateDrift: {
		says: "its nodes are not what the cloud describes: {differences}; the nodes are believed, correct the description or its tags",
	},
	TemplateRenewed: {says: "described anew since {since}: {what}; that is believed until a machine made since is a Ready node"},
	GroupTaintStays: {
		says: "its last node kept taint {taint} beyond {limit}, which {who} should take off; it grows for pods that tolerate it only",
	},
	GroupUnready: {says: "none of its nodes is Ready ({nodes}); it grows only for pods that no other group can hold"},
	GroupUnrepaired: {
		says: "nodes not Ready that its min keeps: {nodes} (min {min}); a person has to repair their machines",
		ends: "their machines are repaired, or a lower min of the group lets them go",
	},
	GroupDeletionStuck: {
		says: "machines that the cloud does not finish deleting: {machines}, since {since} (limit {limit}); others wait for them, and a " +
			"person has to look at them in Azure",
		ends: "the cloud finishes the deletions, or a person does",
	},
	GroupUnreadable: {
		says:   "cannot be managed: {message}{next}",
		remedy: "mend what the read of group {group} says",
		ends:   "the group is read again",
	},
	MachinesTaken: {
		says: "machines that went since {since} and that sluice did not ask to go: {machines}; another controller, a person or the cloud " +
			"did it",
	},
	GroupIncomplete: {
		says:   "its last read was incomplete; no write until a complete one{next}",
		remedy: "a complete read of group {group}; the next one is tried by itself",
		ends:   "the group is read again",
	},
	GroupContradicted: {
		says:   "node {node} is Ready, but the list lacks its machine; no write until both agree",
		remedy: "a list of group {group} that has the machine of node {node}; or, when it is gone, a kubelet that reports no more",
	},
	GroupDeleted: {
		says: "was deleted at {since} at the latest, not by sluice; the Node objects of its machines go when their kubelets are silent",
		ends: "somebody makes it again",
	},
	GroupForeign: {
		says: "{machines} machines never were nodes of this cluster, and sluice did not request them; they stay",
		remedy: "one of the machines joins this cluster; --cluster-id={cluster}, the UID of namespace kube-system, which says that the " +
			"groups are this cluster's; or the kubeconfig and cloud configuration of one and the same cluster",
	},
	ClusterNodesLimit: {
		says: "max total nodes in cluster reached ({nodes} of {limit})",
		ends: "a node leaves, or a higher limit",
	},
	ClusterCoresLimit: {
		says: "max total cores in cluster reached ({cores} of {limit})",
		ends: "a node leaves, or a higher limit",
	},
	ClusterMemoryLimit: {
		says: "max total memory in cluster reached ({memory} GiB of {limit})",
		ends: "a node leaves, or a higher limit",
	},
	ClusterGPULimit: {
		says: "max total GPUs of kind {kind} in cluster reached ({gpus} of {limit})",
		ends: "a node leaves, or a higher limit",
	},
	ClusterNotReady: {
		says: "no node of the cluster is Ready, and --scale-up-from-zero=false",
		ends: "a node of the cluster is Ready",
	},
}
