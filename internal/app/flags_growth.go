package app

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"sluice.dev/sluice/policy"
)

// growthFlags declares what bounds and directs growth.
func growthFlags(f *pflag.FlagSet, p *policy.Policy) {
	g, r := &p.Growth, &p.Removal

	f.Var((*expanderList)(&g.Expanders), "expander", `which group grows when several could, as a list of filters with commas between them: least-cost, random, most-pods, least-waste, least-nodes, price, priority, grpc; what several leave is drawn by lot. Without the flag it is least-cost: the machines of all groups are chosen together so that they cost least`)
	f.Lookup("expander").DefValue = string(policy.LeastCost)
	f.IntVar(&g.MaxNodes, "max-nodes-total", g.MaxNodes, "most nodes in the whole cluster, managed or not; growth is cut to it; 0: no limit")
	f.Var(bounds{&r.MinCores, &g.MaxCores}, "cores-total", "least and most cores of the whole cluster; growth is cut to the max, removal stops at the min; with a max of 0 nothing grows")
	f.Var(bounds{&r.MinMemoryGiB, &g.MaxMemoryGiB}, "memory-total", "least and most GiB of memory of the whole cluster, as --cores-total")
	f.Var(perGroup[policy.GPUTotal]{"total", &g.GPUs, policy.ParseGPUTotal, policy.GPUTotal.String},
		"gpu-total", "least and most GPUs of a kind in the whole cluster, as KIND:MIN:MAX; KIND is the resource, such as nvidia.com/gpu, or the value of the nodes' label accelerator; may be repeated")
	f.Var(inverse{&g.NeedsReady}, "scale-up-from-zero", "grow also while no node of the cluster is Ready")
	f.Lookup("scale-up-from-zero").NoOptDefVal = "true"
	f.IntVar(&g.MaxAtOnce, "max-nodes-per-scaleup", g.MaxAtOnce, "most machines that one decision adds to one group; 0: no limit")
	f.BoolVar(&g.EnforceMin, "enforce-node-group-min-size", g.EnforceMin, "raise a group that is below its min; a min that a schedule sets is enforced without this")
	f.DurationVar(&g.BurstWindow, "burst-window", g.BurstWindow, "while pods keep coming, a group that was asked for machines is asked again when a rush of them pauses, and so long after at the latest; the first pods never wait; 0: it is asked whenever pods come")
	f.DurationVar(&g.PodDelay, "new-pod-scale-up-delay", g.PodDelay, "a pod is no reason to grow before it is so old; the annotation cluster-autoscaler.kubernetes.io/pod-scale-up-delay may say more")
	f.Int32Var(&g.PriorityCutoff, "expendable-pods-priority-cutoff", g.PriorityCutoff, "a pod of a lower priority is expendable: nothing grows for it, and it keeps no node")
	f.DurationVar(&g.GangHold, "gang-hold", g.GangHold, "how long machines are kept for a gang of pods that cannot be whole; after that they are as idle as any others")
	f.DurationVar(&g.Provision, "max-node-provision-time", g.Provision, "a machine without a node after this long is given up")
	f.DurationVar(&g.Startup, "max-node-startup-time", g.Startup, "a node that is not Ready so long after it registered counts as one that fails to start, and no pod waits for it")
	f.DurationVar(&g.BackoffFirst, "initial-node-group-backoff-duration", g.BackoffFirst, "how long a group rests after its first failure")
	f.DurationVar(&g.BackoffMost, "max-node-group-backoff-duration", g.BackoffMost, "a group's rest doubles from failure to failure up to this")
	f.DurationVar(&g.BackoffReset, "node-group-backoff-reset-timeout", g.BackoffReset, "after this long without failures the next one counts as the first")

	f.StringArrayVar(&g.Taints.Startup, "startup-taint", nil, "key of a taint that somebody takes off a new node when he is done with it: until then the node is not ready, and the next machine is not expected to keep it; may be repeated")
	f.Var(f.Lookup("startup-taint").Value, "ignore-taint", "the old name of --startup-taint")
	f.StringArrayVar(&g.Taints.Prefixes, "startup-taint-prefix", nil, "prefix of the keys of such taints; may be repeated")
	f.StringArrayVar(&g.Taints.Status, "status-taint", nil, "key of a taint that says how a node is doing: the node is ready, and the next machine is not expected to bear it; may be repeated")
	f.StringSliceVar(&g.Bypassed, "bypassed-scheduler-names", nil, "schedulers with commas between them whose pods are a reason to grow before they have been looked at")
	f.StringSliceVar(&g.Schedulers, "allowed-scheduler-names", nil, "schedulers with commas between them whose pods are a reason to grow; all when none is named; every one of --bypassed-scheduler-names must be among them")
	f.DurationVar(&r.KeepUnjoined, "keep-failed-machine", r.KeepUnjoined, "when three machines of a group have not become Ready nodes and none has since, the group gets one at a time, and the last that failed is kept for so long, unless the group is at its max, so that somebody can find out why; 0: it is deleted as the others are")
	f.BoolVar(&r.ForceUnjoined, "force-delete-unregistered-nodes", r.ForceUnjoined, "delete a machine that did not become a node in time even where its group falls below its min")
	f.BoolVar(&r.ForceFailed, "force-delete-failed-nodes", r.ForceFailed, "delete a machine that the cloud could not make even where its group falls below its min")

	b := &g.Balance
	f.BoolVar(&b.Similar, "balance-similar-node-groups", b.Similar, "spread growth over groups whose nodes are alike, so that they become equally large")
	f.StringArrayVar(&b.IgnoreLabels, "balancing-ignore-label", b.IgnoreLabels, "a label in which groups may differ and be alike, beside zone, host name and the like; may be repeated")
	f.Float64Var(&b.Memory, "memory-difference-ratio", b.Memory, "share by which the memory of machines may differ in groups that are alike")
	f.Float64Var(&b.Allocatable, "max-allocatable-difference-ratio", b.Allocatable, "share by which what nodes can give to pods may differ in groups that are alike")
	f.Float64Var(&b.Free, "max-free-difference-ratio", b.Free, "share by which what daemons leave of it may differ in groups that are alike")

	f.Var(perGroup[policy.GroupHeadroom]{"headroom", &g.Headroom, policy.ParseGroupHeadroom, func(h policy.GroupHeadroom) string {
		return fmt.Sprintf("%s=%s", h.Group, h.Headroom)
	}}, "headroom", "room that a group keeps free for pods to come, as GROUP=machines:N or GROUP=cores:N; the tag sluice.dev_headroom of a scale set says the same; may be repeated")
	f.Var(perGroup[policy.GroupSchedule]{"schedule", &g.Schedules, policy.ParseGroupSchedule, func(s policy.GroupSchedule) string {
		return fmt.Sprintf("%s: %s", s.Group, s.Schedule)
	}}, "schedule", "min and max of a group in hours of the week, as GROUP: DAYS HOURS ZONE min=N max=N, such as agents: Mon-Fri 08:00-20:00 Europe/Berlin min=3 max=20; of several in force the last wins; the tag sluice.dev_schedule of a scale set says the same; may be repeated")
	f.Var(perGroup[policy.GroupCeiling]{"ceiling", &g.Ceilings, policy.ParseGroupCeiling, policy.GroupCeiling.String},
		"ceiling", "stop growth at machines:N/WINDOW added, usd:N/WINDOW that machines cost, or usd-per-hour:N, of all groups together; GROUP=... for one of them; the tag sluice.dev_ceiling of a scale set says the same; may be repeated")
	f.Var(perGroup[policy.DrainTarget]{"target", &g.DrainTargets, policy.ParseDrainTarget, policy.DrainTarget.String},
		"drain-target", "work a backlog off within a time instead of a place for every pod at once, as namespace/NAME=20m or GROUP=20m; how long pods run is their annotation sluice.dev/run-time, else learned from their owner's earlier ones; may be repeated")
	f.BoolVar(&g.AwaitPlaces, "await-free-places", g.AwaitPlaces, "let pods of Jobs that run for at most two boots wait for places that pods of their kind are expected to leave before a machine could boot, at most for as long as a boot; false: a place for every pod at once")

	q := &g.Requests
	f.BoolVar(&q.Enabled, "enable-provisioning-requests", q.Enabled, "answer ProvisioningRequests of the classes check-capacity.autoscaling.x-k8s.io and best-effort-atomic-scale-up.autoscaling.x-k8s.io; their pods are then no reason to grow by themselves")
	f.StringVar(&q.Instance, "check-capacity-processor-instance", q.Instance, "answer only those check-capacity requests whose parameter processorInstance says this; without it those that say none")
	f.BoolVar(&g.Buffers.Translate, "capacity-buffer-controller-enabled", g.Buffers.Translate, "work out for how many pods like which every CapacityBuffer is, and write it into its status")
	f.BoolVar(&g.Buffers.Keep, "capacity-buffer-pod-injection-enabled", g.Buffers.Keep, "keep room free for the pods of CapacityBuffers, and buy it where it lacks")
}

