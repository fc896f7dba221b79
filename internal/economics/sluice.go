package economics

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/traces"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// Sluice lets a [plan.Planner] decide over a farm: it shows it the farm as the API server and the cloud would, and performs its actions,
// each of which is accepted at once.
type Sluice struct {
	Policy *policy.Policy
	Expect RunTimes // what pods say of their run times; nil when they say nothing

	planner plan.Planner
	kept    memory.Memory
	seen    *cluster.Snapshot
	nodes   map[*Machine]*node
	classes cluster.Classes
	parting []*node // of machines that are being deleted, or are deleted and have a Node object still
	pods    map[*Run]*shown
	owners  map[string]types.UID
}

// node is a machine as sluice sees it.
type node struct {
	*Machine
	object   *corev1.Node // nil until it has joined
	instance *cluster.Instance
	gone     time.Duration // when the cloud has deleted it, once that has been requested
}

// shown is a pod as sluice sees it, kept as long as it does not change: equal pointers mean equal objects.
type shown struct {
	object *cluster.Pod
	on     *Machine
	since  time.Duration
}

// namespace is that of all pods.
const namespace = "farm"

// epoch is the time at which a farm's clock begins.
var epoch = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// Heeds says yes: sluice decides on every change.
func (s *Sluice) Heeds(bool) bool { return true }

// Look is one cycle.
func (s *Sluice) Look(f *Farm) time.Duration {
	if s.nodes == nil {
		s.nodes, s.pods, s.owners = map[*Machine]*node{}, map[*Run]*shown{}, map[string]types.UID{}
	}
	at := epoch.Add(f.Now)
	groups := s.groups(f)
	if objects := s.objects(f); s.seen == nil {
		s.seen = cluster.New(at, objects, groups)
	} else {
		s.seen = s.seen.Next(at, objects, groups)
	}
	p, kept := s.planner.Decide(s.seen, s.Policy, s.kept)
	var results []memory.Result
	for _, a := range p.Actions {
		s.perform(f, a)
		results = append(results, memory.Result{Status: memory.Accepted, At: at})
	}
	s.kept = kept.After(p, results, s.Policy)
	if p.Next.IsZero() {
		return 0
	}
	return p.Next.Sub(epoch)
}

// Plan is what sluice buys for an instance.
func Plan(in Instance) Answer {
	var pods []*corev1.Pod
	for i, d := range in.Demands {
		for range d.Count {
			p := podObject(podName(len(pods)), &traces.Pod{Asks: d.Asks, Owner: fmt.Sprintf("owner-%d", i)})
			p.CreationTimestamp = metav1.NewTime(epoch)
			pods = append(pods, p)
		}
	}
	var groups []*cluster.Group
	for i := range in.Kinds {
		groups = append(groups, group(&in.Kinds[i]))
	}
	at := epoch.Add(time.Minute)
	allowed := policy.Default()
	allowed.Growth.Max.AtOnce = 0 // no other method has such a limit
	p, _ := plan.Decide(cluster.New(at, cluster.Objects{Pods: cluster.NewPods(pods...)}, groups), allowed, memory.Memory{})
	a := Answer{Count: make([]int, len(in.Kinds))}
	for _, act := range p.Actions {
		if grow, ok := act.(action.SetCapacity); ok {
			a.Count[kindNamed(in.Kinds, grow.Group)] += grow.To - grow.From
		}
	}
	for _, v := range p.Verdicts {
		if v.Outcome == action.PodStuck {
			a.Unplaced++
		}
	}
	return a
}

func kindNamed(kinds []Kind, id cluster.GroupID) int {
	return slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == string(id) })
}

