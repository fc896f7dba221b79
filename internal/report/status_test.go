package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/plan/memory"
)

// shown is the status ConfigMap at the API server.
func shown(t *testing.T, client *fake.Clientset) *corev1.ConfigMap {
	t.Helper()
	m, err := client.CoreV1().ConfigMaps(StatusNamespace).Get(context.Background(), cluster.StatusName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func report(t *testing.T, s *Status, w *world) {
	t.Helper()
	if err := s.Report(context.Background(), w.decide(accepted())); err != nil {
		t.Fatal(err)
	}
}

func TestStatusHasTheFormThatToolsForClusterAutoscalerRead(t *testing.T) {
	w := newWorld()
	w.group("agents", 1, 3, 2)
	w.pod("busy", "3", "agents-0")
	young := w.machine(w.group("gpu", 0, 2, 0), 4)
	young.Created = noon.Add(-time.Minute)
	w.groups[1].Capacity = 1
	w.group("spot", 0, 5, 0)
	w.kept.Groups = map[cluster.GroupID]memory.GroupMemory{
		"spot": {Backoff: memory.Backoff{Until: noon.Add(time.Minute), Length: 5 * time.Minute, Last: noon.Add(-4 * time.Minute), Code: "AllocationFailed", Message: strings.Repeat("x", 600)}},
	}
	client := fake.NewClientset()
	report(t, &Status{Client: client}, w)
	m := shown(t, client)
	if got := m.Annotations["cluster-autoscaler.kubernetes.io/last-updated"]; got != "2026-03-01 12:00:00 +0000 UTC" {
		t.Errorf("last-updated %q", got)
	}
	golden(t, strings.ReplaceAll(m.Data["status"], strings.Repeat("x", 500), "500 characters"))
}

func TestStatusIsWrittenWhenSomethingChangesAndOnceAMinute(t *testing.T) {
	client := fake.NewClientset()
	s := &Status{Client: client}
	w := newWorld()
	w.group("agents", 1, 3, 1)
	writes := func() int {
		n := 0
		for _, a := range client.Actions() {
			if a.GetVerb() == "create" || a.GetVerb() == "update" {
				n++
			}
		}
		return n
	}
	for _, step := range []struct {
		after time.Duration
		do    func()
		want  int
		why   string
	}{
		{0, func() {}, 1, "there was none"},
		{10 * time.Second, func() {}, 1, "nothing changed"},
		{20 * time.Second, func() { w.groups[0].Max = 4 }, 2, "a limit changed"},
		{30 * time.Second, func() {}, 2, "nothing changed"},
		{79 * time.Second, func() {}, 2, "nothing changed for less than a minute"},
		{80 * time.Second, func() {}, 3, "a minute passed"},
	} {
		w.at = noon.Add(step.after)
		step.do()
		report(t, s, w)
		if got := writes(); got != step.want {
			t.Errorf("%s after %s: %d writes in all, want %d", step.why, step.after, got, step.want)
		}
	}
}

// TestStatusShowsTheTimeOfEachLoop is for tools that wait for cluster-autoscaler's annotation to move on with each --scan-interval.
func TestStatusShowsTheTimeOfEachLoop(t *testing.T) {
	client := fake.NewClientset()
	s := &Status{Client: client, Every: 10 * time.Second}
	w := newWorld()
	w.group("agents", 1, 3, 1)
	for _, step := range []struct {
		after time.Duration
		want  string
	}{
		{0, "2026-03-01 12:00:00 +0000 UTC"},
		{9 * time.Second, "2026-03-01 12:00:00 +0000 UTC"}, // a cycle that something else has started
		{10 * time.Second, "2026-03-01 12:00:10 +0000 UTC"},
		{20 * time.Second, "2026-03-01 12:00:20 +0000 UTC"},
	} {
		w.at = noon.Add(step.after)
		report(t, s, w)
		if got := shown(t, client).Annotations[updatedAnnotation]; got != step.want {
			t.Errorf("after %s the annotation says %s, want %s", step.after, got, step.want)
		}
	}
}

func TestTransitionTimesSurviveARestart(t *testing.T) {
	client := fake.NewClientset()
	w := newWorld()
	w.group("agents", 1, 3, 1)
	report(t, &Status{Client: client}, w)

	w.at = noon.Add(time.Hour)
	w.pod("huge-0", "64", "")
	w.groups[0].Problem = "403 AuthorizationFailed"
	after := &Status{Client: client}
	report(t, after, w)
	group := after.last.NodeGroups[0]
	if got := group.ScaleDown.LastTransitionTime; got == nil || !got.Equal(noon) {
		t.Errorf("scaleDown has not changed since %s, but says %v", noon, got)
	}
	if group.Health.Status != "Unhealthy" || group.ScaleUp.Status != "Unhealthy" {
		t.Errorf("an unreadable group is %s and %s", group.Health.Status, group.ScaleUp.Status)
	}
	if got := group.Health.LastTransitionTime; got == nil || !got.Equal(w.at) {
		t.Errorf("health changed at %s, but says %v", w.at, got)
	}
}

func TestProblemShowsThatNothingCanBeSeen(t *testing.T) {
	now := noon.Add(30 * time.Second)
	clock := func() time.Time { return now }
	t.Run("before the first cycle", func(t *testing.T) {
		client := fake.NewClientset()
		if err := (&Status{Client: client, Now: clock}).Problem(context.Background(), "sign in: 401 invalid_client"); err != nil {
			t.Fatal(err)
		}
		text := shown(t, client).Data["status"]
		for _, want := range []string{"autoscalerStatus: Initializing\n", "message: 'sign in: 401 invalid_client'\n", "status: Unhealthy\n", "lastProbeTime: null\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
	})
	t.Run("between cycles", func(t *testing.T) {
		client := fake.NewClientset()
		s := &Status{Client: client, Now: clock}
		w := newWorld()
		w.group("agents", 1, 3, 1)
		report(t, s, w)
		before, err := yaml.Marshal(s.last.NodeGroups)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Problem(context.Background(), "the API server is silent"); err != nil {
			t.Fatal(err)
		}
		after, err := yaml.Marshal(s.last.NodeGroups)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "what was known of groups", string(after), string(before))
		health := s.last.ClusterWide.Health
		if health.Status != "Unhealthy" || !health.LastTransitionTime.Equal(now) || s.last.Message != "the API server is silent" || s.last.AutoscalerStatus != "Running" {
			t.Errorf("status %+v, message %q, %s", health.condition, s.last.Message, s.last.AutoscalerStatus)
		}
		w.at = noon.Add(40 * time.Second)
		report(t, s, w)
		if s.last.Message != "" || s.last.ClusterWide.Health.Status != "Healthy" {
			t.Errorf("after a good cycle: message %q, %s", s.last.Message, s.last.ClusterWide.Health.Status)
		}
	})
}

func TestStatusLeavesOtherKeysOfTheConfigMapAlone(t *testing.T) {
	m := statusMap()
	m.Data = map[string]string{"note": "ours", "status": "Cluster-autoscaler status at 2018-10-02:\n: not yaml"}
	m.Annotations = map[string]string{"team": "infra"}
	client := fake.NewClientset(m)
	report(t, &Status{Client: client}, newWorld())
	got := shown(t, client)
	if got.Data["note"] != "ours" || got.Annotations["team"] != "infra" || got.UID != "status-uid" {
		t.Errorf("ConfigMap is now %v %v %s", got.Data, got.Annotations, got.UID)
	}
	if !strings.Contains(got.Data["status"], "message: Cluster has no nodes. No node group is found.\n") {
		t.Errorf("status\n%s", got.Data["status"])
	}
}

func TestAStatusThatCouldNotBeWrittenIsWrittenByTheNextCycle(t *testing.T) {
	client := fake.NewClientset(statusMap())
	s := &Status{Client: client}
	w := newWorld()
	report(t, s, w)
	outage := true
	client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		return outage, nil, errors.New("connection refused")
	})
	w.group("agents", 0, 3, 1)
	if err := s.Report(context.Background(), w.decide(accepted())); err == nil {
		t.Fatal("Report hid the client's error")
	}
	w.objects.Nodes, w.groups = nil, nil // as before, but nobody knows which status the API server has
	outage = false
	before := len(client.Actions())
	report(t, s, w)
	if last := client.Actions()[len(client.Actions())-1]; len(client.Actions()) == before || last.GetVerb() != "update" {
		t.Error("what was lost is not written again")
	}
	w.group("agents", 0, 3, 1)
	report(t, s, w)
	if !strings.Contains(shown(t, client).Data["status"], "name: agents\n") {
		t.Errorf("status\n%s", shown(t, client).Data["status"])
	}
}

