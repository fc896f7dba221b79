package report

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

// aloud is what a log says of entries above the debug level.
func aloud(entries ...journal.Entry) []string {
	to, out := lines()
	log := NewLog(to)
	for _, e := range entries {
		log.Report(context.Background(), e, 0)
	}
	var said []string
	for line := range strings.Lines(out.String()) {
		if !strings.Contains(line, "level=DEBUG") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	return said
}

// want compares the messages of lines.
func wantMessages(t *testing.T, said []string, want ...string) {
	t.Helper()
	for i := range max(len(said), len(want)) {
		switch {
		case i >= len(want):
			t.Errorf("besides, it says %s", said[i])
		case i >= len(said):
			t.Errorf("it does not say %q", want[i])
		case !strings.Contains(said[i], want[i]):
			t.Errorf("line %d is %s, want %q", i, said[i], want[i])
		}
	}
}

// dry is a cycle of a dry run so long after noon.
func dry(after time.Duration, actions ...action.Action) journal.Entry {
	w := newWorld()
	w.at = w.at.Add(after)
	w.group("agents", 0, 9, 2)
	w.group("render", 0, 9, 1)
	e := w.decide(memory.Result{Status: memory.Skipped, Message: "dry run"})
	e.DryRun, e.Plan.Actions, e.Results = true, actions, nil
	for range actions {
		e.Results = append(e.Results, memory.Result{Status: memory.Skipped, Message: "dry run"})
	}
	return e
}

func grows(group string, from, to int) action.Action {
	return action.SetCapacity{Group: "agents", From: from, To: to, Because: reason.New(reason.GroupGrows, reason.Group(group), "from", from, "to", to, "max", 9, "pods", 1)}
}

func cordons(node string) action.Action {
	return action.Cordon{Node: node, Because: reason.New(reason.NodeUnmanaged, reason.Node(node))}
}

func TestADryRunSaysEachIntentionOnceWhenItArises(t *testing.T) {
	wantMessages(t, aloud(
		dry(0, grows("agents", 1, 4)),
		dry(10*time.Second, grows("agents", 1, 4), cordons("agents-0")),
		dry(20*time.Second, grows("agents", 1, 6), cordons("agents-0")),
		dry(30*time.Second, grows("agents", 1, 5)), // fewer pods wait
		dry(40*time.Second),
		dry(50*time.Second, grows("agents", 1, 6), cordons("agents-0")), // and again as many
		dry(60*time.Second, grows("agents", 6, 7)),                      // somebody else has grown it
		dry(7*time.Minute, cordons("agents-0")),                         // it was not so for six minutes
	),
		`msg="dry run: would grow group agents 1 -> 4" cycle=7 action=SetCapacity group=agents code=GroupGrows`,
		`msg="dry run: would cordon node agents-0"`,
		`msg="dry run: would grow group agents 1 -> 6"`,
		`msg="dry run: would grow group agents 6 -> 7"`,
		`msg="dry run: would cordon node agents-0"`,
	)
}

func TestADryRunIsSummedUpOnceAnHour(t *testing.T) {
	machines := action.DeleteInstances{Group: "render", Machines: []action.Leaving{
		{Machine: cluster.Machine{Group: "render", ID: "3"}}, {Machine: cluster.Machine{Group: "render", ID: "4"}},
	}}
	said := aloud(
		dry(0),
		dry(59*time.Minute),
		dry(61*time.Minute),
		dry(62*time.Minute, grows("agents", 1, 4)),
		dry(63*time.Minute, grows("agents", 1, 6), machines),
		dry(70*time.Minute, grows("agents", 6, 7)),
		dry(2*time.Hour),
		dry(2*time.Hour+time.Minute),
		dry(2*time.Hour+2*time.Minute),
		dry(4*time.Hour),
	)
	var sums []string
	for _, line := range said {
		if strings.Contains(line, "since") {
			sums = append(sums, line)
		}
	}
	const all = "dry run: since 2026-03-01 12:00:00 UTC sluice would have grown group agents by 6 machines in 2 requests, removed 2 machines of group render"
	wantMessages(t, sums, "dry run: since 2026-03-01 12:00:00 UTC sluice would have grown and removed nothing", all, all)
}

func TestWithoutADryRunNothingIsSummedUp(t *testing.T) {
	e := dry(0, grows("agents", 1, 4))
	e.DryRun = false
	later := e
	later.Seen = dry(2 * time.Hour).Seen
	wantMessages(t, aloud(e, later))
}

func TestThatThereIsNoGroupIsSaidOnceAnHour(t *testing.T) {
	none := func(after time.Duration) journal.Entry {
		w := newWorld()
		w.at = w.at.Add(after)
		return w.decide(accepted())
	}
	const sentence = `level=WARN msg="no node group is found: give a scale set the tags cluster-autoscaler-enabled=true, min and max`
	wantMessages(t, aloud(none(0), none(time.Minute), none(59*time.Minute), none(time.Hour), dry(61*time.Minute), none(62*time.Minute)), sentence, sentence, sentence,
		`msg="group managed no more" cycle=7 group=agents`, `msg="group managed no more" cycle=7 group=render`)
}

func TestAPodOfAClusterWithoutGroupsIsToldSo(t *testing.T) {
	w := newWorld()
	w.pod("web-0", "2", "")
	e := w.decide(accepted())
	v, ok := e.Plan.Verdict(reason.Pod("default", "web-0"))
	if !ok || v.Outcome != action.PodStuck || len(v.Because) != 1 || v.Because[0].Code != reason.NoGroupFound {
		t.Errorf("verdict %+v, want stuck NoGroupFound", v)
	}
}

func TestAGrowthThatIsTakenOverIsTold(t *testing.T) {
	w := newWorld()
	w.group("agents", 0, 9, 0)
	e := w.decide(accepted())
	e.TookOver = []journal.Takeover{{Group: "agents", Capacity: 5, At: noon.Add(-time.Minute)}}
	const sentence = "takes over the growth of group agents to 5, requested at 2026-03-01 11:59:00 UTC by another leader"
	wantMessages(t, aloud(e), sentence)
	events := eventsOfDeeds(e, corev1.ObjectReference{Kind: "ConfigMap", Name: cluster.StatusName})
	if len(events) != 1 || events[0].reason != "TookOverScaleUp" || !strings.Contains(events[0].message, sentence) || events[0].object.Name != cluster.StatusName {
		t.Errorf("events %+v, want one TookOverScaleUp of the status ConfigMap", events)
	}
}
