package timeline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	ct "sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/reason"
)

func TestAPointCountsWhatACycleShowed(t *testing.T) {
	s := newStory(t)
	priced := ct.Group("a", 0, 9, ct.Machine("1", "a-1"), ct.Machine("2", ""))
	priced.PriceUSDPerHour, priced.Capacity = 0.5, 4 // two of them are in no list yet
	s.groups = []*cluster.Group{priced, ct.Group("b", 0, 9, ct.Machine("3", "b-1"))}
	s.nodes = append(s.nodes, ct.Node("a-1"), ct.Node("b-1"), ct.Node("foreign"))
	for i, is := range []action.Outcome{action.PodWaiting, action.PodStuck, action.PodIgnored} {
		p := ct.Pod(fmt.Sprint("p", i))
		s.pods = append(s.pods, p)
		v := verdict(is, reason.NoGroupFits)
		v.Subject = reason.Ref{Kind: reason.KindPod, Name: p.String()}
		s.said = append(s.said, v)
	}
	coming := verdict(action.MachineComing, reason.MachineComing)
	coming.Subject = reason.Instance("a", "2")
	s.said = append(s.said, coming)
	s.acts = []action.Action{
		action.SetCapacity{Group: "a", From: 4, To: 7, Adds: 3}, action.DeleteInstances{Group: "b", Machines: make([]action.Leaving, 2)},
	}
	s.refuse = make([]journal.Refusal, 1)
	s.turn(0)
	want := []Point{{
		Time: at(0), Cycle: 1, Waiting: 2, Stuck: 1, Nodes: 2, Coming: 3, ByGroup: map[cluster.GroupID]int{"a": 1, "b": 1},
		USD: 2, Unpriced: 1, Grown: 3, Removed: 2, Guarded: 1,
	}}
	if diff := cmp.Diff(want, s.line.Points(all())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAPointCountsWhatWasRefused(t *testing.T) {
	for name, c := range map[string]struct {
		memory.Result
		refused, guarded, grown int
	}{
		"a request that Azure refused":                {memory.Result{Status: memory.Failed, Kind: "quota"}, 1, 0, 0},
		"a write that the API server refused is none": {memory.Result{Status: memory.Failed, Kind: "kubernetes"}, 0, 0, 0},
		"one that the provider held back":             {memory.Result{Status: memory.Failed, Kind: "throttled", Property: "S-32"}, 0, 1, 0},
		"one that the guard kept":                     {memory.Result{Status: memory.Refused, Property: "S-02"}, 0, 1, 0},
		"one without an answer grows nothing yet":     {memory.Result{Status: memory.Asked}, 0, 0, 0},
		"one that was accepted":                       {memory.Result{Status: memory.Accepted}, 0, 0, 2},
	} {
		s := newStory(t)
		s.acts, s.result = []action.Action{action.SetCapacity{Group: "a", Adds: 2}}, c.Result
		s.turn(0)
		if p := s.line.Points(all())[0]; p.Refused != c.refused || p.Guarded != c.guarded || p.Grown != c.grown {
			t.Errorf("%s: refused %d, guarded %d, grown %d, want %d, %d and %d", name, p.Refused, p.Guarded, p.Grown, c.refused, c.guarded, c.grown)
		}
	}
}

func TestAFailureAfterAcceptanceCountsOnce(t *testing.T) {
	s := newStory(t)
	g := ct.Group("a", 0, 9)
	s.groups = []*cluster.Group{g}
	g.Failure = &cluster.Failure{At: at(-time.Hour), Kind: "allocation"} // before the record
	s.turns(20 * time.Second)
	failing := *g
	failing.Failure = &cluster.Failure{At: at(25 * time.Second), Kind: "allocation"}
	s.groups = []*cluster.Group{&failing}
	s.turns(20 * time.Second)
	var got []int
	for _, p := range s.line.Points(all()) {
		got = append(got, p.Refused)
	}
	if want := []int{0, 0, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("refused %v, want %v", got, want)
	}
}

// machineStory is a group of two machines, of which the first has a node.
func machineStory(t *testing.T) *story {
	s := newStory(t)
	s.groups = []*cluster.Group{ct.Group("a", 0, 9, ct.Machine("1", "a-1"))}
	s.nodes = append(s.nodes, ct.Node("a-1"))
	return s
}

func TestALifeFromRequestToEnd(t *testing.T) {
	s := machineStory(t)
	s.turn(0)
	s.acts = []action.Action{action.SetCapacity{Group: "a", From: 1, To: 2, Adds: 1}}
	s.turn(10 * time.Second) // accepted at 0:11

	second := ct.Machine("2", "a-2", ct.Born(at(15*time.Second)), func(in *cluster.Instance) { in.Zone, in.Size = "weu-2", "Standard_E8s_v5" })
	s.groups = []*cluster.Group{ct.Group("a", 0, 9, ct.Machine("1", "a-1"), second)}
	s.turn(10 * time.Second) // 0:20
	s.nodes = append(s.nodes, ct.Node("a-2"))
	s.is["a-2"] = verdict(action.NodeKeep, reason.NodeReceives)
	s.turn(100 * time.Second) // 2:00
	work := ct.Pod("frame-1", ct.On("a-2"), ct.OwnedBy("Job", "frame"))
	web := ct.Pod("web-1", ct.On("a-2"))
	s.pods = []*cluster.Pod{work, web}
	s.turn(10 * time.Second) // 2:10
	s.pods = []*cluster.Pod{web}
	s.turn(10 * time.Second) // 2:20
	s.pods = nil
	s.is["a-2"] = verdict(action.NodeIdle, reason.NodeIdle)
	s.turn(10 * time.Second) // 2:30
	s.is["a-2"] = verdict(action.NodeCordoned, reason.NodeCordoned)
	s.acts = []action.Action{action.Cordon{Node: "a-2", Machine: second.Machine(), Because: reason.New(reason.NodeIdleFor, reason.Node("a-2"), "idle", "10m0s")}}
	s.turn(10 * time.Second) // 2:40
	s.acts = []action.Action{action.DeleteInstances{Group: "a", Machines: []action.Leaving{{Machine: second.Machine(), Node: "a-2", Because: reason.New(reason.NodeDrained, reason.Ref{})}}}}
	s.turn(10 * time.Second) // 2:50
	s.groups = []*cluster.Group{ct.Group("a", 0, 9, ct.Machine("1", "a-1"))}
	s.turn(10 * time.Second) // 3:00

	lives := s.line.Lives(all())
	if len(lives) != 2 {
		t.Fatalf("%d lives: %v", len(lives), lives)
	}
	span := func(from, to time.Duration, kind SpanKind, what string) Span {
		return Span{at(from * time.Second), at(to * time.Second), kind, what}
	}
	want := Life{
		Group: "a", Instance: "2", UID: "vm-2", Node: "a-2", Zone: "weu-2", Size: "Standard_E8s_v5",
		Requested: at(11 * time.Second), Created: at(15 * time.Second), Joined: at(2 * time.Minute), Gone: at(3 * time.Minute),
		Why: "idle for 10m0s", Code: reason.NodeIdleFor,
		Spans: []Span{
			span(20, 120, SpanBoot, ""), span(120, 130, SpanIdle, "NodeReceives"), span(130, 140, SpanJob, "default/frame"),
			span(140, 150, SpanPods, ""), span(150, 160, SpanIdle, "NodeIdle"), span(160, 180, SpanDraining, "NodeCordoned"),
		},
	}
	if diff := cmp.Diff(want, lives[1]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if first := lives[0]; !first.Requested.IsZero() || !first.Joined.Equal(at(-24*time.Hour)) || !first.Gone.IsZero() || !first.Spans[0].To.Equal(s.now) {
		t.Errorf("a machine from before the record, which stays: %+v", first)
	}
	if got := s.line.Lives(at(181*time.Second), at(time.Hour)); len(got) != 1 || got[0].Node != "a-1" {
		t.Errorf("after the end of the other: %v", got)
	}
	if got := s.line.Lives(at(-time.Hour), at(19*time.Second)); len(got) != 1 || got[0].Node != "a-1" {
		t.Errorf("before the other was there: %v", got)
	}
	var said []string
	for _, one := range s.line.Tellings(at(0), s.now, &reason.Ref{Kind: reason.KindNode, Name: "a-2"}, 99) {
		said = append(said, one.Kind+": "+one.Sentence)
	}
	if diff := cmp.Diff([]string{
		"news: machine a-2 of group a is gone", "scale-down: delete machine 2 of group a (node a-2): " + lives[1].sentence(reason.NodeDrained),
		"scale-down: cordon node a-2: idle for 10m0s", "news: node a-2 of group a is Ready, 1m49s after the request",
	}, said); diff != "" {
		t.Errorf("what is told of the node (-want +got):\n%s", diff)
	}
}

// sentence is what a reason without facts says.
func (l Life) sentence(c reason.Code) string { return reason.New(c, reason.Ref{}).Sentence() }

func TestWhatAMachineDoes(t *testing.T) {
	job, web := ct.Pod("frame-1", ct.On("a-1"), ct.OwnedBy("Job", "frame")), ct.Pod("web-1", ct.On("a-1"))
	daemon := ct.Pod("log-1", ct.On("a-1"), ct.OwnedBy("DaemonSet", "log"))
	done := ct.Pod("frame-0", ct.On("a-1"), ct.OwnedBy("Job", "frame"), func(p *corev1.Pod) { p.Status.Phase = "Succeeded" })
	for name, c := range map[string]struct {
		is    action.Outcome
		pods  []*cluster.Pod
		quiet bool // its kubelet
		kind  SpanKind
		what  string
	}{
		"a Job outweighs other pods":                   {action.NodeKeep, []*cluster.Pod{job, web}, false, SpanJob, "default/frame"},
		"and a drain":                                  {action.NodeDraining, []*cluster.Pod{job}, false, SpanJob, "default/frame"},
		"one that has ended runs no more":              {action.NodeKeep, []*cluster.Pod{done, web}, false, SpanPods, ""},
		"daemons are nothing":                          {action.NodeKeep, []*cluster.Pod{daemon}, false, SpanIdle, "NodeBusy"},
		"a candidate with pods is idle: underused":     {action.NodeIdle, []*cluster.Pod{web}, false, SpanIdle, "NodeBusy"},
		"a drain of other pods":                        {action.NodeDraining, []*cluster.Pod{web}, false, SpanDraining, "NodeBusy"},
		"a silent one keeps the Job that it had":       {action.NodeKeep, []*cluster.Pod{job}, true, SpanSilent, "default/frame"},
		"a silent one without a Job is silent as well": {action.NodeKeep, []*cluster.Pod{web}, true, SpanSilent, ""},
	} {
		s := machineStory(t)
		s.turn(0)
		s.is["a-1"] = verdict(c.is, reason.NodeBusy)
		if s.pods = c.pods; c.quiet {
			s.nodes[0] = ct.Node("a-1", ct.Silent(s.now))
		}
		s.turn(10 * time.Second)
		spans := s.line.Lives(all())[0].Spans
		if last := spans[len(spans)-1]; last.Kind != c.kind || last.What != c.what {
			t.Errorf("%s: %s %q, want %s %q", name, last.Kind, last.What, c.kind, c.what)
		}
	}
}

func TestOfSeveralJobsTheOneThatRanGoesOn(t *testing.T) {
	s := machineStory(t)
	one, two := ct.Pod("b-1", ct.On("a-1"), ct.OwnedBy("Job", "b")), ct.Pod("a-1", ct.On("a-1"), ct.OwnedBy("Job", "a"))
	for _, pods := range [][]*cluster.Pod{{one}, {one, two}, {two}} {
		s.pods = pods
		s.turn(10 * time.Second)
	}
	var got []string
	for _, span := range s.line.Lives(all())[0].Spans {
		got = append(got, span.What)
	}
	if want := []string{"default/b", "default/a"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestWhyAMachineWentThatSluiceDidNotDelete(t *testing.T) {
	for name, c := range map[string]struct {
		spot, noticed bool
		code          reason.Code
	}{
		"a spot machine":               {true, false, SpotTaken},
		"one that Azure had announced": {true, true, SpotTaken},
		"another machine":              {false, false, ByAnother},
	} {
		s := machineStory(t)
		s.groups[0].Spot = c.spot
		if c.noticed {
			s.nodes[0] = ct.Node("a-1", ct.Noticed(cluster.Notice{ID: "1", Kind: "Preempt"}))
		}
		s.turn(0)
		gone := ct.Group("a", 0, 9)
		gone.Spot = c.spot
		partial := *gone
		partial.Read.Complete = false
		s.groups = []*cluster.Group{&partial}
		s.turn(10 * time.Second)
		if l := s.line.Lives(all())[0]; !l.Gone.IsZero() {
			t.Errorf("%s: gone by a list that is not complete: %+v", name, l)
		}
		s.groups = []*cluster.Group{gone}
		s.turn(10 * time.Second)
		if l := s.line.Lives(all())[0]; l.Code != c.code || !l.Gone.Equal(s.now) || l.Why == "" {
			t.Errorf("%s: %s %q at %s, want %s", name, l.Code, l.Why, l.Gone, c.code)
		}
	}
}

func TestANodeThatStaysHasNoReasonToGo(t *testing.T) {
	s := machineStory(t)
	m := s.groups[0].Instances[0].Machine()
	s.acts = []action.Action{action.Cordon{Node: "a-1", Machine: m, Because: reason.New(reason.NodeIdleFor, reason.Ref{}, "idle", "10m")}}
	s.turn(0)
	if l := s.line.Lives(all())[0]; l.Code != reason.NodeIdleFor {
		t.Errorf("cordoned: %q", l.Why)
	}
	s.acts = []action.Action{action.Uncordon{Node: "a-1"}}
	s.turn(10 * time.Second)
	if l := s.line.Lives(all())[0]; l.Code != "" || l.Why != "" {
		t.Errorf("uncordoned, and yet it goes: %q", l.Why)
	}
}

func TestAParkedMachineLivesOn(t *testing.T) {
	s := machineStory(t)
	s.turn(0)
	in := s.groups[0].Instances[0]
	s.acts = []action.Action{action.DeleteInstances{Group: "a", Machines: []action.Leaving{{Machine: in.Machine(), Node: "a-1", Because: reason.New(reason.NodeIdleFor, reason.Ref{})}}}}
	s.turn(10 * time.Second)
	parked := ct.Group("a", 0, 9)
	parked.Parked, parked.Parks = []*cluster.Instance{ct.Machine("1", "a-1", ct.In(cluster.StateStopped), func(in *cluster.Instance) { in.Group = "a" })}, true
	s.groups = []*cluster.Group{parked}
	s.turn(10 * time.Second)
	l := s.line.Lives(all())[0]
	if last := l.Spans[len(l.Spans)-1]; last.Kind != SpanParked || !l.Gone.IsZero() {
		t.Errorf("%+v", l)
	}
	s.groups = []*cluster.Group{ct.Group("a", 0, 9, ct.Machine("1", "a-1"))}
	s.turn(10 * time.Second)
	l = s.line.Lives(all())[0]
	if last := l.Spans[len(l.Spans)-1]; last.Kind == SpanParked || l.Code != "" {
		t.Errorf("started again: %+v", l)
	}
}

func TestGapsAreNotDrawnOver(t *testing.T) {
	for name, c := range map[string]struct {
		skips  uint64 // numbers of cycles
		fresh  bool   // the cycle is the first of a process
		pause  time.Duration
		damage string
		why    string // "" for no gap
	}{
		"a slow cycle":        {pause: 2 * time.Minute},
		"a paused process":    {pause: 5 * time.Minute, why: "no cycle ended: the process did not run, or the cycle took so long"},
		"cycles that failed":  {pause: 5 * time.Minute, skips: 29, why: "29 cycles could not read the cluster or Azure, or could not be recorded"},
		"a restart":           {pause: 10 * time.Minute, fresh: true, why: "no sluice led that recorded here: it was restarted, or another replica led"},
		"a quick restart":     {pause: 20 * time.Second, fresh: true},
		"damage of a journal": {pause: 20 * time.Second, damage: JournalDamaged, why: JournalDamaged},
	} {
		s := machineStory(t)
		s.turns(time.Minute)
		from := s.now
		if s.cycle += c.skips; c.fresh {
			s.cycle = 0
		}
		if c.damage != "" {
			s.line.Damaged(c.damage)
		}
		s.turn(c.pause)
		s.turns(time.Minute)
		var want []Gap
		spans := 1
		if c.why != "" {
			want, spans = []Gap{{from, from.Add(c.pause), c.why}}, 2
		}
		if diff := cmp.Diff(want, s.line.Gaps(all())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		got := s.line.Lives(all())[0].Spans
		if len(got) != spans || c.why != "" && (!got[0].To.Equal(from) || !got[1].From.Equal(from.Add(c.pause))) {
			t.Errorf("%s: the life has %v", name, got)
		}
	}
}

func TestCyclesThatAreFarApartAreNoGaps(t *testing.T) {
	s := newStory(t)
	for range 12 {
		s.turn(5 * time.Minute) // --scan-interval=5m
	}
	if got := s.line.Gaps(all()); len(got) > 0 {
		t.Errorf("%v", got)
	}
}

func TestAClockThatIsPutBackLosesNothing(t *testing.T) {
	s := machineStory(t)
	s.turns(time.Minute)
	s.acts = []action.Action{action.SetCapacity{Group: "a", Adds: 1}}
	s.turn(-30 * time.Second)
	points := s.line.Points(all())
	if last := points[len(points)-1]; last.Grown != 1 || !last.Time.Equal(at(time.Minute)) || !slices.IsSortedFunc(points, func(a, b Point) int { return a.Time.Compare(b.Time) }) {
		t.Errorf("%+v", last)
	}
}

func TestPointsGrowCoarseWithAge(t *testing.T) {
	var s series
	n := 0
	for now := time.Duration(0); now < 8*24*time.Hour; now += 20 * time.Second {
		s.add(Point{Time: at(now), Waiting: n % 3, Grown: 1, Nodes: n})
		n++
	}
	end := at(8*24*time.Hour - 20*time.Second)
	count := func(from, to time.Duration) (all []Point) { return s.between(end.Add(-from), end.Add(-to)) }
	if got := len(count(6*time.Hour, 0)); got != 6*180+1 {
		t.Errorf("the last six hours have %d points, want one a cycle", got)
	}
	if got := len(count(24*time.Hour, 6*time.Hour)); got < 18*60 || got > 18*60+3 {
		t.Errorf("the day before has %d points, want one a minute", got)
	}
	old := count(week, 24*time.Hour)
	if got := len(old); got < 6*144-1 || got > 6*144+2 {
		t.Errorf("the week before has %d points, want one in ten minutes", got)
	}
	if len(s.between(at(0), end)) > 6*181+18*61+6*145 {
		t.Errorf("there is more than that")
	}
	p := old[len(old)/2]
	if p.Grown != 30 || p.Waiting != 2 || p.Nodes%30 != 29 {
		t.Errorf("ten minutes are %+v, want the sum, the largest and the last", p)
	}
	if !slices.IsSortedFunc(s.between(at(0), end), func(a, b Point) int { return a.Time.Compare(b.Time) }) {
		t.Errorf("points are not in the order of time")
	}
}

func TestFindsWhatIsGoneToo(t *testing.T) {
	s := machineStory(t)
	s.pods = []*cluster.Pod{ct.Pod("web-1"), ct.Pod("web-10"), ct.Pod("other", ct.On("a-1"))}
	s.turn(0)
	s.pods = s.pods[1:]
	s.groups = append(s.groups, ct.Group("b", 0, 9, ct.Machine("7", "b-7")))
	s.nodes = append(s.nodes, ct.Node("b-7"))
	s.turn(10 * time.Second)
	s.groups, s.nodes = append(s.groups[:1:1], ct.Group("b", 0, 9)), s.nodes[:1]
	s.turn(10 * time.Second)
	for text, want := range map[string][]string{
		"web-1":  {"pod default/web-1 gone", "pod default/web-10"},
		"WEB":    {"pod default/web-10", "pod default/web-1 gone"},
		"a-1":    {"node a-1"},
		"b":      {"group b", "node b-7 gone", "instance b/7 gone", "pod default/web-10", "pod default/web-1 gone"},
		"b-7":    {"node b-7 gone"},
		"nobody": nil,
		" ":      nil,
	} {
		var got []string
		for _, f := range s.line.Find(text, 9) {
			one := f.Ref.String()
			if !f.Gone.IsZero() {
				one += " gone"
			}
			got = append(got, one)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	if got := s.line.Find("web", 1); len(got) != 1 {
		t.Errorf("%d are found, want one at most", len(got))
	}
}
