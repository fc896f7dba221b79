package kube

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"sluice.dev/sluice/internal/kubesim"
)

// Whatever is put and removed, the result is that of sorting all that is there, and results handed out never change.
func TestCollectionIsAlwaysSortedAndWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCollection(whole[*corev1.Namespace]())
		model := map[string]string{}
		var handedOut, copies [][]*corev1.Namespace
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			name := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 1, 2, -1).Draw(t, "name")
			switch rapid.SampledFrom([]string{"put", "put", "remove", "read"}).Draw(t, "do") {
			case "put":
				label := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "label")
				before, existed, changed := c.put(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"l": label}}})
				was, there := model[name]
				if existed != there || changed != (!there || was != label) || existed && before.Labels["l"] != was {
					t.Fatalf("put %s=%s over %q: existed %v, changed %v", name, label, was, existed, changed)
				}
				model[name] = label
			case "remove":
				if _, existed := c.remove(nameOf(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})); existed != (model[name] != "") {
					t.Fatalf("remove %s: existed %v", name, existed)
				}
				delete(model, name)
			case "read":
				handedOut = append(handedOut, c.objects())
				copies = append(copies, slices.Clone(c.objects()))
				check(t, c.objects(), model)
			}
		}
		check(t, c.objects(), model)
		for i := range handedOut {
			if !slices.Equal(handedOut[i], copies[i]) {
				t.Fatal("a slice that was handed out changed")
			}
		}
	})
}

func check(t *rapid.T, got []*corev1.Namespace, model map[string]string) {
	if len(got) != len(model) || !slices.IsSortedFunc(got, func(a, b *corev1.Namespace) int { return nameOf(a).compare(nameOf(b)) }) {
		t.Fatalf("%v of %v", keys(got), model)
	}
	for _, o := range got {
		if model[o.Name] != o.Labels["l"] {
			t.Fatalf("%s is %q, want %q", o.Name, o.Labels["l"], model[o.Name])
		}
	}
}

// large is an observer that has read 1,000 nodes and 30,000 pods, without an API server.
func large(b *testing.B) *Observer {
	o := NewObserver(clientOf(b, &kubesim.Cluster{}), Options{})
	var nodes, pods []any
	for i := range 1000 {
		nodes = append(nodes, node(fmt.Sprintf("n%04d", i)))
	}
	for i := range 30_000 {
		pods = append(pods, pod(fmt.Sprintf("team-%02d", i%50), fmt.Sprintf("pod-%05d", i), fmt.Sprintf("n%04d", i%1000)))
	}
	o.nodes.answered(b.Context(), "watch", nil)
	o.pods.answered(b.Context(), "watch", nil)
	o.daemonSets.answered(b.Context(), "watch", nil)
	o.budgets.answered(b.Context(), "watch", nil)
	o.namespaces.answered(b.Context(), "watch", nil)
	for _, err := range []error{o.nodes.Replace(nodes, "1"), o.pods.Replace(pods, "1"), o.daemonSets.Replace(nil, "1"), o.budgets.Replace(nil, "1"), o.namespaces.Replace(nil, "1")} {
		if err != nil {
			b.Fatal(err)
		}
	}
	return o
}

func BenchmarkObjects(b *testing.B) {
	b.Run("nothing changed", func(b *testing.B) {
		o := large(b)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := o.Objects(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ten pods changed", func(b *testing.B) {
		o := large(b)
		b.ReportAllocs()
		turn := 0
		for b.Loop() {
			turn++
			for i := range 10 {
				p := pod(fmt.Sprintf("team-%02d", i), fmt.Sprintf("pod-%05d", i), "")
				p.Labels = map[string]string{"turn": fmt.Sprint(turn)}
				if err := o.pods.Update(p); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := o.Objects(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("a thousand heartbeats", func(b *testing.B) {
		o := large(b)
		b.ReportAllocs()
		for b.Loop() {
			for i := range 1000 {
				if err := o.nodes.Update(node(fmt.Sprintf("n%04d", i))); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := o.Objects(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestAPodThatWaitsIsHeardOfOnce(t *testing.T) {
	now := time.Date(2026, 1, 5, 9, 0, 0, 250_000_000, time.UTC)
	first := now
	table := classes{}
	f := newFeed(nil, resource[*corev1.Pod]{name: "pods"}, Options{Now: func() time.Time { return now }}, func() {}, nil, table.record, records())
	for i, message := range []string{"0/1 nodes are available", "0/2 nodes are available"} {
		p := pod("default", "x", "")
		p.ResourceVersion = strconv.Itoa(i + 1)
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}}
		if err := f.Update(p); err != nil {
			t.Fatal(err)
		}
		held := f.held.objects()[0]
		if got := held.Observed(); !got.Equal(first) || held.Message() != message {
			t.Errorf("%q: heard of at %s, want %s", held.Message(), got, first)
		}
		now = now.Add(time.Second)
	}
}
