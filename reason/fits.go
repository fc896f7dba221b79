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

var fits = table{
	InsufficientResource: {says: "Insufficient {resource} (needs {needs}, free {free})"},
	TooManyPods:          {says: "Too many pods (limit {limit})"},
	UntoleratedTaint:     {says: "untolerated taint {taint}"},
	SelectorMismatch:     {says: "does not match the pod's node selector or affinity"},
	NodeNameMismatch:     {says: "the pod names another node, {wants}"},
	NodeUnschedulable:    {says: "node is unschedulable"},
	HostPortTaken:        {says: "host port {ports} is taken"},
	PodAffinity:          {says: "does not match the pod's affinity rules"},
	PodAntiAffinity:      {says: "pod anti-affinity forbids it"},
	TopologySpread:       {says: "topology spread over {key} forbids it"},
	SchedulerRefused:     {says: "{plugin}: {message}"},
}
