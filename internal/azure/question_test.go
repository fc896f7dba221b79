package azure_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azuresim"
)

const pollOperation = "GET operations"

// waiting is a world whose clock is the bubble's: it goes on while somebody waits.
type waiting struct {
	*world
	life context.Context // of providers
}

// inBubble plays a test in a world that waits by the bubble's clock. The bubble sees to it that nothing runs on when the providers' lives have ended.
func inBubble(t *testing.T, test func(w waiting), sets ...azuresim.ScaleSet) {
	t.Helper()
	bubble(t, test, func(t *testing.T) *world { return newWorld(t, sets...) })
}

func bubble(t *testing.T, test func(w waiting), world func(t *testing.T) *world) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := world(t)
		w.sim.Now = time.Now
		w.sim.Sleep = func(ctx context.Context, d time.Duration) {
			ctx, cancel := context.WithTimeout(ctx, d)
			defer cancel()
			<-ctx.Done()
		}
		time.Sleep(time.Until(w.now) + 10*time.Minute) // all machines run
		life, end := context.WithCancel(context.Background())
		defer end()
		test(waiting{w, life})
	})
}

// begin starts a provider that goes by the bubble's clock and ends with the test.
func (w waiting) begin(o azure.Options) {
	w.t.Helper()
	o.Now, o.Runner = time.Now, nil
	p, err := azure.New(w.life, o)
	w.must(err)
	w.Provider = p
}

// look is one call of Groups, and how long it took.
func (w waiting) look() (map[cluster.GroupID]*cluster.Group, time.Duration) {
	w.t.Helper()
	began := time.Now()
	groups, _ := w.Groups(w.life) // the error is about a list, and what is known of the groups is told all the same
	return byID(groups), time.Since(began)
}

// askedOf is how often something was asked about a scale set.
func (w waiting) askedOf(kind, set string) (n int) {
	for _, r := range w.sim.Requests() {
		if r.Kind == kind && r.ScaleSet == set {
			n++
		}
	}
	return n
}

// problems are the groups that cannot be read, with the end of the sentence.
func problems(groups map[cluster.GroupID]*cluster.Group) (all []string) {
	for id, g := range groups {
		if g.Problem != "" {
			all = append(all, string(id)+": "+g.Problem[strings.LastIndex(g.Problem, ": ")+2:])
		}
	}
	slices.Sort(all)
	return all
}

// triggered says whether the provider has more to tell since it was last asked.
func (w waiting) triggered() bool {
	synctest.Wait()
	select {
	case <-w.Triggers():
		return true
	default:
		return false
	}
}

func (w waiting) wantProblems(groups map[cluster.GroupID]*cluster.Group, want ...string) {
	w.t.Helper()
	if got := problems(groups); !slices.Equal(got, want) {
		w.t.Errorf("at %s these groups have problems: %q, want %q", time.Now().Format(time.TimeOnly), got, want)
	}
}

func (w waiting) wantTook(took, want time.Duration) {
	w.t.Helper()
	if took != want {
		w.t.Errorf("at %s the groups took %s, want %s", time.Now().Format(time.TimeOnly), took, want)
	}
}

// onTheWay keeps answers back that the server has given: they tell what was so when they were asked for.
type onTheWay struct {
	http.RoundTripper
	of    string // the end of the path
	takes time.Duration
	times atomic.Int32 // so many answers yet
}

func (o *onTheWay) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.RoundTripper.RoundTrip(r)
	if strings.HasSuffix(r.URL.Path, o.of) && o.keeps() {
		time.Sleep(o.takes)
	}
	return resp, err
}

// keeps says whether one more answer is kept back.
func (o *onTheWay) keeps() bool {
	for left := o.times.Load(); left > 0; left = o.times.Load() {
		if o.times.CompareAndSwap(left, left-1) {
			return true
		}
	}
	return false
}

const (
	notYet = "management.azure.com has not answered yet"
	never  = "management.azure.com gave no answer in time"
)

