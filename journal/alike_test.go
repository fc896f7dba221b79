package journal_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/cluster"
	. "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/policy"
)

// TestPodsThatAreAlikeShareTheirClassOnPaper has pods of one class that say all that a pod can say of itself: they are read as they were, and
// what they share stands on paper once.
func TestPodsThatAreAlikeShareTheirClassOnPaper(t *testing.T) {
	like := func(name string, change ...func(*corev1.Pod)) *corev1.Pod {
		o := Pod(name).Object()
		o.UID, o.Status.Conditions = "", nil
		for _, c := range change {
			c(o)
		}
		return o
	}
	waits := func(o *corev1.Pod) {
		o.Status.NominatedNodeName = "a-0"
		o.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available",
			LastTransitionTime: metav1.NewTime(Start.Add(-time.Minute)),
		}}
	}
	runs := func(o *corev1.Pod) {
		o.Spec.NodeName, o.UID, o.Status.Phase, o.Status.StartTime = "a-0", "u", corev1.PodRunning, new(metav1.NewTime(Start))
		o.DeletionTimestamp = new(metav1.NewTime(Start.Add(time.Minute)))
		o.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		o.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new("gpu-1")}}
	}
	var table cluster.Classes
	plain, waiting, running := table.Pod(like("plain")), table.Pod(like("waiting", waits)), table.Pod(like("running", runs))
	waiting.Hear(nil, Start.Add(123*time.Millisecond))
	later := table.Pod(like("later", runs))
	var entries []journal.Entry
	allowed := policy.Default()
	for i, pods := range [][]any{{plain, running, waiting}, {later, plain, waiting}, {later}, {plain, waiting}} {
		seen := cluster.New(Start.Add(time.Duration(i)*time.Minute), Objects(append(pods, Node("a-0"))...), nil)
		entries = append(entries, journal.Entry{Cycle: uint64(i + 1), Seen: seen, Policy: allowed})
	}
	text := written(t, entries)
	if n := strings.Count(string(text), `"containers"`); n != 1 {
		t.Errorf("%d pods are written whole, want one:\n%s", n, text)
	}
	got, err := readAll(bytes.NewReader(text))
	if err != nil || len(got) != len(entries) {
		t.Fatalf("%d cycles are read of %d: %v", len(got), len(entries), err)
	}
	for i, e := range got {
		want := entries[i].Seen.Objects.Pods
		if len(e.Seen.Objects.Pods) != len(want) {
			t.Fatalf("cycle %d has %d pods, want %d", e.Cycle, len(e.Seen.Objects.Pods), len(want))
		}
		for k, p := range e.Seen.Objects.Pods {
			if !reflect.DeepEqual(p, want[k]) || p.Class != e.Seen.Objects.Pods[0].Class {
				t.Errorf("cycle %d: pod %s is read as\n%s\nwant\n%s", e.Cycle, p, asJSON(t, p), asJSON(t, want[k]))
			}
		}
	}
}

func TestAPodOfAClassThatNoLineHasIsDamage(t *testing.T) {
	for _, class := range []string{"-1", "0", "7"} {
		_, err := readAll(strings.NewReader(`{"v":4,"full":true,"policy":{},"pods":{"set":[null]},"alike":[{"class":` + class + `,"pods":[{"name":"a"}]}]}` + "\n"))
		if err == nil || !strings.Contains(err.Error(), "it has pods of a class "+class+" that no line has") {
			t.Errorf("class %s: error %v", class, err)
		}
	}
}

// TestEntriesShareWhatDidNotChange reads a journal as whoever goes through a week of it does: objects that did not change are the same ones, and
// what an earlier entry shows stays as it was.
func TestEntriesShareWhatDidNotChange(t *testing.T) {
	entries := history()
	got, err := readAll(bytes.NewReader(written(t, entries)))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range got {
		fresh := cluster.New(e.Seen.Time, entries[i].Seen.Objects, entries[i].Seen.Groups)
		if want, got := asJSON(t, fresh.Groups), asJSON(t, e.Seen.Groups); want != got {
			t.Errorf("cycle %d has groups\n%s\nwant\n%s", e.Cycle, got, want)
		}
		if want, got := asJSON(t, fresh.Objects), asJSON(t, e.Seen.Objects); want != got {
			t.Errorf("cycle %d has objects\n%s\nwant\n%s", e.Cycle, got, want)
		}
		if i > 0 && e.Seen.Objects.Nodes[0] != got[i-1].Seen.Objects.Nodes[0] {
			t.Errorf("cycle %d has a node of its own", e.Cycle)
		}
	}
}
