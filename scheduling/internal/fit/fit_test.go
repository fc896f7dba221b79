package fit

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/classes"
	"sluice.dev/sluice/scheduling/internal/devices"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/relations"
	"sluice.dev/sluice/scheduling/internal/resources"
	"sluice.dev/sluice/scheduling/internal/storage"
)

// of and like are what is said of a pod, and of the node.
type (
	of   = []func(*corev1.Pod)
	like = []func(*corev1.Node)
)

// judgeOf is a judge of one node with four cores, a gigabyte and room for five pods.
func judgeOf(change ...func(*corev1.Node)) (*Judge, nodes.Handle) {
	s := cluster.New(cluster.Snapshot{}.Time, cluster.Objects{}, nil)
	w := classes.World{Clock: &journal.Clock{}, Nodes: nodes.NewTable(1)}
	w.Rules = nodes.NewRules(w.Nodes)
	w.Relations = relations.New(w.Clock, w.Nodes, w.Rules, nil)
	w.Storage = storage.New(w.Clock, w.Nodes, &s.Objects)
	w.Devices = devices.New(w.Nodes, s)
	j := New(w, classes.New(w, -1<<31, 0))
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{corev1.LabelHostname: "n"}}}
	n.Status.Allocatable = corev1.ResourceList{
		"cpu": resource.MustParse("4"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("5"),
	}
	for _, c := range change {
		c(n)
	}
	h := w.Nodes.Node(n, nil)
	j.Classes.Enter(h)
	return j, h
}

func pod(change ...func(*corev1.Pod)) *cluster.Pod {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "p", Labels: map[string]string{"app": "p"}}}
	o.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{}}}}
	for _, c := range change {
		c(o)
	}
	return cluster.NewPods(o)[0]
}

func asks(name corev1.ResourceName, quantity string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(quantity) }
}

func onPort(n int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = append(p.Spec.Containers[0].Ports, corev1.ContainerPort{ContainerPort: n, HostPort: n})
	}
}

func selects(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }

func apart(p *corev1.Pod) {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "p"}}
	itself := corev1.PodAffinityTerm{LabelSelector: selector, TopologyKey: corev1.LabelHostname}
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{itself},
	}}
}

func restartsTogether(p *corev1.Pod) {
	p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
}

// place has n pods of the class run on the node.
func place(j *Judge, p *cluster.Pod, h nodes.Handle, n int32) {
	e := nodes.Entry{Class: j.Classes.Of(p.Class).ID, N: n}
	j.Nodes.AddPods(h, e)
	j.Classes.Count(h, &e, n)
}

func TestEachCauseIsToldInTheSchedulersOrder(t *testing.T) {
	taints := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{
			{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}, {Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule},
		}
	}
	cordon := func(n *corev1.Node) {
		n.Spec.Unschedulable = true
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	for name, c := range map[string]struct {
		node  []func(*corev1.Node)
		there []func(*corev1.Pod)
		n     int32
		pod   []func(*corev1.Pod)
		want  []string
	}{
		"nothing":                                {},
		"to the last core":                       {pod: of{asks("cpu", "4")}},
		"beyond it":                              {pod: of{asks("cpu", "4001m")}, want: []string{"Insufficient cpu (needs 4001m, free 4)"}},
		"what it has never repellable of":        {pod: of{asks("example.com/a", "1")}, want: []string{"Insufficient example.com/a (needs 1, free 0)"}},
		"what is overdrawn refuses no other":     {there: of{asks("cpu", "9")}, n: 1, pod: of{asks("memory", "1Gi")}},
		"no place":                               {n: 5, want: []string{"Too many pods (limit 5)"}},
		"a taint, named with value and effect":   {node: like{taints}, want: []string{"untolerated taint gpu=yes:NoSchedule"}},
		"a cordon, whose taint says nothing new": {node: like{cordon}, want: []string{"node is unschedulable"}},
		"a port":                                 {there: of{onPort(80)}, n: 1, pod: of{onPort(80), onPort(81)}, want: []string{"host port 80/TCP is taken"}},
		"a feature of kubelets": {
			pod: of{restartsTogether}, want: []string{"NodeDeclaredFeatures: the kubelet does not declare RestartAllContainersOnContainerExits"},
		},
		"all at once": {
			node: like{taints, cordon}, there: of{onPort(80), asks("cpu", "1")}, n: 1,
			pod: of{
				selects, onPort(80), asks("memory", "2Gi"), asks("cpu", "4"), asks("example.com/b", "1"), asks("example.com/a", "1"),
				apart, restartsTogether,
			},
			want: []string{
				"node is unschedulable", "untolerated taint gpu=yes:NoSchedule",
				"does not match the pod's node selector or affinity", "host port 80/TCP is taken",
				"Insufficient cpu (needs 4, free 3)", "Insufficient memory (needs 2Gi, free 1Gi)", "Insufficient example.com/a (needs 1, free 0)",
				"Insufficient example.com/b (needs 1, free 0)", "pod anti-affinity forbids it",
				"NodeDeclaredFeatures: the kubelet does not declare RestartAllContainersOnContainerExits",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j, h := judgeOf(c.node...)
			if c.n > 0 {
				place(j, pod(c.there...), h, c.n)
			}
			p := pod(c.pod...)
			var got []string
			for _, why := range j.Refusals(p, h, false) {
				got = append(got, why.String())
			}
			if !slices.EqualFunc(got, c.want, func(is, want string) bool { return is == "node n: "+want }) {
				t.Errorf("refusals %q, want %q", got, c.want)
			}
			if fits := j.Answer(j.Classes.Kind(p.Class), h, p) == classes.Welcome; fits != (len(got) == 0) {
				t.Errorf("fits: %t, and the words say %q", fits, got)
			}
		})
	}
}

func TestHowManyPodsAreJudgedAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		pod  []func(*corev1.Pod)
		want int
	}{
		"as many as have room":                  {of{asks("cpu", "1500m")}, 2},
		"as there are places":                   {nil, 5},
		"one with a host port":                  {of{onPort(80)}, 1},
		"one of those that shun each other":     {of{apart}, 1},
		"the resource that runs out first says": {of{asks("cpu", "1"), asks("memory", "400Mi")}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			j, h := judgeOf()
			p := pod(c.pod...)
			k := j.Classes.Kind(p.Class)
			if got := j.Room(k, h); got != c.want {
				t.Errorf("room for %d, want %d", got, c.want)
			}
			place(j, p, h, int32(c.want))
			if j.Answer(k, h, p) == classes.Welcome && c.want > 1 {
				t.Error("one more goes there")
			}
		})
	}
}

// TestANominatedPodIsThereAndIsNot has the only pod that fits beside a nominated one be told so, and take its place once it goes elsewhere.
func TestANominatedPodIsThereAndIsNot(t *testing.T) {
	priority := func(n int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &n } }
	waits := pod(priority(5), asks("cpu", "3"), func(p *corev1.Pod) { p.Name, p.UID, p.Status.NominatedNodeName = "w", "w", "n" })
	for name, c := range map[string]struct {
		pod  *cluster.Pod
		want classes.Answer
	}{
		"what is left is free":               {pod(asks("cpu", "1")), classes.Welcome},
		"its room is not":                    {pod(asks("cpu", "2")), classes.Never},
		"one of higher priority may have it": {pod(asks("cpu", "2"), priority(6)), classes.Welcome},
		"it may itself":                      {waits, classes.Welcome},
	} {
		t.Run(name, func(t *testing.T) {
			j, h := judgeOf()
			j.Nominate([]*cluster.Pod{waits})
			k := j.Classes.Kind(c.pod.Class)
			if got := j.Answer(k, h, c.pod); got != c.want {
				t.Errorf("answer %d, want %d", got, c.want)
			}
			if j.Nodes.Left(resources.CPU, h) != 4000 || len(j.Nodes.Pods(h)) != 0 {
				t.Error("it still counts after the question")
			}
			at, before := j.Settle(waits)
			if got := j.Answer(k, h, c.pod); got != classes.Welcome {
				t.Errorf("it went elsewhere, and the answer is %d", got)
			}
			j.Unsettle(at, before)
			if got := j.Answer(k, h, c.pod); got != c.want {
				t.Errorf("it waits again, and the answer is %d", got)
			}
		})
	}
}
