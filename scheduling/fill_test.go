package scheduling

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/cluster"
)

// TestFillIsFirstFit compares a row with placing pods one by one on the first node that takes them, with marks taken back in between.
func TestFillIsFirstFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var objects []any
		nodes := rapid.IntRange(1, 8).Draw(t, "nodes")
		for i := range nodes {
			objects = append(objects, node(fmt.Sprint("n", i), nodeLabel(zone, rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "zone")), allocatable("pods", "9")))
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "running") {
			objects = append(objects, wild(t, fmt.Sprint("r", i), on(fmt.Sprint("n", rapid.IntRange(0, nodes-1).Draw(t, "on")))))
		}
		var classes []*cluster.Pod
		for i := range rapid.IntRange(1, 4).Draw(t, "classes") {
			classes = append(classes, &cluster.Pod{Class: wild(t, fmt.Sprint("p", i)).Class, Name: fmt.Sprint("p", i)})
		}
		s := snapshot(objects...)
		fast, slow := NewChecker(s), NewChecker(s)
		var row []Handle
		for h := range nodes {
			row = append(row, Handle(h))
		}
		r := fast.Row(row...)
		var marks []func()
		for i := range rapid.IntRange(1, 8).Draw(t, "steps") {
			p := rapid.SampledFrom(classes).Draw(t, "class")
			switch rapid.IntRange(0, 5).Draw(t, "kind") {
			case 0:
				a, b := fast.Mark(), slow.Mark()
				marks = append(marks, func() { a(); b() })
				continue
			case 1:
				if len(marks) > 0 {
					marks[len(marks)-1]()
					marks = marks[:len(marks)-1]
				}
				continue
			case 2:
				on := rapid.SampledFrom(fast.Nodes()).Draw(t, "node")
				if pods := slow.Pods(on); len(pods) > 0 && pods[0].Name[0] == 'r' {
					fast.Evict(pods[0], on)
					slow.Evict(pods[0], on)
				}
				continue
			case 3:
				template := node("", nodeLabel(zone, "4"), allocatable("pods", "3"))
				name := fmt.Sprint("z", i)
				r.Append(fast.Open(fast.Template(template), name))
				slow.Add(Future(template, name))
				row = append(row, Handle(slow.Size()-1))
				if len(marks) > 0 { // the row would outlive its node
					marks = nil
				}
				continue
			}
			n := rapid.IntRange(1, 12).Draw(t, "pods")
			got := make([]int, len(row))
			placed := r.Fill(p.Class, n, func(h Handle, n int) { got[h] += n })
			want := make([]int, len(row))
			left := n
			for ; left > 0; left-- {
				found := false
				for _, h := range row {
					if slow.Fits(p, slow.Name(h)) {
						slow.Place(p, slow.Name(h))
						want[h]++
						found = true
						break
					}
				}
				if !found {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || placed != n-left {
				t.Fatalf("step %d: placed %d by first fit, Fill says %d (-first fit +fill):\n%s", i, n-left, placed, diff)
			}
		}
	})
}

func TestRoomIsWhatGoesIn(t *testing.T) {
	for name, tt := range map[string]struct {
		pod  *cluster.Pod
		want int
	}{
		"cpu decides":                           {pod("p", requests("cpu", "1", "memory", "1Gi")), 4},
		"memory decides":                        {pod("p", requests("cpu", "100m", "memory", "6Gi")), 2},
		"pods that ask for nothing are counted": {pod("p"), 10},
		"too large":                             {pod("p", requests("cpu", "5")), 0},
		"a host port is given away once":        {pod("p", hostPort(80, "", "")), 1},
		"one of those that avoid each other":    {pod("p", app("a"), awayFrom("a", corev1.LabelHostname)), 1},
		"those that avoid others are many":      {pod("p", app("a"), awayFrom("b", corev1.LabelHostname)), 10},
		"those that spread are asked again":     {pod("p", app("a"), spread("a", corev1.LabelHostname, 5)), 1},
		"those who follow nobody do not come":   {pod("p", app("a"), near("b", corev1.LabelHostname)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewChecker(snapshot(node("a", allocatable("pods", "10"))))
			if got := c.Room(tt.pod.Class, 0); got != tt.want {
				t.Errorf("room for %d, want %d", got, tt.want)
			}
		})
	}
}

