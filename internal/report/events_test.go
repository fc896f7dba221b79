package report

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

// said are all events at the API server, one line each, sorted.
func said(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	list, err := client.CoreV1().Events("").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range list.Items {
		o := e.InvolvedObject
		lines = append(lines, fmt.Sprintf("%s %s %s (%s) %s %s: %s\n", e.Namespace, o.Kind, o.Name, o.UID, e.Type, e.Reason, e.Message))
	}
	sort.Strings(lines)
	return strings.Join(lines, "")
}

// statusMap is a status ConfigMap as an earlier process may have left it.
func statusMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: StatusNamespace, Name: cluster.StatusName, UID: "status-uid"}}
}

func TestEventsTellObjectsWhatWasDone(t *testing.T) {
	leaving := newWorld()
	leaving.group("agents", 0, 3, 2)
	leaving.cordon("agents-1", "idle", time.Minute)
	leaving.pod("busy", "3", "agents-0")

	draining := newWorld()
	draining.group("agents", 0, 3, 2)
	draining.pod("busy", "3", "agents-0")
	draining.pod("small", "1", "agents-1")
	draining.cordon("agents-1", "underused", time.Minute)

	idle := newWorld()
	idle.group("agents", 0, 3, 1)
	idle.kept.Removable = map[string]time.Time{"agents-0": noon.Add(-11 * time.Minute)}

	orphan := newWorld()
	orphan.machine(orphan.group("agents", 0, 3, 0), 5)
	orphan.groups[0].Capacity, orphan.groups[0].Joined = 1, true

	gone := newWorld()
	gone.group("agents", 0, 3, 1)
	gone.cordon("agents-0", "idle", time.Minute)
	gone.ledger = clustertest.Gone("agents", gone.groups[0].Instances[0].UID)
	clustertest.Silent(noon.Add(-time.Minute))(gone.node("agents-0"))
	gone.groups[0].Instances, gone.groups[0].Capacity = nil, 0

	unmarked := newWorld()
	unmarked.group("agents", 0, 3, 1)
	unmarked.cordon("agents-0", "idle", time.Minute)
	unmarked.node("agents-0").Annotations = nil

	noticed := newWorld()
	noticed.group("agents", 0, 3, 2)
	noticed.pod("busy", "3", "agents-0")
	notice := cluster.Notice{ID: "e", Kind: "Terminate", Deadline: noon.Add(5 * time.Minute)}
	noticed.node("agents-0").Spec.Taints = append(noticed.node("agents-0").Spec.Taints, notice.Taint())
	noticed.node("agents-0").Annotations = map[string]string{cluster.NoticeAnnotation: notice.Annotation()}

	for name, c := range map[string]struct {
		world  *world
		result memory.Result
	}{
		"a notice was heeded":                     {noticed, accepted()},
		"a group grew":                            {growing(), accepted()},
		"the cloud refused to grow a group":       {growing(), failed()},
		"the guard refused to grow a group":       {growing(), refused()},
		"Azure had asked to wait with a growth":   {growing(), heldBack()},
		"a growth was skipped":                    {growing(), memory.Result{Status: memory.Skipped}},
		"a node was cordoned":                     {idle, accepted()},
		"a pod was evicted":                       {draining, accepted()},
		"a pod could not be evicted":              {draining, failed()},
		"a machine was deleted":                   {leaving, accepted()},
		"a machine could not be deleted":          {leaving, failed()},
		"a machine that never joined was deleted": {orphan, accepted()},
		"a Node object was deleted":               {gone, accepted()},
		"a removal was abandoned":                 {unmarked, accepted()},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(statusMap())
			if err := (&Events{Client: client}).Report(context.Background(), c.world.decide(c.result)); err != nil {
				t.Fatal(err)
			}
			golden(t, said(t, client))
		})
	}
}

