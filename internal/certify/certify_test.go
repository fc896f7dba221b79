package certify_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smallstep/pkcs7"

	"sluice.dev/sluice/internal/azure"
	"sluice.dev/sluice/internal/azure/config"
	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/certify"
)

const (
	subscription = "11111111-1111-1111-1111-111111111111"
	tenant       = "22222222-2222-2222-2222-222222222222"
)

var start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// world is a simulated Azure on its own clock, and somebody who certifies it.
type world struct {
	*testing.T
	certify.Run
	sim     *azuresim.Server
	now     time.Time
	told    map[string]certify.Result
	boots   map[string]*boot // of machines that play the script of their cloud-init, by vmId
	said    []string
	quiet   bool                                                           // the test's log has not what is told
	mute    bool                                                           // machines play no script
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
	w.now = w.now.Add(time.Millisecond)
	w.fewMachines()
	next := &azuresim.Transport{Server: w.sim, Machine: "desk"}
	if w.between != nil {
		return w.between(r, next)
	}
	return next.RoundTrip(r)
}

func newWorld(t *testing.T, change func(*world)) *world {
	t.Helper()
	w := &world{T: t, now: start, told: map[string]certify.Result{}, boots: map[string]*boot{}}
	w.sim = &azuresim.Server{
		Now: func() time.Time { return w.now }, AnyToken: true, TenantID: tenant, Throttle: true,
		Boot: azuresim.Fixed(60 * time.Second), Delete: azuresim.Fixed(30 * time.Second),
		Quota: map[string]int{"cores": 100, "lowPriorityCores": 20, "standardFSv2Family": 10},
	}
	w.sim.Console = func(uid string) (string, bool) {
		b := w.boots[uid]
		if b == nil {
			return "", false
		}
		return b.log, true
	}
	if change != nil {
		change(w)
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
			if !w.quiet {
				t.Logf("%-8s  %-40s %s (%s)", r.Verdict, p.Name, r.Sentence, r.Took)
			}
			w.told[p.Name] = r
		},
		Say: func(s string) { w.said = append(w.said, s) },
	}
	return w
}

// boot is a machine that plays the script.
type boot struct{ log, events string }

// fewMachines holds that there are never more machines than were said to cost something.
func (w *world) fewMachines() {
	n := 0
	for _, m := range w.sim.Machines() {
		if strings.Contains(m.ID, certify.GroupPrefix) && m.ProvisioningState != "Failed" && m.ProvisioningState != "Deleting" && m.Error == "" && !strings.Contains(m.ID, "/dear/") {
			n++
		}
	}
	if n > 2 {
		w.Errorf("there are %d machines", n)
	}
}

// pass lets so much time pass. Machines that are up play the script of their cloud-init meanwhile.
func (w *world) pass(ctx context.Context, d time.Duration) error {
	const step = 5 * time.Second
	if w.mute {
		w.now = w.now.Add(d)
		return ctx.Err()
	}
	for ; d > 0; d -= step {
		w.now = w.now.Add(min(d, step))
		for _, m := range w.sim.Machines() {
			if m.PowerState == "running" && m.ScaleSet == "uniform" {
				w.play(m)
			}
		}
	}
	return ctx.Err()
}

// play has a machine tell on its console what its metadata service says, as the script does.
func (w *world) play(m azuresim.MachineState) {
	ask := func(path string) string {
		r, err := http.NewRequestWithContext(w.Context(), http.MethodGet, "http://"+azuresim.MetadataHost+"/metadata/"+path, nil)
		w.must(err)
		r.Header.Set("Metadata", "true")
		resp, err := w.sim.Client(m.ID).Do(r)
		w.must(err)
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		w.must(err)
		return string(raw)
	}
	b := w.boots[m.VMID]
	if b == nil {
		b = &boot{log: "[    0.000000] Linux\n\nsluice-certify: vmId " + ask("instance/compute/vmId?api-version=2021-02-01&format=text") +
			"\n\nsluice-certify: name " + ask("instance/compute/name?api-version=2021-02-01&format=text") +
			"\n\nsluice-certify: attested " + attested(w.T, ask("attested/document?api-version=2018-10-01&nonce=2718281828")) + "\n"}
		w.boots[m.VMID] = b
	}
	if events := ask("scheduledevents?api-version=2020-07-01"); events != b.events {
		b.events = events
		b.log += "\nsluice-certify: events " + events + "\n"
	}
}

// attested is what openssl makes of a signed document: who signed it, its nonce and its vmId.
func attested(t *testing.T, document string) string {
	t.Helper()
	var d struct {
		Signature []byte `json:"signature"`
	}
	if err := json.Unmarshal([]byte(document), &d); err != nil {
		t.Fatal(err)
	}
	envelope, err := pkcs7.Parse(d.Signature)
	if err != nil {
		t.Fatal(err)
	}
	var claims struct{ Nonce, VMID string }
	if err := json.Unmarshal(envelope.Content, &claims); err != nil {
		t.Fatal(err)
	}
	return envelope.Certificates[0].Subject.CommonName + " " + claims.Nonce + " " + claims.VMID
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
	return w.cleanIn(context.Background(), ledger)
}

func (w *world) cleanIn(ctx context.Context, ledger *certify.Ledger) *certify.Left {
	return certify.Cleaner{Cloud: w.Cloud, Ledger: ledger, Now: w.Now, Wait: w.Wait, Say: w.Say}.Clean(ctx)
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

// TestEachProbeStandsAlone asks each probe in a group of its own: what it needs it makes itself.
func TestEachProbeStandsAlone(t *testing.T) {
	for _, p := range certify.Probes() {
		w := newWorld(t, nil)
		w.Only, w.quiet, w.LedgerPath = map[string]bool{p.Name: true}, true, ""
		record, left := w.run(t.Context())
		if left != nil {
			t.Errorf("%s: left %+v", p.Name, left)
		}
		if len(record.Results) != 1 || record.Results[0].Verdict != certify.Agrees {
			t.Errorf("%s alone: %+v", p.Name, record.Results)
		}
		if all := w.there(); len(all) > 0 {
			t.Errorf("%s: there is %q", p.Name, all)
		}
	}
}

// TestThereAreNeverThreeMachines has Azure take no machine of the uniform set away before the flexible one comes.
func TestThereAreNeverThreeMachines(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.sim.Beliefs.LowerRefused = true
		w.sim.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/delete", ScaleSet: "uniform", Status: 409, Code: "Conflict", Times: 4})
		w.sim.Inject(azuresim.Fault{Kind: "POST virtualMachineScaleSets/virtualMachines/simulateeviction", Status: 409, Code: "Conflict"})
	})
	record, left := w.run(t.Context())
	if left != nil {
		t.Errorf("left: %+v", left)
	}
	for _, r := range record.Results {
		if r.Name == "flexible-machines-are-listed-by-filter" && r.Verdict != certify.Agrees {
			t.Errorf("%+v", r)
		}
	}
}
