package agent_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/agent"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/imds"
	"sluice.dev/sluice/internal/kubesim"
	"sluice.dev/sluice/policy"
)

const subscription = "00000000-0000-0000-0000-000000000001"

// farm is one scale set of spot machines that are nodes, on a clock that the test turns, with an agent on the first machine.
type farm struct {
	t     *testing.T
	now   time.Time
	azure *azuresim.Server
	kube  *kubesim.Cluster
	agent *agent.Agent
	next  time.Time // the agent's next turn
	log   strings.Builder
}

func newFarm(t *testing.T, machines int) *farm {
	t.Helper()
	f := &farm{t: t, now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return f.now }
	f.azure = &azuresim.Server{Now: clock}
	f.kube = &kubesim.Cluster{Now: clock, Seed: 3}
	f.must(f.azure.AddScaleSet(azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "farm", Name: "agents", Location: "westeurope", Size: "Standard_D4s_v5", Priority: "Spot", Capacity: machines,
	}))
	for _, m := range f.azure.Machines() {
		f.must(f.kube.Join(kubesim.Machine{Name: m.ComputerName, SystemUUID: m.VMID, InternalIP: m.PrivateIP, Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		}}))
	}
	f.start()
	f.pass(2 * time.Second)
	return f
}

// start puts a new agent, which knows nothing, in the place of the one before.
func (f *farm) start() {
	f.t.Helper()
	client, err := kubernetes.NewForConfig(f.kube.RESTConfig())
	f.must(err)
	f.agent = &agent.Agent{
		Metadata: &imds.Client{Transport: &azuresim.Transport{Server: f.azure, Machine: "agents_0"}}, Client: client, Policy: policy.Default(),
		Heeds: agent.DefaultHeeds, Now: func() time.Time { return f.now }, Log: slog.New(slog.NewTextHandler(io.MultiWriter(&f.log), nil)),
	}
	f.next = f.now
}

func (f *farm) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// pass turns the clock, second by second; the agent has its turns when it asked for them.
func (f *farm) pass(d time.Duration) {
	for end := f.now.Add(d); f.now.Before(end); f.now = f.now.Add(time.Second) {
		f.settle()
		if !f.now.Before(f.next) {
			f.next = f.now.Add(f.agent.Turn(context.Background()))
		}
		f.settle()
	}
}

func (f *farm) settle() {
	for range 100 {
		if !f.kube.Step() {
			return
		}
	}
	f.t.Fatal("the cluster does not come to rest")
}

// run puts replicas of a workload on the cluster: a Deployment, or a Job whose pods take so long.
func (f *farm) run(name string, replicas int32, takes time.Duration) {
	f.t.Helper()
	pod := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelHostname: f.azure.Machines()[0].ComputerName}, Containers: []corev1.Container{{
			Name: "c", Image: "i", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
		}}},
	}
	meta := metav1.ObjectMeta{Namespace: "default", Name: name}
	var made kubesim.Object = &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}, Template: pod,
	}}
	if takes > 0 {
		pod.Annotations = map[string]string{kubesim.RunForAnnotation: takes.String()}
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		made = &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Parallelism: &replicas, Completions: &replicas, Template: pod}}
	}
	_, err := f.kube.Create(made)
	f.must(err)
	f.pass(4 * time.Second)
}

func (f *farm) node() *corev1.Node {
	f.t.Helper()
	n, ok := kubesim.Find[*corev1.Node](f.kube, "", f.azure.Machines()[0].ComputerName)
	if !ok {
		f.t.Fatal("the node is gone")
	}
	return n
}

// announce has Azure announce an event to the machine and says when.
func (f *farm) announce(machine string, kind azuresim.EventKind, notice time.Duration) (id string, at time.Time) {
	f.t.Helper()
	id, err := f.azure.Schedule(machine, kind, notice)
	f.must(err)
	return id, f.now
}

// asked says when the first request of this verb and resource was answered with success since then.
func (f *farm) asked(since time.Time, verb, resource, subresource string) (time.Duration, bool) {
	for _, r := range f.kube.Log() {
		if r.Verb == verb && r.Resource == resource && r.Subresource == subresource && r.Code < 300 && !r.Time.Before(since) {
			return r.Time.Sub(since), true
		}
	}
	return 0, false
}

