package app

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/policy"
)

// PolicyFlags declares the flags that make a policy. Their names, defaults and meanings are cluster-autoscaler's where it has them.
// The returned function reads what they say by then; its error names the flag, the value and what is allowed.
func PolicyFlags(f *pflag.FlagSet) func() (*policy.Policy, error) {
	p := policy.Default()
	r, h := &p.Removal, &p.Health

	growthFlags(f, p)
	declareTheirs(f)

	f.BoolVar(&r.Enabled, "scale-down-enabled", r.Enabled, "cordon and drain nodes that are not needed, and delete their machines")
	f.DurationVar(&r.Unneeded, "scale-down-unneeded-time", r.Unneeded, "how long a node must have been idle or underused before it goes")
	f.DurationVar(&r.Unready, "scale-down-unready-time", r.Unready, "how long a node that is not Ready must have been unneeded before it goes")
	f.Float64Var(&r.Threshold, "scale-down-utilization-threshold", r.Threshold, "share of CPU or memory requested, at or below which a node is underused")
	f.Float64Var(&r.GPUThreshold, "scale-down-gpu-utilization-threshold", r.GPUThreshold, "share of GPUs requested, at or below which a node that has GPUs is underused")
	f.Float64Var(&r.BusyThreshold, "busy-threshold", r.BusyThreshold, "share of allocatable CPU above which a node stays though it is idle or underused, as metrics.k8s.io measures it, where sluice may read that; 0: requests alone decide, as in cluster-autoscaler")
	f.DurationVar(&r.BusyLimit, "busy-limit", r.BusyLimit, "for how long a node stays for its measured CPU alone; 0: no limit")
	compat := f.Bool("compat", false, "take cluster-autoscaler's default for each flag that is not given and has another one here, as the table of defaults says, and leave out what sluice looks at beyond cluster-autoscaler before a node goes: its measured use, as with --busy-threshold=0")
	f.DurationVar(&r.AfterAdd, "scale-down-delay-after-add", r.AfterAdd, "no removal so long after a growth")
	f.DurationVar(&r.AfterDelete, "scale-down-delay-after-delete", r.AfterDelete, "no removal so long after machines were deleted")
	f.DurationVar(&r.AfterFailure, "scale-down-delay-after-failure", r.AfterFailure, "no removal so long after a node could not be tainted")
	f.BoolVar(&r.LocalDelays, "scale-down-delay-type-local", r.LocalDelays, "the three delays hold for each group by itself")
	f.BoolVar(&r.UnreadyEnabled, "scale-down-unready-enabled", r.UnreadyEnabled, "cordon, drain and delete nodes that are not Ready as well")
	f.BoolVar(&r.IgnoreDaemons, "ignore-daemonsets-utilization", r.IgnoreDaemons, "leave pods of DaemonSets out of how much of a node is requested")
	f.BoolVar(&r.IgnoreMirrors, "ignore-mirror-pods-utilization", r.IgnoreMirrors, "leave static pods out of how much of a node is requested")
	f.DurationVar(&r.DeletionDelay, "node-deletion-delay-timeout", r.DeletionDelay, "how long an empty node waits for its annotations delay-deletion.cluster-autoscaler.kubernetes.io/... to be taken away")
	f.DurationVar(&r.AfterTaint, "node-delete-delay-after-taint", r.AfterTaint, "pause between cordoning a node and the next step")
	f.IntVar(&r.MaxSoftTaints, "max-bulk-soft-taint-count", r.MaxSoftTaints, "most soft taints that one cycle puts on nodes that could go, or takes off nodes that are needed again; 0: none is put on, and those that are there come off")
	f.DurationVar(&r.Exclusion, "load-balancer-exclusion-delay", r.Exclusion, "a node on its way out is labelled so that load balancers outside of the cluster leave it out, and the next step waits for so long; 0: no label")
	f.DurationVar(&r.MaxDetach, "max-detach-time", r.MaxDetach, "how long an empty node waits for its volumes to be detached before its machine is deleted all the same")
	f.IntVar(&r.MaxInFlight, "max-scale-down-parallelism", r.MaxInFlight, "most nodes at once on their way to being ready for deletion, idle ones included; all that are ready in a group are deleted in one request, and no longer count")
	f.Var(&oldParallelism{of: &r.MaxInFlight, flags: f}, "max-empty-bulk-delete", "the old name of --max-scale-down-parallelism, where that is not given")
	f.BoolVar(&r.ControlPlane, "remove-control-plane-nodes", r.ControlPlane, "manage groups that have control-plane or etcd nodes as any other, and delete such nodes as well, one at a time and only while a quorum of them is left; kubeadm takes no deleted machine out of etcd, so see what docs/safety.md says of S-17")
	f.IntVar(&r.MaxDrains, "max-drain-parallelism", r.MaxDrains, "most nodes at once whose pods are being evicted; they count in --max-scale-down-parallelism")
	f.Float64Var(&r.Emptied, "max-emptied-percentage", r.Emptied, "share of a group's nodes, in percent and at least one node, that are emptied of pods within --emptied-window, whatever for; nodes that nobody has to leave do not count, and what a person asks for does not wait")
	f.DurationVar(&r.Window, "emptied-window", r.Window, "see --max-emptied-percentage; a process without the record of the one before waits for so long; 0: no bound")
	f.DurationVar(&r.DrainDeadline, "max-drain-time", r.DrainDeadline, "so long after its node was cordoned a pod is to have left, or --after-drain-time says what then; a pod's annotation sluice.dev/drain-time gives it another time")
	f.Var(overdue{&r.AfterDeadline}, "after-drain-time", "what becomes of a drain when a pod has not left in its time: abort gives the node back, wait goes on waiting, force lets the machine go with a pod that was told to end and has not; budgets and work hold all the same; a pod's annotation sluice.dev/after-drain-time says otherwise for it")
	f.BoolVar(&r.EmptyDaemons, "daemonset-eviction-for-empty-nodes", r.EmptyDaemons, "evict the pods of DaemonSets from a node that has no others before its machine goes; a pod's annotation cluster-autoscaler.kubernetes.io/enable-ds-eviction says otherwise for it")
	f.BoolVar(&r.OccupiedDaemons, "daemonset-eviction-for-occupied-nodes", r.OccupiedDaemons, "the same for a node whose other pods were evicted, once these are gone")
	f.BoolVar(&r.RunDry, "run-dry", r.RunDry, "taint a node that nothing but work holds which is not evicted, so that new work goes elsewhere and the machine goes when the work is done; a pending pod that fits takes the taint off")
	evictionFlags(f, r)
	f.StringVar(&p.ClusterID, "cluster-id", "", "the cluster that the node groups belong to: the UID of its namespace kube-system, as kubectl get namespace kube-system -o jsonpath={.metadata.uid} tells it; in any other cluster nothing is changed; without it, whichever cluster is watched")
	f.IntVar(&h.UnreadyCount, "ok-total-unready-count", h.UnreadyCount, "so many nodes may always be not Ready; removal stops when more are, and more than --max-total-unready-percentage")
	f.Float64Var(&h.UnreadyPercent, "max-total-unready-percentage", h.UnreadyPercent, "share of all nodes that may be not Ready before removal stops, in percent")

	return func() (*policy.Policy, error) {
		if err := checkTheirs(f); err != nil {
			return nil, err
		}
		if *compat {
			if err := takeTheirDefaults(f); err != nil {
				return nil, err
			}
		}
		checked := *p
		g := &checked.Growth
		g.Expanders, g.Balance.IgnoreLabels = slices.Clone(g.Expanders), slices.Clone(g.Balance.IgnoreLabels)
		g.Headroom, g.Schedules, g.Ceilings = slices.Clone(g.Headroom), slices.Clone(g.Schedules), slices.Clone(g.Ceilings)
		g.Taints = cluster.Taints{Startup: slices.Clone(g.Taints.Startup), Prefixes: slices.Clone(g.Taints.Prefixes), Status: slices.Clone(g.Taints.Status)}
		g.Bypassed, g.Schedulers = slices.Clone(g.Bypassed), slices.Clone(g.Schedulers)
		g.DrainTargets, checked.Removal.Work = slices.Clone(g.DrainTargets), slices.Clone(checked.Removal.Work)
		checked.Removal.DaemonWork = slices.Clone(checked.Removal.DaemonWork)
		checked.Removal.Consolidation.Groups = slices.Clone(checked.Removal.Consolidation.Groups)
		if err := checked.Check(); err != nil {
			return nil, err
		}
		if *compat {
			checked.Removal.BusyThreshold = 0
		}
		return &checked, nil
	}
}

