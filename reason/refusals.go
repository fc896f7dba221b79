package reason

// Why the safety contract forbids a write (packages guard and fleet), where no code above says it. The reason has the property as a fact.
const (
	GroupNotRead          Code = "GroupNotRead"
	GroupReadOld          Code = "GroupReadOld"
	GroupNotOwned         Code = "GroupNotOwned"
	GroupOpposed          Code = "GroupOpposed"
	GroupAboveMax         Code = "GroupAboveMax"
	GroupMinReady         Code = "GroupMinReady"
	GroupMinMachines      Code = "GroupMinMachines"
	CapacityChanged       Code = "CapacityChanged"
	CapacityBelowMachines Code = "CapacityBelowMachines"
	ScaleUpBelowMachines  Code = "ScaleUpBelowMachines"
	ScaleUpEmpty          Code = "ScaleUpEmpty"
	NodesNotListed        Code = "NodesNotListed"
	NodeObjectsMissing    Code = "NodeObjectsMissing"
	MachinesMissing       Code = "MachinesMissing"
	MachinesUnregistered  Code = "MachinesUnregistered"
	EmptiedBudget         Code = "EmptiedBudget"
	EmptiedUnknown        Code = "EmptiedUnknown"
	RemovalPaced          Code = "RemovalPaced"
	NodesLostTogether     Code = "NodesLostTogether"

	MachineLostRecently Code = "MachineLostRecently"
	MachineStarting     Code = "MachineStarting"
	MachineHasWork      Code = "MachineHasWork"
	MachineNotIdle      Code = "MachineNotIdle"
	MachineNotGone      Code = "MachineNotGone"
	MachineNotOff       Code = "MachineNotOff"
	MachineNotListed    Code = "MachineNotListed"
	MachineLeaving      Code = "MachineLeaving"
	MachineWritePending Code = "MachineWritePending"
	InstanceIDReused    Code = "InstanceIDReused"
	DeletionInvalid     Code = "DeletionInvalid"

	NodeMatchesSeveral Code = "NodeMatchesSeveral"
	NodeMatchUnclear   Code = "NodeMatchUnclear"
	NodeNotRead        Code = "NodeNotRead"
	NodeReplaced       Code = "NodeReplaced"
	NodeNotRemoving    Code = "NodeNotRemoving"
	NodeFitsPod        Code = "NodeFitsPod"
	NodeOfOtherSluice  Code = "NodeOfOtherSluice"
	VolumeOfOtherNode  Code = "VolumeOfOtherNode"
	EmptyNotReported   Code = "EmptyNotReported"
	KubeletSilent      Code = "KubeletSilent"

	PodReplaced     Code = "PodReplaced"
	PodStillThere   Code = "PodStillThere"
	PodStays        Code = "PodStays"
	PodWorksUntil   Code = "PodWorksUntil"
	PodOtherGates   Code = "PodOtherGates"
	GateNodeRefuses Code = "GateNodeRefuses"

	ScheduledEventMissing Code = "ScheduledEventMissing"
	ScheduledEventStands  Code = "ScheduledEventStands"
	ScheduledEventShared  Code = "ScheduledEventShared"
	ScheduledEventsOld    Code = "ScheduledEventsOld"

	APIServerSilent Code = "APIServerSilent"
	ClusterMismatch Code = "ClusterMismatch"
	LeaseTooShort   Code = "LeaseTooShort"
	DryRun          Code = "DryRun"
	WriteUnknown    Code = "WriteUnknown"
)

