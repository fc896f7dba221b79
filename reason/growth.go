package reason

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

var growth = table{
	ExpanderAsked: {
		says: "waits for the expander's server to say which group grows",
		ends: "the expander's server answers, or its time is over",
	},
	ExpanderDropped: {says: "passed over by expander {expander}{score}"},
	ExpanderFailed:  {says: "expander {expander} keeps every group: {message}"},
	GroupUnranked:   {says: "no priority of the ConfigMap {configmap} matches its name: groups that one matches grow in its place"},
	ExpanderChose:   {says: "chosen of {options} groups: {steps}"},
	PriceAssumed:    {says: "its price is not known: {price} USD an hour is assumed, what machines of {group} cost that have as much"},
	Weighed:         {says: "{machines} for {cost}; {against}"},
	Outweighed:      {says: "outweighed by group {group}, which grows by {machines} for {cost}; it would grow by {instead}"},
	CeilingReached: {
		says: "ceiling {ceiling} reached ({used} of {limit})",
		ends: "a machine leaves, its hours begin anew, or a higher ceiling",
	},
	CeilingUnpriced: {
		says: "ceiling {ceiling} cannot be kept, since a machine's price is unknown; give prices with --prices-file",
		ends: "the machine's price is given",
	},
	GroupAtOnce: {
		says: "max nodes per scale-up reached ({machines} of {limit})",
		ends: "the machines that are asked for now are there",
	},
	ZoneTakesTurns: {says: "machines of group {group} that come up for nobody before the turn of zone {zone}: {machines}"},
	ZoneTooFar: {
		says: "{machines} machines would come up for nobody before the turn of zone {zone} comes, and it may add {limit} such; give it " +
			"that zone alone, or make a group that has",
		ends: "the turn of zone {zone} comes",
	},
	ZonePassedOver: {
		says: "zone {zone} is passed over until {until}, since {why}",
		ends: "zone {zone} is tried again",
	},
	GroupRaised: {
		says: "capacity {from} -> {to} to reach min {min}",
		ends: "the cloud answers",
	},
	GroupShort: {
		says: "lacks machines to reach min {min}: {lacks}",
		ends: "machines are added as limits allow",
	},
	HeadroomKept: {
		says: "capacity {from} -> {to} to keep headroom {headroom} free",
		ends: "the cloud answers",
	},
	HeadroomShort: {
		says: "headroom {headroom} is not kept, free are {free}",
		ends: "machines are added as limits allow",
	},
	NodeHeadroom: {
		says:   "kept free for pods to come (headroom {headroom}, free {free})",
		remedy: "a smaller headroom of the group, or more room free on other nodes",
	},
	PodYoung: {
		says: "is {age} old and no reason to grow before {delay}",
		ends: "it is old enough to count",
	},
	PodLater: {
		says: "waits for a later cycle with {pods} other pods: this one has made its {limit} comparisons",
		ends: "a later cycle looks at it",
	},
	PodsKeepComing: {
		says: "more pods keep coming: group {group}, asked for machines {asked} ago, is asked again in {wait} if no more come, in {most} " +
			"at the latest",
		ends: "group {group} is asked for machines",
	},
	PodsComeAndPause: {
		says: "pods come and pause, so more may come: group {group}, asked for machines {asked} ago, is asked again in {wait}",
		ends: "group {group} is asked for machines",
	},
	PodExpendable: {says: "priority {priority} is below the cutoff {cutoff}: nothing grows for it"},
	WaitsForTurn: {
		says: "waits its turn: the {pods} pods of its owner, {minutes} core-minutes of work, end within {target} on places that get free " +
			"and {slots} more",
		ends: "a place gets free",
	},
}
