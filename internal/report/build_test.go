package report

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/reason"
)

var update = flag.Bool("update", false, "rewrite what reports should look like, in testdata")

// golden compares a report with the file in testdata that bears the test's name.
func golden(t *testing.T, got string) {
	t.Helper()
	path := filepath.Join("testdata", strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == '\'' {
			return '_'
		}
		return r
	}, t.Name())+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("not as in %s (-want +got):\n%s", path, diff)
	}
}

// noon is when every test's first cycle observes.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a small cluster to be observed and decided on.
type world struct {
	at      time.Time
	objects cluster.Objects
	groups  []*cluster.Group
	kept    memory.Memory
	policy  *policy.Policy
	cycle   uint64
	ledger  fleet.Ledger
}

func newWorld() *world { return &world{at: noon, policy: policy.Default(), cycle: 7} }

// group adds a group of machines with 4 cores, read two seconds before, with as many machines that have a Ready node each.
func (w *world) group(id string, least, most, machines int) *cluster.Group {
	g := &cluster.Group{
		ID: cluster.GroupID(id), Min: least, Max: most, Capacity: machines,
		Template: &corev1.Node{Status: corev1.NodeStatus{Capacity: room(), Allocatable: room()}},
		Read:     cluster.Read{At: w.at.Add(-2 * time.Second), Complete: true, Version: "1"},
	}
	for i := range machines {
		in := w.machine(g, i)
		w.objects.Nodes = append(w.objects.Nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("%s-%d", id, i), UID: types.UID(fmt.Sprintf("node-%s-%d", id, i)),
				CreationTimestamp: metav1.NewTime(w.at.Add(-time.Hour)),
			},
			Spec: corev1.NodeSpec{ProviderID: in.ProviderID},
			Status: corev1.NodeStatus{
				Capacity: room(), Allocatable: room(),
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(w.at.Add(-time.Hour))}},
			},
		})
	}
	w.groups = append(w.groups, g)
	return g
}

// machine adds a running machine of an hour's age to a group.
func (w *world) machine(g *cluster.Group, i int) *cluster.Instance {
	in := &cluster.Instance{
		ID: cluster.InstanceID(fmt.Sprint(i)), Group: g.ID, UID: fmt.Sprintf("uid-%s-%d", g.ID, i),
		ProviderID: fmt.Sprintf("sim:///%s/%d", g.ID, i), State: cluster.StateRunning, Created: w.at.Add(-time.Hour),
	}
	g.Instances = append(g.Instances, in)
	return in
}

// pod adds a pod of a ReplicaSet that asks for cores: on a node, or unschedulable for three and a half seconds when node is "".
func (w *world) pod(name, cpu, node string) *cluster.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID("pod-" + name), CreationTimestamp: metav1.NewTime(w.at.Add(-time.Minute)),
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "rs", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName: node, SchedulerName: corev1.DefaultSchedulerName,
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
			}}},
		},
	}
	if node == "" {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			LastTransitionTime: metav1.NewTime(w.at.Add(-4 * time.Second)),
		}}
	}
	record := cluster.NewPods(p)[0]
	w.objects.Pods = append(w.objects.Pods, record)
	return record
}

// judgedAt lets the scheduler have found no node for the pod of that index since then.
func (w *world) judgedAt(t time.Time, pod int) {
	o := w.objects.Pods[pod].Object()
	for i := range o.Status.Conditions {
		o.Status.Conditions[i].LastTransitionTime.Time = t
	}
	w.objects.Pods[pod] = cluster.NewPods(o)[0]
}

func room() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
}

// node is the node object of that name.
func (w *world) node(name string) *corev1.Node {
	for _, n := range w.objects.Nodes {
		if n.Name == name {
			return n
		}
	}
	panic("no node " + name)
}

// cordon puts a node on the ladder, for so long already.
func (w *world) cordon(name, why string, ago time.Duration) {
	n := w.node(name)
	n.Spec.Unschedulable = true
	n.Spec.Taints = append(n.Spec.Taints, cluster.Removal{Since: w.at.Add(-ago), Why: why}.Taint())
	if w.kept.Cordoned == nil {
		w.kept.Cordoned = map[string]memory.Cordoned{}
	}
	w.kept.Cordoned[name] = memory.Cordoned{Said: w.at.Add(-ago).Truncate(time.Second), By: w.at.Add(-ago)}
	for _, g := range w.groups {
		for _, in := range g.Instances {
			if in.ProviderID == n.Spec.ProviderID {
				n.Annotations = map[string]string{cluster.MachineAnnotation: in.Machine().String()}
			}
		}
	}
}

// decide is the entry of a cycle whose actions all come back with the result, half a second after it observed.
func (w *world) decide(r memory.Result) journal.Entry {
	e := journal.Entry{Cycle: w.cycle, Seen: cluster.New(w.at, w.objects, w.groups), Policy: w.policy, Before: w.kept}
	e.Seen.Fleet = w.ledger
	e.Plan, _ = plan.Decide(e.Seen, e.Policy, e.Before)
	r.At = w.at.Add(500 * time.Millisecond)
	for range e.Plan.Actions {
		e.Results = append(e.Results, r)
	}
	return e
}

func accepted() memory.Result { return memory.Result{Status: memory.Accepted} }

func refused() memory.Result {
	why := reason.New(reason.GroupReadOld, reason.Group("agents"), "read", "11:58:00.000", "cause", "sluice started").By("S-02")
	return memory.Result{Status: memory.Refused, Property: "S-02", Reason: &why, Message: why.String()}
}

func failed() memory.Result {
	return memory.Result{Status: memory.Failed, Kind: "quota", Code: "QuotaExceeded", Message: "4 of 4 cores are in use"}
}

// heldBack is what the provider says of a request that it did not send.
func heldBack() memory.Result {
	return memory.Result{Status: memory.Failed, Kind: "throttled", Code: "TooManyRequests", Message: "Azure has asked to wait until 12:05:00", Property: "S-32"}
}

// growing is a world in which a group grows for one pod, another pod is stuck and a node is idle but counted on by nobody.
func growing() *world {
	w := newWorld()
	w.group("agents", 0, 3, 2)
	w.pod("busy", "3", "agents-0")
	w.pod("busier", "3", "agents-1")
	w.pod("web-0", "2", "")
	w.pod("huge-0", "64", "")
	return w
}