// perform does one action to the farm.
func (s *Sluice) perform(f *Farm, a action.Action) {
	switch a := a.(type) {
	case action.SetCapacity:
		f.Grow(kindNamed(f.Kinds, a.Group), a.To-a.From)
	case action.Cordon:
		n := s.named(a.Node)
		f.Bar(n.Machine)
		n.object = n.object.DeepCopy()
		n.object.Spec.Unschedulable = true
		n.object.Spec.Taints = append(slices.DeleteFunc(n.object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cluster.RemovalTaint }), a.Removal.Taint())
		n.object.Annotations = map[string]string{cluster.MachineAnnotation: a.Machine.String()}
	case action.Uncordon:
		n := s.named(a.Node)
		shunned := n.Shunned
		n.object = nodeObject(f, n.Machine)
		if f.Release(n.Machine); shunned {
			n.object.Spec.Taints = append(n.object.Spec.Taints, cluster.CandidateSince(epoch))
		}
	case action.CandidateTaint:
		n := s.named(a.Node)
		n.Shunned = true
		n.object = n.object.DeepCopy()
		n.object.Spec.Taints = append(n.object.Spec.Taints, cluster.CandidateSince(a.Since))
	case action.CandidateUntaint:
		n := s.named(a.Node)
		n.Shunned = false
		n.object = n.object.DeepCopy()
		n.object.Spec.Taints = slices.DeleteFunc(n.object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == cluster.CandidateTaint })
	case action.Evict:
		n := s.named(a.Node)
		i := slices.IndexFunc(n.Pods, func(r *Run) bool { return podName(r.Index) == a.Pod })
		f.Evict(n.Pods[i])
	case action.DeleteInstances:
		for _, l := range a.Machines {
			i := slices.IndexFunc(f.Machines, func(m *Machine) bool { return machineName(f, m) == string(l.ID) })
			n := s.nodes[f.Machines[i]]
			n.gone = f.Now + f.settings.Delete
			deleting := *n.instance
			deleting.State = cluster.StateDeleting
			n.instance = &deleting
			delete(s.nodes, n.Machine)
			s.parting = append(s.parting, n)
			f.Delete(n.Machine)
		}
	case action.DeleteNode:
		s.parting = slices.DeleteFunc(s.parting, func(n *node) bool { return n.object != nil && n.object.Name == a.Node })
	default:
		panic(fmt.Sprintf("economics: no such action on a farm: %T", a))
	}
}

func (s *Sluice) named(name string) *node {
	for _, n := range s.nodes {
		if n.object != nil && n.object.Name == name {
			return n
		}
	}
	panic("economics: no node " + name)
}

// groups are the farm's groups as the cloud lists them.
func (s *Sluice) groups(f *Farm) []*cluster.Group {
	groups := make([]*cluster.Group, len(f.Kinds))
	for i := range f.Kinds {
		groups[i] = group(&f.Kinds[i])
		groups[i].Read = cluster.Read{At: epoch.Add(f.Now), Complete: true, Version: "1"}
	}
	for _, m := range f.Machines {
		n := s.nodes[m]
		if n == nil {
			n = &node{Machine: m, instance: instance(f, m)}
			s.nodes[m] = n
		}
		if m.Ready && n.object == nil {
			running := *n.instance
			running.State = cluster.StateRunning
			n.instance, n.object = &running, nodeObject(f, m)
		}
		groups[m.Kind].Instances = append(groups[m.Kind].Instances, n.instance)
		groups[m.Kind].Capacity++
	}
	s.parting = slices.DeleteFunc(s.parting, func(n *node) bool { return n.object == nil && f.Now >= n.gone })
	for _, n := range s.parting {
		if f.Now < n.gone {
			groups[n.Kind].Instances = append(groups[n.Kind].Instances, n.instance)
		}
	}
	return groups
}

// objects are the farm's nodes and unfinished pods. It must not be asked before groups was for the same moment.
func (s *Sluice) objects(f *Farm) cluster.Objects {
	var os cluster.Objects
	var runs []*Run
	for _, m := range f.Machines {
		if n := s.nodes[m]; n.object != nil {
			os.Nodes = append(os.Nodes, n.object)
			runs = append(runs, m.Pods...)
		}
	}
	for _, n := range s.parting {
		if n.object != nil {
			os.Nodes = append(os.Nodes, n.object)
		}
	}
	runs = append(runs, f.Waiting.All()...)
	slices.SortFunc(runs, func(a, b *Run) int { return a.Index - b.Index })
	slices.SortFunc(os.Nodes, func(a, b *corev1.Node) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	kept := make(map[*Run]*shown, len(runs))
	for _, r := range runs {
		was := s.pods[r]
		if was == nil || was.on != r.On || was.since != r.Since {
			was = &shown{s.classes.Pod(s.pod(f, r)), r.On, r.Since}
		}
		kept[r] = was
		os.Pods = append(os.Pods, was.object)
	}
	s.pods = kept
	return os
}

// pod is a pod as the API server has it.
func (s *Sluice) pod(f *Farm, r *Run) *corev1.Pod {
	p := podObject(podName(r.Index), r.Pod)
	p.CreationTimestamp = metav1.NewTime(epoch.Add(r.At))
	if run := s.Expect[r.Owner]; run > 0 {
		p.Annotations = map[string]string{"sluice.dev/run-time": run.String()}
	}
	if r.On == nil {
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(epoch.Add(r.Since))
		return p
	}
	p.Spec.NodeName = machineName(f, r.On)
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, StartTime: new(metav1.NewTime(epoch.Add(r.Since)))}
	return p
}