// TestAHungReadHoldsUpNobody reads two groups of which one never answers: the first read is waited for a while, and none after it until
// one has come.
func TestAHungReadHoldsUpNobody(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.begin(w.options("0:9:agents", "0:9:render"))
		groups, took := w.look()
		w.wantTook(took, 0)
		w.wantProblems(groups)

		w.sim.Inject(azuresim.Fault{Name: "hung", Kind: listMachines, ScaleSet: "agents", Hang: true})
		time.Sleep(time.Minute)
		asked := w.askedOf(listMachines, "agents")
		groups, took = w.look()
		w.wantTook(took, 2*time.Second)
		w.wantProblems(groups, "agents: "+notYet)
		if age := time.Since(groups["render"].Read.At); age > 2*time.Second {
			t.Errorf("render was read %s ago, want it read beside the other", age)
		}
		if g := groups["agents"]; len(g.Instances) != 2 || time.Since(g.Read.At) != time.Minute+2*time.Second {
			t.Errorf("agents has %d machines, read at %s: want the last ones, with their time", len(g.Instances), g.Read.At)
		}
		if _, err := w.Group(w.life, "agents"); errorOf(t, err).Code != "NoAnswerYet" {
			t.Errorf("a read beside one that hangs gives %v, want an error that there is no answer yet", err)
		}
		time.Sleep(10 * time.Second)
		groups, took = w.look()
		w.wantTook(took, 0)
		w.wantProblems(groups, "agents: "+notYet)
		if n := w.askedOf(listMachines, "agents") - asked; n != 1 {
			t.Errorf("%d lists were asked for, want the one that has no answer", n)
		}
		if w.triggered() {
			t.Error("an answer is said to have come")
		}

		time.Sleep(18 * time.Second) // 30 s after it was asked for
		if !w.triggered() {
			t.Error("the list was not given up after 30 s, or nobody is told")
		}
		groups, took = w.look()
		w.wantTook(took, 0)
		w.wantProblems(groups, "agents: "+never)

		time.Sleep(10 * time.Second)
		groups, took = w.look() // asked again, and not waited for
		w.wantTook(took, 0)
		w.wantProblems(groups, "agents: "+never)
		synctest.Wait()
		if n := w.askedOf(listMachines, "agents") - asked; n != 2 {
			t.Errorf("%d lists were asked for, want another one", n)
		}

		time.Sleep(40 * time.Second)
		w.sim.ClearFaults()
		w.look()
		synctest.Wait()
		groups, _ = w.look()
		w.wantProblems(groups)
	}, set("agents", 2), set("render", 2))
}

// TestASlowReadIsWaitedForWhenItIsKnownToBeSlow has one list take four seconds: the first is taken in late, those after it are waited for.
func TestASlowReadIsWaitedForWhenItIsKnownToBeSlow(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.begin(w.options("0:9:agents", "0:9:render"))
		w.groups()
		w.sim.Inject(azuresim.Fault{Kind: listMachines, ScaleSet: "agents", Delay: 4 * time.Second})
		time.Sleep(time.Minute)
		groups, took := w.look()
		w.wantTook(took, 2*time.Second)
		w.wantProblems(groups, "agents: "+notYet)
		asked := time.Now().Add(-2 * time.Second)
		time.Sleep(2 * time.Second)
		if !w.triggered() {
			t.Error("nobody is told that the answer has come")
		}
		groups, took = w.look()
		w.wantTook(took, 0)
		w.wantProblems(groups)
		if at := groups["agents"].Read.At; !at.Equal(asked) {
			t.Errorf("the answer is said to be of %s, want the time when it was asked for, %s", at, asked)
		}
		for range 3 {
			time.Sleep(time.Minute)
			groups, took = w.look()
			w.wantTook(took, 4*time.Second)
			w.wantProblems(groups)
		}
	}, set("agents", 2), set("render", 2))
}

// TestTheFirstReadIsWaitedForLonger begins while one group does not answer.
func TestTheFirstReadIsWaitedForLonger(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.sim.Inject(azuresim.Fault{Kind: listMachines, ScaleSet: "agents", Hang: true})
		w.begin(w.options("0:9:agents", "0:9:render"))
		groups, took := w.look()
		w.wantTook(took, 5*time.Second)
		w.wantProblems(groups, "agents: "+notYet)
		if g := groups["agents"]; g.Capacity != -1 {
			t.Errorf("agents has a capacity of %d, want none known", g.Capacity)
		}
	}, set("agents", 2), set("render", 2))
}

// TestOneReadWaitsToTheEnd is of a command that reads once.
func TestOneReadWaitsToTheEnd(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.sim.Inject(azuresim.Fault{Kind: listMachines, ScaleSet: "agents", Delay: 20 * time.Second})
		o := w.options("0:9:agents", "0:9:render")
		o.Whole = true
		w.begin(o)
		groups, took := w.look()
		w.wantTook(took, 20*time.Second)
		w.wantProblems(groups)
	}, set("agents", 2), set("render", 2))
}

// TestManyHungGroupsHoldUpNobodyForLong has eleven groups of which ten do not answer: they are asked five at a time.
func TestManyHungGroupsHoldUpNobodyForLong(t *testing.T) {
	var sets []azuresim.ScaleSet
	var flags []string
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "z"} {
		sets, flags = append(sets, set(name, 1)), append(flags, "0:9:"+name)
	}
	inBubble(t, func(w waiting) {
		w.begin(w.options(flags...))
		w.groups()
		for _, s := range sets[:10] {
			w.sim.Inject(azuresim.Fault{Kind: listMachines, ScaleSet: s.Name, Hang: true})
		}
		time.Sleep(time.Minute)
		groups, took := w.look()
		w.wantTook(took, 4*time.Second)
		if n := len(problems(groups)); n != 10 || groups["z"].Problem != "" {
			t.Errorf("%d groups cannot be read, and of z it is said %q: want the ten others", n, groups["z"].Problem)
		}
		time.Sleep(50 * time.Second)
		_, took = w.look()
		w.wantTook(took, 0)
		if w.triggered() {
			t.Error("the loop is to turn for answers that the last look has told of")
		}
	}, sets...)
}