func TestEventsNameTheirObjectAndSourceCompletely(t *testing.T) {
	client := fake.NewClientset(statusMap())
	e := newWorld()
	e.pod("huge-0", "64", "")
	if err := (&Events{Client: client, Instance: "sluice-0"}).Report(context.Background(), e.decide(accepted())); err != nil {
		t.Fatal(err)
	}
	list, _ := client.CoreV1().Events("default").List(context.Background(), metav1.ListOptions{})
	if len(list.Items) != 1 {
		t.Fatalf("%d events, want 1", len(list.Items))
	}
	got := list.Items[0]
	want := corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "huge-0", UID: "pod-huge-0"}
	if got.InvolvedObject != want {
		t.Errorf("involvedObject %+v, want %+v", got.InvolvedObject, want)
	}
	if got.Source.Component != "sluice" || got.ReportingController != "sluice" || got.ReportingInstance != "sluice-0" {
		t.Errorf("source %+v, reported by %s %s", got.Source, got.ReportingController, got.ReportingInstance)
	}
	if got.Count != 1 || !got.FirstTimestamp.Time.Equal(noon) || !got.LastTimestamp.Time.Equal(noon) {
		t.Errorf("count %d from %s to %s", got.Count, got.FirstTimestamp, got.LastTimestamp)
	}
	if !strings.HasPrefix(got.Message, "pod didn't trigger scale-up: no node group is found: ") {
		t.Errorf("message %q", got.Message)
	}
}

// creates counts the events that were sent.
func creates(client *fake.Clientset) int {
	n := 0
	for _, a := range client.Actions() {
		if a.Matches("create", "events") {
			n++
		}
	}
	return n
}

func TestTheSameIsSaidAgainOnlyAfterFiveMinutes(t *testing.T) {
	client := fake.NewClientset(statusMap())
	events := &Events{Client: client}
	w := newWorld()
	w.pod("huge-0", "64", "")
	for _, step := range []struct {
		after time.Duration
		want  int
		why   string
	}{
		{0, 1, "said for the first time"},
		{10 * time.Second, 1, "said a moment ago"},
		{5*time.Minute - time.Second, 1, "said less than five minutes ago"},
		{5 * time.Minute, 2, "five minutes have passed"},
	} {
		w.at = noon.Add(step.after)
		if err := events.Report(context.Background(), w.decide(accepted())); err != nil {
			t.Fatal(err)
		}
		if got := creates(client); got != step.want {
			t.Errorf("%s: %d events in all, want %d", step.why, got, step.want)
		}
	}
	w.group("agents", 0, 3, 0)
	if err := events.Report(context.Background(), w.decide(accepted())); err != nil {
		t.Fatal(err)
	}
	if got := creates(client); got != 3 {
		t.Errorf("%d events in all after the reason became another one, want 3", got)
	}
}

// TestAGroupThatNoPriorityMatchesIsToldOnce holds what the ConfigMap hears for as long as it leaves a group out.
func TestAGroupThatNoPriorityMatchesIsToldOnce(t *testing.T) {
	client := fake.NewClientset(statusMap())
	events := &Events{Client: client}
	w := newWorld()
	w.group("agents", 0, 3, 0)
	w.group("spot", 0, 3, 0)
	w.policy.Growth.Expanders = []policy.Expander{policy.Priority}
	w.objects.ConfigMaps = []*corev1.ConfigMap{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: cluster.RankingName, UID: "ranking-uid"}, Data: map[string]string{"priorities": "10: [spot]"},
	}}
	for i := range 12 {
		w.at = noon.Add(time.Duration(i) * time.Minute)
		if err := events.Report(context.Background(), w.decide(accepted())); err != nil {
			t.Fatal(err)
		}
	}
	want := "kube-system ConfigMap cluster-autoscaler-priority-expander (ranking-uid) Warning PriorityConfigMapNotMatchedGroup: node group agents: " +
		"no priority of the ConfigMap cluster-autoscaler-priority-expander matches its name: groups that one matches grow in its place\n"
	if got := said(t, client); got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

func TestWhatHappenedOnceIsSentLaterWhenOneCycleHasTooMuchToSay(t *testing.T) {
	client := fake.NewClientset(statusMap())
	events := &Events{Client: client}
	w := newWorld()
	w.group("agents", 0, 300, 0)
	for i := range 250 {
		w.pod(fmt.Sprintf("web-%03d", i), "1", "")
	}
	grown := w.decide(accepted())
	quiet := journal.Entry{Cycle: 8, Seen: grown.Seen, Policy: grown.Policy}
	for i, want := range []int{100, 200, 252, 252} { // 250 pods, and twice the group
		e := quiet
		if i == 0 {
			e = grown
		}
		if err := events.Report(context.Background(), e); err != nil {
			t.Fatal(err)
		}
		if got := creates(client); got != want {
			t.Errorf("%d events after cycle %d, want %d", got, i, want)
		}
	}
}