func TestADryRunWritesNoStatus(t *testing.T) {
	client := fake.NewClientset()
	e := newWorld().decide(accepted())
	e.DryRun = true
	if err := (&Status{Client: client}).Report(context.Background(), e); err != nil {
		t.Fatal(err)
	}
	if n := len(client.Actions()); n != 0 {
		t.Errorf("%d requests in a dry run", n)
	}
}

func TestStatusNamesTheGroupThatCannotBeRead(t *testing.T) {
	w := newWorld()
	w.group("agents", 0, 3, 1).Problem = "the identity may not perform read: give it a role"
	doc := documentOf(w.decide(accepted()))
	if want := "Node group agents: the identity may not perform read: give it a role."; doc.Message != want {
		t.Errorf("message %q, want %q", doc.Message, want)
	}
}

func TestOperationsInFlightSurviveARestart(t *testing.T) {
	client := fake.NewClientset()
	flight := []byte(`[{"group":"agents"}]`)
	s := &Status{Client: client, Operations: func() []byte { return flight }}
	report(t, s, newWorld())

	after := &Status{Client: client, Operations: func() []byte { return nil }}
	if saved, err := after.SavedOperations(t.Context()); err != nil || string(saved) != string(flight) {
		t.Fatalf("saved %q, error %v, want %q", saved, err, flight)
	}
	report(t, after, newWorld())
	if got, kept := shown(t, client).Data["operations"]; kept {
		t.Errorf("the ConfigMap still names operations: %s", got)
	}
}

