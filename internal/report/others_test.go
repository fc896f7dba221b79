package report

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"sluice.dev/sluice/cluster"
)

// TestMissingRightsAreToldOnce wants what is not done for want of a right in the status, a metric, one Event and one line of the log, and the cluster called
// unhealthy only where nodes stay for want of it.
func TestMissingRightsAreToldOnce(t *testing.T) {
	w := newWorld()
	w.group("agents", 1, 30, 1)
	client, out := fake.NewClientset(), &bytes.Buffer{}
	events, log, m := &Events{Client: client}, NewLog(slog.New(slog.NewTextHandler(out, nil))), NewMetrics()
	for cycle := range 9 {
		w.at = noon.Add(time.Duration(cycle) * time.Minute)
		w.objects.Lacks = cluster.Lacks{cluster.DeleteNodes}
		if cycle > 3 {
			w.objects.Lacks = cluster.Lacks{cluster.DeleteNodes, cluster.PatchNode}
		}
		entry := w.decide(accepted())
		if err := events.Report(context.Background(), entry); err != nil {
			t.Fatal(err)
		}
		log.Report(context.Background(), entry, time.Second)
		m.Report(entry, time.Second)
		doc := documentOf(entry)
		if healthy := doc.ClusterWide.Health.Status == "Healthy"; healthy != (cycle <= 3) || !strings.Contains(doc.Message, "sluice may not delete nodes: Node objects") {
			t.Errorf("cycle %d: healthy %v, %q", cycle, healthy, doc.Message)
		}
	}
	list, err := client.CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for _, e := range list.Items {
		if e.Reason == rightMissing {
			said++
		}
	}
	if said != 2 || strings.Count(out.String(), "a right is missing") != 2 {
		t.Errorf("%d Events and this log, want two rights told once each:\n%s", said, out)
	}
	if scraped := scrape(t, m); scraped[`sluice_missing_rights{halts="true",right="patch nodes"}`] != "1" || scraped[`sluice_missing_rights{halts="false",right="delete nodes"}`] != "1" {
		t.Errorf("the metric says %v", scraped)
	}
	w.objects.Lacks = nil
	entry := w.decide(accepted())
	log.Report(context.Background(), entry, time.Second)
	m.Report(entry, time.Second)
	if _, still := scrape(t, m)[`sluice_missing_rights{halts="true",right="patch nodes"}`]; still || !strings.Contains(out.String(), "no right is missing any more") {
		t.Errorf("nothing says that all rights are there:\n%s", out)
	}
}

// TestTheActsOfOthersAreToldOnce wants machines that others took, a setting of the cloud and a group that is gone told once, as an Event and in the log.
func TestTheActsOfOthersAreToldOnce(t *testing.T) {
	w := newWorld()
	w.group("agents", 1, 30, 1)
	w.group("render", 0, 3, 1)
	w.groups[0].Taken = cluster.Taken{Machines: 20, First: noon, Last: noon}
	w.groups[0].OtherActors = []cluster.Actor{{Kind: cluster.HandRepairs, Does: "repairs restart machines", Remedy: "switch them off"}}
	client, out := fake.NewClientset(), &bytes.Buffer{}
	events, log := &Events{Client: client}, NewLog(slog.New(slog.NewTextHandler(out, nil)))
	for cycle := range 9 {
		if cycle == 6 {
			w.groups = w.groups[:1]
		}
		w.at = noon.Add(time.Duration(cycle) * time.Minute)
		entry := w.decide(accepted())
		if err := events.Report(context.Background(), entry); err != nil {
			t.Fatal(err)
		}
		log.Report(context.Background(), entry, time.Second)
	}
	list, err := client.CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string][]string{}
	for _, e := range list.Items {
		said[e.Reason] = append(said[e.Reason], e.Message)
	}
	for _, c := range []struct{ reason, event, line string }{
		{machinesTaken, "sluice did not ask to go: 20", "machines went by another hand"},
		{groupReleased, "node group render is managed no more", "group managed no more"},
	} {
		if got := said[c.reason]; len(got) != 1 || !strings.Contains(got[0], c.event) {
			t.Errorf("%s: events %q, want one with %q", c.reason, got, c.event)
		}
		if n := strings.Count(out.String(), c.line); n != 1 {
			t.Errorf("%q stands %d times in the log, want once", c.line, n)
		}
	}
	if n := strings.Count(out.String(), "repairs restart machines: switch them off"); n != 1 {
		t.Errorf("the cloud's own hand stands %d times in the log, want once", n)
	}
	if doc := documentOf(w.decide(accepted())); !strings.Contains(doc.Message, "Node group agents: repairs restart machines: switch them off.") {
		t.Errorf("the status says %q", doc.Message)
	}
	m := NewMetrics()
	m.Report(w.decide(accepted()), time.Second)
	if got := scrape(t, m)[`sluice_group_other_hands{group="agents",kind="repairs"}`]; got != "1" {
		t.Errorf("sluice_group_other_hands is %q, want 1", got)
	}
}
