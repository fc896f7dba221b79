package certify_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/certify"
)

const (
	subscription = "11111111-1111-1111-1111-111111111111"
	tenant       = "22222222-2222-2222-2222-222222222222"
)

// world is a simulated Azure on its own clock, and somebody who certifies it.
type world struct {
	*testing.T
	certify.Run
	sim     *azuresim.Server
	now     time.Time
	told    map[string]certify.Result
	said    []string
	between func(*http.Request, http.RoundTripper) (*http.Response, error) // this and Azure
}

type patient struct{}

func (patient) Settle(running *sync.WaitGroup)                  { running.Wait() }
func (patient) Go(ctx context.Context, f func(context.Context)) { go f(ctx) }
func (patient) Await(ctx context.Context, done <-chan struct{}, _ time.Duration) {
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	next := &azuresim.Transport{Server: w.sim, Machine: "desk"}
	if w.between != nil {
		return w.between(r, next)
	}
	return next.RoundTrip(r)
}

func newWorld(t *testing.T, change func(*azuresim.Server)) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), told: map[string]certify.Result{}}
	w.sim = &azuresim.Server{
		Now: func() time.Time { return w.now }, AnyToken: true, TenantID: tenant, Throttle: true,
		Boot: azuresim.Fixed(60 * time.Second), Delete: azuresim.Fixed(30 * time.Second),
		Quota: map[string]int{"cores": 100, "lowPriorityCores": 20, "standardFSv2Family": 10},
	}
	if change != nil {
		change(w.sim)
	}
	w.must(w.sim.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: "office", Name: "desk", Location: "westeurope", SystemAssigned: true}))
	cloud, err := azure.NewResources(t.Context(), azure.Options{
		Config: config.Config{Subscription: subscription, ResourceGroup: "unknown", Location: "westeurope", Cloud: "AzurePublicCloud"},
		Runner: patient{}, Transport: w, Now: w.sim.Now, Log: slog.New(slog.DiscardHandler),
	})
	w.must(err)
	cloud.Wait = w.pass
	w.Run = certify.Run{
		Cloud: cloud, CloudName: "azuresim", LedgerPath: filepath.Join(t.TempDir(), "ledger.json"), Sluice: "test", Now: w.sim.Now, Wait: w.pass,
		Look: func(certify.Probe) {},
		Tell: func(p certify.Probe, r certify.Result) {
			t.Logf("%-8s  %-40s %s (%s)", r.Verdict, p.Name, r.Sentence, r.Took)
			w.told[p.Name] = r
		},
		Say: func(s string) { w.said = append(w.said, s) },
	}
	return w
}

// pass lets so much time pass.
func (w *world) pass(ctx context.Context, d time.Duration) error {
	w.now = w.now.Add(d)
	return ctx.Err()
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// run surveys, asks and removes.
func (w *world) run(ctx context.Context) (*certify.Record, *certify.Left) {
	w.Helper()
	var err error
	w.Plan, err = certify.Survey(ctx, w.Cloud, "westeurope", 30*time.Minute)
	w.must(err)
	ledger, err := w.Begin()
	w.must(err)
	record, err := w.Ask(ctx, ledger)
	if err != nil {
		w.Log(err)
	}
	return record, w.clean(ledger)
}

func (w *world) clean(ledger *certify.Ledger) *certify.Left {
	return certify.Cleaner{Cloud: w.Cloud, Ledger: ledger, Now: w.Now, Wait: w.Wait, Say: w.Say}.Clean(context.Background())
}

func TestEachFactIsSoInTheSimulator(t *testing.T) {
	w := newWorld(t, nil)
	record, left := w.run(t.Context())
	if left != nil {
		t.Errorf("left: %+v", left)
	}
	t.Logf("%d agree, %d differ, %d not seen, %s", record.Count(certify.Agrees), record.Count(certify.Differs), record.Count(certify.NotSeen), w.now.Format(time.TimeOnly))
	for name, r := range w.told {
		if r.Verdict != certify.Agrees {
			t.Errorf("%s %s: %s", name, r.Verdict, r.Sentence)
		}
	}
}
