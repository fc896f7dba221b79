package azure

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	listOfA  = "GET " + setPath + "/a/virtualMachines"
	listOfB  = "GET " + setPath + "/b/virtualMachines"
	listSets = "GET " + setPath
	growA    = "PATCH " + setPath + "/a"
	pollOne  = "GET " + everyKey + "/locations/l/operations/1"
)

// until sends a request until the gate refuses it, at most 10,000 times.
func (g *gated) until(ctx context.Context, request string) (sent int, shut *shutError) {
	for sent < 10_000 {
		if shut = g.ask(ctx, request); shut != nil {
			return sent, shut
		}
		sent++
	}
	return sent, nil
}

func TestTheShareIsAllThatIsSpent(t *testing.T) {
	for _, tc := range []struct {
		request string
		share   float64
		atOnce  int           // the share of what Azure's bucket holds
		next    time.Duration // until the next may go
	}{
		{growA, 1, 12, 15 * time.Second},
		{growA, 0.25, 12, 15 * time.Second}, // what counts for one scale set is not shared
		{growA, 0.01, 2, 10 * time.Second},  // the front door's; never less than two at once
		{"POST " + setPath + "/a/delete", 0.5, 12, 15 * time.Second},
		{"DELETE /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/a", 0.5, 100, 200 * time.Millisecond}, // the front door's
	} {
		g := newGated(tc.share)
		sent, shut := g.until(context.Background(), tc.request)
		if sent != tc.atOnce || shut == nil || !shut.own {
			t.Errorf("%s with a share of %v: %d were sent at once, then %v: want %d, and then sluice's own refusal", tc.request, tc.share, sent, shut, tc.atOnce)
			continue
		}
		if early := tc.next - shut.until.Sub(g.now); early < -10*time.Millisecond || early > 10*time.Millisecond {
			t.Errorf("%s with a share of %v: the next may go after %s, want %s", tc.request, tc.share, shut.until.Sub(g.now), tc.next)
		}
		g.now = shut.until
		if shut := g.ask(context.Background(), tc.request); shut != nil {
			t.Errorf("%s with a share of %v: the next is refused at its time: %v", tc.request, tc.share, shut)
		}
	}
}

func TestOneResourcesShareIsNotAnothers(t *testing.T) {
	g := newGated(0.5)
	if sent, _ := g.until(context.Background(), growA); sent != 12 {
		t.Fatalf("%d growths of a were sent, want 12", sent)
	}
	if shut := g.ask(context.Background(), "PATCH "+setPath+"/b"); shut != nil {
		t.Errorf("b may not grow: %v", shut)
	}
}

func TestRefreshesLeaveTheLastToEvidence(t *testing.T) {
	g := newGated(0.5)
	if sent, shut := g.until(context.Background(), listOfA); sent != 27 || shut == nil { // of 36
		t.Errorf("%d refreshes were sent, then %v: want 27 and a refusal", sent, shut)
	}
	if sent, _ := g.until(asEvidence(context.Background()), listOfA); sent != 9 {
		t.Errorf("%d reads for a write were sent, want the last 9", sent)
	}
	if sent, _ := g.until(context.Background(), pollOne); sent != 39 { // of 45
		t.Errorf("%d polls were sent, want 39: they leave an eighth", sent)
	}
}

