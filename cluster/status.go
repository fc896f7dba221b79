package cluster

// StatusName is the usual name of the status ConfigMap, which is cluster-autoscaler's.
const StatusName = "cluster-autoscaler-status"

// Keys of the status ConfigMap that are sluice's own, each in JSON.
const (
	OperationsKey = "operations" // what the cloud has in hand
	LessonsKey    = "templates"  // what nodes have taught about their groups
	BreakersKey   = "breakers"
)

// OutsideKey is the key of the status ConfigMap under which sluice names the nodes that are in no node group, in JSON. It is missing while
// that cannot be reported.
const OutsideKey = "unmanaged-nodes"

// StatusKeys are all that sluice keeps there besides the status.
func StatusKeys() []string { return []string{OperationsKey, LessonsKey, BreakersKey, OutsideKey} }
