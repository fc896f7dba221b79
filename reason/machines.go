package reason

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
	MachineDiagnosed   Code = "MachineDiagnosed"
)

var machines = table{
	MachineComing: {
		says: "no node yet, its machine was created {age} ago",
		ends: "it becomes a node, or it is deleted for being none",
	},
	MachineLate: {
		says: "no node after {age} (limit {limit}): others took {longest} at most; pods ask other groups, and it is given up at {given-up}",
		ends: "it becomes a node, or it is deleted for being none at {given-up}",
	},
	MachineNeverJoined: {
		says:   "has no node after {age} (limit {limit})",
		remedy: "a node that registers for it; or it is deleted, unless the reason beside this one keeps it",
	},
	MachineLost: {
		says:   "was a node; its Node object was deleted {age} ago",
		remedy: "its kubelet registers again; or it is deleted, unless the reason beside this one keeps it",
		ends:   "it is deleted, unless it is a node again",
	},
	MachineFailed: {
		says:   "failed to start: {code}: {message}",
		remedy: "it is deleted, unless the reason beside this one keeps it",
	},
	MachineAmbiguous: {
		says: "could be the machine of node {node}",
		remedy: "kubectl delete node {node}, where its machine is gone; else a provider id, name or address on it that only one machine " +
			"has",
	},
	MachineNameTaken: {
		says:   "waits until the Node object {node} of an earlier machine of its name is deleted",
		remedy: "until the kubelet of node {node} is silent and a list lacks its machine; or kubectl delete node {node}",
	},
	MachineNameHeld: {
		says:   "waits until the deleted Node object {node} of its name is gone, which waits for the finalizers {finalizers}",
		remedy: "the controllers that remove {finalizers} from node {node} run again (those of K3s: in its server)",
	},
	MachineCarriesPods: {
		says:   "has no node, but pod {pod} is bound to its name",
		remedy: "pod {pod} is gone, or the node registers again",
	},
	MachineStopped: {
		says:   "is stopped and counts as no capacity",
		remedy: "start the machine, or delete it",
	},
	MachineProtected: {
		says:   "is protected in the cloud and stays",
		remedy: "take the protection from scale-in off the machine",
	},
	MachineInspected: {
		says:   "kept until {until}, so that somebody can find out why",
		remedy: "time; or delete the machine {instance} when you have seen enough; --keep-failed-machine=0 keeps none",
		ends:   "it is deleted",
	},
	MachineDiagnosed: {
		says:   "what it says shows a cause: {cause}",
		remedy: "{remedy}",
		ends:   "it becomes a node",
	},
}
