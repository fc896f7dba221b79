package scheduling

import (
	"bytes"
	"flag"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

func TestRefusalsSayWhatWasCompared(t *testing.T) {
	repels := func(app string) *cluster.Pod { return pod("hermit", on("a"), awayFrom(app, zone)) }
	for name, tt := range map[string]struct {
		node *corev1.Node // "a", in zone 1, a plain node when nil
		also []any        // in the cluster, besides node "b" in zone 2
		pod  *cluster.Pod
		want []string
	}{
		"a pod that asks for nothing runs on an empty node": {
			pod: pod("p"),
		},
		"a pod may take exactly what is free": {
			also: []any{pod("other", on("a"), requests("cpu", "3", "memory", "12Gi"))},
			pod:  pod("p", requests("cpu", "1", "memory", "4Gi")),
		},
		"cpu that is short is said in cores": {
			also: []any{pod("other", on("a"), requests("cpu", "3"))},
			pod:  pod("p", requests("cpu", "3")),
			want: []string{"node a: Insufficient cpu (needs 3, free 1)"},
		},
		"fractions of cores are said in millicores": {
			also: []any{pod("other", on("a"), requests("cpu", "3750m"))},
			pod:  pod("p", requests("cpu", "500m")),
			want: []string{"node a: Insufficient cpu (needs 500m, free 250m)"},
		},
		"everything that is short is said, the scheduler's own resources first": {
			node: node("a", allocatable("nvidia.com/gpu", "1")),
			also: []any{pod("other", on("a"), requests("cpu", "4", "memory", "14Gi", "nvidia.com/gpu", "1"))},
			pod:  pod("p", requests("cpu", "1", "memory", "4Gi", "nvidia.com/gpu", "1", "example.com/fpga", "2", "ephemeral-storage", "200Gi")),
			want: []string{
				"node a: Insufficient cpu (needs 1, free 0)", "node a: Insufficient memory (needs 4Gi, free 2Gi)",
				"node a: Insufficient ephemeral-storage (needs 200Gi, free 100Gi)",
				"node a: Insufficient example.com/fpga (needs 2, free 0)", "node a: Insufficient nvidia.com/gpu (needs 1, free 0)",
			},
		},
		"memory is rounded so that a need stays above what is free": {
			node: node("a", allocatable("memory", "4000000Ki")),
			pod:  pod("p", requests("memory", "4000001Ki")),
			want: []string{"node a: Insufficient memory (needs 3907Mi, free 3906Mi)"},
		},
		"a node that gave away more than it has is said to have nothing free": {
			also: []any{pod("other", on("a"), requests("cpu", "5"))},
			pod:  pod("p", requests("cpu", "1")),
			want: []string{"node a: Insufficient cpu (needs 1, free 0)"},
		},
		"a node with its fill of pods takes no more": {
			node: node("a", allocatable("pods", "1")),
			also: []any{pod("other", on("a"))},
			pod:  pod("p"),
			want: []string{"node a: Too many pods (limit 1)"},
		},
		"a finished pod takes nothing": {
			also: []any{pod("done", on("a"), requests("cpu", "4"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })},
			pod:  pod("p", requests("cpu", "4")),
		},
		"every untolerated taint is said, an avoided one is not": {
			node: node("a", taint("gpu", "true", corev1.TaintEffectNoSchedule), taint("spot", "", corev1.TaintEffectNoExecute),
				taint("team", "x", corev1.TaintEffectNoSchedule), taint("slow", "", corev1.TaintEffectPreferNoSchedule)),
			pod:  pod("p", tolerates("team")),
			want: []string{"node a: untolerated taint gpu=true:NoSchedule", "node a: untolerated taint spot:NoExecute"},
		},
		"a node selector must match": {
			pod:  pod("p", selects("disk", "ssd")),
			want: []string{"node a: does not match the pod's node selector or affinity"},
		},
		"affinity to another node by name must match": {
			pod:  pod("p", byName("b")),
			want: []string{"node a: does not match the pod's node selector or affinity"},
		},
		"affinity to two names at once matches nothing": {
			pod:  pod("p", byName("a"), byName("b")),
			want: []string{"node a: does not match the pod's node selector or affinity"},
		},
		"a pod that names a node which is not there goes nowhere else": {
			pod:  pod("p", on("z")),
			want: []string{"node a: the pod names another node, z"},
		},
		"a pod that runs elsewhere is free to come": {
			pod: pod("p", on("b")),
		},
		"an unschedulable node is said once, without its taint": {
			node: node("a", unschedulable, taint(corev1.TaintNodeUnschedulable, "", corev1.TaintEffectNoSchedule)),
			pod:  pod("p"),
			want: []string{"node a: node is unschedulable"},
		},
		"a taint that says unschedulable on a node that is not is a taint": {
			node: node("a", taint(corev1.TaintNodeUnschedulable, "", corev1.TaintEffectNoSchedule)),
			pod:  pod("p"),
			want: []string{"node a: untolerated taint node.kubernetes.io/unschedulable:NoSchedule"},
		},
		"an unschedulable node takes a pod that tolerates it": {
			node: node("a", unschedulable, taint(corev1.TaintNodeUnschedulable, "", corev1.TaintEffectNoSchedule)),
			pod:  pod("p", tolerates(corev1.TaintNodeUnschedulable)),
		},
		"host ports that are taken are said, free ones are not": {
			also: []any{pod("other", on("a"), hostPort(80, "", ""), hostPort(53, corev1.ProtocolUDP, "10.0.0.1"))},
			pod:  pod("p", hostPort(80, corev1.ProtocolTCP, ""), hostPort(443, corev1.ProtocolTCP, ""), hostPort(53, corev1.ProtocolUDP, "10.0.0.1")),
			want: []string{"node a: host port 80/TCP, 10.0.0.1:53/UDP is taken"},
		},
		"a pod that wants company goes where it is": {
			also: []any{pod("db-0", app("db"), on("b"))},
			pod:  pod("p", near("db", zone)),
			want: []string{"node a: does not match the pod's affinity rules"},
		},
		"company in another namespace does not count": {
			also: []any{pod("db-0", app("db"), on("a"), in("other"))},
			pod:  pod("p", near("db", zone)),
			want: []string{"node a: does not match the pod's affinity rules"},
		},
		"company in a namespace that is selected by its labels counts": {
			also: []any{
				pod("db-0", app("db"), on("a"), in("data")),
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "data", Labels: map[string]string{"tier": "data"}}},
			},
			pod: pod("p", nearTerm(inNamespaces(term("db", zone), "tier", "data"))),
		},
		"a pod that wants no company stays away from it": {
			also: []any{pod("db-0", app("db"), on("a"))},
			pod:  pod("p", awayFrom("db", zone)),
			want: []string{"node a: pod anti-affinity forbids it"},
		},
		"a pod that wants no company keeps others away": {
			also: []any{repels("web")},
			pod:  pod("p", app("web")),
			want: []string{"node a: pod anti-affinity forbids it"},
		},
		"a pod that wants no company keeps nobody else away": {
			also: []any{repels("web")},
			pod:  pod("p", app("db")),
		},
		"spread forbids a third in one zone and none in another": {
			also: []any{pod("w-0", app("web"), on("a")), pod("w-1", app("web"), on("a"))},
			pod:  pod("p", app("web"), spread("web", zone, 2)),
			want: []string{"node a: topology spread over topology.kubernetes.io/zone forbids it"},
		},
		"of two spread constraints the one that forbids is said": {
			also: []any{pod("w-0", app("web"), on("a")), pod("w-1", app("web"), on("a")), pod("w-2", app("web"), on("a"))},
			pod:  pod("p", app("web"), spread("web", corev1.LabelHostname, 9), spread("web", zone, 2)),
			want: []string{"node a: topology spread over topology.kubernetes.io/zone forbids it"},
		},
		"spread over a label that the node lacks forbids it": {
			pod:  pod("p", app("web"), spread("web", zone, 1), spread("web", "rack", 1)),
			want: []string{"node a: topology spread over rack forbids it"},
		},
		"spread wished for over a label that the node lacks is not what forbids": {
			also: []any{pod("w-0", app("web"), on("a"))},
			pod: pod("p", app("web"), spread("web", "rack", 1), spread("web", zone, 1), func(p *corev1.Pod) {
				p.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway
			}),
			want: []string{"node a: topology spread over topology.kubernetes.io/zone forbids it"},
		},
		"spread that is only wished for forbids nothing": {
			also: []any{pod("w-0", app("web"), on("a"))},
			pod: pod("p", app("web"), spread("web", zone, 1), func(p *corev1.Pod) {
				p.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway
			}),
		},
		"what cannot be read is refused in the plugin's words": {
			pod: pod("p", nearTerm(corev1.PodAffinityTerm{TopologyKey: zone, LabelSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}},
			}})),
			want: []string{`node a: InterPodAffinity: parsing pod: requiredAffinityTerms: "Like" is not a valid label selector operator`},
		},
		"reasons come in the scheduler's order": {
			node: node("a", unschedulable, taint("spot", "", corev1.TaintEffectNoSchedule)),
			pod:  pod("p", selects("disk", "ssd"), requests("cpu", "8"), near("db", zone)),
			want: []string{
				"node a: node is unschedulable", "node a: untolerated taint spot:NoSchedule",
				"node a: does not match the pod's node selector or affinity", "node a: Insufficient cpu (needs 8, free 4)",
				"node a: does not match the pod's affinity rules",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := tt.node
			if a == nil {
				a = node("a")
			}
			nodeLabel(zone, "1")(a)
			c := NewChecker(snapshot(append(tt.also, a, node("b", nodeLabel(zone, "2")))...))
			got := c.Refusals(tt.pod, "a")
			if diff := cmp.Diff(tt.want, sentences(got)); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
			for _, r := range got {
				if r.About != reason.Node("a") {
					t.Errorf("%v is about %v", r, r.About)
				}
			}
			if fits := c.Fits(tt.pod, "a"); fits != (len(tt.want) == 0) {
				t.Errorf("Fits says %v with refusals %v", fits, tt.want)
			}
		})
	}
}

