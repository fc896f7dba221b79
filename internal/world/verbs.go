package world

import (
	"sort"
	"sync"
)

// podSettings are what a pod may be told in every statement that makes pods.
var podSettings = []string{
	"annotation", "anti-affinity", "cpu", "gate", "gpu", "grace", "host-port", "label", "memory", "namespace", "runs", "selector", "spread",
	"toleration", "volume",
}

func withPod(settings ...string) []string { return append(settings, podSettings...) }

const podUsage = "[cpu=Q] [memory=Q] [gpu=N] [namespace=NS] [label=K=V] [annotation=K=V] [selector=K=V] [toleration=KEY] [gate=NAME] " +
	"[host-port=N] [anti-affinity=hostname|zone] [spread=hostname|zone] [volume=empty-dir|memory|host-path] [grace=D] [runs=D]"

// verbs are all statements, in the order in which [Help] lists them.
var verbs = sync.OnceValue(func() []*verb {
	all := []*verb{
		{
			name: "policy", usage: "FLAG=VALUE ...", setup: true, do: doPolicy,
			about: "flags of sluice, by their names without the dashes",
		},
		{name: "dry-run", setup: true, do: doDryRun, about: "sluice runs with --dry-run"},
		{
			name: "timing", usage: "[boot=D] [join=D] [delete=D] [resync=D]", setup: true, do: doTiming, settings: []string{"boot", "join", "delete", "resync"},
			about: "how long machines take to boot (90s), then to join as nodes (30s), and to be deleted (45s); --scan-interval (10s)",
		},
		{
			name: "group", usage: "NAME size=SIZE min=N max=N [machines=N] [zones=1,2] [tag=K:V] [label=K=V] [taint=K=V:EFFECT] [cpu=N memory=Q] [reuse-ids=true] [missing=true]",
			least: 1, most: 1, setup: true, do: doGroup,
			settings: []string{"size", "min", "max", "machines", "zones", "tag", "label", "taint", "cpu", "memory", "reuse-ids", "missing"},
			about:    "a scale set that sluice manages; missing=true is named to sluice only; cpu and memory are for sizes that sluice does not know",
		},
		{
			name: "quota", usage: "FAMILY CORES", least: 2, most: 2, setup: true, do: doQuota,
			about: "how many cores of a family Azure allows, such as standardDSv5Family, or cores for all",
		},
		{
			name: "node", usage: "NAME [cpu=N] [memory=Q] [label=K=V] [taint=K=V:EFFECT]", least: 1, most: 1, do: doNode,
			settings: []string{"cpu", "memory", "label", "taint"},
			about:    "a node that belongs to no group",
		},
		{
			name: "pod", usage: "NAME [on=NODE] [owner=replicaset|statefulset|job|none|KIND] " + podUsage, least: 1, most: 1, do: doPod,
			settings: withPod("on", "owner"),
			about:    "one pod, by default one of a ReplicaSet; with on it runs already; runs says after what time it finishes",
		},
		{
			name: "deployment", usage: "NAME [replicas=N] ...", least: 1, most: 1, do: doDeployment, settings: withPod("replicas"),
			about: "a Deployment; further settings as for pod",
		},
		{
			name: "job", usage: "NAME [pods=N] ...", least: 1, most: 1, do: doJob, settings: withPod("pods"),
			about: "a Job whose pods run at once; further settings as for pod",
		},
		{
			name: "daemonset", usage: "NAME ...", least: 1, most: 1, do: doDaemonSet, settings: withPod(),
			about: "a DaemonSet; settings as for pod",
		},
		{
			name: "budget", usage: "NAME [min-available=N|N%] [max-unavailable=N|N%] [selector=K=V] [namespace=NS]", least: 1, most: 1, do: doBudget,
			settings: []string{"min-available", "max-unavailable", "selector", "namespace"},
			about:    "a PodDisruptionBudget, by default over the pods labelled app=NAME, as all pods of NAME are",
		},
		{name: "apply", usage: "FILE", least: 1, most: 1, do: doApply, about: "creates the objects of a YAML section of the scenario file"},
		{name: "scale", usage: "DEPLOYMENT N", least: 2, most: 2, do: doScale, about: "changes a Deployment's replicas"},
		{name: "delete", usage: "pod|node|deployment|job|budget NAME", least: 2, most: 2, do: doDelete, about: "deletes an object"},
		{name: "ungate", usage: "POD", least: 1, most: 1, do: doUngate, about: "takes all scheduling gates off a pod"},
		{name: "annotate", usage: "NODE KEY=VALUE ...", least: 2, most: 9, raw: true, do: doAnnotate, about: "annotates a node"},
		{name: "cordon", usage: "NODE", least: 1, most: 1, do: doCordon, about: "a person marks a node unschedulable"},
		{name: "uncordon", usage: "NODE", least: 1, most: 1, do: doUncordon, about: "a person takes that back"},
		{name: "silence", usage: "MACHINE", least: 1, most: 1, do: doSilence, about: "a machine's kubelet stops; the node is not ready 40s later"},
		{name: "resize", usage: "GROUP N", least: 2, most: 2, do: doResize, about: "a person writes a scale set's capacity; Azure chooses the victims of a smaller one"},
		{name: "touch", usage: "GROUP", least: 1, most: 1, do: doTouch, about: "somebody else writes to a scale set, so that its entity tag moves"},
		{name: "remove", usage: "MACHINE", least: 1, most: 1, do: doRemove, about: "a person deletes a machine"},
		{name: "deallocate", usage: "MACHINE", least: 1, most: 1, do: doDeallocate, about: "a person stops a machine and gives its cores back"},
		{name: "protect", usage: "MACHINE", least: 1, most: 1, do: doProtect, about: "a person protects a machine from scale-in"},
		{name: "unprotect", usage: "MACHINE", least: 1, most: 1, do: doUnprotect, about: "and takes that back"},
		{name: "deny", usage: "ACTION", least: 1, most: 1, do: doDeny, about: "takes a right from sluice's identity, such as Microsoft.Compute/virtualMachineScaleSets/write"},
		{name: "allow", usage: "ACTION", least: 1, most: 1, do: doAllow, about: "gives it back"},
		{
			name: "fault", usage: "WHAT [group=NAME] [times=N] [code=CODE] [message=TEXT] [after=D] [retry-after=D] [status=N] [count=N]", least: 1, most: 1, do: doFault,
			settings: []string{"group", "times", "code", "message", "after", "retry-after", "status", "count"},
			about:    faultHelp(),
		},
		{name: "heal", do: doHeal, about: "ends all faults; what they did stays done"},
		{name: "restart", time: true, about: "another sluice process takes over, with an empty memory"},
		{name: "advance", usage: "DURATION", least: 1, most: 1, time: true, quiet: true, about: "lets time pass"},
		{
			name: "until", usage: "pod NAME running|finished|pending|gone | node NAME ready|cordoned|gone | machine NAME created|deleting|gone | group NAME N [within=D]",
			least: 3, most: 3, time: true, quiet: true, settings: []string{"within"},
			about: "lets time pass until that is so, for at most 2h; for a group, until it has N machines",
		},
	}
	for _, v := range all {
		if v.name == "policy" {
			v.settings = newPolicy().names()
		}
		sort.Strings(v.settings)
	}
	return all
})