// TestAHungListOfAllGroupsIsDoneWithout reads the groups one by one instead.
func TestAHungListOfAllGroupsIsDoneWithout(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.begin(w.options("0:9:agents", "0:9:render"))
		w.groups()
		w.sim.Inject(azuresim.Fault{Kind: listSets, Hang: true})
		for i, want := range []time.Duration{2 * time.Second, 0, 0, 0, 0} {
			time.Sleep(time.Minute)
			groups, took := w.look()
			w.wantTook(took, want)
			w.wantProblems(groups)
			for id, g := range groups {
				if time.Since(g.Read.At) > 2*time.Second {
					t.Errorf("look %d: %s was read at %s, want it read now", i, id, g.Read.At)
				}
			}
		}
	}, set("agents", 2), set("render", 2))
}

// TestNoGroupsAreNotNone begins while the list that tells which groups there are does not answer: that is an error, and no empty world.
func TestNoGroupsAreNotNone(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.sim.Inject(azuresim.Fault{Kind: listSets, Hang: true, Times: 1})
		w.begin(w.discovering("label:enabled=true"))
		groups, err := w.Groups(w.life)
		if len(groups) > 0 || err == nil || errorOf(t, err).Code != "NoAnswerYet" {
			t.Errorf("groups are %v with error %v, want an error that there is no answer yet", groups, err)
		}
		time.Sleep(25 * time.Second)
		if !w.triggered() {
			t.Error("the list was not given up after 30 s, or nobody is told")
		}
		w.look()
		time.Sleep(10 * time.Second)
		if got := w.limits(); !slices.Equal(got, []string{"agents 01..07"}) {
			t.Errorf("groups are %v afterwards", got)
		}
	}, tagged("agents", 1, "enabled=true", "min=1", "max=7"))
}

// TestALateListChangesNothingThatIsKnownSince has tags change between a list that takes long and the read of the group that is not.
func TestALateListChangesNothingThatIsKnownSince(t *testing.T) {
	inBubble(t, func(w waiting) {
		o := w.discovering("label:enabled=true")
		slow := &onTheWay{RoundTripper: o.Transport, of: "/virtualMachineScaleSets", takes: 20 * time.Second}
		o.Transport = slow
		w.begin(o)
		w.groups()
		slow.times.Store(1)
		time.Sleep(time.Minute)
		w.limits() // the list is asked for, and the group read by itself
		w.must(w.sim.SetTags("agents", map[string]string{"enabled": "true", "min": "2", "max": "8"}))
		_, err := w.Group(w.life, "agents")
		w.must(err)
		time.Sleep(20 * time.Second)
		if !w.triggered() {
			t.Fatal("the list has not come")
		}
		if got := w.limits(); !slices.Equal(got, []string{"agents 02..08"}) {
			t.Errorf("the late list makes the limits %v, want those of the read that came after it was asked for", got)
		}
	}, tagged("agents", 1, "enabled=true", "min=1", "max=7"))
}

// TestAReadFromBeforeAnOperationEndedIsDropped has a list take long that was asked for while a machine was being made, and the growth end
// meanwhile: the list says less than is known, and the group is read again.
func TestAReadFromBeforeAnOperationEndedIsDropped(t *testing.T) {
	inBubble(t, func(w waiting) {
		o := w.options("0:9:agents")
		slow := &onTheWay{RoundTripper: o.Transport, of: "/virtualMachines", takes: 20 * time.Second}
		o.Transport = slow
		w.begin(o)
		w.groups()
		w.grow("agents", 1)
		time.Sleep(140 * time.Second) // the machine boots in 150 s
		slow.times.Store(1)
		w.groups() // polls, and reads what has begun
		w.wantProblems(w.groups(), "agents: "+notYet)
		time.Sleep(10 * time.Second)
		w.groups()
		if n := len(w.Operations()); n != 0 || slow.times.Load() != 0 {
			t.Fatalf("%d operations are under way and %d lists are yet to be slow: want the operation ended while a list is on its way", n, slow.times.Load())
		}
		time.Sleep(10 * time.Second)
		if !w.triggered() {
			t.Error("the list has not come")
		}
		if g := w.groups()["agents"]; len(g.Instances) != 3 || g.Instances[2].State != cluster.StateRunning || time.Since(g.Read.At) > 0 {
			t.Errorf("after the operation's end %d machines are shown, the last one %s, as of %s: want it running, and read now", len(g.Instances), g.Instances[2].State, g.Read.At)
		}
	}, set("agents", 2))
}