func TestTheSamePodIsRefusedInTheSameWords(t *testing.T) {
	p := pod("p", requests("example.com/a", "1", "example.com/b", "1", "example.com/c", "1", "example.com/d", "1", "memory", "1Ti"))
	c := NewChecker(snapshot(node("a")))
	want := []string{
		"node a: Insufficient memory (needs 1Ti, free 16Gi)",
		"node a: Insufficient example.com/a (needs 1, free 0)", "node a: Insufficient example.com/b (needs 1, free 0)",
		"node a: Insufficient example.com/c (needs 1, free 0)", "node a: Insufficient example.com/d (needs 1, free 0)",
	}
	for range 20 {
		if diff := cmp.Diff(want, sentences(c.Refusals(p, "a"))); diff != "" {
			t.Fatalf("refusals (-want +got):\n%s", diff)
		}
	}
}

func TestANodeThatIsNotThereRefuses(t *testing.T) {
	c := NewChecker(snapshot(node("a")))
	c.Remove("a")
	want := []string{"node a: NodeName: there is no such node"}
	if diff := cmp.Diff(want, sentences(c.Refusals(pod("p"), "a"))); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if c.Fits(pod("p"), "a") {
		t.Error("it fits a node that is gone")
	}
}

func TestAskingChangesNoObject(t *testing.T) {
	build := func() (*cluster.Snapshot, *cluster.Pod) {
		return snapshot(node("a", nodeLabel(zone, "1")), pod("x", app("web"), on("a")), daemonSet("d")),
			pod("p", app("web"), on("a"), spread("web", zone, 1), spread("web", corev1.LabelHostname, 1), near("web", zone))
	}
	s, p := build()
	c := NewChecker(s)
	c.Place(p, "a")
	c.Refusals(p, "a")
	c.Add(Future(s.Objects.Nodes[0], "b"), c.Daemons(s.Objects.Nodes[0])...)
	c.Refusals(p, "b")
	wantSnapshot, wantPod := build()
	if diff := cmp.Diff(wantSnapshot.Objects, s.Objects); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantPod, p); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

