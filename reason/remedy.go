package reason

import (
	"slices"
	"strings"
)

// Remedy is what would change it that a node or a machine stays, in one clause without a full stop; the empty string for reasons that keep
// nothing. Braces hold facts of the reason; {node}, {group} and {instance} are what the reason is about where no fact has that name.
func (r Reason) Remedy() string {
	template, keeps := remedies[r.Code]
	switch {
	case keeps:
		return r.fill(template)
	case r.Property() != "":
		return "time: the next cycle reads anew, and decides again"
	}
	return ""
}

// fill puts facts, and the name of what the reason is about, in the place of their names in braces.
func (r Reason) fill(template string) string {
	return fill(template, func(name string) string {
		if value, has := r.word(name); has {
			return value
		}
		return "<" + name + ">"
	})
}

// Keeping lists every code that keeps a node or a machine where it is, sorted. Each has a remedy, and a scenario on the page
// docs/reference/blocking.md: tests hold both.
func Keeping() []Code {
	codes := make([]Code, 0, len(remedies))
	for c := range remedies {
		codes = append(codes, c)
	}
	slices.Sort(codes)
	return codes
}

// RemedyTemplate is the remedy of a code with its facts in braces, and false for a code that keeps nothing.
func RemedyTemplate(c Code) (string, bool) {
	t, ok := remedies[c]
	return t, ok
}

// fill puts words in the place of the names in braces.
func fill(template string, word func(name string) string) string {
	var b strings.Builder
	for {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			b.WriteString(template)
			return b.String()
		}
		end := strings.IndexByte(template[open:], '}') + open
		b.WriteString(template[:open])
		b.WriteString(word(template[open+1 : end]))
		template = template[end+1:]
	}
}

