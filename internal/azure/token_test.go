package azure

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

func TestAFederatedTokenIsReadEachTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	read := tokenIn(file)
	if _, err := read(context.Background()); err == nil || !strings.Contains(err.Error(), "AZURE_FEDERATED_TOKEN_FILE="+file+": it cannot be read (no such file or directory)") {
		t.Errorf("without a file: %v", err)
	}
	for _, want := range []string{"first", "second"} {
		if err := os.WriteFile(file, []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := read(context.Background()); got != want || err != nil {
			t.Errorf("token %q, %v, want %q", got, err, want)
		}
	}
}

// counting gives tokens numbered from a.
type counting struct{ n int }

func (c *counting) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.n++
	return azcore.AccessToken{Token: string(rune('a' + c.n - 1)), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func TestPipelinesShareATokenUntilOneIsRefusedIt(t *testing.T) {
	from := &counting{}
	store := &tokens{from: from, runner: goroutines{}, now: time.Now}
	one, two := &pipelineTokens{tokens: store}, &pipelineTokens{tokens: store}
	for _, step := range []struct {
		who  *pipelineTokens
		want string
		why  string
	}{
		{one, "a", "the first asks"},
		{two, "a", "the second gets the same"},
		{one, "b", "one that asks again was refused what it had"},
		{two, "b", "and the other gets the new one"},
	} {
		got, err := step.who.GetToken(context.Background(), policy.TokenRequestOptions{})
		if err != nil || got.Token != step.want {
			t.Errorf("%s: token %q, %v, want %q", step.why, got.Token, err, step.want)
		}
	}
	if from.n != 2 {
		t.Errorf("%d tokens were asked for, want 2", from.n)
	}
}

// fallsSilent gives one token and then none.
type fallsSilent struct{ given bool }

func (s *fallsSilent) GetToken(ctx context.Context, _ policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if !s.given {
		s.given = true
		return azcore.AccessToken{Token: "a", ExpiresOn: time.Now().Add(time.Hour)}, nil
	}
	<-ctx.Done()
	return azcore.AccessToken{}, ctx.Err()
}

// TestATokenThatWasRefusedIsNotGivenAgain has the one that gives tokens fall silent: what was refused serves nobody, and those who ask give up when
// their own time is over, or hear at once that another one was not answered.
func TestATokenThatWasRefusedIsNotGivenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &tokens{from: &fallsSilent{}, runner: goroutines{}, now: time.Now}
		one, two := &pipelineTokens{tokens: store}, &pipelineTokens{tokens: store}
		if got, err := one.GetToken(t.Context(), policy.TokenRequestOptions{}); got.Token != "a" || err != nil {
			t.Fatalf("token %q, %v", got.Token, err)
		}
		ask := func(p *pipelineTokens, within time.Duration) (string, time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			began := time.Now()
			got, err := p.GetToken(ctx, policy.TokenRequestOptions{})
			if err == nil && got.Token == "" {
				t.Error("neither a token nor an error")
			}
			return got.Token, time.Since(began)
		}
		if got, took := ask(one, 3*time.Second); got != "" || took != 3*time.Second {
			t.Errorf("what was refused is given again: %q, after %s", got, took)
		}
		if got, took := ask(two, time.Second); got != "a" || took != 0 {
			t.Errorf("the other pipeline got %q after %s, want the token that it was not refused", got, took)
		}
		if got, took := ask(one, time.Minute); got != "" || took != signInWithin-3*time.Second {
			t.Errorf("got %q after %s, want none when the request that is under way is given up", got, took)
		}
		if got, took := ask(one, time.Minute); got != "" || took != 0 {
			t.Errorf("got %q after %s, want to hear at once that there is none", got, took)
		}
		time.Sleep(signInPause)
		if got, took := ask(one, time.Minute); got != "" || took != signInWithin {
			t.Errorf("got %q after %s, want another request", got, took)
		}
	})
}

// refuses gives no token, after what has to happen before it says so.
type refuses struct {
	asked  int
	before func()
}

func (r *refuses) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	r.asked++
	r.before()
	return azcore.AccessToken{}, errors.New("no token")
}

// TestWhatATokenTakesGoesByTheProvidersClock has requests for tokens fail that take long by one clock alone: a machine that stands still in a
// simulation holds nothing against whoever gives tokens, and simulated time does.
func TestWhatATokenTakesGoesByTheProvidersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := time.Now()
		ask := func(p *pipelineTokens) {
			if _, err := p.GetToken(t.Context(), policy.TokenRequestOptions{}); err == nil {
				t.Error("there is a token")
			}
		}
		from := &refuses{before: func() { time.Sleep(leastWait) }}
		store := &tokens{from: from, runner: goroutines{}, now: func() time.Time { return clock }}
		one := &pipelineTokens{tokens: store}
		ask(one)
		if store.timedOut() {
			t.Error("time in which the provider's clock stood is held against whoever gives tokens")
		}
		from.before = func() { clock = clock.Add(leastWait) }
		ask(one)
		if !store.timedOut() || from.asked != 2 {
			t.Errorf("mute %v after %d requests, want it after the second, which took long", store.timedOut(), from.asked)
		}
		time.Sleep(signInPause)
		ask(one)
		if from.asked != 2 {
			t.Error("it is asked again before the pause is over by the provider's clock")
		}
		clock = clock.Add(signInPause)
		ask(one)
		if from.asked != 3 {
			t.Errorf("%d requests, want another one after the pause", from.asked)
		}
	})
}

// turning is a Runner on a clock of its own: what runs beside others never ends, and waiting turns the clock.
type turning struct{ clock *time.Time }

func (turning) Settle(running *sync.WaitGroup) { running.Wait() }

func (turning) Go(context.Context, func(context.Context)) {}

func (r turning) Await(_ context.Context, _ <-chan struct{}, d time.Duration) {
	*r.clock = r.clock.Add(d)
}

// TestTheRunnersClockDrivesTheWaitForATokenThatIsBeingRenewed has a renewal hang: the token serves after a second of the runner's clock, and none of
// the machine's.
func TestTheRunnersClockDrivesTheWaitForATokenThatIsBeingRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock, began := time.Now(), time.Now()
		store := &tokens{runner: turning{&clock}, now: func() time.Time { return clock }}
		store.last = azcore.AccessToken{Token: "a", RefreshOn: began.Add(-time.Minute), ExpiresOn: began.Add(time.Hour)}
		got, err := (&pipelineTokens{tokens: store}).GetToken(t.Context(), policy.TokenRequestOptions{})
		if got.Token != "a" || err != nil || clock.Sub(began) != renewWait || time.Since(began) != 0 {
			t.Errorf("token %q, %v, after %s of the runner's clock and %s of the machine's", got.Token, err, clock.Sub(began), time.Since(began))
		}
	})
}