// evicted counts the pods of a workload whose eviction was accepted.
func (f *farm) evicted(name string) int {
	n := 0
	for _, r := range f.kube.Log() {
		if p, ok := r.Before.(*corev1.Pod); ok && r.Subresource == "eviction" && r.Code < 300 && p.Labels["app"] == name {
			n++
		}
	}
	return n
}

// told are the events that the agent has sent.
func (f *farm) told() (all []*corev1.Event) {
	for _, e := range kubesim.All[*corev1.Event](f.kube, "default") {
		if e.Source.Component == "sluice-agent" {
			all = append(all, e)
		}
	}
	return all
}

// agreed counts the requests by which machines agreed to events.
func (f *farm) agreed() int {
	n := 0
	for _, r := range f.azure.Requests() {
		if r.Method == "POST" && strings.Contains(r.Path, "scheduledevents") {
			n++
		}
	}
	return n
}

func TestTheNodeOfAMachineThatStopsTakesNoMorePodsAndThoseOnItLeaveInTime(t *testing.T) {
	for kind, notice := range map[azuresim.EventKind]time.Duration{
		azuresim.Preempt: 30 * time.Second, azuresim.Terminate: 5 * time.Minute, azuresim.Redeploy: 10 * time.Minute, azuresim.Reboot: 15 * time.Minute,
	} {
		t.Run(string(kind), func(t *testing.T) {
			f := newFarm(t, 2)
			f.run("web", 3, 0)
			_, at := f.announce("agents_0", kind, notice)
			f.pass(5 * time.Second)
			if after, ok := f.asked(at, "patch", "nodes", ""); !ok || after > time.Second {
				t.Errorf("tainted: %t, %s after the notice; want at most 1s", ok, after)
			}
			if after, ok := f.asked(at, "create", "pods", "eviction"); !ok || after > 2*time.Second {
				t.Errorf("evictions begun: %t, %s after the notice; want at most 2s", ok, after)
			}
			if told := f.told(); len(told) != 1 || told[0].Reason != string(kind)+"Announced" || told[0].InvolvedObject.UID != f.node().UID {
				t.Errorf("events %v, want one about the node", told)
			}
			if said, ok := cluster.NoticeOf(f.node()); !ok || said.Kind != string(kind) || !f.node().Spec.Unschedulable {
				t.Errorf("the node says %+v (%t), unschedulable %t", said, ok, f.node().Spec.Unschedulable)
			}
			f.pass(10 * time.Second)
			if got := f.evicted("web"); got != 3 {
				t.Errorf("%d pods evicted, want 3", got)
			}
			if got := f.agreed(); got != 1 {
				t.Errorf("%d agreements once the node was empty, want 1\n%s", got, &f.log)
			}
		})
	}
}

func TestWorkThatMayNotBeEvictedGoesOnForAsLongAsItCan(t *testing.T) {
	f := newFarm(t, 1)
	f.run("short", 1, 5*time.Minute)
	f.run("long", 1, time.Hour)
	_, at := f.announce("agents_0", azuresim.Reboot, 15*time.Minute)
	f.pass(14 * time.Minute)
	if n := f.evicted("short") + f.evicted("long"); n != 0 {
		t.Fatalf("%d pods of Jobs were evicted while there was time", n)
	}
	if f.agreed() != 0 {
		t.Fatal("Azure was told to go on while a Job ran")
	}
	f.pass(time.Minute)
	if f.evicted("short") != 0 || f.evicted("long") != 1 {
		t.Errorf("evicted: short %d, long %d; want the one that cannot end in time alone", f.evicted("short"), f.evicted("long"))
	}
	for _, r := range f.kube.Log() {
		if p, ok := r.Before.(*corev1.Pod); ok && r.Subresource == "eviction" && p.Labels["app"] == "long" {
			if left := at.Add(15 * time.Minute).Sub(r.Time); left < 30*time.Second || left > 40*time.Second {
				t.Errorf("its eviction came %s before the machine stops; want its grace of 30s and a little more", left)
			}
		}
	}
}

func TestNoticesThatAskForNothingChangeNothing(t *testing.T) {
	for name, tell := range map[string]func(*farm){
		"nothing at all":      func(*farm) {},
		"to another machine":  func(f *farm) { f.announce("agents_1", azuresim.Preempt, -1) },
		"a pause of a second": func(f *farm) { f.announce("agents_0", azuresim.Freeze, -1) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t, 2)
			f.run("web", 1, 0)
			before := len(f.kube.Log())
			tell(f)
			f.pass(20 * time.Minute)
			if log := f.kube.Log()[before:]; len(log) > 0 {
				t.Errorf("%d changes were asked for, first: %s %s", len(log), log[0].Verb, log[0].Resource)
			}
			if f.agreed() > 0 {
				t.Error("an agreement was given")
			}
		})
	}
}