// podObject is a pod that the scheduler found no node for. Batch pods belong to a Job, others to a ReplicaSet.
func podObject(name string, of *traces.Pod) *corev1.Pod {
	kind := "Job"
	if of.Evictable {
		kind = "ReplicaSet"
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: of.Owner, UID: types.UID(kind + "-" + of.Owner), Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			Containers:    []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: list(of.Asks)}}},
		},
		Status: corev1.PodStatus{
			Phase:      corev1.PodPending,
			Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}},
		},
	}
	if of.Asks.GPU > 0 {
		p.Spec.Tolerations = []corev1.Toleration{{Key: gpuTaint.Key, Operator: corev1.TolerationOpExists}}
	}
	return p
}

// group is an empty group of machines of the kind.
func group(k *Kind) *cluster.Group {
	template := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{corev1.LabelInstanceTypeStable: k.Name}},
		Status:     corev1.NodeStatus{Capacity: capacity(k.Machine), Allocatable: capacity(k.Room)},
	}
	if k.Machine.GPU > 0 {
		template.Spec.Taints = []corev1.Taint{gpuTaint}
	}
	return &cluster.Group{
		ID: cluster.GroupID(k.Name), Max: k.Max, Template: template, Size: k.Name, PriceUSDPerHour: k.PriceUSDPerHour,
		Read: cluster.Read{At: epoch, Complete: true, Version: "1"},
	}
}

func nodeObject(f *Farm, m *Machine) *corev1.Node {
	n := group(&f.Kinds[m.Kind]).Template
	n.Name = machineName(f, m)
	n.UID = types.UID(n.Name)
	n.Labels[corev1.LabelHostname] = n.Name
	n.CreationTimestamp = metav1.NewTime(epoch.Add(f.Now))
	n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = providerID(n.Name), machineUID(n.Name)
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: n.CreationTimestamp}}
	return n
}

func instance(f *Farm, m *Machine) *cluster.Instance {
	name := machineName(f, m)
	return &cluster.Instance{
		ID: cluster.InstanceID(name), Group: cluster.GroupID(f.Kinds[m.Kind].Name), UID: machineUID(name), ProviderID: providerID(name),
		ComputerName: name, Size: f.Kinds[m.Kind].Name, Created: epoch.Add(m.Asked), State: cluster.StateCreating,
	}
}

func podName(index int) string { return fmt.Sprintf("pod-%06d", index) }

func machineName(f *Farm, m *Machine) string { return f.Kinds[m.Kind].Name + "-" + strconv.Itoa(m.ID) }

func machineUID(name string) string { return "uid-" + name }

func providerID(name string) string { return "farm:///" + name }

// gpuTaint keeps pods that ask for no GPU off machines that have some.
var gpuTaint = corev1.Taint{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}

const gpuResource corev1.ResourceName = "nvidia.com/gpu"

func list(v Vector) corev1.ResourceList {
	l := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(v.Milli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(v.MiB<<20, resource.BinarySI),
	}
	if v.GPU > 0 {
		l[gpuResource] = *resource.NewQuantity(v.GPU, resource.DecimalSI)
	}
	return l
}

// capacity is what a node says it has: beside the resources as many pods as anybody wants, for the traces do not bound them.
func capacity(v Vector) corev1.ResourceList {
	l := list(v)
	l[corev1.ResourcePods] = *resource.NewQuantity(1000, resource.DecimalSI)
	return l
}