func TestRefreshesWaitWhenAzureSaysThatLittleIsLeft(t *testing.T) {
	for name, tc := range map[string]struct {
		header, value string
		held          []string // these wait; all others go
	}{
		"of the subscription":      {"X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/ListVMScaleSetVMsResource;30,Microsoft.Compute/ListVMScaleSetVMsSubscription;100", []string{listOfA, listOfB}},
		"of one resource":          {"X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/ListVMScaleSetVMsResource;3,Microsoft.Compute/ListVMScaleSetVMsSubscription;2399", []string{listOfA}},
		"in the older style":       {"X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/GetVMScaleSet3Min;12, Microsoft.Compute/GetVMScaleSet30Min;1297", []string{listOfA, listOfB}},
		"of the front door":        {"X-Ms-Ratelimit-Remaining-Subscription-Reads", "40", []string{listOfA, listOfB, listSets}},
		"of the front door's rest": {"X-Ms-Ratelimit-Remaining-Subscription-Global-Reads", "10", []string{listOfA, listOfB, listSets}},
		"nothing at all":           {"X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/ListVMScaleSetVMsResource;0,Microsoft.Compute/ListVMScaleSetVMsSubscription;0", []string{listOfA, listOfB}},
		"enough":                   {"X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/GetVMScaleSet3Min;197,Microsoft.Compute/GetVMScaleSetSubscription;2000", nil},
		"something unreadable":     {"X-Ms-Ratelimit-Remaining-Resource", "much;,;;,Microsoft.Compute", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGated(0.5)
			g.wire.answer = func(*http.Request) *http.Response { return reply(200, "{}", tc.header, tc.value) }
			_ = g.ask(context.Background(), listOfA)
			g.wire.answer = fine
			held := strings.Join(tc.held, "\n")
			for _, request := range []string{listOfA, listOfB, listSets} {
				shut := g.ask(context.Background(), request)
				if want := strings.Contains(held+"\n", request+"\n"); (shut != nil) != want {
					t.Errorf("refreshing %s: held back: %v, want held back: %t", request, shut, want)
				} else if shut != nil && !shut.own {
					t.Errorf("refreshing %s: %v, want it called sluice's own economy", request, shut)
				}
			}
			if shut := g.ask(asEvidence(context.Background()), listOfA); shut != nil {
				t.Errorf("the evidence for a write is held back: %v", shut)
			}
			if shut := g.ask(context.Background(), growA); shut != nil {
				t.Errorf("a write is held back: %v", shut)
			}
			g.now = g.now.Add(5 * time.Minute)
			if shut := g.ask(context.Background(), listOfA); shut != nil {
				t.Errorf("five minutes later: %v", shut)
			}
		})
	}
}

func TestTheBudgetTellsWhatWasSpentAndWhatRests(t *testing.T) {
	g := newGated(0.5)
	_ = g.ask(context.Background(), listOfB)
	g.wire.answer = func(*http.Request) *http.Response { return reply(429, resourceBody, "Retry-After", "60") }
	_ = g.ask(context.Background(), listOfA)
	_ = g.ask(context.Background(), listOfA)
	g.wire.answer = func(*http.Request) *http.Response { return reply(429, bareBody, "Retry-After", "90") }
	_ = g.ask(context.Background(), listSets)
	g.wire.answer = fine
	_, _ = g.until(context.Background(), growA)
	want := []ClassBudget{
		{Class: "front door reads", Limited: true, Left: 122, Most: 125, PerMinute: 750},
		{Class: "front door writes", Limited: true, Left: 88, Most: 100, PerMinute: 300},
		{
			Class: "machine lists", Answered: []Answered{{"200", 1}, {"429", 1}}, Shut: 1,
			Limited: true, Left: 1198, Most: 1200, PerMinute: 400, Resources: []Pause{{"virtualmachinescalesets/a", g.now.Add(time.Minute)}},
		},
		{
			Class: "scale set lists", Answered: []Answered{{"429", 1}},
			Limited: true, Left: 539, Most: 540, PerMinute: 180, Until: g.now.Add(90 * time.Second),
		},
		{Class: "scale set updates", Answered: []Answered{{"200", 12}}, Held: 1, Limited: true, Left: 738, Most: 750, PerMinute: 250},
	}
	if d := cmp.Diff(want, g.gate.budget()); d != "" {
		t.Errorf("budget (-want +got):\n%s", d)
	}
	g.now = g.now.Add(time.Hour)
	for _, c := range g.gate.budget() {
		if c.Left != c.Most || !c.Until.IsZero() || c.Resources != nil {
			t.Errorf("an hour later %+v, want it full and open", c)
		}
	}
}

func TestWhatIsOverIsForgotten(t *testing.T) {
	g := newGated(1)
	for i := range 1000 {
		_ = g.ask(context.Background(), fmt.Sprintf("GET %s/locations/l/operations/%d", everyKey, i))
		g.now = g.now.Add(time.Minute)
	}
	if n := len(g.gate.buckets); n > 10 {
		t.Errorf("%d buckets are kept, want those of the last operations alone", n)
	}
}
