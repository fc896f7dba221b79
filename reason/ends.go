package reason

import "time"

// Ends says what ends a wait for this reason: when, where its facts tell a time, and what happens then, in one clause without a full stop.
// Without a time the clause is the event that is waited for. Both are zero for a reason that describes and is no wait. Now is when the
// reason was given.
func (r Reason) Ends(now time.Time) (at time.Time, what string) {
	template, waits := ends[r.Code]
	if !waits && r.Property() != "" { // it knows its time where it tells one
		return r.due(now), r.Remedy()
	}
	if !waits {
		return time.Time{}, r.Remedy()
	}
	return r.due(now), r.fill(template)
}

// due is the time that the facts tell: a time of day, or a duration of which a part is over. Zero when they tell none that is to come.
func (r Reason) due(now time.Time) time.Time {
	if at, err := time.Parse(time.RFC3339, r.Facts["until"]); err == nil && at.After(now) {
		return at
	}
	if wait, err := time.ParseDuration(r.Facts["wait"]); err == nil && wait > 0 {
		return now.Add(wait)
	}
	for _, pair := range [][2]string{{"age", "limit"}, {"idle", "limit"}, {"age", "delay"}} {
		over, err := time.ParseDuration(r.Facts[pair[0]])
		if limit, no := time.ParseDuration(r.Facts[pair[1]]); err == nil && no == nil && limit > over {
			return now.Add(limit - over)
		}
	}
	return time.Time{}
}

// ends holds what ends the wait of every reason that is one and has no remedy, or tells a time.
var ends = map[Code]string{
	PodNominated:      "the scheduler binds it",
	FitsNode:          "the scheduler binds it",
	FitsComingMachine: "a machine of group {group} becomes a Ready node",
	FitsAskedMachine:  "the cloud answers about group {group}",
	RescuesNode:       "node {node} is uncordoned",
	NeedsMachine:      "a machine of group {group} becomes a Ready node",
	NoGroupFits:       "the pod, a group or a limit is changed",
	MoreGroups:        "the pod, a group or a limit is changed",
	NotExplained:      "older stuck pods are gone",
	NoGroupRead:       "one of the groups {groups} is read",
	NoGroupGrows:      "a reason of a group below ends",
	OtherScheduler:    "scheduler {scheduler} binds it",
	NotYetScheduled:   "the scheduler judges it",
	PodNotBound:       "scheduler {scheduler} binds it, or turns it down anew",
	PodGated:          "scheduling gate {gate} is taken away",
	GateKept:          "{needs} pods of gang {gang} have their places",
	GateOpens:         "the scheduler binds it",
	GangAwaitsPods:    "{needs} pods of gang {gang} are there",
	GangYoung:         "pods of gang {gang} are {delay} old",
	GangDoesNotFit:    "all of gang {gang} fit, or a limit is changed",
	GangGivenUp:       "room for all of gang {gang}",
	GangHeld:          "machines are kept for it no longer",
	PodConsumes:       "the scheduler binds it",
	PodLater:          "a later cycle looks at it",
	PodYoung:          "it is old enough to count",
	WaitsForTurn:      "a place gets free",
	PodsKeepComing:    "group {group} is asked for machines",
	PodsComeAndPause:  "group {group} is asked for machines",
	ExpanderAsked:     "the expander's server answers, or its time is over",

	RequestComing:     "the machines are Ready nodes",
	RequestGrows:      "the machines are Ready nodes",
	RequestDoesNotFit: "there is room, or its time is over",
	RequestBooked:     "its room is kept no longer",
	BufferShort:       "the machines are Ready nodes, or a limit is changed",

	GroupGrows:         "the cloud answers",
	GroupGrowsFor:      "the cloud answers",
	GroupRaised:        "the cloud answers",
	GroupReplaces:      "the cloud answers",
	HeadroomKept:       "the cloud answers",
	GroupLate:          "these machines become Ready nodes, or are given up",
	GroupGrowing:       "its machines become Ready nodes",
	GroupShrinking:     "its machines are gone",
	GroupAsked:         "the cloud answers; without an answer for 30 s the group is read again",
	GroupUnreadable:    "the group is read again",
	GroupIncomplete:    "the group is read again",
	GroupDeleted:       "somebody makes it again",
	GroupDeletionStuck: "the cloud finishes the deletions, or a person does",
	GroupUnrepaired:    "their machines are repaired, or a lower min of the group lets them go",
	GroupAtMax:         "one of its machines leaves, or a higher max",
	GroupBackoff:       "it may grow again",
	GroupPaused:        "the pause ends; sluice resume ends it now",
	GroupLost:          "one of its lost machines goes, unless its node comes back; sluice acknowledge lets them go sooner",
	GroupBreaker:       "one of its machines becomes a Ready node",
	GroupStrays:        "fewer of its machines run without a node",
	GroupNoTemplate:    "one of its nodes is Ready, or somebody tells what its size has",
	GroupAtOnce:        "the machines that are asked for now are there",
	GroupShort:         "machines are added as limits allow",
	HeadroomShort:      "machines are added as limits allow",
	ZonePassedOver:     "zone {zone} is tried again",
	ZoneTooFar:         "the turn of zone {zone} comes",
	ClusterNodesLimit:  "a node leaves, or a higher limit",
	ClusterCoresLimit:  "a node leaves, or a higher limit",
	ClusterMemoryLimit: "a node leaves, or a higher limit",
	ClusterGPULimit:    "a node leaves, or a higher limit",
	ClusterNotReady:    "a node of the cluster is Ready",
	CeilingReached:     "a machine leaves, its hours begin anew, or a higher ceiling",
	CeilingUnpriced:    "the machine's price is given",

	NodeIdle:          "it is cordoned, unless something keeps it then",
	NodeUnderused:     "it is cordoned, unless something keeps it then",
	ConsolidationPays: "it is cordoned, unless something keeps it then",
	NodeIdleFor:       "its machine is deleted, unless a pod needs it",
	NodeNotReady:      "it is cordoned, unless it is Ready then",
	NodeCordoned:      "its machine is asked to go",
	NodeHeld:          "the hold ends; sluice release ends it now",
	NodeAskedFor:      "its pods leave, then its machine",
	NodeAdopted:       "the next step of its removal",
	NodeDrained:       "its machine is gone",
	NodeLeaving:       "its machine is gone",
	NodeConsolidated:  "its pods leave, then its machine",
	PodsLater:         "the pods before them are gone",
	PodsBesides:       "they leave",
	PodOverdue:        "it is gone",
	RemovalCoolsDown:  "nodes may be cordoned again",
	EmptiedInVain:     "nodes of group {group} may be drained again",
	RemovalGathers:    "their machines are deleted together",
	EmptiedBudget:     "it goes, as far as the budget then lasts",
	EmptiedUnknown:    "it goes, as far as the budget then lasts",
	RemovalPaced:      "it goes when enough time has passed since the others went",
	RemovalRests:      "the deletion is tried again",
	EvictionRests:     "the evictions are tried again",

	MachineLate:      "it becomes a node, or it is deleted for being none at {given-up}",
	MachineComing:    "it becomes a node, or it is deleted for being none",
	MachineLost:      "it is deleted, unless it is a node again",
	MachineInspected: "it is deleted",
}
