package classes

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/devices"
	"sluice.dev/sluice/scheduling/internal/journal"
	"sluice.dev/sluice/scheduling/internal/nodes"
	"sluice.dev/sluice/scheduling/internal/relations"
	"sluice.dev/sluice/scheduling/internal/storage"
)

const zone = corev1.LabelTopologyZone

// classesOf knows no class of a world with these nodes, each in a zone of the first letter of its name.
func classesOf(cutoff int32, names ...string) (*Classes, []nodes.Handle) {
	s := cluster.New(cluster.Snapshot{}.Time, cluster.Objects{}, nil)
	w := World{Clock: &journal.Clock{}, Nodes: nodes.NewTable(len(names))}
	w.Rules = nodes.NewRules(w.Nodes)
	w.Relations = relations.New(w.Clock, w.Nodes, w.Rules, nil)
	w.Storage = storage.New(w.Clock, w.Nodes, &s.Objects)
	w.Devices = devices.New(w.Nodes, s)
	c := New(w, cutoff, 0)
	var handles []nodes.Handle
	for _, name := range names {
		h := w.Nodes.Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{zone: name[:1]}}}, nil)
		c.Enter(h)
		handles = append(handles, h)
	}
	return c, handles
}

// pod is one with that app label and one core.
func pod(app string, change ...func(*corev1.Pod)) *cluster.Pod {
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: app, Labels: map[string]string{"app": app}}}
	o.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"),
	}}}}
	for _, c := range change {
		c(o)
	}
	return cluster.NewPods(o)[0]
}

func apart(from string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		term := corev1.PodAffinityTerm{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": from}}, TopologyKey: zone}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
		}}
	}
}

// alone keeps away from pods of any app but its own, in all namespaces if so, as JobSet places jobs exclusively. Old pods are left alone.
func alone(anywhere bool) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		app := p.Labels["app"]
		apart(app)(p)
		term := &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
		if anywhere {
			term.NamespaceSelector = &metav1.LabelSelector{}
		}
		term.LabelSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "age", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"old"}},
			{Key: "app", Operator: metav1.LabelSelectorOpExists}, {Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{app}},
		}}
	}
}

func near(whom string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		apart(whom)(p)
		p.Spec.Affinity.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		}
		p.Spec.Affinity.PodAntiAffinity = nil
	}
}

func spread(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: zone, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}}
	}
}

func labelled(p *corev1.Pod) { p.Labels["extra"] = "1" }

func priority(n int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &n } }

// put has pods of the class come to a node.
func put(c *Classes, p *cluster.Pod, h nodes.Handle, n int32) {
	e := nodes.Entry{Class: c.Of(p.Class).ID, N: n}
	c.Nodes.AddPods(h, e)
	c.Count(h, &e, n)
}

func TestPodsThatTheSchedulerCannotTellApartAreOfOneKind(t *testing.T) {
	volume := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "d", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "d"},
		}}}
	}
	features := func(p *corev1.Pod) { p.Spec.HostNetwork, p.Spec.HostUsers = true, new(false) }
	port := func(p *corev1.Pod) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80, HostPort: 80}}
		p.Spec.HostNetwork = true
	}
	tolerates := func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }
	for name, c := range map[string]struct {
		first, second *cluster.Pod
		watch         *cluster.Pod // somebody who selects pods, nil for nobody
		same          bool
	}{
		"labels that nobody selects":      {pod("a"), pod("b"), nil, true},
		"labels that somebody selects":    {pod("a"), pod("b"), pod("c", spread("a")), false},
		"somebody selects both":           {pod("a", spread("x")), pod("a", spread("x"), labelled), nil, true},
		"one has a taint's toleration":    {pod("a"), pod("a", tolerates), nil, false},
		"one has a host port":             {pod("a"), pod("a", port), nil, false},
		"one has another priority":        {pod("a"), pod("a", priority(5)), nil, false},
		"one needs a feature of kubelets": {pod("a"), pod("a", features), nil, false},
		"one has a volume":                {pod("a"), pod("a", volume), nil, false},
		"one wants company":               {pod("a"), pod("a", near("b")), nil, false},
		"company is not distance":         {pod("a", near("b")), pod("a", apart("b")), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			all, _ := classesOf(-1<<31, "a1", "b1")
			if c.watch != nil {
				all.Kind(c.watch.Class)
			}
			if got := all.Kind(c.first.Class) == all.Kind(c.second.Class); got != c.same {
				t.Errorf("one kind: %t", got)
			}
			if all.Kind(c.first.Class) != all.Kind(pod("a", func(p *corev1.Pod) { *p = *c.first.Object() }).Class) {
				t.Error("a class of equal contents has another kind")
			}
		})
	}
}

