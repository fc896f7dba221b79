package reason

// Why a pod cannot run on a node, or on a node that a group would add (package scheduling).
const (
	InsufficientResource Code = "InsufficientResource"
	TooManyPods          Code = "TooManyPods"
	UntoleratedTaint     Code = "UntoleratedTaint"
	SelectorMismatch     Code = "SelectorMismatch"
	NodeNameMismatch     Code = "NodeNameMismatch"
	NodeUnschedulable    Code = "NodeUnschedulable"
	HostPortTaken        Code = "HostPortTaken"
	PodAffinity          Code = "PodAffinity"
	PodAntiAffinity      Code = "PodAntiAffinity"
	TopologySpread       Code = "TopologySpread"
	SchedulerRefused     Code = "SchedulerRefused"
)

// What becomes of a pending pod, and why.
const (
	FitsNode          Code = "FitsNode"
	PodNominated      Code = "PodNominated"
	FitsComingMachine Code = "FitsComingMachine"
	FitsAskedMachine  Code = "FitsAskedMachine"
	RescuesNode       Code = "RescuesNode"
	NeedsMachine      Code = "NeedsMachine"
	NoGroupFits       Code = "NoGroupFits"
	MoreGroups        Code = "MoreGroups"
	NotExplained      Code = "NotExplained"
	NoGroupGrows      Code = "NoGroupGrows"
	NoGroupRead       Code = "NoGroupRead"
	NoGroupFound      Code = "NoGroupFound"
	CouldHold         Code = "CouldHold"
	NoSizeHolds       Code = "NoSizeHolds"
	OtherScheduler    Code = "OtherScheduler"
	NotYetScheduled   Code = "NotYetScheduled"
	PodNotBound       Code = "PodNotBound"
	PodGated          Code = "PodGated"
	GateKept          Code = "GateKept"
	GateOpens         Code = "GateOpens"
	GangAwaitsPods    Code = "GangAwaitsPods"
	GangYoung         Code = "GangYoung"
	GangDoesNotFit    Code = "GangDoesNotFit"
	GangGivenUp       Code = "GangGivenUp"
	GangHeld          Code = "GangHeld"
	GangUnclear       Code = "GangUnclear"
)

// What becomes of a ProvisioningRequest or CapacityBuffer, and of pods and nodes for their sake.
const (
	RequestForeign      Code = "RequestForeign"
	RequestNoTemplate   Code = "RequestNoTemplate"
	RequestTooLarge     Code = "RequestTooLarge"
	RequestFound        Code = "RequestFound"
	RequestComing       Code = "RequestComing"
	RequestGrows        Code = "RequestGrows"
	RequestDoesNotFit   Code = "RequestDoesNotFit"
	RequestOutdated     Code = "RequestOutdated"
	RequestBooked       Code = "RequestBooked"
	RequestUsedUp       Code = "RequestUsedUp"
	RequestBookingEnded Code = "RequestBookingEnded"
	RequestOver         Code = "RequestOver"
	BufferForeign       Code = "BufferForeign"
	BufferUnclear       Code = "BufferUnclear"
	BufferTranslated    Code = "BufferTranslated"
	BufferEmpty         Code = "BufferEmpty"
	BufferKept          Code = "BufferKept"
	BufferShort         Code = "BufferShort"
	PodConsumes         Code = "PodConsumes"
	NodeBooked          Code = "NodeBooked"
	NodeBuffer          Code = "NodeBuffer"
	GroupGrowsFor       Code = "GroupGrowsFor"
)

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

// What the operator's settings have to do with it.
const (
	ExpanderAsked    Code = "ExpanderAsked"
	ExpanderDropped  Code = "ExpanderDropped"
	ExpanderFailed   Code = "ExpanderFailed"
	GroupUnranked    Code = "GroupUnranked"
	ExpanderChose    Code = "ExpanderChose"
	PriceAssumed     Code = "PriceAssumed"
	Weighed          Code = "Weighed"
	Outweighed       Code = "Outweighed"
	CeilingReached   Code = "CeilingReached"
	CeilingUnpriced  Code = "CeilingUnpriced"
	GroupAtOnce      Code = "GroupAtOnce"
	ZoneTakesTurns   Code = "ZoneTakesTurns"
	ZoneTooFar       Code = "ZoneTooFar"
	ZonePassedOver   Code = "ZonePassedOver"
	GroupRaised      Code = "GroupRaised"
	GroupShort       Code = "GroupShort"
	HeadroomKept     Code = "HeadroomKept"
	HeadroomShort    Code = "HeadroomShort"
	NodeHeadroom     Code = "NodeHeadroom"
	PodYoung         Code = "PodYoung"
	PodLater         Code = "PodLater"
	PodsKeepComing   Code = "PodsKeepComing"
	PodsComeAndPause Code = "PodsComeAndPause"
	PodExpendable    Code = "PodExpendable"
	WaitsForTurn     Code = "WaitsForTurn"
)

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
	RemovalHeld        Code = "RemovalHeld"
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