// TestAskingIsSilentAndStartsNothing asks with the scheduler's logger turned up as far as it goes.
func TestAskingIsSilentAndStartsNothing(t *testing.T) {
	var said bytes.Buffer
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	defer klog.CaptureState().Restore()
	for name, value := range map[string]string{"v": "10", "logtostderr": "false"} {
		if err := flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	klog.SetOutput(&said)
	before := runtime.NumGoroutine()

	c := NewChecker(snapshot(node("a", nodeLabel(zone, "1"), taint("spot", "", corev1.TaintEffectNoSchedule)), daemonSet("d")))
	c.Refusals(pod("p", app("web"), near("web", zone), spread("web", zone, 1), spread("web", "rack", 1), requests("cpu", "8")), "a")
	c.Evict(pod("p"), "a")
	c.Daemons(node("b", taint("spot", "", corev1.TaintEffectNoSchedule)))

	klog.Flush()
	if said.Len() > 0 {
		t.Errorf("the scheduler says:\n%s", &said)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

func TestAFutureNodeIsTheTemplateUnderItsOwnName(t *testing.T) {
	template := node("old", nodeLabel("pool", "agents"), unschedulable, taint("spot", "", corev1.TaintEffectNoSchedule))
	template.UID, template.Spec.ProviderID = "uid", "azure:///old"
	template.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	before := template.DeepCopy()

	want := node("new", nodeLabel("pool", "agents"), taint("spot", "", corev1.TaintEffectNoSchedule))
	if diff := cmp.Diff(want, Future(template, "new")); diff != "" {
		t.Errorf("future node (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, template); diff != "" {
		t.Errorf("the template changed (-want +got):\n%s", diff)
	}
	if got := Future(&corev1.Node{}, "bare").Labels[corev1.LabelHostname]; got != "bare" {
		t.Errorf("hostname label of a node without labels is %q", got)
	}
}

// byName requires a node of that name, with any requirements that are there already.
func byName(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		a := affinity(p)
		if a.NodeAffinity == nil {
			a.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{}},
			}}
		}
		term := &a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0]
		term.MatchFields = append(term.MatchFields, corev1.NodeSelectorRequirement{
			Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name},
		})
	}
}

func inNamespaces(t corev1.PodAffinityTerm, key, value string) corev1.PodAffinityTerm {
	t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	return t
}