func TestWhatOthersHaveToDoWithAKind(t *testing.T) {
	for name, c := range map[string]struct {
		asked, there *cluster.Pod // one pod of the second is on a1
		a, b         Answer       // by affinity and spread, about a1 and b1
		shunned      bool         // on a1, by itself or the other
		minds        bool
	}{
		"nothing":                               {pod("p"), pod("q"), Welcome, Welcome, false, false},
		"company is where it is":                {pod("p", near("q")), pod("q"), Welcome, NotNow, false, true},
		"the first of its own is company":       {pod("p", near("p")), pod("q"), Welcome, Welcome, false, true},
		"it avoids where others are":            {pod("p", apart("q")), pod("q"), Welcome, Welcome, true, true},
		"it is shunned as well":                 {pod("p"), pod("q", apart("p")), Welcome, Welcome, true, true},
		"others shun somebody else":             {pod("p"), pod("q", apart("r")), Welcome, Welcome, false, false},
		"it avoids all others":                  {pod("p", alone(false)), pod("q"), Welcome, Welcome, true, true},
		"but not its own":                       {pod("p", alone(false)), pod("p", alone(false)), Welcome, Welcome, false, true},
		"others that avoid all others":          {pod("p"), pod("q", alone(false)), Welcome, Welcome, true, true},
		"but not its own app":                   {pod("p"), pod("p", alone(false)), Welcome, Welcome, false, false},
		"each avoids all others":                {pod("p", alone(true)), pod("q", alone(true)), Welcome, Welcome, true, true},
		"it avoids others and its own":          {pod("p", alone(false), selfish), pod("p"), Welcome, Welcome, true, true},
		"a spread goes where fewer are":         {pod("p", spread("p")), pod("p", spread("p")), NotNow, Welcome, false, true},
		"a spread of others lets it everywhere": {pod("p", spread("q")), pod("p"), Welcome, Welcome, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			all, h := classesOf(-1<<31, "a1", "b1")
			put(all, c.there, h[0], 1)
			k := all.Kind(c.asked.Class)
			answer := func(h nodes.Handle) Answer { return max(k.Follows(h), k.Crowds(h)) }
			if answer(h[0]) != c.a || answer(h[1]) != c.b {
				t.Errorf("answers %d and %d, want %d and %d", answer(h[0]), answer(h[1]), c.a, c.b)
			}
			if got := k.Avoids(h[0]) || k.Repelled(h[0]); got != c.shunned {
				t.Errorf("shunned: %t", got)
			}
			if k.Depends() != c.minds {
				t.Errorf("minds: %t", k.Depends())
			}
		})
	}
}

// selfish adds to the terms one that keeps away from pods of its own app.
func selfish(p *corev1.Pod) {
	others := p.Spec.Affinity
	apart(p.Labels["app"])(p)
	p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
		p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
		others.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution...,
	)
}

// anyTeam has terms be about namespaces without a team: a pod that runs keeps away those of a namespace that is not known, and wants none
// such away itself.
func anyTeam(p *corev1.Pod) {
	p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].NamespaceSelector = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: metav1.LabelSelectorOpDoesNotExist}},
	}
}

func TestTwoOfAKindNeverShareANodeWhereTheyKeepAway(t *testing.T) {
	for name, c := range map[string]struct {
		pod  *cluster.Pod
		want bool
	}{
		"they keep away from their own":      {pod("p", apart("p")), true},
		"they keep away from another app":    {pod("p", apart("q")), false},
		"they keep away from all others":     {pod("p", alone(false)), false},
		"from all others and from their own": {pod("p", alone(false), selfish), true},
		"those that run keep away others":    {pod("p", apart("p"), anyTeam), true},
	} {
		t.Run(name, func(t *testing.T) {
			all, h := classesOf(-1<<31, "a1")
			if got := all.Kind(c.pod.Class).Selfish(h[0]); got != c.want {
				t.Errorf("they keep each other away: %t", got)
			}
		})
	}
}

