package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/internal/kube"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// news is what a watch delivers between two cycles, as API objects that nobody has seen before.
type news struct {
	came  []*corev1.Pod // that are new, or changed
	gone  []*cluster.Pod
	nodes []*corev1.Node // that changed
}

// hear does with the news what package kube does before a cycle: it trims them, makes records of pods, and puts both into the sorted
// lists for the price of copying pointers.
func (t *turning) hear(n news) error {
	changed := make(map[[2]string]*cluster.Pod, len(n.came)+len(n.gone))
	for _, p := range n.gone {
		changed[[2]string{p.Namespace, p.Name}] = nil
	}
	if err := cmp.Or(trim(n.came), trim(n.nodes)); err != nil {
		return err
	}
	for _, o := range n.came {
		p := t.table.Pod(o)
		p.Hear(nil, t.at)
		changed[[2]string{p.Namespace, p.Name}] = p
	}
	names := make([][2]string, 0, len(changed))
	for name := range changed {
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	merged, rest := make([]*cluster.Pod, 0, len(t.objects.Pods)+len(n.came)), t.objects.Pods
	for _, name := range names {
		at, found := slices.BinarySearchFunc(rest, name, func(p *cluster.Pod, name [2]string) int {
			return compareNames([2]string{p.Namespace, p.Name}, name)
		})
		merged = append(merged, rest[:at]...)
		if rest = rest[at:]; found {
			rest = rest[1:]
		}
		if p := changed[name]; p != nil {
			merged = append(merged, p)
		}
	}
	t.objects.Pods = append(merged, rest...)
	if len(n.nodes) == 0 {
		return nil
	}
	nodes := slices.Clone(t.objects.Nodes)
	for _, o := range n.nodes {
		at, _ := slices.BinarySearchFunc(nodes, o.Name, func(n *corev1.Node, name string) int { return strings.Compare(n.Name, name) })
		nodes[at] = o
	}
	t.objects.Nodes = nodes
	return nil
}

// trim leaves of objects what package kube keeps.
func trim[T any](objects []T) error {
	for _, o := range objects {
		if _, err := kube.Trim(o); err != nil {
			return err
		}
	}
	return nil
}

func compareNames(a, b [2]string) int {
	return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1]))
}

// burstCycle is the cycle in which the world's pending pods appear in a cluster that has been watched for a while.
func burstCycle(w *workload.World, right ...expectation) Case {
	var t *turning
	var arrive news
	arrive.came = slices.DeleteFunc(slices.Clone(w.Pods), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
	pods := len(arrive.came)
	w.Pods = slices.DeleteFunc(w.Pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == "" })
	var failed error
	return Case{
		Pods: pods,
		Fresh: func() {
			t = start(w)
			t.read(betweenCycles)
		},
		Decide: func() Made {
			failed = t.hear(arrive)
			return t.cycle()
		},
		Right: func(m Made) error { return cmp.Or(failed, both(right)(m)) },
	}
}

// steadyCycles are this many, enough that garbage is collected as often as in a process that runs for days.
const steadyCycles = 30

// What changes between two cycles of the steady cluster: so many pods come and are bound, as many end, and so many kubelets report.
const (
	steadyPods    = 25
	steadyReports = 20
)

// steady turns cycle after cycle, one every ten seconds, in a cluster where a little happens. What the cloud tells is read anew for each
// of them.
func steady(w *workload.World) Case {
	t := start(w)
	var coming []news
	round := 0
	var failed error
	return Case{
		Pods: len(w.Pods), Cycles: steadyCycles,
		Fresh: func() {
			coming = coming[:0]
			gone, at := map[*cluster.Pod]bool{}, t.at
			for range steadyCycles {
				round++
				at = at.Add(betweenCycles)
				coming = append(coming, t.happens(round, at, gone))
			}
		},
		Decide: func() Made {
			var m Made
			for _, n := range coming {
				t.read(betweenCycles)
				failed = cmp.Or(failed, t.hear(n))
				m = t.cycle()
			}
			return m
		},
		Right: func(m Made) error { return cmp.Or(failed, both([]expectation{allHoused, still})(m)) },
	}
}

// happens is what happens in a round: pods from all over the list end, each of which another one like it follows on its node, and kubelets
// report. Pods that end are noted in gone.
func (t *turning) happens(round int, at time.Time, gone map[*cluster.Pod]bool) news {
	var n news
	for k, i := 0, round*7919; k < steadyPods; k++ {
		p := t.objects.Pods[i%len(t.objects.Pods)]
		for p.Node == "" || p.Daemon() || gone[p] {
			i++
			p = t.objects.Pods[i%len(t.objects.Pods)]
		}
		gone[p] = true
		n.gone = append(n.gone, p)
		o := p.Object().DeepCopy()
		o.Name = fmt.Sprintf("%s-r%d", o.Name, round)
		o.UID += "-again"
		n.came = append(n.came, o)
		i += len(t.objects.Pods) / steadyPods
	}
	for k := range steadyReports {
		o := t.objects.Nodes[(k*len(t.objects.Nodes)/steadyReports+round)%len(t.objects.Nodes)]
		n.nodes = append(n.nodes, workload.Heartbeat(o, at))
	}
	return n
}

// firstRead is the first cycle of a process: every object is trimmed and recorded, all are sorted and joined, and the first plan is made.
// Decoding them is not in it; the resident rows tell what that costs.
func firstRead(w *workload.World) Case {
	pods, nodes := w.Pods, w.Nodes
	allowed := policy.Default()
	var failed error
	return Case{
		Pods: len(pods),
		Fresh: func() {
			w.Pods, w.Nodes = make([]*corev1.Pod, len(pods)), make([]*corev1.Node, len(nodes))
			for i, p := range pods {
				w.Pods[i] = p.DeepCopy()
			}
			for i, n := range nodes {
				w.Nodes[i] = n.DeepCopy()
			}
		},
		Decide: func() Made {
			failed = cmp.Or(trim(w.Pods), trim(w.Nodes))
			seen := cluster.New(workload.At, w.Objects(&cluster.Classes{}), w.Groups)
			w.Pods, w.Nodes = nil, nil
			p := planner{allowed: allowed, kept: memory.Memory{}}
			return Made{seen, p.decide(seen)}
		},
		Right: func(m Made) error { return cmp.Or(failed, both([]expectation{allHoused, still})(m)) },
	}
}
