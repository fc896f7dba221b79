package azuresim_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

const worldFile = `
tenant: 22222222-2222-2222-2222-222222222222
subscription: 11111111-1111-1111-1111-111111111111
resourceGroup: rg-Render
location: westeurope
seed: 7
boot: 2m
delete: 30s..90s
quota: {cores: 40}
servicePrincipals:
- {clientId: 33333333-3333-3333-3333-333333333333, secret: s3cret}
identities:
- {id: nodes, clientId: 44444444-4444-4444-4444-444444444444}
availabilitySets:
- {name: servers}
resourceGroups:
- {name: spare}
skus:
- {name: Standard_D4s_v5, family: standardDSv5Family, vcpus: 4, memoryGB: 16}
autoscaleSettings:
- {target: agents, enabled: true, min: 1, max: 3}
machines:
- {name: server-0, size: Standard_D2s_v5, availabilitySet: servers}
scaleSets:
- name: agents
  size: Standard_D4s_v5
  vcpus: 4
  zones: [1, 2]
  capacity: 3
  identities: [nodes]
  tags: {min: 1, max: 10}
- {name: burst, size: Standard_D4s_v5, orchestrationMode: Flexible, priority: Spot, capacity: 1}
faults:
- {name: storm, kind: PATCH *, status: 429, retryAfter: 20m, from: 1h, until: 2h}
acts:
- {at: 10m, do: set-capacity, target: agents, capacity: 5}
`

func TestAWorldComesFromItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "world.yaml")
	if err := os.WriteFile(path, []byte(worldFile), 0o600); err != nil {
		t.Fatal(err)
	}
	start := time.Date(2026, 5, 1, 22, 0, 0, 0, time.UTC)
	w, err := azuresim.LoadWorld(path, start)
	if err != nil {
		t.Fatal(err)
	}
	a := newAzure(t)
	s := &azuresim.Server{Now: a.Now}
	if err := w.Populate(s); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range s.Machines() {
		got = append(got, strings.Join([]string{m.ScaleSet, m.ComputerName, m.Zone, m.ProvisioningState}, " "))
	}
	for n := range got {
		if strings.HasPrefix(got[n], "burst") {
			got[n] = "burst" // its name is drawn
		}
	}
	want := []string{" server-0  Succeeded", "agents agents000000 1 Succeeded", "agents agents000001 2 Succeeded", "agents agents000002 1 Succeeded", "burst"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	f := s.Faults()[0]
	if f.Name != "storm" || !f.From.Equal(start.Add(time.Hour)) || f.RetryAfter != 20*time.Minute {
		t.Errorf("the fault is %+v", f)
	}
	a.advance(10 * time.Minute)
	if got := s.ScaleSets()[0].Capacity; got != 5 {
		t.Errorf("capacity %d after ten minutes, want 5", got)
	}
	if diff := cmp.Diff(map[string]string{"min": "1", "max": "10"}, s.ScaleSets()[0].Tags); diff != "" {
		t.Errorf("tags (-want +got):\n%s", diff)
	}
}

// TestTheSubscriptionOfAWorldIsThereWithoutAnything reads it, and makes the first thing in it.
func TestTheSubscriptionOfAWorldIsThereWithoutAnything(t *testing.T) {
	w, err := azuresim.ParseWorld([]byte("subscription: S-1\nlocation: westeurope\nanyToken: true"), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	s := &azuresim.Server{}
	if err := w.Populate(s); err != nil {
		t.Fatal(err)
	}
	for _, ask := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/subscriptions", "", http.StatusOK, `"subscriptionId":"S-1"`},
		{"GET", "/subscriptions/s-1/resourcegroups", "", http.StatusOK, `"value":[]`},
		{"GET", "/subscriptions/s-2/resourcegroups", "", http.StatusNotFound, "SubscriptionNotFound"},
		{"PUT", "/subscriptions/s-1/resourcegroups/first", `{"location":"westeurope"}`, http.StatusCreated, "first"},
		{"GET", "/subscriptions/S-1/resourcegroups/first", "", http.StatusOK, "first"},
	} {
		r := httptest.NewRequest(ask.method, ask.path+"?api-version=2021-04-01", strings.NewReader(ask.body))
		r.Header.Set("Authorization", "Bearer any")
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, r)
		if got := strings.ReplaceAll(answer.Body.String(), " ", ""); answer.Code != ask.status || !strings.Contains(got, ask.want) {
			t.Errorf("%s %s: %d %s, want %d %s", ask.method, ask.path, answer.Code, got, ask.status, ask.want)
		}
	}
}

