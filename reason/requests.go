package reason

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

var requests = table{
	RequestForeign:    {says: "is of class {class}, which is not sluice's to answer"},
	RequestNoTemplate: {says: "there is no PodTemplate {template} in its namespace; create it"},
	RequestTooLarge:   {says: "asks for {pods} pods, and the most that is answered is {most}; divide it"},
	RequestFound:      {says: "room for all its {pods} pods is there"},
	RequestComing: {
		says: "machines are on their way: {ready} of its {pods} pods have room that is ready",
		ends: "the machines are Ready nodes",
	},
	RequestGrows: {
		says: "groups grow for {grows} of its {pods} pods",
		ends: "the machines are Ready nodes",
	},
	RequestDoesNotFit: {
		says: "there is room for {fit} of its {pods} pods; {verdict}",
		ends: "there is room, or its time is over",
	},
	RequestOutdated: {says: "found no room within {limit}"},
	RequestBooked: {
		says: "room for {left} of its {pods} pods is kept until {until}",
		ends: "its room is kept no longer",
	},
	RequestUsedUp:       {says: "its {pods} pods have come"},
	RequestBookingEnded: {says: "room was kept for {hold}, that is over"},
	RequestOver:         {says: "is over: {condition} ({why})"},
	BufferForeign:       {says: "has the strategy {strategy}, which sluice does not have"},
	BufferUnclear:       {says: "{why}"},
	BufferTranslated:    {says: "is for {pods} pods"},
	BufferEmpty:         {says: "is for no pods"},
	BufferKept:          {says: "room for {pods} pods is kept free"},
	BufferShort: {
		says: "room for {free} of {pods} pods is free, for {coming} it is on its way",
		ends: "the machines are Ready nodes, or a limit is changed",
	},
	PodConsumes: {
		says: "takes its room from provisioning request {request} and is no reason to grow",
		ends: "the scheduler binds it",
	},
	NodeBooked: {
		says:   "kept for the pods of provisioning request {request}",
		remedy: "the provisioning request {request} is used up, ends, or is deleted",
	},
	NodeBuffer: {
		says:   "kept free for pods to come (capacity buffer {buffer})",
		remedy: "the capacity buffer {buffer} asks for less, or is deleted",
	},
	GroupGrowsFor: {
		says: "capacity {from} -> {to} (max {max}) for {whom}",
		ends: "the cloud answers",
	},
}
