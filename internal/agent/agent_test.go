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
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/agent"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/imds"
	"sluice.dev/sluice/internal/kubesim"
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
	config := f.kube.RESTConfig()
	config.UserAgent = "sluice-agent"
	client, err := kubernetes.NewForConfig(config)
	f.must(err)
	f.agent = &agent.Agent{
		Metadata: &imds.Client{Transport: &azuresim.Transport{Server: f.azure, Machine: "agents_0"}}, Client: client,
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
			f.next = f.now.Add(f.agent.Cycle(context.Background()))
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

// says has sluice answer the notice that stands on the node.
func (f *farm) says(empty bool) {
	f.t.Helper()
	notice, stands := cluster.NoticeOf(f.node())
	if !stands {
		f.t.Fatal("no notice stands on the node")
	}
	f.must(kubesim.Edit(f.kube, "", f.node().Name, func(n *corev1.Node) {
		n.Annotations[cluster.AnswerAnnotation] = cluster.NoticeAnswer{ID: notice.ID, Empty: empty}.Annotation()
	}))
}

// wrote are the changes that the agent has asked for, but for those of its own node.
func (f *farm) wrote() (all []string) {
	for _, r := range f.kube.Log() {
		if r.Agent == "sluice-agent" && (r.Verb != "patch" || r.Resource != "nodes" || r.Subresource != "" || r.Name != f.node().Name) {
			all = append(all, strings.TrimSpace(r.Verb+" "+r.Resource+" "+r.Subresource+" "+r.Name))
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

func TestTheNodeOfAMachineThatStopsTakesNoMorePods(t *testing.T) {
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
			said, ok := cluster.NoticeOf(f.node())
			if want := at.Add(notice); !ok || said.Kind != string(kind) || said.Deadline.Sub(want).Abs() > time.Second || f.node().Spec.Unschedulable || f.node().Labels[cluster.ExclusionLabel] != "" {
				t.Errorf("the node says %+v (%t), want until %s; unschedulable %t, labels %v", said, ok, want, f.node().Spec.Unschedulable, f.node().Labels)
			}
			f.pass(10 * time.Second)
			if wrote := f.wrote(); len(wrote) > 0 {
				t.Errorf("the agent changed more than its node: %q", wrote)
			}
			if got := f.agreed(); got != 0 {
				t.Errorf("%d agreements without sluice's word", got)
			}
		})
	}
}

func TestAzureGoesOnOnceSluiceSaysThatTheNodeIsEmpty(t *testing.T) {
	f := newFarm(t, 2)
	f.announce("agents_0", azuresim.Reboot, 15*time.Minute)
	f.pass(5 * time.Second)
	f.says(false)
	f.pass(time.Minute)
	if f.agreed() != 0 {
		t.Fatal("Azure was told to go on while work was on the node")
	}
	f.says(true)
	at := f.now
	f.pass(6 * time.Second)
	if got := f.agreed(); got != 1 {
		t.Errorf("%d agreements %s after sluice's word, want 1\n%s", got, f.now.Sub(at), &f.log)
	}
}

// TestAnAgentWithoutSluiceKeepsPodsAwayAndNothingMore: nobody evicts and nobody says that the node is empty, so Azure waits until its own time.
func TestAnAgentWithoutSluiceKeepsPodsAwayAndNothingMore(t *testing.T) {
	f := newFarm(t, 1)
	f.run("web", 2, 0)
	f.announce("agents_0", azuresim.Terminate, 5*time.Minute)
	f.pass(4 * time.Minute)
	f.run("late", 1, 0)
	f.pass(30 * time.Second)
	for _, p := range kubesim.All[*corev1.Pod](f.kube, "default") {
		if p.Labels["app"] == "late" && p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
			t.Errorf("pod %s: on node %q, deleted %v", p.Name, p.Spec.NodeName, p.DeletionTimestamp)
		}
	}
	if wrote := f.wrote(); len(wrote) > 0 || f.agreed() > 0 {
		t.Errorf("%d agreements, and changes %q", f.agreed(), wrote)
	}
}

func TestTheMachinesComputerIsItsNodeUnlessItIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		node string
		said string // "" where the notice is written
	}{
		"the computer's name":     {"", ""},
		"the node of another one": {"agents000001", "S-12"},
		"no node":                 {"nobody", "--node-name"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFarm(t, 2)
			f.start()
			f.agent.Node = c.node
			f.announce("agents_0", azuresim.Terminate, 5*time.Minute)
			f.pass(10 * time.Second)
			if _, stands := cluster.NoticeOf(f.node()); stands != (c.said == "") || !strings.Contains(f.log.String(), c.said) {
				t.Errorf("noticed %t, want %q in the log\n%s", stands, c.said, &f.log)
			}
		})
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
			if strings.Contains(f.log.String(), "msg=refused") {
				t.Errorf("something was tried that the guard refused\n%s", &f.log)
			}
		})
	}
}

func TestANoticeThatIsTakenBackLeavesNothingBehind(t *testing.T) {
	for name, held := range map[string]bool{"the node is free": false, "a person has cordoned it": true} {
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

func TestTheAgentOutlastsAMetadataServiceAndAnAPIServerThatFail(t *testing.T) {
	f := newFarm(t, 1)
	lift := f.kube.Inject(kubesim.Fault{Code: 503})
	_, at := f.announce("agents_0", azuresim.Terminate, 5*time.Minute)
	f.pass(20 * time.Second)
	f.azure.Inject(azuresim.Fault{Name: "deaf", Kind: "GET metadata*", Status: 500})
	lift()
	f.pass(20 * time.Second)
	if _, stands := cluster.NoticeOf(f.node()); !stands {
		t.Errorf("no notice stands on the node %s after it was heard, before the service failed\n%s", f.now.Sub(at), &f.log)
	}
}

func TestAnAgentThatStartsAgainGoesOnWhereTheOneBeforeStopped(t *testing.T) {
	f := newFarm(t, 1)
	f.announce("agents_0", azuresim.Terminate, 5*time.Minute)
	for i := range 20 { // killed after every look
		f.start()
		f.pass(time.Second)
		if i == 10 {
			f.says(true)
		}
	}
	if f.agreed() == 0 {
		t.Error("Azure was not told that it may go on")
	}
	if wrote := f.wrote(); len(wrote) > 0 {
		t.Errorf("the agent changed more than its node: %q", wrote)
	}
}

func TestADryRunChangesNothing(t *testing.T) {
	f := newFarm(t, 1)
	f.agent.DryRun = true
	f.announce("agents_0", azuresim.Preempt, -1)
	f.pass(20 * time.Second)
	for _, r := range f.kube.Log() {
		if r.Agent == "sluice-agent" && r.Verb != "get" && r.Verb != "list" {
			t.Errorf("%s %s", r.Verb, r.Resource)
		}
	}
	if would := "takes no more pods"; !strings.Contains(f.log.String(), would) {
		t.Errorf("the log does not tell what would be done: %q\n%s", would, &f.log)
	}
	if f.agreed() > 0 {
		t.Error("Azure was told to go on")
	}
}

func ExampleAgent() {
	fmt.Println(agent.DefaultHeeds)
	// Output: [Preempt Terminate Redeploy Reboot]
}
