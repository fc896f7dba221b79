package scheduling

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
)

// large is a cluster of 5,000 nodes in three zones with 110,000 pods of 500 Deployments.
func large(pending ...*corev1.Pod) (cluster.Objects, *cluster.Classes) {
	var table cluster.Classes
	var o cluster.Objects
	for i := range 5000 {
		name := fmt.Sprintf("node-%04d", i)
		o.Nodes = append(o.Nodes, node(name, nodeLabel(zone, fmt.Sprint(i%3)), nodeLabel("pool", fmt.Sprint(i%5)), allocatable("cpu", "16", "memory", "64Gi")))
		for j := range 22 {
			o.Pods = append(o.Pods, table.Pod(object(fmt.Sprintf("%s-%02d", name, j), on(name), deployment((i*7+j*13)%500))))
		}
	}
	for _, p := range pending {
		o.Pods = append(o.Pods, table.Pod(p))
	}
	return o, &table
}

func deployment(i int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		app(fmt.Sprint("app-", i))(p)
		p.Labels["pod-template-hash"] = fmt.Sprint("hash-", i)
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: fmt.Sprint("app-", i), Controller: new(true)}}
		requests("cpu", fmt.Sprintf("%dm", 300+i%7*50), "memory", fmt.Sprintf("%dMi", 512+i%11*64))(p)
	}
}

// waiting is n pods of each of so many classes.
func waiting(classes, n int, options ...func(i int, p *corev1.Pod)) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range classes {
		for j := range n {
			pods = append(pods, object(fmt.Sprintf("w-%d-%d", i, j), func(p *corev1.Pod) {
				app(fmt.Sprint("new-", i))(p)
				requests("cpu", fmt.Sprintf("%dm", 100+i%40*25), "memory", fmt.Sprintf("%dMi", 128+i%23*64))(p)
				for _, o := range options {
					o(i, p)
				}
			}))
		}
	}
	return pods
}

func BenchmarkColdStart(b *testing.B) {
	o, _ := large(waiting(500, 1)...)
	s := cluster.New(midnight, o, nil)
	b.ReportAllocs()
	for b.Loop() {
		NewChecker(s)
	}
}

// BenchmarkFillPlain places 100,000 pods of 500 classes on 5,000 nodes, and takes them back.
func BenchmarkFillPlain(b *testing.B) {
	o, _ := large(waiting(500, 1)...)
	benchmarkFill(b, o, 200, 0)
}

// BenchmarkFillDependent places 10,000 pods of 50 classes that spread, follow and avoid, on 5,000 nodes and 500 new machines.
func BenchmarkFillDependent(b *testing.B) {
	o, _ := large(waiting(50, 1, func(i int, p *corev1.Pod) {
		self := fmt.Sprint("new-", i)
		switch i % 5 {
		case 0:
			spread(self, zone, 1)(p)
		case 1:
			spread(self, corev1.LabelHostname, 1)(p)
		case 2:
			near(self, zone)(p)
		case 3:
			awayFrom(self, corev1.LabelHostname)(p)
		case 4:
			spread(self, zone, 1)(p)
			awayFrom(self, corev1.LabelHostname)(p)
		}
	})...)
	benchmarkFill(b, o, 200, 500)
}

func benchmarkFill(b *testing.B, o cluster.Objects, n, machines int) {
	s := cluster.New(midnight, o, nil)
	c := NewChecker(s)
	b.ReportAllocs()
	placed := 0
	for b.Loop() {
		undo := c.Mark()
		r := c.Row()
		for h := range len(s.Nodes) {
			r.Append(Handle(h))
		}
		t := c.Template(node("", nodeLabel(zone, "0"), allocatable("cpu", "16", "memory", "64Gi")))
		for i := range machines {
			r.Append(c.Open(t, fmt.Sprint("new-", i)))
		}
		placed = 0
		for _, p := range s.Pending {
			placed += r.Fill(p.Class, n, nil)
		}
		undo()
	}
	b.ReportMetric(float64(placed), "pods")
}

// BenchmarkNextCycle follows a cluster of 5,000 nodes in which 100 pods changed.
func BenchmarkNextCycle(b *testing.B) {
	o, table := large(waiting(500, 1)...)
	turned := o
	turned.Pods = append([]*cluster.Pod(nil), o.Pods...)
	for i := range 100 {
		p := o.Pods[i*1000]
		turned.Pods[i*1000] = table.Pod(object(p.Name, on(p.Node), deployment(i)))
	}
	s := cluster.New(midnight, o, nil)
	both := [2]*cluster.Snapshot{s, s.Next(midnight, turned, nil)}
	c := NewChecker(s)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		if next := NewChecker(both[i%2], After(c)); next != c {
			b.Fatal("made anew")
		}
	}
}
