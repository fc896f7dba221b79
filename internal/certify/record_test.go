package certify_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/certify"
)

// TestARecordNamesNothingOfItsSubscription looks in records for each word that tells whose Azure it was: of a run that goes well, of one that is refused in
// sentences full of names, and of one in which Azure says such sentences as codes.
func TestARecordNamesNothingOfItsSubscription(t *testing.T) {
	const secret = "bob@contoso.example at https://contoso.example/x from 198.51.100.7 and 2001:db8::7, policy of /subscriptions/" + subscription + "/resourceGroups/crown"
	for name, change := range map[string]func(*world){
		"well": nil,
		"refused": func(w *world) {
			w.sim.Inject(azuresim.Fault{Kind: "P* virtualMachineScaleSets*", Status: http.StatusForbidden, Code: "RequestDisallowedByPolicy", Message: secret})
		},
		"a machine fails": func(w *world) {
			w.sim.Inject(azuresim.Fault{ScaleSet: "uniform", MachineError: "AllocationFailed", Message: secret})
		},
		"codes are sentences": func(w *world) {
			w.sim.Inject(azuresim.Fault{Kind: "GET virtualMachineScaleSets", ScaleSet: "absent", Status: http.StatusNotFound, Code: secret})
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, change)
			group := regexp.MustCompile(certify.GroupPrefix + `[0-9a-f]+`)
			names := map[string]bool{subscription: true, tenant: true, "desk": true, "bob": true, "contoso": true, "198.51.100.7": true, "2001:db8": true, "crown": true}
			w.between = func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
				if g := group.FindString(r.URL.Path); g != "" {
					names[g], names[strings.TrimPrefix(g, certify.GroupPrefix)] = true, true
				}
				for _, m := range w.sim.Machines() {
					names[m.VMID], names[m.PrivateIP] = true, true
				}
				return next.RoundTrip(r)
			}
			record, left := w.run(t.Context())
			if left != nil {
				t.Errorf("left: %+v", left)
			}
			raw := string(record.JSON())
			if len(record.Results) != len(certify.Probes()) || len(names) < 10 {
				t.Errorf("%d results, %d names", len(record.Results), len(names))
			}
			for n := range names {
				if n != "" && strings.Contains(strings.ToLower(raw), strings.ToLower(n)) {
					t.Errorf("the record names %q", n)
				}
			}
			if m := regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-|/subscriptions|://`).FindString(raw); m != "" {
				t.Errorf("the record has %q", m)
			}
			again, err := certify.ParseRecord([]byte(raw))
			w.must(err)
			if string(again.JSON()) != raw {
				t.Error("the record is read as another one")
			}
		})
	}
}

func TestARecordOfAnotherVersionIsRefused(t *testing.T) {
	raw, err := json.Marshal(certify.Record{Version: 99})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(raw), "{", ""} {
		if r, err := certify.ParseRecord([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, r)
		}
	}
}

// TestWhatOthersMakeInTheGroupStays has somebody make a machine in the run's group: it stays, and so does the group.
func TestWhatOthersMakeInTheGroupStays(t *testing.T) {
	w := newWorld(t, nil)
	w.Only = map[string]bool{"entity-tag-in-body": true}
	plan, err := certify.Survey(t.Context(), w.Cloud, "westeurope", time.Hour)
	w.must(err)
	w.Plan = plan
	ledger, err := w.Begin()
	w.must(err)
	_, err = w.Ask(t.Context(), ledger)
	w.must(err)
	w.must(w.sim.AddMachine(azuresim.Machine{Subscription: subscription, ResourceGroup: ledger.Group, Name: "theirs", Location: "westeurope"}))
	left := w.clean(ledger)
	if left == nil || len(left.Ours) > 0 || !strings.Contains(strings.Join(left.Foreign, " "), "virtualMachines theirs") || !strings.Contains(left.Command, ledger.Group) {
		t.Fatalf("left: %+v", left)
	}
	if sets := w.sim.ScaleSets(); len(sets) > 0 {
		t.Errorf("the run's own sets stay: %v", sets)
	}
	if _, err := os.Stat(w.LedgerPath); err != nil {
		t.Errorf("the ledger of what is left: %v", err)
	}
}