var refusals = table{
	GroupNotRead:  {says: "has no complete read since sluice started; no write until the next one"},
	GroupReadOld:  {says: "was read at {read}, before {cause}; no write until a newer read"},
	GroupNotOwned: {says: "it can belong to another cluster; no write without --cluster-id"},
	GroupOpposed:  {says: "left alone until {until}; another controller or operator undid {times} scale-ups, see Azure's activity log"},
	GroupAboveMax: {says: "would have {machines} machines (max {max})"},
	GroupMinReady: {
		says:   "would keep {ready} Ready nodes (min {min})",
		remedy: "one more Ready node in group {group}, or a lower min",
	},
	GroupMinMachines:      {says: "would keep {machines} machines (min {min})"},
	CapacityChanged:       {says: "its capacity is {capacity}, but the decision used {planned}; the next cycle decides again"},
	CapacityBelowMachines: {says: "reports capacity {capacity}, but {machines} machines exist; no write until both agree"},
	ScaleUpBelowMachines:  {says: "a request for capacity {to} can delete machines; up to {machines} exist, not all are listed"},
	ScaleUpEmpty:          {says: "a scale-up from {from} to {to} adds no machine"},
	NodesNotListed:        {says: "its nodes are not listed since sluice started; no write until they are"},
	NodeObjectsMissing: {
		says:   "{missing} of {nodes} Node objects are gone, but their machines run; sluice acknowledge {group} ends this",
		remedy: "the nodes register again, or sluice acknowledge {group}",
	},
	MachinesMissing:      {says: "the list lacks {missing} of {machines} machines for an unknown cause; no write until it is complete"},
	MachinesUnregistered: {says: "{machines} machines run without a node (limit {limit}); no scale-up until fewer do"},
	EmptiedBudget: {
		says:   "{leaving} machines would leave within --emptied-window (limit {limit}, --max-emptied-percentage); next at {until}",
		remedy: "time: the next one may go at {until}; or a higher --max-emptied-percentage",
		ends:   "it goes, as far as the budget then lasts",
		turn:   true,
	},
	EmptiedUnknown: {
		says:   "scale-down paused until {until}; sluice started at {since}; the budget ({limit} per {window}) before that is unknown",
		remedy: "time: until {until}; or a shorter --emptied-window",
		ends:   "it goes, as far as the budget then lasts",
		turn:   true,
	},
	RemovalPaced: {
		says:   "{leaving} machines would leave after their pods were deleted together (limit {limit}); the next follow later",
		remedy: "time; or sluice drain, for each node that is to go at once",
		ends:   "it goes when enough time has passed since the others went",
	},
	NodesLostTogether: {
		says:   "{lost} nodes were lost together (limit {limit}); machines stay until {until}; sluice acknowledge {group} ends this",
		remedy: "the kubelets report again, time, or sluice acknowledge {group}",
	},
	MachineLostRecently: {
		says:   "is lost and its pods can still run; stays until {until}; sluice acknowledge {group} ends this",
		remedy: "its kubelet reports again, time, or sluice acknowledge {group}",
	},
	MachineStarting:  {says: "is still starting; its node can register until {until}"},
	MachineHasWork:   {says: "its node still has pods that must leave first"},
	MachineNotIdle:   {says: "its node is not empty for long enough"},
	MachineNotGone:   {says: "the machine is not certainly gone, so its Node object stays"},
	MachineNotOff:    {says: "the machine is not certainly switched off, or an operator changed its node"},
	MachineNotListed: {says: "is not in the newest list of its group"},
	MachineLeaving:   {says: "is being deleted, or is gone"},
	MachineWritePending: {
		says:   "an earlier request for this machine shows no effect yet",
		remedy: "the list of its group shows what became of that request",
	},
	InstanceIDReused:      {says: "its instance id belongs to another machine now"},
	DeletionInvalid:       {says: "a deletion must name each machine once; it names {named}"},
	NodeMatchesSeveral:    {says: "more than one machine can be the machine of the node"},
	NodeMatchUnclear:      {says: "node {node} is not certainly machine {machine}"},
	NodeNotRead:           {says: "its state was not read for this write; the next cycle reads it again"},
	NodeReplaced:          {says: "is gone, or another Node object has its name"},
	NodeNotRemoving:       {says: "has no taint sluice.dev/removing; its pods and machine stay"},
	NodeFitsPod:           {says: "pending pod {pod} is new and fits it"},
	NodeOfOtherSluice:     {says: "its taints belong to {owner}; this is {this}, which leaves them"},
	VolumeOfOtherNode:     {says: "volume attachment {attachment} belongs to node {other}"},
	EmptyNotReported:      {says: "sluice does not report it empty yet; the scheduled event waits"},
	KubeletSilent:         {says: "its kubelet reports nothing and cannot stop pods"},
	PodReplaced:           {says: "is gone, is bound, or another pod has its name"},
	PodStillThere:         {says: "pod {pod} is still on node {node}"},
	PodStays:              {says: "pod {pod} stays with node {node} until its machine stops"},
	PodWorksUntil:         {says: "pod {pod} can work until its machine stops at {until} ({why})"},
	PodOtherGates:         {says: "waits for more than scheduling gate {gate}"},
	GateNodeRefuses:       {says: "its gate stays closed; node {node}, which it fits, is {state}"},
	ScheduledEventMissing: {says: "no scheduled event {event} is announced"},
	ScheduledEventStands:  {says: "scheduled event {event} is still announced"},
	ScheduledEventShared:  {says: "scheduled event {event} names {machines} machines; one agent cannot approve it for all"},
	ScheduledEventsOld:    {says: "its scheduled events were read {age} ago (limit {limit}); the next read follows"},
	APIServerSilent:       {says: "the API server reports nothing for {silent} (limit {limit}); nothing is deleted until it does"},
	ClusterMismatch:       {says: "this is cluster {cluster}, but --cluster-id is {wanted}; correct the flag or the kubeconfig"},
	LeaseTooShort:         {says: "the leader lease ends at {ends}; the write can take {limit} and is not sent"},
	DryRun:                {says: "this is a dry run; no write is sent"},
	WriteUnknown:          {says: "{write} is not a write that the safety contract allows"},
}