func evictionFlags(f *pflag.FlagSet, r *policy.Removal) {
	f.Var((*seconds)(&r.MaxGrace), "max-graceful-termination-sec", "longest grace period given to an evicted pod, in seconds")
	f.Var(bands{&r.Bands}, "drain-priority-config", "the order in which pods leave a node, as PRIORITY:SECONDS,... with the longest grace period of each band: those of the lowest band first, the next ones when these are gone; without it critical pods leave last")
	f.BoolVar(&r.LocalStorage, "skip-nodes-with-local-storage", r.LocalStorage, "a pod with a hostPath or emptyDir volume keeps its node")
	c := &r.Consolidation
	f.Var(perGroup[cluster.GroupID]{"group", &c.Groups, policy.ParseConsolidated, func(id cluster.GroupID) string { return string(id) }},
		"consolidate", "also empty nodes of this group whose pods could run elsewhere for less, on other nodes or on one smaller machine; all for every group; nothing is moved that may not be evicted; may be repeated")
	f.DurationVar(&c.Expected, "consolidation-expected-time", c.Expected, "for how long a saving is expected to last; what it saves in that time must be more than moving the pods costs")
	f.Float64Var(&c.PodUSD, "consolidation-pod-cost", c.PodUSD, "what moving a pod is thought to cost, in dollars")
	f.IntVar(&c.PerDay, "consolidation-per-day", c.PerDay, "most nodes emptied for a saving within 24 hours")
	f.Var(perGroup[policy.WorkRule]{"patience", &r.Work, policy.ParseWorkRule, policy.WorkRule.String},
		"evict-work", "when pods of Jobs, and of DaemonSets that are work by --daemon-work, may be evicted after all, as namespace/NAME=PATIENCE or GROUP=PATIENCE: never, now, or a duration for which their node runs dry first, such as 2h; a namespace wins over a group, a pod's annotation sluice.dev/evict-work over both; may be repeated")
	f.Var(perGroup[cluster.PodSelector]{"pods", &r.DaemonWork, cluster.ParsePodSelector, cluster.PodSelector.String},
		"daemon-work", "pods of DaemonSets that are work as a Job's and keep their node, as NAMESPACE/SELECTOR with a label selector of Kubernetes, such as render/app=worker; a daemon's pod annotated safe-to-evict=false or do-not-disrupt is work without it; the tag sluice.dev_daemon-work of a scale set says the same of its nodes; may be repeated")
	f.BoolVar(&r.CustomOwners, "skip-nodes-with-custom-controller-pods", r.CustomOwners, "a pod keeps its node whose controller is none of Kubernetes' own, which may not make it again, or does not exist")
	f.Int32Var(&r.MinReplicas, "min-replica-count", r.MinReplicas, "a pod keeps its node whose ReplicaSet or ReplicationController is to have fewer replicas than that; not with --skip-nodes-with-custom-controller-pods=false")
	f.DurationVar(&r.SystemPodAge, "blocking-system-pod-distruption-timeout", r.SystemPodAge, "age up to which a kube-system pod without a disruption budget keeps its node")
	f.BoolVar(&r.SystemPods, "skip-nodes-with-system-pods", r.SystemPods, "a kube-system pod without a disruption budget keeps its node while it is younger than an hour")
}