func TestAnOperationIsWrittenInTheCycleThatBeganIt(t *testing.T) {
	client := fake.NewClientset()
	var flight []byte
	s := &Status{Client: client, Operations: func() []byte { return flight }}
	report(t, s, newWorld())
	flight = []byte(`[{"group":"agents"}]`)
	report(t, s, newWorld()) // nothing else has changed, and no minute has passed
	if got := shown(t, client).Data["operations"]; got != string(flight) {
		t.Errorf("the ConfigMap says %q, want %q", got, flight)
	}
}

func TestWhatIsAboutToBeDoneIsKeptBeforeTheCycleEnds(t *testing.T) {
	client := fake.NewClientset()
	var flight []byte
	s := &Status{Client: client, Operations: func() []byte { return flight }}
	flight = []byte(`[{"group":"agents"}]`)
	if err := s.Ahead(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := shown(t, client); m.Data["operations"] != string(flight) || !strings.Contains(m.Data["status"], "Initializing") {
		t.Errorf("before the first cycle has ended the ConfigMap says %v, want the operations and a status that begins", m.Data)
	}
	report(t, s, newWorld())
	before := shown(t, client).Data["status"]
	flight = []byte(`[{"group":"batch"}]`)
	client.ClearActions()
	for range 2 {
		if err := s.Ahead(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	m := shown(t, client)
	if m.Data["operations"] != string(flight) || m.Data["status"] != before {
		t.Errorf("the ConfigMap says %v, want the operations alone to be others", m.Data)
	}
	writes := 0
	for _, a := range client.Actions() {
		if a.GetVerb() == "update" {
			writes++
		}
	}
	if writes != 1 {
		t.Errorf("it was written %d times, want once", writes)
	}
}

// TestWhatAnotherProcessHasWrittenIsHeeded has two processes write one ConfigMap: ahead of a growth the second one learns what the first one has put there, and writes
// nothing; at the end of a cycle it learns it and writes both.
func TestWhatAnotherProcessHasWrittenIsHeeded(t *testing.T) {
	for name, ahead := range map[string]bool{"ahead": true, "at the end of a cycle": false} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset()
			known := "own"
			var heard []string
			s := &Status{Client: client, Operations: func() []byte { return []byte(known) }, Merge: func(theirs []byte) error {
				heard = append(heard, string(theirs))
				known += ", " + string(theirs)
				return errors.New("there is another one")
			}}
			report(t, s, newWorld())
			report(t, &Status{Client: client, Operations: func() []byte { return []byte("theirs") }}, newWorld())

			known = "own and more"
			if want := "theirs"; ahead {
				if err := s.Ahead(t.Context()); err == nil {
					t.Error("nothing was said of another process")
				}
				if got := shown(t, client).Data["operations"]; got != want {
					t.Errorf("the ConfigMap says %q, want %q still", got, want)
				}
				if err := s.Ahead(t.Context()); err != nil {
					t.Errorf("what has been heeded keeps the process from writing: %v", err)
				}
			} else {
				report(t, s, newWorld())
			}
			if got, want := shown(t, client).Data["operations"], "own and more, theirs"; got != want {
				t.Errorf("the ConfigMap says %q, want %q", got, want)
			}
			if d := cmp.Diff([]string{"theirs"}, heard); d != "" {
				t.Errorf("heard (-want +got):\n%s", d)
			}
		})
	}
}

