package reason

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

var pods = table{
	FitsNode: {
		says: "fits node {node}, waits for the scheduler",
		ends: "the scheduler binds it",
	},
	PodNominated: {
		says: "the scheduler makes room for it on node {node}",
		ends: "the scheduler binds it",
	},
	FitsComingMachine: {
		says: "waits for a machine of group {group} that is already coming",
		ends: "a machine of group {group} becomes a Ready node",
	},
	FitsAskedMachine: {
		says: "waits for a machine of group {group}, about which the cloud has not answered yet",
		ends: "the cloud answers about group {group}",
	},
	RescuesNode: {
		says: "takes back cordoned node {node}",
		ends: "node {node} is uncordoned",
	},
	NeedsMachine: {
		says: "group {group} grows for it",
		ends: "a machine of group {group} becomes a Ready node",
	},
	NoGroupFits: {
		says: "no node group can hold it",
		ends: "the pod, a group or a limit is changed",
	},
	MoreGroups: {
		says: "{groups} more groups are no nearer to holding it",
		ends: "the pod, a group or a limit is changed",
	},
	NotExplained: {
		says: "no group adds a machine for it; the causes are worked out for the {limit} oldest kinds of stuck pods",
		ends: "older stuck pods are gone",
	},
	NoGroupGrows: {
		says: "no node group that could hold it may grow",
		ends: "a reason of a group below ends",
	},
	NoGroupRead: {
		says: "no node group that could be read can hold it, and nothing is known of {groups}: the reason follows, and sluice doctor " +
			"asks anew",
		ends: "one of the groups {groups} is read",
	},
	NoGroupFound: {
		says: "no node group is found: give a scale set the tags cluster-autoscaler-enabled=true, min and max, or those that " +
			"--node-group-auto-discovery names; or name it with --nodes",
	},
	CouldHold:   {says: "could hold it if {change}"},
	NoSizeHolds: {says: "no size that {where} offers the group could hold it"},
	OtherScheduler: {
		says: "belongs to scheduler {scheduler}",
		ends: "scheduler {scheduler} binds it",
	},
	NotYetScheduled: {
		says: "the scheduler has not judged it yet",
		ends: "the scheduler judges it",
	},
	PodNotBound: {
		says: "scheduler {scheduler} has not bound it for {age} to a node that it fits (limit {limit}): it holds no node until {until}",
		ends: "scheduler {scheduler} binds it, or turns it down anew",
	},
	PodGated: {
		says: "held by scheduling gate {gate}",
		ends: "scheduling gate {gate} is taken away",
	},
	GateKept: {
		says: "has room on node {node}; its gate opens when {needs} pods of gang {gang} have theirs, now {there}",
		ends: "{needs} pods of gang {gang} have their places",
	},
	GateOpens: {
		says: "has room on node {node}: its gate opens",
		ends: "the scheduler binds it",
	},
	GangAwaitsPods: {
		says: "gang {gang} needs {needs} pods, {there} are there",
		ends: "{needs} pods of gang {gang} are there",
	},
	GangYoung: {
		says: "gang {gang} needs {needs} pods, {there} are there, of which {young} are no reason to grow before they are {delay} old",
		ends: "pods of gang {gang} are {delay} old",
	},
	GangDoesNotFit: {
		says: "gang {gang} needs {needs} pods, {fit} fit; nothing is bought for it",
		ends: "all of gang {gang} fit, or a limit is changed",
	},
	GangGivenUp: {
		says: "machines are kept for it no longer, since {until}",
		ends: "room for all of gang {gang}",
	},
	GangHeld: {
		says: "machines are kept for it until {until}",
		ends: "machines are kept for it no longer",
	},
	GangUnclear: {says: "how many pods gang {gang} needs is not known: {why}"},
}