// BadValue says what to give to a flag instead of a value that it refused.
func BadValue(f *pflag.Flag, value string) error {
	if v, ok := f.Value.(interface{ fault(value string) error }); ok {
		return fmt.Errorf("--%s=%s: %w", f.Name, value, v.fault(value))
	}
	allowed := "another value"
	switch f.Value.Type() {
	case "bool":
		allowed = "true or false"
	case "int", "int32", "int64":
		allowed = "a whole number, such as 10"
	case "uint64":
		allowed = "a whole number of zero or more"
	case "float64":
		allowed = "a number, such as 0.5"
	case "duration":
		allowed = "a duration, such as 90s or 10m"
	case bounds{}.Type():
		allowed = "min:max as whole numbers with max at least min, such as 0:320"
	case new(seconds).Type():
		allowed = "whole seconds of zero or more, such as 600"
	}
	return fmt.Errorf("--%s=%s: give %s", f.Name, value, allowed)
}

// errValue is why a flag refuses its value; [BadValue] has the sentence for it.
var errValue = errors.New("not a value of this flag")

// inverse is a flag that is true where what it sets is false.
type inverse struct{ of *bool }

func (inverse) Type() string { return "bool" }

func (i inverse) String() string { return strconv.FormatBool(i.of == nil || !*i.of) }

// Set changes nothing when it refuses.
func (i inverse) Set(value string) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return errValue
	}
	*i.of = !on
	return nil
}

// bounds is a flag as min:max.
type bounds struct{ low, high *int64 }

func (bounds) Type() string { return "min:max" }

func (b bounds) String() string {
	if b.low == nil { // the zero value, which pflag asks for
		return ""
	}
	return fmt.Sprintf("%d:%d", *b.low, *b.high)
}

// Set changes nothing when it refuses.
func (b bounds) Set(value string) error {
	before, after, _ := strings.Cut(value, ":")
	low, lowErr := strconv.ParseInt(before, 10, 64)
	high, highErr := strconv.ParseInt(after, 10, 64)
	if lowErr != nil || highErr != nil || low < 0 || high < low {
		return errValue
	}
	*b.low, *b.high = min(low, mostBound), min(high, mostBound)
	return nil
}

// mostBound is more cores, and more GiB, than any cluster has, and few enough to count them in thousandths and in bytes.
const mostBound = 1 << 32

// oldParallelism is a flag that says of a number what another flag says as well, which wins.
type oldParallelism struct {
	of    *int
	flags *pflag.FlagSet
}

func (*oldParallelism) Type() string { return "int" }

func (o *oldParallelism) String() string {
	if o.of == nil {
		return ""
	}
	return strconv.Itoa(*o.of)
}

func (o *oldParallelism) Set(value string) error {
	n, err := strconv.Atoi(value)
	if err == nil && !o.flags.Changed("max-scale-down-parallelism") {
		*o.of = n
	}
	return err
}

// seconds is a duration whose flag is a number of whole seconds.
type seconds time.Duration

func (*seconds) Type() string { return "seconds" }

func (s *seconds) String() string { return strconv.FormatInt(int64(time.Duration(*s)/time.Second), 10) }

func (s *seconds) Set(value string) error {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(time.Second) {
		return errValue
	}
	*s = seconds(time.Duration(n) * time.Second)
	return nil
}