// TestEvidenceFromBeforeAnOperationWasHeardOfIsNone has a poll be answered between the question for evidence and its answer.
func TestEvidenceFromBeforeAnOperationWasHeardOfIsNone(t *testing.T) {
	inBubble(t, func(w waiting) {
		o := w.options("0:9:agents")
		polls := &onTheWay{RoundTripper: o.Transport, of: "", takes: 3 * time.Second}
		lists := &onTheWay{RoundTripper: polls, of: "/virtualMachines", takes: 1500 * time.Millisecond}
		o.Transport = lists
		w.begin(o)
		w.groups()
		w.grow("agents", 1)
		time.Sleep(time.Until(w.NextPoll()))
		polls.times.Store(1)
		w.look() // waits by two seconds
		lists.times.Store(1)
		if _, err := w.Group(w.life, "agents"); errorOf(t, err).Code != "ChangedInBetween" {
			t.Errorf("the error is %v, want one that the group changed in between", err)
		}
		if _, err := w.Group(w.life, "agents"); err != nil {
			t.Errorf("the next read fails: %v", err)
		}
	}, set("agents", 2))
}

// TestAHungPollHoldsUpNobody has the progress of one operation never be told.
func TestAHungPollHoldsUpNobody(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.begin(w.options("0:9:agents", "0:9:render"))
		w.groups()
		w.grow("agents", 1)
		w.grow("render", 1)
		w.sim.Inject(azuresim.Fault{Kind: pollOperation, ScaleSet: "agents", Hang: true})
		listing := func() time.Duration { // the loop as the polls turn it
			w.t.Helper()
			next := w.NextPoll()
			if !next.After(time.Now()) {
				t.Fatalf("the next poll is due at %s, and it is %s: the loop would turn without a break", next, time.Now())
			}
			time.Sleep(time.Until(next))
			groups, took := w.look()
			w.wantProblems(groups)
			return took
		}
		w.wantTook(listing(), 2*time.Second)
		first := time.Now()
		others := 0
		for time.Since(first) < 20*time.Second {
			w.wantTook(listing(), 0)
			others++
		}
		if n := w.sim.Counters()[pollOperation]; n != 2+others {
			t.Errorf("%d polls in %d turns of the loop, want one of agents and one of render in each", n, 1+others)
		}
		for range 40 {
			time.Sleep(10 * time.Second)
			_, took := w.look()
			w.wantTook(took, 0)
		}
		if ops := w.Operations(); len(ops) != 1 || ops[0].Group != "agents" {
			t.Errorf("operations are %v, want that of agents alone", ops)
		}
	}, set("agents", 2), set("render", 2))
}

// TestEvidenceIsWaitedForAWhile is of the read before a write.
func TestEvidenceIsWaitedForAWhile(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.begin(w.options("0:9:agents", "0:9:render"))
		w.groups()
		w.sim.Inject(azuresim.Fault{Kind: getSet, ScaleSet: "agents", Hang: true})
		began := time.Now()
		_, err := w.Group(w.life, "agents")
		if e := errorOf(t, err); e.Code != "NoAnswerYet" || e.Kind != cloud.Transient {
			t.Errorf("the error is %v, want a transient one that there is no answer yet", err)
		}
		w.wantTook(time.Since(began), 2*time.Second)
		groups, _ := w.look()
		w.wantProblems(groups, "agents: "+notYet)
		if _, err := w.Group(w.life, "render"); err != nil {
			t.Errorf("the other group cannot be read: %v", err)
		}
	}, set("agents", 2), set("render", 2))
}

// TestAHungLookAtAutoscaleSettingsHoldsUpNobody is of a question about all groups that one of them happens to ask.
func TestAHungLookAtAutoscaleSettingsHoldsUpNobody(t *testing.T) {
	inBubble(t, func(w waiting) {
		w.begin(w.options("0:9:agents", "0:9:render"))
		w.groups()
		asked := len(w.sim.Requests())
		w.sim.Inject(azuresim.Fault{Kind: "*autoscalesettings*", Hang: true})
		slow := 0
		for range 20 {
			time.Sleep(time.Minute)
			groups, took := w.look()
			w.wantProblems(groups)
			if took > 2*time.Second {
				t.Errorf("the groups took %s", took)
			}
			if took > 0 {
				slow++
			}
		}
		hung := 0
		for _, r := range w.sim.Requests()[asked:] {
			if strings.Contains(r.Path, "autoscale") {
				hung++
			}
		}
		if hung < 3 || slow != 1 {
			t.Errorf("the settings were asked for %d times, and %d looks were slow: want the first one slow alone", hung, slow)
		}
	}, set("agents", 2), set("render", 2))
}