// expanderList is a flag that holds names with commas between them; a repeated flag adds to the ones before. [policy.Policy.Check] judges
// the names.
type expanderList []policy.Expander

func (*expanderList) Type() string { return "names" }

func (l *expanderList) String() string {
	words := make([]string, len(*l))
	for i, e := range *l {
		words[i] = string(e)
	}
	return strings.Join(words, ",")
}

func (l *expanderList) Set(value string) error {
	for _, word := range strings.Split(value, ",") {
		*l = append(*l, policy.Expander(strings.TrimSpace(word)))
	}
	return nil
}

// perGroup is a repeated flag whose values name groups.
type perGroup[V any] struct {
	kind  string
	all   *[]V
	parse func(string) (V, error)
	show  func(V) string
}

func (v perGroup[V]) Type() string { return v.kind }

func (v perGroup[V]) String() string {
	if v.all == nil { // the zero value, which pflag asks for
		return ""
	}
	words := make([]string, len(*v.all))
	for i, one := range *v.all {
		words[i] = v.show(one)
	}
	return strings.Join(words, ", ")
}

// fault is why a value is refused, in words for the operator.
func (v perGroup[V]) fault(value string) error {
	_, err := v.parse(value)
	return err
}

// Set changes nothing when it refuses.
func (v perGroup[V]) Set(value string) error {
	one, err := v.parse(value)
	if err != nil {
		return err
	}
	*v.all = append(*v.all, one)
	return nil
}