// remedies holds what would change it, for every reason that keeps a node or a machine.
var remedies = map[Code]string{
	NodeUnmanaged:        "name its scale set with --nodes, or tag it for --node-group-auto-discovery",
	GroupControlPlane:    "take the group's tags or its --nodes away, or give workers another identity than sluice's; with --remove-control-plane-nodes it is managed as any other",
	NodeControlPlane:     "--remove-control-plane-nodes: then such nodes leave one at a time, while a quorum is left",
	ControlPlaneTurn:     "node {other} is gone, its object too",
	ControlPlaneQuorum:   "more control-plane nodes that are Ready",
	ControlPlaneGone:     "kubectl delete node {node}, once nothing of it votes in etcd any more, or a complete list in which its machine is again",
	NodeAmbiguous:        "kubectl delete node, where its machine is gone; else a provider id, name or address on the node that only one machine has",
	NodeFinalized:        "the controllers that remove {finalizers} run again (those of K3s: in its server); sluice does not remove finalizers",
	NodeMachineMissing:   "a complete list in which its machine is again; a node that stays silent without a machine is deleted by itself",
	NodeNoticeUnclear:    "the agent on the node writes its notice anew; or kubectl taint node {node} sluice.dev/notice-, when there is none",
	NodeNoticed:          "nothing: the machine stops at its time, or Azure takes the notice back",
	NodeHeldByPerson:     "kubectl uncordon {node}; after that, sluice drain {node} drains it and deletes its machine",
	NodeScaleDownOff:     "take the annotation cluster-autoscaler.kubernetes.io/scale-down-disabled or karpenter.sh/do-not-disrupt off the node",
	NodeHeld:             "sluice release {node}, or wait until {until}",
	NodeProtected:        "take the protection from scale-in off machine {instance}",
	NodeStarting:         "the node becomes Ready, or is older than --max-node-startup-time",
	NodeAwaitsDevices:    "its device plugin announces {devices}, or the node is older than --max-node-startup-time",
	NodeAwaitsTaint:      "{who} takes {taint} off it, or the node is older than --max-node-startup-time",
	NodeNotReady:         "time: it goes when it has not been Ready for {limit} (--scale-down-unready-time)",
	NodeUnrepaired:       "repair machine {instance} (restart or reimage it), or a lower min of its group, which lets it go",
	NodeUnreadyStays:     "--scale-down-unready-enabled=true",
	NodeBusy:             "less than {threshold} of its {resource} asked for, or a higher --scale-down-utilization-threshold",
	NodeInUse:            "its measured use falls to {threshold} or below, it has stayed for {limit} (--busy-limit), or a higher --busy-threshold",
	NodeIdle:             "time: it goes when it has been idle for {limit} (--scale-down-unneeded-time)",
	NodeUnderused:        "time: it goes when that has been so for {limit} (--scale-down-unneeded-time)",
	NodeReceives:         "the nodes that leave before it are gone; then it is looked at anew",
	NodePodsUnseen:       "a cycle has looked at all pods that wait",
	NodeCounted:          "pod {pod} finds its place elsewhere, or is gone",
	NodeBooked:           "the provisioning request {request} is used up, ends, or is deleted",
	NodeBuffer:           "the capacity buffer {buffer} asks for less, or is deleted",
	NodeHeadroom:         "a smaller headroom of the group, or more room free on other nodes",
	NodeCordoned:         "time: the next step follows after {delay}",
	NodeDraining:         "its pods leave; sluice undrain {node} takes back what a person asked for",
	NodeDismisses:        "time: they are waited for as long as their grace period lasts (--daemonset-eviction-for-empty-nodes, --daemonset-eviction-for-occupied-nodes)",
	NodeDetaching:        "its volumes are detached, or {limit} are over (--max-detach-time)",
	NodeDelayed:          "take the annotation {annotation} off the node, or wait until {limit} are over (--node-deletion-delay-timeout)",
	NodeRunsDry:          "its work ends; --evict-work and the annotation sluice.dev/evict-work let work be evicted",
	NodeRanDry:           "its pods leave, then its machine goes; a pending pod that it could hold takes it back",
	RemovalDisabled:      "--scale-down-enabled=true",
	RemovalCoolsDown:     "time: until {until}; the delays are --scale-down-delay-after-add, -after-delete and -after-failure",
	EmptiedInVain:        "time, or sluice drain {node}, which asks for it by hand",
	RemovalBudget:        "removals that are under way end, or a higher --max-scale-down-parallelism or --max-drain-parallelism",
	ConsolidationPays:    "time: its pods move when that has been so for {limit} (--scale-down-unneeded-time)",
	ConsolidationTooDear: "a larger saving, a longer --consolidation-expected-time, or a lower --consolidation-pod-cost",
	ConsolidationSpent:   "time, or a higher --consolidation-per-day",
	ConsolidationWaits:   "a machine of group {group} is Ready",
	NodeReplaces:         "node {node} is gone, or keeps its pods",
	RemovalGathers:       "{wait} pass, or the others are ready",
	RemovalQueued:        "the deletions of group {group} that are under way end",
	EmptiedBudget:        "time: the next one may go at {until}; or a higher --max-emptied-percentage",
	EmptiedUnknown:       "time: until {until}; or a shorter --emptied-window",
	RemovalPaced:         "time; or sluice drain, for each node that is to go at once",
	NodesLostTogether:    "the kubelets report again, time, or sluice acknowledge {group}",
	MachineLostRecently:  "its kubelet reports again, time, or sluice acknowledge {group}",
	NodeObjectsMissing:   "the nodes register again, or sluice acknowledge {group}",
	GroupMinReady:        "one more Ready node in group {group}, or a lower min",
	MachineWritePending:  "the list of its group shows what became of that request",
	RemovalRests:         "the next try at {until}; mend what the cloud says",
	EvictionRests:        "the next try at {until}; mend what the API server says",
	ClusterMinimum:       "a lower minimum in --cores-total, --memory-total or --gpu-total",
	RightMissing:         "the right to {right}, for sluice's service account, as in deploy/rbac.yaml",
	NodeOfIncumbent:      "cluster-autoscaler ends, or kubectl taint node {node} ToBeDeletedByClusterAutoscaler-",
	NodeLeftByIncumbent:  "time: it is given back by the cycle that sees it",
	NodeObjectStays:      "a cloud controller manager, kubectl delete node {node}, or the right to {right}",
	UnhealthyCluster:     "fewer nodes that are not Ready, or a higher --ok-total-unready-count or --max-total-unready-percentage",
	GroupAtMin:           "a lower min of group {group}",
	GroupBelowMin:        "a lower min of group {group}, or --enforce-node-group-min-size to raise it to its min",
	GroupListsFewer:      "the machines that group {group} lacks appear in its list, or a lower min",
	GroupAwaits:          "the machines run that group {group} awaits, or a lower min",
	GroupLost:            "the kubelets report again; or, when nothing there is needed any more, sluice acknowledge {group}",
	GroupPaused:          "sluice resume {group}, or wait until {until}",
	GroupAsked:           "the cloud's answer about group {group}; it is given up after 30 s, and what the group is then is read",
	GroupUnreadable:      "mend what the read of group {group} says",
	GroupContradicted:    "a list of group {group} that has the machine of node {node}; or, when it is gone, a kubelet that reports no more",
	GroupForeign:         "one of the machines joins this cluster; --cluster-id={cluster}, the UID of namespace kube-system, which says that the groups are this cluster's; or the kubeconfig and cloud configuration of one and the same cluster",
	GroupIncomplete:      "a complete read of group {group}; the next one is tried by itself",

	PodNowhereToGo:    "room for pod {pod} on another node that is Ready and stays",
	PodOfJob:          "pod {pod} ends; --evict-work or its annotation sluice.dev/evict-work lets it be evicted",
	PodOfDaemon:       "{by} no longer chooses pod {pod}; --evict-work or its annotation sluice.dev/evict-work lets it be evicted",
	PodBare:           "pod {pod} ends or is deleted; its annotation sluice.dev/evict-work or cluster-autoscaler.kubernetes.io/safe-to-evict=true lets it be evicted",
	PodNotSafeToEvict: "pod {pod} ends, or its annotation is taken away; a DaemonSet's comes from its template",
	PodDoNotDisrupt:   "pod {pod} ends, its annotation is taken away, or the time that it names is over",
	PodLocalStorage:   "name volume {volume} in the pod's annotation cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes, or --skip-nodes-with-local-storage=false",
	PodOfSystem:       "a disruption budget that selects pod {pod}, its age beyond --blocking-system-pod-distruption-timeout, or --skip-nodes-with-system-pods=false",
	PodTwoBudgets:     "leave only one disruption budget that selects pod {pod}",
	PodBudget:         "more healthy pods behind disruption budget {budget}, or a budget that allows more disruptions",
	PodCustomOwner:    "the pod's annotation cluster-autoscaler.kubernetes.io/safe-to-evict=true, or --skip-nodes-with-custom-controller-pods=false",

	PodControllerMissing: "pod {pod} ends or is deleted, as Kubernetes' garbage collector does with it while that works; or --skip-nodes-with-custom-controller-pods=false",
	PodFewReplicas:       "{limit} replicas or more of {owner}, or a lower --min-replica-count",

	MachineNeverJoined: "a node that registers for it; or it is deleted, unless the reason beside this one keeps it",
	MachineLost:        "its kubelet registers again; or it is deleted, unless the reason beside this one keeps it",
	MachineFailed:      "it is deleted, unless the reason beside this one keeps it",
	MachineCarriesPods: "pod {pod} is gone, or the node registers again",
	MachineNameTaken:   "until the kubelet of node {node} is silent and a list lacks its machine; or kubectl delete node {node}",
	MachineNameHeld:    "the controllers that remove {finalizers} from node {node} run again (those of K3s: in its server)",
	MachineAmbiguous:   "kubectl delete node {node}, where its machine is gone; else a provider id, name or address on it that only one machine has",
	MachineStopped:     "start the machine, or delete it",
	MachineInspected:   "time; or delete the machine {instance} when you have seen enough; --keep-failed-machine=0 keeps none",
	MachineProtected:   "take the protection from scale-in off the machine",
}