// TestTwoProcessesThatWriteAtOnce has one write between the other's read and its write: it reads again.
func TestTwoProcessesThatWriteAtOnce(t *testing.T) {
	client := fake.NewClientset()
	var heard []string
	s := &Status{Client: client, Operations: func() []byte { return []byte("own") }, Merge: func(theirs []byte) error {
		heard = append(heard, string(theirs))
		return errors.New("there is another one")
	}}
	report(t, s, newWorld())
	s.Operations = func() []byte { return []byte("own and more") }
	tries, m := 0, shown(t, client)
	client.PrependReactor("update", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if tries++; tries > 1 {
			return false, nil, nil
		}
		m.Data["operations"] = "theirs"
		if err := client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("configmaps"), m, m.Namespace); err != nil {
			t.Fatal(err)
		}
		return true, nil, apierrors.NewConflict(corev1.Resource("configmaps"), m.Name, errors.New("it was changed"))
	})
	if err := s.Ahead(t.Context()); err == nil || len(heard) != 1 || heard[0] != "theirs" {
		t.Errorf("heard %q, error %v, want what was written in between", heard, err)
	}
}

func TestWhatNodesHaveTaughtSurvivesARestart(t *testing.T) {
	client := fake.NewClientset()
	w := newWorld()
	w.group("agents", 0, 5, 1)
	w.objects.Nodes[0].Labels = map[string]string{"disk": "fast"}
	report(t, &Status{Client: client}, w)

	after := &Status{Client: client}
	left, err := after.Saved(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if l := left.Lessons["agents"]; l == nil || l.Node.Labels["disk"] != "fast" {
		t.Fatalf("learned %+v, want what the node has taught", l)
	}
	said := shown(t, client).Data["templates"]
	empty := newWorld()
	empty.group("agents", 0, 5, 0)
	report(t, after, empty)
	if got := shown(t, client).Data["templates"]; got != said {
		t.Errorf("the ConfigMap says %q, want what it said before: %q", got, said)
	}
}

func TestLessonsThatCannotBeReadAreTold(t *testing.T) {
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: StatusNamespace, Name: cluster.StatusName}, Data: map[string]string{"templates": "[]"},
	})
	if left, err := (&Status{Client: client}).Saved(t.Context()); err == nil || left.Lessons != nil {
		t.Errorf("read %v, error %v, want an error", left.Lessons, err)
	}
}

func TestLessonsLeaveRoomInTheConfigMap(t *testing.T) {
	client := fake.NewClientset()
	w := newWorld()
	for i := range 200 {
		w.group(fmt.Sprintf("group-%03d", i), 0, 5, 1)
		w.objects.Nodes[i].Labels = map[string]string{"long": strings.Repeat("x", 4<<10)}
	}
	report(t, &Status{Client: client}, w)
	if n := len(shown(t, client).Data["templates"]); n > 512<<10 || n < 500<<10 {
		t.Errorf("%d bytes of lessons, want nearly 512 KiB", n)
	}
	left, err := (&Status{Client: client}).Saved(t.Context())
	if err != nil || len(left.Lessons) < 50 {
		t.Errorf("%d lessons read, error %v", len(left.Lessons), err)
	}
	said := fmt.Sprintf("What nodes have taught of %d groups has no room here", 200-len(left.Lessons))
	if text := shown(t, client).Data["status"]; !strings.Contains(text, said) {
		t.Errorf("the status does not say %q", said)
	}
}

