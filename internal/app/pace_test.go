package app

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster/clustertest"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/plan/memory"
	"sluice.dev/sluice/policy"
)

func TestPace(t *testing.T) {
	now := clustertest.Start
	timing := Timing{Resync: 10 * time.Second, Retry: time.Second}
	timer := journal.Entry{Plan: action.Plan{Next: now.Add(3 * time.Second)}}
	failed := journal.Entry{Results: []memory.Result{{Status: memory.Accepted}, {Status: memory.Failed}}}
	refused := journal.Entry{Results: []memory.Result{{Status: memory.Refused}}}
	skipped := journal.Entry{Results: []memory.Result{{Status: memory.Skipped}}}
	cases := map[string]struct {
		entry journal.Entry
		err   error
		polls time.Time
		want  time.Duration
	}{
		"nothing to wait for: the resync":               {want: 10 * time.Second},
		"a timer of the plan":                           {entry: timer, want: 3 * time.Second},
		"a timer that is due already":                   {entry: journal.Entry{Plan: action.Plan{Next: now}}, want: shortestPause},
		"an operation to ask about":                     {entry: timer, polls: now.Add(2 * time.Second), want: 2 * time.Second},
		"a failed action: soon":                         {entry: failed, want: time.Second},
		"a refused action: soon":                        {entry: refused, want: time.Second},
		"an action that had to wait: the resync":        {entry: skipped, want: 10 * time.Second},
		"no entry: the resync, however the plan looked": {entry: timer, err: errors.New("no cloud"), want: 10 * time.Second},
	}
	for name, c := range cases {
		if got := NewPace(timing).Wait(now, c.entry, c.err, c.polls); got != c.want {
			t.Errorf("%s: waits %s, want %s", name, got, c.want)
		}
	}
}

func TestRetriesSlowDownWhileTheyFailAndBeginAnewAfter(t *testing.T) {
	p := NewPace(Timing{Resync: 10 * time.Second, Retry: time.Second})
	refused := journal.Entry{Results: []memory.Result{{Status: memory.Refused}}}
	var got []time.Duration
	for range 6 {
		got = append(got, p.Wait(clustertest.Start, refused, nil, time.Time{}))
	}
	for i, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
		if got[i] != want*time.Second {
			t.Errorf("retry %d waits %s, want %s", i+1, got[i], want*time.Second)
		}
	}
	p.Wait(clustertest.Start, journal.Entry{}, nil, time.Time{})
	if w := p.Wait(clustertest.Start, refused, nil, time.Time{}); w != time.Second {
		t.Errorf("after a good cycle the first retry waits %s, want 1s", w)
	}
}

// telling is a cloud of which an answer comes that nobody waited for.
type telling struct {
	cloud.Provider
	answers chan struct{}
}

func (t telling) Triggers() <-chan struct{} { return t.answers }

func TestALateAnswerOfTheCloudTurnsTheLoop(t *testing.T) {
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "https://nowhere.invalid"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		answers := make(chan struct{}, 1)
		a := New(Parts{Client: client, Cloud: telling{answers: answers}, Policy: policy.Default()})
		began := time.Now()
		time.AfterFunc(3*time.Second, func() { answers <- struct{}{} })
		if !a.pause(context.Background(), 10*time.Second) {
			t.Error("the loop ends")
		}
		if waited, want := time.Since(began), 3*time.Second+250*time.Millisecond; waited != want {
			t.Errorf("the loop turned after %s, want %s", waited, want)
		}
	})
}

// TestAClockThatIsPutForwardIsNoticed, and one that runs a little fast, or is put back, is not.
func TestAClockThatIsPutForwardIsNoticed(t *testing.T) {
	for _, c := range []struct{ shown, passed, want time.Duration }{
		{79 * time.Second, 10 * time.Second, 69 * time.Second},
		{10*time.Second + 50*time.Millisecond, 10 * time.Second, 0},
		{-59 * time.Second, 10 * time.Second, 0},
	} {
		if got := jump(c.shown, c.passed); got != c.want {
			t.Errorf("the clock shows %s more after %s: %s, want %s", c.shown, c.passed, got, c.want)
		}
	}
}