// TestAGroupWithoutTheTagIsNotTouched puts somebody else's group in the place of the run's.
func TestAGroupWithoutTheTagIsNotTouched(t *testing.T) {
	w := newWorld(t, nil)
	ledger, err := w.Begin()
	w.must(err)
	w.must(w.sim.AddResourceGroup(azuresim.ResourceGroup{Subscription: subscription, Name: ledger.Group, Location: "westeurope"}))
	left := w.clean(ledger)
	if left == nil || len(left.Foreign) != 1 || left.Why == nil {
		t.Fatalf("left: %+v", left)
	}
	for kind := range w.sim.Counters() {
		if strings.HasPrefix(kind, "DELETE") {
			t.Errorf("it was asked to %s", kind)
		}
	}
}

// TestWhatCannotBeHadIsSaidBeforeAnythingIsMade holds the sentences of a survey.
func TestWhatCannotBeHadIsSaidBeforeAnythingIsMade(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*world)
		want   string
	}{
		"no quota": {func(w *world) { w.sim.Quota["lowPriorityCores"] = 3 }, "the quota of spot cores in westeurope is 3, 0 are in use and 4 are needed"},
		"no size": {func(w *world) {
			for _, size := range []string{"Standard_D2s_v5", "Standard_F2s_v2", "Standard_D2s_v3", "Standard_D2as_v5"} {
				w.must(w.sim.AddSKU(azuresim.SKU{Name: size, VCPUs: 2, MemoryGB: 4, NoSpot: true}))
			}
		}, "--region=westeurope: this subscription may have no spot machine"},
		"no region": {func(w *world) {
			w.sim.Inject(azuresim.Fault{Kind: "LIST skus", Omit: -1})
		}, "--region=westeurope: Azure sells no size there"},
		"no right": {func(w *world) {
			w.sim.Inject(azuresim.Fault{Kind: "LIST skus", Status: 403})
		}, "AuthorizationFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.change)
			_, err := certify.Survey(t.Context(), w.Cloud, "westeurope", time.Hour)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

// TestAStormOfRefusalsIsNoDifference has Azure refuse half of all requests for now: what could not be seen then differs from nothing.
func TestAStormOfRefusalsIsNoDifference(t *testing.T) {
	for _, f := range []azuresim.Fault{
		{Kind: "* virtualMachineScaleSets*", Status: 429, Style: "compute", RetryAfter: 20 * time.Second, Chance: 0.5},
		{Kind: "* virtualMachineScaleSets*", Status: 503, Chance: 0.4},
		{Kind: "PUT virtualMachineScaleSets", Status: 429, Style: "arm", RetryAfter: time.Minute},
		{Kind: "GET *", LoseAnswer: true, Chance: 0.01},
	} {
		w := newWorld(t, nil)
		w.sim.Inject(f)
		w.quiet = true
		record, left := w.run(t.Context())
		if left != nil {
			t.Errorf("left: %+v", left)
		}
		for _, r := range record.Results {
			if r.Verdict == certify.Differs {
				t.Errorf("%+v: %s differs: %s", f, r.Name, r.Sentence)
			}
		}
		t.Logf("%d agree, %d not seen, %s", record.Count(certify.Agrees), record.Count(certify.NotSeen), w.now.Sub(start))
	}
}

// TestAnotherClockIsNoDifference has Azure's clock be three hours ahead or behind.
func TestAnotherClockIsNoDifference(t *testing.T) {
	for _, skew := range []time.Duration{3 * time.Hour, -3 * time.Hour} {
		w := newWorld(t, nil)
		w.sim.Inject(azuresim.Fault{Skew: skew})
		w.quiet = true
		record, left := w.run(t.Context())
		if left != nil || record.Count(certify.Agrees) != len(certify.Probes()) {
			t.Errorf("%s: left %+v, %d agree", skew, left, record.Count(certify.Agrees))
		}
		for _, r := range record.Results {
			if r.Verdict != certify.Agrees {
				t.Errorf("%s: %s %s: %s", skew, r.Name, r.Verdict, r.Sentence)
			}
		}
	}
}
