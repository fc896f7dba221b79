package world

import (
	"sort"
	"sync"
)

// podSettings are what a pod may be told in every statement that makes pods.
var podSettings = []string{
	"affinity", "annotation", "anti-affinity", "claim", "cpu", "devices", "disk", "gate", "gpu", "grace", "host-port", "label", "memory", "namespace", "overhead-cpu",
	"overhead-memory", "podgroup", "priority", "resource", "runs", "scheduler", "selector", "spread", "toleration", "volume",
}

func withPod(settings ...string) []string { return append(settings, podSettings...) }

const podUsage = "[cpu=Q] [memory=Q] [gpu=N] [devices=N|all] [resource=NAME=N] [namespace=NS] [label=K=V] [annotation=K=V] [selector=K=V] [toleration=KEY] [gate=NAME] " +
	"[host-port=N] [affinity=hostname|zone[:APP]] [anti-affinity=hostname|zone[:APP]] [spread=hostname|zone[:SKEW]] [volume=empty-dir|memory|host-path] " +
	"[claim=NAME] [disk=CLASS] [priority=N|CLASS] [podgroup=NAME] [overhead-cpu=Q] [overhead-memory=Q] [grace=D] [runs=D] [scheduler=NAME]"

// verbs are all statements, in the order in which [Help] lists them.
var verbs = sync.OnceValue(func() []*verb {
	all := []*verb{
		{
			name: "policy", usage: "FLAG=VALUE ...", setup: true, do: doPolicy,
			about: "flags of sluice, by their names without the dashes",
		},
		{name: "dry-run", setup: true, do: doDryRun, about: "sluice runs with --dry-run"},
		{
			name: "reckless", setup: true, do: doReckless,
			about: "after each plan sluice tries now and then what nobody planned, at random: the guard alone keeps its promises, and nobody asks whether the world comes to rest",
		},
		{name: "discover", setup: true, do: doDiscover, about: "sluice is not told of the groups: it finds them by their tags, which say min and max, too"},
		{
			name: "sluice-on", usage: "MACHINE", least: 1, most: 1, setup: true, do: doHome,
			about: "sluice runs on that machine of a group, which has identity=true, and not on one of its own",
		},
		{name: "agents", setup: true, do: doAgents, about: "every machine runs sluice agent"},
		{
			name: "timing", usage: "[boot=D] [join=D] [delete=D] [detach=D] [resync=D] [quiet=D] [most=D]", setup: true, do: doTiming,
			settings: []string{"boot", "join", "delete", "detach", "resync", "quiet", "most"},
			about: "how long machines take to boot (90s), then to join as nodes (30s), and to be deleted (45s), and volumes to be detached (5s); --scan-interval (10s); after something happened, " +
				"a cycle waits until nothing more has for quiet (0s; 250ms in production), or most after the first (2s in production)",
		},
		{
			name: "group", usage: "NAME size=SIZE min=N max=N [machines=N] [mode=uniform|flexible|availability-set] [removal=delete|deallocate] [zones=1,2] [zone-balance=best-effort|strict] " +
				"[spot=delete|deallocate] " +
				"[label=K=V] [node-label=K=V] [taint=K=V:EFFECT] [node-taint=K=V:EFFECT] [resource=NAME=N] [tag=K:V] [unneeded=D] [cpu=N] [memory=Q] [gpu=N] " +
				"[gpu-after=D] [ready-after=D] [devices=N] [disks=N] [subnet=NAME] " +
				"[provider-id=cloud|upper|k3s|none] [token=agent|bootstrap] [identity=true] [reuse-ids=true] [overprovision=true] [upgrade=automatic|rolling] [os-upgrades=true] [repairs=true] [zone-rebalancing=true] [elsewhere=true] [missing=true]",
			least: 1, most: 1, setup: true, do: doGroup,
			settings: []string{
				"size", "min", "max", "machines", "mode", "removal", "zones", "zone-balance", "spot", "label", "node-label", "taint", "node-taint", "resource", "tag", "unneeded", "cpu", "memory",
				"gpu", "gpu-after", "ready-after", "devices", "disks", "subnet", "provider-id", "token", "identity", "reuse-ids", "overprovision", "upgrade", "os-upgrades", "repairs", "zone-rebalancing", "elsewhere", "missing",
			},
			about: "a scale set that sluice manages or, with mode=availability-set, a pool of machines in one; a scenario has either. Labels, taints and resources are told by tags, node-labels and node-taints by nothing but the nodes; unneeded is the tag for the group's own " +
				"--scale-down-unneeded-time. spot says what an eviction does. cpu and memory are what machines have when it is not what the size's name tells; " +
				"gpu is how many GPUs the device plugin announces, gpu-after later than the node joins. A node is Ready ready-after it has joined. devices is how many its node publishes in a ResourceSlice; disks is how many the disk driver says that it can attach. provider-id is what nodes call their machines: with k3s the cloud controller " +
				"of K3s labels them, and tells neither size nor place. With token=bootstrap an agent of K3s joins once, and never again after its Node object was deleted. With identity=true its machines have sluice's own. " +
				"elsewhere=true: its machines are nodes of another cluster. missing=true is named to sluice only",
		},
		{
			name: "quota", usage: "FAMILY CORES", least: 2, most: 2, setup: true, do: doQuota,
			about: "how many cores of a family Azure allows, such as standardDSv5Family, or cores for all, or lowPriorityCores for spot",
		},
		{name: "subnet", usage: "NAME ADDRESSES", least: 2, most: 2, setup: true, do: doSubnet, about: "how many addresses a subnet has for machines"},
		{
			name: "spot-room", usage: "SIZE MACHINES [zone=N]", least: 2, most: 2, setup: true, do: doSpotRoom, settings: []string{"zone"},
			about: "for how many spot machines of a size Azure has room, in a zone or without zones",
		},
		{
			name: "zones-full", usage: "ZONE,...", least: 1, most: 1, do: doZonesFull,
			about: "Azure has no room for new machines in these zones: groups over several have theirs in the other ones, or, where their balance is strict, they fail",
		},
		{name: "zones-free", do: doZonesFree, about: "Azure has room in all zones again"},
		{
			name: "restrict", usage: "SIZE [zones=1,2]", least: 1, most: 1, do: doRestrict, settings: []string{"zones"},
			about: "the subscription may not have the size, in some zones or anywhere",
		},
		{
			name: "node", usage: "NAME [cpu=N] [memory=Q] [resource=NAME=N] [disks=N] [label=K=V] [taint=K=V:EFFECT] [provider-id=k3s]", least: 1, most: 1, do: doNode,
			settings: []string{"cpu", "memory", "resource", "disks", "label", "taint", "provider-id"},
			about:    "a node that belongs to no group, with provider-id=k3s one of K3s, as its server is",
		},
		{
			name: "pod", usage: "NAME [on=NODE] [ready=false] [owner=replicaset|statefulset|job|none|KIND] " + podUsage, least: 1, most: 1, do: doPod,
			settings: withPod("on", "ready", "owner"),
			about: "one pod, by default one of a ReplicaSet; with on it runs already, with ready=false without ever being Ready; runs says after what time it finishes. Affinity and spread are about the pods of its own app. " +
				"claim is a pvc, disk one of its own that goes with it; devices are claimed by a template; a priority that is a number gets a class. A pod of another scheduler than Kubernetes' own waits " +
				"until turn-down says what that one has found",
		},
		{
			name: "tenant", usage: "NAME [pods=N] ...", least: 1, most: 1, do: doTenant, settings: withPod("pods", "owner"),
			about: "so many pods, no two alike, each of an app of its own; further settings as for pod",
		},
		{
			name: "deployment", usage: "NAME [replicas=N] ...", least: 1, most: 1, do: doDeployment, settings: withPod("replicas"),
			about: "a Deployment; further settings as for pod",
		},
		{
			name: "job", usage: "NAME [pods=N] ...", least: 1, most: 1, do: doJob, settings: withPod("pods", "owner"),
			about: "a Job whose pods run at once; further settings as for pod",
		},
		{
			name: "daemonset", usage: "NAME ...", least: 1, most: 1, do: doDaemonSet, settings: withPod(),
			about: "a DaemonSet; settings as for pod",
		},
		{
			name: "budget", usage: "NAME [min-available=N|N%] [max-unavailable=N|N%] [unhealthy=if-healthy-budget|always-allow] [selector=K=V] [namespace=NS]", least: 1, most: 1, do: doBudget,
			settings: []string{"min-available", "max-unavailable", "unhealthy", "selector", "namespace"},
			about:    "a PodDisruptionBudget, by default over the pods labelled app=NAME, as all pods of NAME are; unhealthy is its policy for pods that are not Ready",
		},
		{
			name: "priorityclass", usage: "NAME VALUE [preempts=false] [default=true]", least: 2, most: 2, do: doPriorityClass, settings: []string{"preempts", "default"},
			about: "a PriorityClass",
		},
		{
			name: "storageclass", usage: "NAME [binding=wait|immediate] [zones=1,2] [provisioner=NAME] [default=true]", least: 1, most: 1, do: doStorageClass,
			settings: []string{"binding", "zones", "provisioner", "default"},
			about:    "a StorageClass of managed disks, by default one whose volumes are made where the first pod goes",
		},
		{
			name: "pvc", usage: "NAME [class=NAME] [zone=N] [size=Q] [access=once|many|once-pod] [namespace=NS]", least: 1, most: 1, do: doClaim,
			settings: []string{"class", "zone", "size", "access", "namespace"},
			about:    "a PersistentVolumeClaim; with zone its volume is there already",
		},
		{
			name: "podgroup", usage: "NAME [min=N] [api=kubernetes|coscheduling] [namespace=NS]", least: 1, most: 1, do: doPodGroup,
			settings: []string{"min", "api", "namespace"},
			about:    "a gang: its pods, which podgroup=NAME joins to it, are placed when at least min can be; by default a PodGroup of Kubernetes itself",
		},
		{
			name: "buffer", usage: "NAME [replicas=N] [percentage=N] [of=DEPLOYMENT] [limit=RESOURCE=Q] ...", least: 1, most: 1, do: doBuffer,
			settings: withPod("replicas", "percentage", "of", "limit"),
			about:    "a CapacityBuffer for pods like those of a Deployment, or for what further settings describe as for pod",
		},
		{
			name: "provisioningrequest", usage: "NAME [class=best-effort-atomic-scale-up|check-capacity] [pods=N] [parameter=K=V] ...", least: 1, most: 1,
			do: doProvisioningRequest, settings: withPod("class", "pods", "parameter"),
			about: "a ProvisioningRequest for some pods; further settings as for pod",
		},
		{name: "apply", usage: "FILE", least: 1, most: 1, do: doApply, about: "creates the objects of a YAML section of the scenario file; a ConfigMap that is there is replaced"},
		{name: "scale", usage: "DEPLOYMENT N", least: 2, most: 2, do: doScale, about: "changes a Deployment's replicas"},
		{name: "delete", usage: "pod|node|deployment|replicaset|job|budget|pvc|podgroup|buffer|provisioningrequest NAME", least: 2, most: 2, do: doDelete, about: "deletes an object"},
		{
			name: "garbage", usage: "stays|goes", least: 1, most: 1, do: doGarbage,
			about: "Kubernetes' garbage collector stands still, so that pods outlive their controller, or goes on",
		},
		{name: "ungate", usage: "POD", least: 1, most: 1, do: doUngate, about: "takes all scheduling gates off a pod"},
		{name: "turn-down", usage: "POD", least: 1, most: 1, do: doTurnDown, about: "the pod's own scheduler finds no node for it"},
		{name: "taint", usage: "NODE K=V:EFFECT ...", least: 2, most: 9, raw: true, do: doTaint, about: "puts taints on a node"},
		{name: "untaint", usage: "NODE KEY ...", least: 2, most: 9, raw: true, do: doUntaint, about: "takes taints off a node"},
		{
			name: "expander", usage: "GROUP ... | nothing | down", least: 1, most: 9, do: doExpander,
			about: "what the server of the expander grpc answers from now on: these groups, none at all, or not a word",
		},
		{name: "annotate", usage: "NODE KEY=VALUE ...", least: 2, most: 9, raw: true, do: doAnnotate, about: "annotates a node"},
		{
			name: "node-use", usage: "NODE PERCENT|QUANTITY [age=D]", least: 2, most: 2, do: doNodeUse, settings: []string{"age"},
			about: "the metrics API says from now on that the node uses so much of its CPU, as measured age (0s) before it is asked; without such a statement there is no metrics API",
		},
		{
			name: "metrics-api", usage: "gone|hung|forbidden|served", least: 1, most: 1, time: true, act: doMetricsAPI,
			about: "the metrics API is not served any more, does not answer, may not be read, or answers again",
		},
		{name: "cordon", usage: "NODE", least: 1, most: 1, do: doCordon, about: "a person marks a node unschedulable"},
		{name: "uncordon", usage: "NODE", least: 1, most: 1, do: doUncordon, about: "a person takes that back"},
		{name: "pause", usage: "GROUP|all for=D", least: 1, most: 1, do: doPause, settings: []string{"for"}, about: "a person has sluice leave a group alone for a while"},
		{name: "resume", usage: "GROUP|all", least: 1, most: 1, do: doResume, about: "and takes that back"},
		{name: "acknowledge", usage: "GROUP|all", least: 1, most: 1, do: doAcknowledge, about: "a person says that he knows of the nodes that a group has lost"},
		{name: "drain", usage: "NODE", least: 1, most: 1, do: doDrain, about: "a person asks sluice to drain a node and delete its machine"},
		{name: "undrain", usage: "NODE", least: 1, most: 1, do: doUndrain, about: "and takes that back"},
		{name: "silence", usage: "MACHINE", least: 1, most: 1, do: doSilence, about: "a machine's kubelet stops; the node is not ready 40s later"},
		{
			name: "lose", usage: "nodes|kubelets GROUP|all [share=PERCENT] [zone=N]", least: 2, most: 2, do: doLose, settings: []string{"share", "zone"},
			about: "the Node objects of a group's machines are deleted, or their kubelets stop, all at once; in a zone, and of these a share",
		},
		{name: "revive", usage: "GROUP|all [share=PERCENT] [zone=N]", least: 1, most: 1, do: doRevive, settings: []string{"share", "zone"}, about: "those kubelets begin anew, and register"},
		{
			name: "calm", usage: "GROUP within=D", least: 1, most: 1, do: doCalm, settings: []string{"within"},
			about: "nothing will strike the group: within so long each pending pod that it could take runs, or has its machine, and each idle node above its min goes",
		},
		{name: "backup", do: doBackup, about: "a person keeps what nodes and pods there are in the API server's store"},
		{name: "restore", do: doRestore, about: "and puts that back in place of what there is"},
		{
			name: "resize", usage: "GROUP N [when=now|writing] [within=D]", least: 2, most: 2, do: doResize, settings: []string{"when", "within"},
			about: "a person writes a scale set's capacity; Azure chooses the victims of a smaller one. when=writing: just before sluice's next growth of the group arrives, if that is within so long",
		},
		{
			name: "autoscale", usage: "GROUP [min=N] [max=N] [enabled=false]", least: 1, most: 1, do: doAutoscale, settings: []string{"min", "max", "enabled"},
			about: "an autoscale setting of the platform: a machine more above 75% of CPU, one less below 25%",
		},
		{name: "metric", usage: "GROUP PERCENT", least: 2, most: 2, do: doMetric, about: "the platform's autoscaler sees that much use of CPU, and acts by its setting"},
		{name: "tag", usage: "GROUP K:V ...", least: 2, most: 9, raw: true, do: doTag, about: "a person changes tags of a scale set; K: removes one"},
		{
			name: "remake", usage: "GROUP [node-label=K=V] [image=VERSION]", least: 1, most: 1, do: doRemake, settings: []string{"node-label", "image"},
			about: "a person changes what new machines of a scale set are: with node-label the data that starts them, which Azure shows nobody and which has their kubelets say that (K= for nothing); with image the version of the model's image",
		},
		{name: "touch", usage: "GROUP", least: 1, most: 1, do: doTouch, about: "somebody else writes to a scale set, so that its entity tag moves"},
		{name: "remove", usage: "MACHINE", least: 1, most: 1, do: doRemove, about: "a person deletes a machine"},
		{name: "remove-group", usage: "GROUP", least: 1, most: 1, do: doRemoveGroup, about: "a person deletes a scale set with its machines"},
		{name: "deallocate", usage: "MACHINE", least: 1, most: 1, do: doDeallocate, about: "a person stops a machine and gives its cores back"},
		{name: "start", usage: "MACHINE", least: 1, most: 1, do: doStart, about: "a person starts it again"},
		{
			name: "evict", usage: "MACHINE [notice=D]", least: 1, most: 1, do: doEvict, settings: []string{"notice"},
			about: "Azure takes a spot machine away after a notice (30s)",
		},
		{
			name: "notice", usage: "MACHINE freeze|reboot|redeploy|preempt|terminate [notice=D]", least: 2, most: 2, do: doNotice, settings: []string{"notice"},
			about: "Azure announces that to a machine, as long before as it usually does, and then does it",
		},
		{name: "withdraw", usage: "MACHINE", least: 1, most: 1, do: doWithdraw, about: "Azure takes back what it announced last"},
		{name: "protect", usage: "MACHINE", least: 1, most: 1, do: doProtect, about: "a person protects a machine from scale-in"},
		{name: "unprotect", usage: "MACHINE", least: 1, most: 1, do: doUnprotect, about: "and takes that back"},
		{
			name: "lock", usage: "GROUP|MACHINE [level=delete|readonly]", least: 1, most: 1, do: doLock, settings: []string{"level"},
			about: "a person puts a management lock on a scale set or a machine",
		},
		{name: "unlock", usage: "GROUP|MACHINE", least: 1, most: 1, do: doUnlock, about: "and takes it off"},
		{name: "deny", usage: "ACTION", least: 1, most: 1, do: doDeny, about: "takes a right from sluice's identity, such as Microsoft.Compute/virtualMachineScaleSets/write"},
		{name: "allow", usage: "ACTION", least: 1, most: 1, do: doAllow, about: "gives it back"},
		{
			name: "fault", usage: "WHAT [of=KIND] [group=NAME] [times=N] [skip=N] [for=D] [code=CODE] [message=TEXT] [after=D] [retry-after=D] [status=N] [count=N] [fate=FATE] [name=NAME] [address=IP] [limit=NAME] [style=arm|compute] [console=FILE] [extension=TEXT]",
			least: 1, most: 1, do: doFault,
			settings: []string{"of", "group", "times", "skip", "for", "code", "message", "after", "retry-after", "status", "count", "fate", "name", "address", "limit", "style", "console", "extension"},
			about:    faultHelp(),
		},
		{
			name: "api-fault", usage: "WHAT [of=cordon|evict|delete-node|gate] [times=N] [for=D]", least: 1, most: 1, do: doAPIFault, settings: []string{"of", "times", "for"},
			about: "makes trouble with sluice's writes to Kubernetes: conflict, throttled, broken, forbidden, lost-request, lost-answer; times times, for a while, or until heal",
		},
		{
			name: "api-deny", usage: "VERB RESOURCE", least: 2, most: 2, do: doAPIDeny,
			about: "takes a right in Kubernetes from sluice's service account, such as patch nodes or create pods/eviction",
		},
		{name: "api-allow", usage: "VERB RESOURCE", least: 2, most: 2, do: doAPIAllow, about: "gives it back"},
		{
			name: "silent-api", usage: "for=D", time: true, act: doSilent, settings: []string{"for"},
			about: "the API server's watches say nothing for a while; then they say it all",
		},
		{
			name: "slow-api", usage: "after=D for=D", do: doSlow, settings: []string{"after", "for"},
			about: "the API server answers sluice's writes so much later, for a while",
		},
		{
			name: "cut", usage: "RESOURCE", least: 1, most: 1, time: true, act: doCut,
			about: "the API server ends all watches of a resource, such as pods; sluice lists and watches again",
		},
		{
			name: "k3s-controllers", usage: "up|down [after=D]", least: 1, most: 1, do: doControllers, settings: []string{"after"},
			about: "the controllers of a K3s server hold each Node object of theirs by a finalizer, and once it is deleted they remove its password and let go after so long (0s), or not while they are down",
		},
		{
			name: "skew", usage: "D", least: 1, most: 1, time: true, act: doSkew,
			about: "another sluice process takes over on a machine whose clock is ahead by that much, or behind, as in -20s; the one after it has a right clock again",
		},
		{
			name: "lease", usage: "[left=D] [back=D]", time: true, act: doLease, settings: []string{"left", "back"},
			about: "the process cannot renew its lease, which ends after left (15s): then another one takes over, or where back is given, nobody, and the same one renews it so much later",
		},
		{
			name: "limits", usage: "GROUP [min=N] [max=N]", least: 1, most: 1, time: true, act: doLimits, settings: []string{"min", "max"},
			about: "a person gives a group other limits: another sluice process takes over that has them, with the record in the status ConfigMap; after discover the group's tags change, and nothing else",
		},
		{
			name: "rival", usage: "for=D [as=leader|watcher|stranger]", time: true, act: doRival, settings: []string{"for", "as"},
			about: "for a while there is a second sluice process: one that believes that it leads as well, one that only looks (--dry-run), or one that was told the --cluster-id of another cluster",
		},
		{
			name: "settled", usage: "[scarce=true]", quiet: true, time: true, act: doSettled, settings: []string{"scarce"},
			about: "once the pods are done that run for a while, and 30m later, everything must have come to rest: each pod runs that a group could hold, unless Azure has too little of something (scarce), no machine is idle above " +
				"its group's min, and nothing was written in the last 10m",
		},
		{name: "heal", do: doHeal, about: "ends all faults and troubles; what they did stays done"},
		{
			name: "restart", usage: "[operations=kept|lost]", time: true, settings: []string{"operations"},
			about: "another sluice process takes over, with an empty memory; the operations in flight, what groups' nodes are like and which groups rest it knows from the status ConfigMap, unless that is lost",
		},
		{
			name: "kill", usage: "N [operations=kept|lost]", least: 1, most: 1, do: doKill, settings: []string{"operations"},
			about: "sluice is killed right after its Nth write from now, to Azure or Kubernetes, before it hears the answer, and another process takes over, as with restart",
		},
		{name: "advance", usage: "DURATION", least: 1, most: 1, time: true, quiet: true, about: "lets time pass"},
		{
			name: "until", usage: "pod NAME running|finished|pending|gone | node NAME ready|cordoned|parked|gone | machine NAME created|deleting|gone | group NAME N [within=D]",
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