func TestPodsKeepTheirSeatsWhileNodesTakeThem(t *testing.T) {
	c := NewChecker(snapshot(node("a", allocatable("cpu", "2")), node("b", allocatable("cpu", "4"))))
	of := pod("p", requests("cpu", "1")).Class
	seats := []Seat{{0, 3}, {1, 2}, {1, 2}}
	if diff := cmp.Diff([]Seat{{0, 2}, {1, 2}, {1, 1}}, c.Row(0, 1).Keep(of, 5, seats)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Seat{{0, 1}, {1, 0}, {1, 1}}, seats); diff != "" {
		t.Errorf("left on the seats (-want +got):\n%s", diff)
	}
	if left := []int{c.Room(of, 0), c.Room(of, 1)}; left[0] != 0 || left[1] != 1 {
		t.Errorf("room left: %v", left)
	}
}

func TestAnOpenedMachineIsAnAddedNode(t *testing.T) {
	template := node("", nodeLabel(zone, "1"), taint("slow", "", corev1.TaintEffectPreferNoSchedule))
	s := snapshot(daemonSet("logs", app("logs"), requests("cpu", "500m")), node("a", nodeLabel(zone, "1")))
	c := NewChecker(s)
	opened := c.Template(template, c.Daemons(Future(template, "x"))...)
	h := c.Open(opened, "new")
	if diff := cmp.Diff(Future(template, "new"), c.Node("new")); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
	if got, ok := c.Handle("new"); !ok || got != h || c.Name(h) != "new" {
		t.Errorf("handle %d of %q, want %d", got, c.Name(h), h)
	}
	want := []string{"node new: Insufficient cpu (needs 4, free 3500m)"}
	if diff := cmp.Diff(want, sentences(c.Refusals(pod("p", requests("cpu", "4")), "new"))); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

func TestExpendablePodsAreAbsent(t *testing.T) {
	low := func(p *corev1.Pod) { p.Spec.Priority = new(int32(-20)) }
	s := snapshot(node("a"), pod("x", on("a"), requests("cpu", "3"), low), pod("y", on("a"), requests("cpu", "1")))
	p := pod("p", requests("cpu", "3"))
	if NewChecker(s).Fits(p, "a") {
		t.Error("it fits although nobody is expendable")
	}
	if c := NewChecker(s, Expendable(-10)); !c.Fits(p, "a") || len(c.Pods("a")) != 1 {
		t.Errorf("fits: %v beside %v", c.Fits(p, "a"), names(c.Pods("a")))
	}
}

func TestARowAsksAgainWhenSpreadGivesWay(t *testing.T) {
	c := NewChecker(snapshot(node("a", nodeLabel(zone, "1"), allocatable("cpu", "16")), node("b", nodeLabel(zone, "2"), allocatable("cpu", "2"))))
	r := c.Row(c.Handles()...)
	large := pod("p", app("web"), requests("cpu", "3"), spread("web", zone, 1))
	small := pod("q", app("web"), requests("cpu", "100m"), selects(zone, "2"))
	for i, step := range []struct {
		pod     *cluster.Pod
		want    int
		because string
	}{
		{large, 1, "zone 2 has nobody and no room"},
		{large, 0, "nothing has changed"},
		{small, 1, "it goes to zone 2"},
		{large, 1, "zone 2 has somebody now"},
	} {
		n := 5
		if step.pod == small {
			n = 1
		}
		if got := r.Fill(step.pod.Class, n, nil); got != step.want {
			t.Errorf("step %d: placed %d, want %d: %s", i, got, step.want, step.because)
		}
	}
}