// TestLessonsOfEmptyGroupsAreKeptFirst has more lessons than there is room for: what a node can teach again is left out.
func TestLessonsOfEmptyGroupsAreKeptFirst(t *testing.T) {
	client := fake.NewClientset()
	w := newWorld()
	for i := range 200 {
		w.group(fmt.Sprintf("group-%03d", i), 0, 5, 1)
		w.objects.Nodes[i].Labels = map[string]string{"long": strings.Repeat("x", 4<<10)}
	}
	s := &Status{Client: client}
	report(t, s, w)
	if left := s.Unkept(); len(left) == 0 || left[len(left)-1] != "group-199" {
		t.Fatalf("%v are not kept, want the last by name", left)
	}
	later := newWorld()
	for i := range 200 {
		later.group(fmt.Sprintf("group-%03d", i), 0, 5, map[bool]int{true: 0, false: 1}[i == 199])
		if i < 199 {
			later.objects.Nodes[i].Labels = w.objects.Nodes[i].Labels
		}
	}
	later.groups[199].Learned = s.lessons["group-199"]
	report(t, s, later)
	saved, err := (&Status{Client: client}).Saved(t.Context())
	if err != nil || saved.Lessons["group-199"] == nil || slices.Contains(s.Unkept(), "group-199") {
		t.Errorf("what was known of the group that is empty now is not kept: %v", err)
	}
}

func TestWhatNeverJoinedSurvivesARestart(t *testing.T) {
	client := fake.NewClientset()
	failed := memory.Breakers{Groups: map[cluster.GroupID]memory.Handed{
		"agents": {Breaker: memory.Breaker{Machines: 3, Last: noon, Kept: "vm-2", Until: noon.Add(time.Hour)}},
		"others": {Backoff: memory.Backoff{Until: noon.Add(time.Hour), Length: time.Hour, Last: noon, Code: "QuotaExceeded", Message: "cores", Ceiling: 3}, Noticed: noon},
	}}
	tell := func(s *Status, b memory.Breakers) {
		t.Helper()
		e := newWorld().decide(accepted())
		e.After = b.Memory(noon)
		if err := s.Report(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	first := &Status{Client: client}
	tell(first, memory.Breakers{})
	tell(first, failed) // nothing else has changed, and no minute has passed

	after := &Status{Client: client}
	left, err := after.Saved(t.Context())
	if d := cmp.Diff(failed, left.Breakers); d != "" || err != nil {
		t.Fatalf("error %v, breakers (-want +got):\n%s", err, d)
	}
	tell(after, left.Breakers)
	until := len(client.Actions())
	tell(after, left.Breakers)
	for _, a := range client.Actions()[until:] {
		if a.GetVerb() != "get" {
			t.Errorf("the same is written again: %s", a.GetVerb())
		}
	}
	tell(after, memory.Breakers{})
	if got, kept := shown(t, client).Data["breakers"]; kept {
		t.Errorf("all machines join, and the ConfigMap says %s", got)
	}
}

func TestBreakersThatCannotBeReadAreTold(t *testing.T) {
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: StatusNamespace, Name: cluster.StatusName}, Data: map[string]string{"breakers": "[]"},
	})
	if left, err := (&Status{Client: client}).Saved(t.Context()); err == nil || !left.Breakers.IsZero() {
		t.Errorf("read %v, error %v, want an error", left.Breakers, err)
	}
}

func TestNodesOfNoGroupAreNamedForPeoplesCommands(t *testing.T) {
	client := fake.NewClientset()
	s := &Status{Client: client}
	w := newWorld()
	w.group("agents", 0, 3, 1)
	w.objects.Nodes = append(w.objects.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "server-0"}})
	report := func(want, when string) {
		t.Helper()
		if err := s.Report(t.Context(), w.decide(accepted())); err != nil {
			t.Fatal(err)
		}
		if got := shown(t, client).Data[cluster.OutsideKey]; got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	report(`["server-0"]`, "a node of no group")
	w.groups[0].Read.Complete = false
	report("", "a group is not wholly read")
	w.groups[0].Read.Complete, w.objects.Nodes = true, w.objects.Nodes[:1]
	report("[]", "all are of groups")
	for i := range mostOutside + 1 {
		w.objects.Nodes = append(w.objects.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("server-", i)}})
	}
	report("", "there are too many")
}