func TestANoticeThatIsTakenBackLeavesNothingBehind(t *testing.T) {
	for name, held := range map[string]bool{"the node was free": false, "a person had cordoned it": true} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t, 1)
			f.run("web", 1, time.Hour)
			if held {
				f.must(kubesim.Edit(f.kube, "", f.node().Name, func(n *corev1.Node) { n.Spec.Unschedulable = true }))
			}
			id, _ := f.announce("agents_0", azuresim.Redeploy, -1)
			f.pass(10 * time.Second)
			if _, ok := cluster.NoticeOf(f.node()); !ok {
				t.Fatal("the node says nothing of the notice")
			}
			f.start() // another life hears the end of it
			f.pass(5 * time.Second)
			f.must(f.azure.Withdraw(id))
			f.pass(15 * time.Second)
			n := f.node()
			if _, ok := cluster.NoticeOf(n); ok || n.Annotations[cluster.NoticeAnnotation] != "" || n.Spec.Unschedulable != held {
				t.Errorf("left behind: taints %v, annotation %q, unschedulable %t (want %t)", n.Spec.Taints, n.Annotations[cluster.NoticeAnnotation], n.Spec.Unschedulable, held)
			}
		})
	}
}

func TestADisruptionBudgetIsAskedUntilItLetsGo(t *testing.T) {
	f := newFarm(t, 2)
	f.run("web", 2, 0)
	budget, err := f.kube.Create(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}})
	f.must(err)
	f.pass(4 * time.Second)
	f.announce("agents_0", azuresim.Terminate, 5*time.Minute)
	f.pass(3 * time.Second)
	if got := f.evicted("web"); got != 1 {
		t.Errorf("%d pods were evicted at first, want the 1 that the budget allows\n%s", got, &f.log)
	}
	f.must(f.kube.Delete(budget, nil))
	f.pass(3 * time.Second)
	if got := f.evicted("web"); got != 2 {
		t.Errorf("%d pods were evicted once the budget was gone, want 2", got)
	}
}

func TestTheAgentOutlastsAMetadataServiceAndAnAPIServerThatFail(t *testing.T) {
	f := newFarm(t, 1)
	f.run("web", 2, 0)
	lift := f.kube.Inject(kubesim.Fault{Code: 503})
	_, at := f.announce("agents_0", azuresim.Terminate, 5*time.Minute)
	f.pass(20 * time.Second)
	f.azure.Inject(azuresim.Fault{Name: "deaf", Kind: "GET metadata*", Status: 500})
	lift()
	f.pass(20 * time.Second)
	if got := f.evicted("web"); got != 2 {
		t.Errorf("%d of 2 pods were evicted %s after the notice, which was heard before the service failed\n%s", got, f.now.Sub(at), &f.log)
	}
}

func TestAnAgentThatStartsAgainGoesOnWhereTheOneBeforeStopped(t *testing.T) {
	f := newFarm(t, 1)
	f.run("web", 2, 0)
	f.announce("agents_0", azuresim.Terminate, 5*time.Minute)
	for range 20 { // killed after every look
		f.start()
		f.pass(time.Second)
	}
	if got := f.evicted("web"); got != 2 {
		t.Errorf("%d of 2 pods were evicted, want each once", got)
	}
	if f.agreed() == 0 {
		t.Error("Azure was not told that it may go on")
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	f := newFarm(t, 1)
	f.run("web", 1, 0)
	f.agent.DryRun = true
	f.announce("agents_0", azuresim.Preempt, -1)
	f.pass(20 * time.Second)
	for _, r := range f.kube.Log() {
		if r.Verb != "get" && r.Verb != "list" {
			t.Errorf("%s %s", r.Verb, r.Resource)
		}
	}
	for _, would := range []string{"takes no more pods", "leaves, with"} {
		if !strings.Contains(f.log.String(), would) {
			t.Errorf("the log does not tell what would be done: %q\n%s", would, &f.log)
		}
	}
	if f.agreed() > 0 {
		t.Error("Azure was told to go on")
	}
}

func ExampleAgent() {
	fmt.Println(agent.DefaultHeeds)
	// Output: [Preempt Terminate Redeploy Reboot]
}