// TestJobsThatKeepAwayFromEachOtherShareASelector holds what a job costs, however many others there are: selectors that match it, and
// counters that its pods are in. Both were once as many as there are jobs.
func TestJobsThatKeepAwayFromEachOtherShareASelector(t *testing.T) {
	const jobs = 100
	for _, anywhere := range []bool{false, true} {
		all, h := classesOf(-1<<31, "a1", "b1")
		var pods []*cluster.Pod
		for i := range jobs {
			pods = append(pods, pod(fmt.Sprint("job-", i), func(p *corev1.Pod) { p.Labels["team"] = "x" }, alone(anywhere)))
			all.Kind(pods[i].Class)
		}
		for i, p := range pods {
			k := all.Kind(p.Class)
			counters := len(k.Class.owns)
			for _, s := range k.hits {
				counters += len(s.Counters())
			}
			if len(k.hits) > 2 || counters > 4 {
				t.Fatalf("job %d of %d is matched by %d selectors and counted %d times (anywhere %t)", i, jobs, len(k.hits), counters, anywhere)
			}
		}
		put(all, pods[0], h[0], 1)
		for i, p := range pods {
			if k := all.Kind(p.Class); k.Avoids(h[0]) != (i > 0) || k.Repelled(h[0]) != (i > 0) || k.Avoids(h[1]) || k.Repelled(h[1]) {
				t.Fatalf("job %d of %d does not keep away from job 0 alone", i, jobs)
			}
		}
	}
}

// TestPodsAreCountedWhoeverAsksFirst counts the same pods before and after somebody cares for them.
func TestPodsAreCountedWhoeverAsksFirst(t *testing.T) {
	asked := pod("p", spread("q"))
	for name, first := range map[string]bool{"asked before they come": true, "asked when they are there": false} {
		t.Run(name, func(t *testing.T) {
			all, h := classesOf(-1<<31, "a1", "b1")
			if first {
				all.Kind(asked.Class)
			}
			put(all, pod("q"), h[0], 2)
			if k := all.Kind(asked.Class); k.Crowds(h[0]) != NotNow || k.Crowds(h[1]) != Welcome {
				t.Errorf("crowds %d and %d", k.Crowds(h[0]), k.Crowds(h[1]))
			}
			all.Leave(h[0])
			if k := all.Kind(asked.Class); k.Crowds(h[1]) != Welcome {
				t.Error("pods of a node that left count")
			}
		})
	}
}

func TestTheLargerShareIsInUse(t *testing.T) {
	node := func(pairs ...string) *corev1.Node {
		n := &corev1.Node{}
		n.Status.Allocatable = corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			n.Status.Allocatable[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		n.Status.Capacity = n.Status.Allocatable
		return n
	}
	asks := func(name corev1.ResourceName, quantity string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(quantity) }
	}
	late := node("cpu", "4", "memory", "8Gi")
	late.Status.Capacity = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("2")}
	for name, c := range map[string]struct {
		node *corev1.Node
		pods []*cluster.Pod
		of   corev1.ResourceName
		used float64
	}{
		"cpu":                      {node("cpu", "4", "memory", "8Gi"), []*cluster.Pod{pod("a"), pod("b")}, "cpu", 0.5},
		"memory where it is more":  {node("cpu", "4", "memory", "8Gi"), []*cluster.Pod{pod("a", asks("memory", "6Gi"))}, "memory", 0.75},
		"cpu where they are equal": {node("cpu", "4", "memory", "8Gi"), []*cluster.Pod{pod("a", asks("memory", "2Gi"))}, "cpu", 0.25},
		"GPUs whatever else is used": {
			node("cpu", "1", "memory", "1Gi", "nvidia.com/gpu", "4"), []*cluster.Pod{pod("a", asks("nvidia.com/gpu", "1"))}, "nvidia.com/gpu", 0.25,
		},
		"none of GPUs that are yet to come": {late, []*cluster.Pod{pod("a")}, "nvidia.com/gpu", 0},
		"everything of nothing":             {node(), nil, "cpu", 1},
		"nothing by pods that are absent":   {node("cpu", "4", "memory", "8Gi"), []*cluster.Pod{pod("a", priority(-20))}, "cpu", 0},
		"more than there is":                {node("cpu", "1", "memory", "8Gi"), []*cluster.Pod{pod("a"), pod("b")}, "cpu", 2},
	} {
		t.Run(name, func(t *testing.T) {
			all, _ := classesOf(-10)
			if of, used := all.Utilization(c.node, c.pods); of != c.of || used != c.used {
				t.Errorf("%v of %s, want %v of %s", used, of, c.used, c.of)
			}
		})
	}
}

// TestAClassIsKnownWhileTheSnapshotHasIt is about who is said to keep pods away: those who may come as well as those who run.
func TestAClassIsKnownWhileTheSnapshotHasIt(t *testing.T) {
	all, _ := classesOf(-1<<31, "a1")
	shy := pod("q", apart("p"))
	waits := []*cluster.Pod{shy}
	minds := func() bool { return all.Kind(pod("p").Class).Depends() }
	if minds() {
		t.Error("it minds a class that nobody has met")
	}
	all.Wait(waits, 1)
	all.Turn()
	if !minds() {
		t.Error("it does not mind one that waits")
	}
	all.Wait(waits, -1)
	all.Turn()
	if minds() {
		t.Error("it minds one that is gone")
	}
}