func TestAMistakeInAWorldFileIsNamedWithItsRemedy(t *testing.T) {
	for document, want := range map[string]string{
		"scaleSets: [{name: a, capasity: 3}]":         "scaleSets[0].capasity: there is no such field; there are subscription, resourceGroup, name,",
		"scaleSets: [{name: a, capacity: three}]":     "scaleSets[0].capacity: three is not a whole number",
		"scaleSets: {name: a}":                        "scaleSets: map[name:a] is not a list: write its items after dashes",
		"resourceGroups: [render]":                    "resourceGroups[0]: render is not a mapping: write its fields as name: value",
		"boot: soon":                                  `boot: soon is not a distribution: write 90s, 60s..180s, "about 150s"`,
		"retryAfter: 20":                              "retryAfter: 20 is not a duration: write it with its unit",
		"throttle: perhaps":                           "throttle: perhaps is neither true nor false",
		"faults: [{status: 429, from: yesterday}]":    "faults[0].from: yesterday is not a time: write how long after the start",
		"faults: [{kind: PATCH *}]":                   "faults[0]: it says when and not what",
		"acts: [{at: 1m, do: explode, target: a}]":    "acts[0].do: \"explode\" is unknown: use one of set-capacity,",
		"acts: [{at: 1m, do: evict}]":                 "acts[0].target: evict needs one",
		"seed: 1\nseed: 2":                            "already set in map",
		"quota: 4":                                    "quota: 4 is not a mapping",
		"faults: [{status: 429, header: [{name: []}]": "read YAML",
	} {
		t.Run(document, func(t *testing.T) {
			if _, err := azuresim.ParseWorld([]byte(document), time.Time{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v\nwant %s", err, want)
			}
		})
	}
	w, err := azuresim.ParseWorld([]byte("scaleSets: [{name: a}]"), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Populate(&azuresim.Server{}); err == nil || !strings.Contains(err.Error(), "scaleSets[0]: add scale set \"a\": subscription, resource group and location are required") {
		t.Errorf("got %v", err)
	}
}

func TestDistributionsAreWrittenAsTheyAreRead(t *testing.T) {
	for text, want := range map[string]azuresim.Distribution{
		"1m30s":           azuresim.Fixed(90 * time.Second),
		"1m0s..3m0s":      azuresim.Uniform(time.Minute, 3*time.Minute),
		"about 2m30s 0.4": azuresim.Lognormal(150*time.Second, 0.4),
	} {
		got, err := azuresim.ParseDistribution(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s is %v: %v", text, got, err)
		}
	}
	for _, text := range []string{"", "soon", "3m..1m", "about", "about 2m wide", "-1s"} {
		if _, err := azuresim.ParseDistribution(text); err == nil {
			t.Errorf("%q passed", text)
		}
	}
}

// control asks a server's control interface.
func control(t *testing.T, s *azuresim.Server, method, path, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1"+path, strings.NewReader(body))
	w := httptest.NewRecorder()
	s.Control().ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestTheControlInterfaceTellsAndDoes(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	a.capacity()
	for _, step := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/requests?kind=get+virtualMachineScaleSets&last=1", "", 200, `"scaleSet": "agents"`},
		{"GET", "/requests?last=none", "", 400, "not a positive whole number"},
		{"GET", "/counters", "", 200, `"GET virtualMachineScaleSets": 1`},
		{"POST", "/faults", `{"name":"storm","kind":"PATCH *","status":429,"retryAfter":"20m"}`, 200, "storm"},
		{"POST", "/faults", `{"status":"many"}`, 400, "status: many is not a whole number"},
		{"POST", "/faults", `{"kind":"PATCH *"}`, 400, "it says when and not what"},
		{"GET", "/faults", "", 200, `"retryAfter": "20m0s"`},
		{"DELETE", "/faults/storm", "", 200, "{}"},
		{"DELETE", "/faults/storm", "", 404, "there is no fault"},
		{"POST", "/acts", "do: set-capacity\ntarget: agents\ncapacity: 4", 200, "set-capacity"},
		{"POST", "/acts", "do: set-capacity\ntarget: nobody", 400, "there is not exactly one such scale set"},
		{"POST", "/acts", "at: 10m\ndo: delete\ntarget: agents_0", 200, "22:10"},
		{"GET", "/scalesets", "", 200, `"capacity": 4`},
		{"GET", "/operations", "", 200, `"status": "InProgress"`},
		{"GET", "/machines", "", 200, `"computerName": "agents000003"`},
		{"GET", "/acts", "", 200, `"error": "set capacity nobody: there is not exactly one such scale set"`},
		{"DELETE", "/faults", "", 200, "{}"},
	} {
		status, body := control(t, a.Server, step.method, step.path, step.body)
		if status != step.status || !strings.Contains(body, step.want) {
			t.Errorf("%s %s: %d %s, want %d with %s", step.method, step.path, status, body, step.status, step.want)
		}
	}
	a.advance(10 * time.Minute)
	if got := a.ids(); len(got) != 4 || got[0] != "0" { // Deleting, and listed
		t.Errorf("machines %v", got)
	}
	a.advance(time.Minute)
	if got := a.ids(); len(got) != 3 || got[0] != "1" {
		t.Errorf("machines %v after the scheduled delete", got)
	}
}

func TestAWebPageCannotReachTheControlInterface(t *testing.T) {
	a := newAzure(t)
	for host, want := range map[string]int{"127.0.0.1:4444": 200, "localhost": 200, "[::1]:4444": 200, "evil.example:4444": 403, "10.0.0.4": 403} {
		r := httptest.NewRequest(http.MethodGet, "http://"+host+"/faults", nil)
		w := httptest.NewRecorder()
		a.Control().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("%s: %d, want %d", host, w.Code, want)
		}
	}
}