// Machines without a node.
const (
	MachineComing      Code = "MachineComing"
	MachineLate        Code = "MachineLate"
	MachineNeverJoined Code = "MachineNeverJoined"
	MachineLost        Code = "MachineLost"
	MachineFailed      Code = "MachineFailed"
	MachineAmbiguous   Code = "MachineAmbiguous"
	MachineNameTaken   Code = "MachineNameTaken"
	MachineNameHeld    Code = "MachineNameHeld"
	MachineCarriesPods Code = "MachineCarriesPods"
	MachineStopped     Code = "MachineStopped"
	MachineProtected   Code = "MachineProtected"
	MachineInspected   Code = "MachineInspected"
)

// What became of a write.
const (
	WriteRefused Code = "WriteRefused"
	WriteFailed  Code = "WriteFailed"
)

// sentences holds the words of every code. Names in braces are facts.
var sentences = map[Code]string{
	InsufficientResource: "Insufficient {resource} (needs {needs}, free {free})",
	TooManyPods:          "Too many pods (limit {limit})",
	UntoleratedTaint:     "untolerated taint {taint}",
	SelectorMismatch:     "does not match the pod's node selector or affinity",
	NodeNameMismatch:     "the pod names another node, {wants}",
	NodeUnschedulable:    "node is unschedulable",
	HostPortTaken:        "host port {ports} is taken",
	PodAffinity:          "does not match the pod's affinity rules",
	PodAntiAffinity:      "pod anti-affinity forbids it",
	TopologySpread:       "topology spread over {key} forbids it",
	SchedulerRefused:     "{plugin}: {message}",

	PodNominated:      "the scheduler makes room for it on node {node}",
	FitsNode:          "fits node {node}, waits for the scheduler",
	FitsComingMachine: "waits for a machine of group {group} that is already coming",
	FitsAskedMachine:  "waits for a machine of group {group}, about which the cloud has not answered yet",
	RescuesNode:       "takes back cordoned node {node}",
	NeedsMachine:      "group {group} grows for it",
	NoGroupFits:       "no node group can hold it",
	MoreGroups:        "{groups} more groups are no nearer to holding it",
	NotExplained:      "the causes are not worked out: only those of the {limit} oldest kinds of stuck pods are",
	NoGroupRead:       "no node group that could be read can hold it, and nothing is known of {groups}: the reason follows, and sluice doctor asks anew",
	NoGroupFound:      "no node group is found: give a scale set the tags cluster-autoscaler-enabled=true, min and max, or those that --node-group-auto-discovery names; or name it with --nodes",
	NoGroupGrows:      "no node group that could hold it may grow",
	CouldHold:         "could hold it if {change}",
	NoSizeHolds:       "no size that {where} offers the group could hold it",
	OtherScheduler:    "belongs to scheduler {scheduler}",
	NotYetScheduled:   "the scheduler has not judged it yet",
	PodNotBound:       "scheduler {scheduler} has not bound it for {age} to a node that it fits (limit {limit}): it holds no node until {until}",
	PodGated:          "held by scheduling gate {gate}",
	GateKept:          "has room on node {node}; its gate opens when {needs} pods of gang {gang} have theirs, now {there}",
	GateOpens:         "has room on node {node}: its gate opens",
	GangAwaitsPods:    "gang {gang} needs {needs} pods, {there} are there",
	GangYoung:         "gang {gang} needs {needs} pods, {there} are there, of which {young} are no reason to grow before they are {delay} old",
	GangDoesNotFit:    "gang {gang} needs {needs} pods, {fit} fit; nothing is bought for it",
	GangGivenUp:       "machines are kept for it no longer, since {until}",
	GangHeld:          "machines are kept for it until {until}",
	GangUnclear:       "how many pods gang {gang} needs is not known: {why}",

	RequestForeign:      "is of class {class}, which is not sluice's to answer",
	RequestNoTemplate:   "there is no PodTemplate {template} in its namespace; create it",
	RequestTooLarge:     "asks for {pods} pods, and the most that is answered is {most}; divide it",
	RequestFound:        "room for all its {pods} pods is there",
	RequestComing:       "machines are on their way: {ready} of its {pods} pods have room that is ready",
	RequestGrows:        "groups grow for {grows} of its {pods} pods",
	RequestDoesNotFit:   "there is room for {fit} of its {pods} pods; {verdict}",
	RequestOutdated:     "found no room within {limit}",
	RequestBooked:       "room for {left} of its {pods} pods is kept until {until}",
	RequestUsedUp:       "its {pods} pods have come",
	RequestBookingEnded: "room was kept for {hold}, that is over",
	RequestOver:         "is over: {condition} ({why})",
	BufferForeign:       "has the strategy {strategy}, which sluice does not have",
	BufferUnclear:       "{why}",
	BufferTranslated:    "is for {pods} pods",
	BufferEmpty:         "is for no pods",
	BufferKept:          "room for {pods} pods is kept free",
	BufferShort:         "room for {free} of {pods} pods is free, for {coming} it is on its way",
	PodConsumes:         "takes its room from provisioning request {request} and is no reason to grow",
	NodeBooked:          "kept for the pods of provisioning request {request}",
	NodeBuffer:          "kept free for pods to come (capacity buffer {buffer})",
	GroupGrowsFor:       "capacity {from} -> {to} (max {max}) for {whom}",

	GroupSteady:        "nodes {nodes}, capacity {capacity} (min {min}, max {max})",
	GroupGrows:         "capacity {from} -> {to} (max {max}) for pending pods: {pods}",
	GroupLate:          "machines that are late: {machines}, others took {longest} at most; pods ask other groups first",
	GroupGrowing:       "machines on their way: {coming}",
	GroupAsked:         "was asked for a capacity of {capacity}, and the cloud has not answered yet; nothing else is asked about it until it does",
	GroupShrinking:     "machines on their way out: {leaving}",
	GroupAtMax:         "max node group size reached (capacity {capacity}, max {max})",
	GroupAtMin:         "min node group size reached (capacity {capacity}, min {min})",
	GroupBelowMin:      "capacity {capacity} is below min {min}; no machine is deleted",
	GroupListsFewer:    "lists {machines} machines of its capacity {capacity}, and keeps its min {min} of those",
	GroupAwaits:        "keeps its min {min} of the {machines} machines that it has; on their way, and not counted on: {coming}",
	GroupBreaker:       "the last {machines} machines or more have not become Ready nodes: it gets one at a time until one does",
	GroupBackoff:       "in backoff until {until} after {code}: {message}",
	GroupControlPlane:  "{role}, and neither grows nor shrinks: it should not be managed",
	GroupStrays:        "machines that have run for {limit} or more and are no nodes: {machines}; it gets no more of them until fewer do",
	GroupPaused:        "paused until {until}",
	GroupLost:          "lost nodes: their machines {machines} stay for now (S-43), the next until {until}",
	GroupNoTemplate:    "size {size} is unknown and the group has no Ready node to learn from; {remedy}",
	TemplateDrift:      "its nodes are not what the cloud describes: {differences}; the nodes are believed, correct the description or its tags",
	TemplateRenewed:    "described anew since {since}: {what}; that is believed until a machine made since is a Ready node",
	GroupTaintStays:    "its last node kept taint {taint} beyond {limit}, which {who} should take off; it grows for pods that tolerate it only",
	GroupUnready:       "none of its nodes is Ready ({nodes}); it grows only for pods that no other group can hold",
	GroupDeletionStuck: "machines that the cloud does not finish deleting: {machines}, since {since} (limit {limit}); others wait for them, and a person has to look at them in Azure",
	GroupUnrepaired:    "nodes not Ready that its min keeps: {nodes} (min {min}); a person has to repair their machines",
	GroupUnreadable:    "cannot be managed: {message}{next}",
	GroupDeleted:       "was deleted at {since} at the latest, not by sluice; the Node objects of its machines go when their kubelets are silent",
	GroupContradicted:  "the kubelet of node {node} reports, and the list lacks its machine, which nobody saw leave; no write until a list has it or the node falls silent",
	GroupForeign:       "machines that were never nodes of this cluster and were not asked for by sluice: {machines}; they may be another cluster's, and are left alone",
	MachinesTaken:      "machines that went since {since} and that sluice did not ask to go: {machines}; another controller, a person or the cloud did it",
	GroupIncomplete:    "its last read was incomplete; no write until a complete one{next}",
	ClusterNodesLimit:  "max total nodes in cluster reached ({nodes} of {limit})",
	ClusterCoresLimit:  "max total cores in cluster reached ({cores} of {limit})",
	ClusterMemoryLimit: "max total memory in cluster reached ({memory} GiB of {limit})",
	ClusterGPULimit:    "max total GPUs of kind {kind} in cluster reached ({gpus} of {limit})",
	ClusterNotReady:    "no node of the cluster is Ready, and --scale-up-from-zero=false",

	ExpanderAsked:    "waits for the expander's server to say which group grows",
	ExpanderDropped:  "passed over by expander {expander}{score}",
	ExpanderChose:    "chosen of {options} groups: {steps}",
	PriceAssumed:     "its price is not known: {price} USD an hour is assumed, what machines of {group} cost that have as much",
	Weighed:          "{machines} for {cost}; {against}",
	Outweighed:       "outweighed by group {group}, which grows by {machines} for {cost}; it would grow by {instead}",
	ExpanderFailed:   "expander {expander} keeps every group: {message}",
	GroupUnranked:    "no priority of the ConfigMap {configmap} matches its name: groups that one matches grow in its place",
	CeilingReached:   "ceiling {ceiling} reached ({used} of {limit})",
	CeilingUnpriced:  "ceiling {ceiling} cannot be kept, since a machine's price is unknown; give prices with --prices-file",
	GroupAtOnce:      "max nodes per scale-up reached ({machines} of {limit})",
	ZoneTakesTurns:   "machines of group {group} that come up for nobody before the turn of zone {zone}: {machines}",
	ZoneTooFar:       "{machines} machines would come up for nobody before the turn of zone {zone} comes, and it may add {limit} such; give it that zone alone, or make a group that has",
	ZonePassedOver:   "zone {zone} is passed over until {until}, since {why}",
	GroupRaised:      "capacity {from} -> {to} to reach min {min}",
	GroupShort:       "lacks machines to reach min {min}: {lacks}",
	HeadroomKept:     "capacity {from} -> {to} to keep headroom {headroom} free",
	HeadroomShort:    "headroom {headroom} is not kept, free are {free}",
	NodeHeadroom:     "kept free for pods to come (headroom {headroom}, free {free})",
	PodsKeepComing:   "more pods keep coming: group {group}, asked for machines {asked} ago, is asked again in {wait} if no more come, in {most} at the latest",
	PodsComeAndPause: "pods come and pause, so more may come: group {group}, asked for machines {asked} ago, is asked again in {wait}",
	PodLater:         "waits for a later cycle with {pods} other pods: this one has made its {limit} comparisons",
	PodYoung:         "is {age} old and no reason to grow before {delay}",
	WaitsForTurn:     "waits its turn: the {pods} pods of its owner, {minutes} core-minutes of work, end within {target} on places that get free and {slots} more",
	PodExpendable:    "priority {priority} is below the cutoff {cutoff}: nothing grows for it",

	NodeUnmanaged:        "belongs to no node group that sluice manages",
	NodeStarting:         "started {age} ago, not Ready yet",
	NodeAwaitsDevices:    "started {age} ago, {devices} not announced yet",
	NodeAwaitsTaint:      "started {age} ago, bears taint {taint} until {who} takes it off (limit {limit})",
	NodeTaintStays:       "bears taint {taint} {age} after its start (limit {limit}), which {who} should take off",
	NodeNotReady:         "not Ready for {age} (limit {limit})",
	NodeUnrepaired:       "not Ready for {age} (limit {limit}), and not deleted: a person has to repair machine {instance}",
	NodeNeverReady:       "node {node} is not Ready {age} after it joined (limit {limit})",
	NodeShunned:          "could go; the scheduler prefers other nodes meanwhile",
	NodeWelcome:          "needed again; the scheduler may use it like any other",
	NodeIdle:             "nothing but {pods} for {idle} (limit {limit})",
	NodeIdleFor:          "idle for {idle}",
	NodeUnderused:        "requests {used} of its {resource} (threshold {threshold}) and its pods fit elsewhere, for {idle} (limit {limit})",
	NodeBusy:             "requests {used} of its {resource} (threshold {threshold})",
	NodeInUse:            "uses {used} of its cpu (threshold {threshold}), measured {age} ago, kept for that for {kept} (limit {limit})",
	NodePodsUnseen:       "stays until a cycle has looked at {pods} more pods that wait (limit {limit} comparisons a cycle)",
	NodeCounted:          "pending pod {pod} counts on it",
	NodeCordoned:         "tainted {age} ago, machine is {fate} after {delay}",
	NodeDraining:         "pods still to leave: {pods}",
	NodeDetaching:        "empty, volumes still attached: {volumes} (waited for at most {limit})",
	NodeStays:            "its machine stays after all",
	NodeHandedOver:       "its group is managed no more, at the latest since {since}, and it is given back",
	NodeAdopted:          "its removal was begun by {owner}, and goes on here",
	NodeStarted:          "its machine was switched off, and is started again",
	NodeDrained:          "empty{but}, machine is being {fate}",
	NodeJoined:           "pod {pod} has come to it since its cordon",
	NodeClung:            "empty but for pods that tolerate its taints and would come back: {pods}; machine is being {fate} with them",
	NodeLeaving:          "machine {instance} is being {fate}",
	NodeMachineGone:      "machine is gone (id {instance} is not in the complete list of {group})",
	NodeMachineParked:    "machine {instance} is parked: switched off, and started again before a new one is made",
	NodeFreedByPerson:    "uncordoned by somebody else",
	NodeFinalized:        "its Node object was deleted {age} ago, and waits for the finalizers {finalizers}",
	NodeMachineMissing:   "its machine is not in the list of group {group}",
	NodeHeldByPerson:     "cordoned by somebody else",
	NodeNoticeUnclear:    "its annotation {annotation} cannot be read: nothing is done for it, and the node is kept",
	NodeNoticed:          "Azure has announced {kind} for {at}; its pods leave in time",
	NodeControlPlane:     "is a control-plane node",
	NodeAmbiguous:        "its machine is not certain, it could be {instances}",
	NodeScaleDownOff:     "annotated to stay (scale-down-disabled=true or do-not-disrupt=true)",
	NodeHeld:             "held until {until}, by annotation sluice.dev/hold-until",
	NodeAskedFor:         "an operator asked at {at} for it to be drained and its machine deleted",
	NodeNotAskedFor:      "no operator asks any more for it to be drained",
	NodeProtected:        "its machine {instance} is protected in the cloud",
	NodeDelayed:          "empty, waits for annotation {annotation} to be taken away (for {limit} at most)",
	NodeUnreadyStays:     "is not Ready, and machines of such nodes are not deleted (--scale-down-unready-enabled=false)",
	NodeRunsDry:          "runs dry, since others could do its work: pods that still work {pods}, {wait}{costs}",
	NodeRanDry:           "nobody works on it any more; pods still to leave: {pods}",
	ControlPlaneTurn:     "control-plane node {other} is on its way out, they leave one at a time",
	ControlPlaneQuorum:   "without it the control plane would have {left} of its {voters} voters, and needs {needs}",
	ControlPlaneGone:     "its machine is not in the list of group {group}; the Node object of a control-plane node whose machine others deleted is left to people",
	NodeDismisses:        "empty, its daemons end: {pods}",
	PodsBesides:          "and pods besides: {pods}",
	NodeReceives:         "pods of nodes that leave before it find their places on it",
	RemovalDisabled:      "removal is switched off",
	RemovalCoolsDown:     "no removal until {until}, {delay} after {after}",
	EmptiedInVain:        "emptying a node of group {group} came to nothing at {at}; none is emptied before {until}",
	RemovalBudget:        "removals in flight: {inflight} (limit {limit})",
	RemovalQueued:        "group {group} is still deleting other machines: {deleting}",
	NodeConsolidated:     "its pods ({pods}) move, which saves {saving} USD an hour",
	NodeReplaces:         "takes the pods of node {node}, which costs more",
	GroupReplaces:        "capacity {from} -> {to} (max {max}) for pods of node {node}, which saves {saving} USD an hour",
	ConsolidationPays:    "its pods ({pods}) fit {into}, which saves {saving} USD an hour, worth {worth} USD in {expected}; moving costs {cost} USD; so for {idle} (limit {limit})",
	ConsolidationTooDear: "moving its pods ({pods}) would save {saving} USD an hour, worth {worth} USD in {expected}, and cost {cost} USD",
	ConsolidationSpent:   "emptying it would save {saving} USD an hour, but the nodes that may be emptied for a saving within a day have been (limit {limit})",
	ConsolidationWaits:   "waits for a machine of group {group} that takes its pods, which saves {saving} USD an hour",
	RemovalGathers:       "waits {wait} for other machines of group {group} that are about to leave, as they are deleted by one request at a time: {others}",
	RemovalHeld:          "stays for now by {property} of the safety contract: {why}",
	EvictionRests:        "evicting pods of node {node} failed, next try at {until}: {message}",
	RemovalRests:         "deleting machines of group {group} failed, next try at {until}: {message}",
	RemovalAbandoned:     "removal abandoned",
	ClusterMinimum:       "cluster minimum of {resource} reached ({have} - {node} < {minimum})",
	UnhealthyCluster:     "{unready} of {nodes} nodes are not Ready (tolerated: {tolerated})",
	RightMissing:         "sluice may not {right}: {loss}",
	NodeOfIncumbent:      "cluster-autoscaler is removing it, since {since}",
	NodeLeftByIncumbent:  "cluster-autoscaler began to remove it at {since}, before sluice led: it is given back",
	NodeObjectStays:      "its Node object stays until a cloud controller deletes it: sluice may not {right}",

	PodOverdue:        "pod {pod} has not left within {limit}",
	PodsLater:         "pods that leave after these, for their priority: {pods}",
	PodNowhereToGo:    "pod {pod} has nowhere to go: {why}",
	PodOfJob:          "pod {pod} belongs to a Job and runs to its end",
	PodOfDaemon:       "pod {pod} of a DaemonSet is work, by {by}",
	PodBare:           "pod {pod} has no controller that would make it again",
	PodNotSafeToEvict: "pod {pod} is annotated {annotation}",
	PodDoNotDisrupt:   "pod {pod} is annotated {annotation}",
	PodLocalStorage:   "pod {pod} keeps local data in volume {volume}",
	PodOfSystem:       "pod {pod} is a system pod without a disruption budget",
	PodTwoBudgets:     "pod {pod} is selected by several disruption budgets ({budgets}): the API server lets none of its evictions pass",
	PodBudget:         "pod {pod} is held by disruption budget {budget} (allowed disruptions {allowed})",
	PodCustomOwner:    "pod {pod} belongs to {owner}, which may not make it again",

	PodControllerMissing: "pod {pod} belongs to {owner}, which does not exist and cannot make it again",
	PodFewReplicas:       "pod {pod} belongs to {owner}, which is to have replicas {replicas} (limit {limit})",

	MachineLate:        "no node after {age} (limit {limit}): others took {longest} at most; pods ask other groups, and it is given up at {given-up}",
	MachineComing:      "no node yet, its machine was created {age} ago",
	MachineNeverJoined: "has no node after {age} (limit {limit})",
	MachineLost:        "was a node, whose object was deleted {age} ago: goes unless it comes back (limit {limit})",
	MachineFailed:      "failed to start: {code}: {message}",
	MachineCarriesPods: "has no node, but pod {pod} is bound to its name",
	MachineNameTaken:   "waits until the Node object {node} of an earlier machine of its name is deleted",
	MachineNameHeld:    "waits until the deleted Node object {node} of its name is gone, which waits for the finalizers {finalizers}",
	MachineAmbiguous:   "could be the machine of node {node}",
	MachineInspected:   "kept until {until}, so that somebody can find out why",
	MachineStopped:     "is stopped and counts as no capacity",
	MachineProtected:   "is protected in the cloud and stays",

	WriteRefused: "refused by {property}: {why}",
	WriteFailed:  "{action}: {message}",
}