func TestADryRunSendsNoEvent(t *testing.T) {
	client := fake.NewClientset()
	e := growing().decide(accepted())
	e.DryRun = true
	if err := (&Events{Client: client}).Report(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	if n := len(client.Actions()); n != 0 {
		t.Errorf("%d requests in a dry run", n)
	}
}

// broken answers every creation of an event with the error.
func broken(err error) *fake.Clientset {
	client := fake.NewClientset(statusMap())
	client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
	return client
}

func TestAnAPIServerThatRefusesEventsCostsAFewRequestsACycle(t *testing.T) {
	outage := errors.New("connection refused")
	client := broken(outage)
	w := newWorld()
	for i := range 20 {
		w.pod(fmt.Sprintf("huge-%d", i), "64", "")
	}
	events := &Events{Client: client}
	for cycle := range 2 {
		err := events.Report(context.Background(), w.decide(accepted()))
		if !errors.Is(err, outage) {
			t.Fatalf("Report = %v, want the client's error", err)
		}
		if got, want := creates(client), (cycle+1)*eventPatience; got != want {
			t.Errorf("%d requests after cycle %d, want %d", got, cycle, want)
		}
	}
}

func TestAnEventThatWasLostIsSaidWhenItHappensAgain(t *testing.T) {
	outage := true
	client := fake.NewClientset(statusMap())
	client.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return outage, nil, errors.New("connection refused")
	})
	events := &Events{Client: client}
	e := growing().decide(refused())
	if err := events.Report(context.Background(), e); err == nil {
		t.Fatal("Report hid the client's error")
	}
	outage = false
	if err := events.Report(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	if got := said(t, client); !strings.Contains(got, guardRefused) || !strings.Contains(got, "web-0") {
		t.Errorf("events\n%s", got)
	}
}

func TestAnEventInANamespaceThatIsGoingAwayIsNoError(t *testing.T) {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "x", errors.New("the namespace is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	w := newWorld()
	w.pod("huge-0", "64", "")
	if err := (&Events{Client: broken(err)}).Report(context.Background(), w.decide(accepted())); err != nil {
		t.Errorf("Report = %v, want nil", err)
	}
}

func TestLongNamesAndMessagesFitTheAPI(t *testing.T) {
	w := newWorld()
	p := w.pod(strings.Repeat("a", 253), "64", "")
	ev := event{object: podObject(p), reason: notTriggerScaleUp, at: noon}
	if n := len(ev.name()); n > 253 {
		t.Errorf("an event's name has %d characters", n)
	}
	if got := cut("größe", 3); got != "gr" {
		t.Errorf("cut in the middle of a character: %q", got)
	}
}

// TestWhatTheProviderRefusedIsTold is about writes that no plan asked for: an Event once, a count, and a line of the log, each with the property.
func TestWhatTheProviderRefusedIsTold(t *testing.T) {
	client := fake.NewClientset(statusMap())
	e := newWorld().decide(accepted())
	e.Refused = []journal.Refusal{{At: noon, Property: "S-37", Resource: "/disks/data", Why: "machine b uses it"}}
	if err := (&Events{Client: client}).Report(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	const sentence = "/disks/data is left alone: refused by S-37: machine b uses it"
	if got := said(t, client); !strings.Contains(got, "Warning "+guardRefused+": "+sentence) {
		t.Errorf("events\n%s\nwant %q", got, sentence)
	}
	m := NewMetrics()
	m.Report(e, 0)
	if got := scrape(t, m)[`sluice_guard_refusals_total{property="S-37"}`]; got != "1" {
		t.Errorf("%q refusals by S-37 are counted, want 1", got)
	}
	var log strings.Builder
	NewLog(slog.New(slog.NewTextHandler(&log, nil))).Report(context.Background(), e, 0)
	if got := log.String(); !strings.Contains(got, "S-37") || !strings.Contains(got, "/disks/data") {
		t.Errorf("the log says %q", got)
	}
}
