package imds_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/imds"
)

const (
	subscription = "00000000-0000-0000-0000-000000000001"
	identities   = "/subscriptions/" + subscription + "/resourceGroups/Farm/providers/Microsoft.ManagedIdentity/userAssignedIdentities/"
)

// azure has one scale set with one machine, agents_0, and no identity but those given.
func azure(t *testing.T, system bool, users ...string) *azuresim.Server {
	t.Helper()
	s := &azuresim.Server{}
	set := azuresim.ScaleSet{
		Subscription: subscription, ResourceGroup: "Farm", Name: "agents", Location: "westeurope", Size: "Standard_D4s_v5",
		Zones: []string{"2"}, Capacity: 1, Tags: map[string]string{"pool": "render"}, Priority: "Spot", SystemAssigned: system,
	}
	for _, u := range users {
		if err := s.AddIdentity(azuresim.Identity{ID: identities + u, TenantID: "tenant", ClientID: "client-" + u}); err != nil {
			t.Fatal(err)
		}
		set.Identities = append(set.Identities, identities+u)
	}
	if err := s.AddScaleSet(set); err != nil {
		t.Fatal(err)
	}
	return s
}

func on(s *azuresim.Server, machine string) *imds.Client {
	return &imds.Client{Transport: &azuresim.Transport{Server: s, Machine: machine}}
}

func TestAMachineLearnsWhoItIs(t *testing.T) {
	s := azure(t, false)
	got, err := on(s, "agents_0").Instance(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	m := s.Machines()[0]
	want := imds.Instance{
		Subscription: subscription, ResourceGroup: "Farm", Location: "westeurope", Name: "agents_0", ResourceID: m.ID, VMID: m.VMID,
		Size: "Standard_D4s_v5", ScaleSet: "agents", Zone: "2", FaultDomain: got.FaultDomain, Priority: "Spot", ComputerName: m.ComputerName,
		Environment: "AzurePublicCloud", Tags: map[string]string{"pool": "render"}, PrivateIPs: []string{m.PrivateIP},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("instance (-want +got):\n%s", d)
	}
}

func TestTheEndpointMayBeAnother(t *testing.T) {
	server := httptest.NewServer(azure(t, false).Metadata("agents_0"))
	t.Cleanup(server.Close)
	c := &imds.Client{Endpoint: server.URL + "/"}
	if in, err := c.Instance(context.Background()); err != nil || in.Name != "agents_0" {
		t.Errorf("instance %+v, error %v: want agents_0", in, err)
	}
}

func TestABusyServiceIsAskedAgainABoundedNumberOfTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		status, times int
		asked         int
		works         bool
		waits         time.Duration
		says          string // the error
	}{
		"being updated for a while": {http.StatusGone, 3, 4, true, 14 * time.Second, ""},
		"overloaded once":           {http.StatusTooManyRequests, 1, 2, true, 2 * time.Second, ""},
		"overloaded for ever": {http.StatusTooManyRequests, 0, 7, false, 75 * time.Second,
			"header, 7 times in a row: find what else asks it on this machine, which may send five requests a second"},
		"failing for ever":            {http.StatusInternalServerError, 0, 7, false, 75 * time.Second, ", 7 times in a row"},
		"a question it does not know": {http.StatusBadRequest, 0, 1, false, 0, "refused with 400"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := azure(t, false)
				s.Inject(azuresim.Fault{Kind: "GET metadata/instance", Status: tc.status, Times: tc.times})
				start := time.Now()
				var told strings.Builder
				c := on(s, "agents_0")
				c.Log = slog.New(slog.NewTextHandler(&told, nil))
				_, err := c.Instance(context.Background())
				if (err == nil) != tc.works || err != nil && !strings.HasSuffix(err.Error(), tc.says) && !strings.Contains(err.Error(), tc.says+":") {
					t.Errorf("error %v, want success %t, %q", err, tc.works, tc.says)
				}
				if n := strings.Count(told.String(), "asked again"); n != tc.asked-1 {
					t.Errorf("%d waits are told, want %d:\n%s", n, tc.asked-1, told.String())
				}
				if first := start.Add(2 * time.Second).UTC().Format(time.RFC3339); tc.asked > 1 && !strings.Contains(told.String(), "next="+first) {
					t.Errorf("the first wait is not told to end at %s:\n%s", first, told.String())
				}
				if n := s.Counters()["GET metadata/instance"]; n != tc.asked {
					t.Errorf("asked %d times, want %d", n, tc.asked)
				}
				if waited := time.Since(start); waited != tc.waits {
					t.Errorf("took %s, want %s", waited, tc.waits)
				}
			})
		})
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := azure(t, false)
		s.Inject(azuresim.Fault{Kind: "GET metadata/instance", Status: http.StatusGone})
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if _, err := on(s, "agents_0").Instance(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
	})
}

func TestOffAzureTheErrorSaysWhatToDo(t *testing.T) {
	_, err := on(azure(t, false), "").Instance(context.Background())
	var e *imds.Error
	if !errors.As(err, &e) || e.Status != 0 || !strings.Contains(e.Error(), "run on a machine on Azure") || strings.Contains(e.Error(), "\n") {
		t.Errorf("error %v, want one sentence with the remedy", err)
	}
}

func TestTokensAreOfTheSelectedIdentity(t *testing.T) {
	for name, tc := range map[string]struct {
		system bool
		users  []string
		who    imds.Selector
		want   string // the client id that the token is for; "" the machine's own
		err    string
	}{
		"its own":              {true, []string{"a"}, imds.Selector{}, "", ""},
		"the only one":         {false, []string{"a"}, imds.Selector{}, "client-a", ""},
		"one by client id":     {true, []string{"a", "b"}, imds.Selector{ClientID: "client-b"}, "client-b", ""},
		"one by resource id":   {true, []string{"a", "b"}, imds.Selector{ResourceID: identities + "a"}, "client-a", ""},
		"one it has not got":   {true, []string{"a"}, imds.Selector{ClientID: "client-c"}, "", "this machine has not got the user-assigned identity with client id client-c"},
		"none there":           {false, nil, imds.Selector{}, "", "this machine has no managed identity"},
		"an unclear selection": {false, []string{"a", "b"}, imds.Selector{}, "", "Multiple user assigned identities exist"},
	} {
		t.Run(name, func(t *testing.T) {
			s := azure(t, tc.system, tc.users...)
			tok, err := on(s, "agents_0").Token(context.Background(), "https://management.azure.com", tc.who)
			if tc.err != "" {
				var e *imds.Error
				if !errors.As(err, &e) || !strings.Contains(e.Message, tc.err) || e.Temporary() {
					t.Errorf("error %v, want %q, for good", err, tc.err)
				}
				return
			}
			if err != nil || tok.Value == "" || tok.Life != 24*time.Hour-time.Second {
				t.Fatalf("token with life %s, error %v", tok.Life, err)
			}
			rs := s.Requests()
			if got := rs[len(rs)-1].Principal; got == "" || tc.want != "" && got != tc.want {
				t.Errorf("the token is for %q, want %q", got, tc.want)
			}
		})
	}
}

func TestATokenIsAskedForOnce(t *testing.T) {
	s := azure(t, true)
	s.Inject(azuresim.Fault{Kind: "GET metadata/identity", Status: http.StatusTooManyRequests})
	_, err := on(s, "agents_0").Token(context.Background(), "https://management.azure.com", imds.Selector{})
	var e *imds.Error
	if !errors.As(err, &e) || !e.Temporary() || s.Counters()["GET metadata/identity"] != 1 {
		t.Errorf("error %v after %d requests, want a temporary one after 1", err, s.Counters()["GET metadata/identity"])
	}
}

// TestAnAnswerWithoutEndIsCutAndSaid: whoever answers in the service's place cannot fill this process's memory.
func TestAnAnswerWithoutEndIsCutAndSaid(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for more := []byte(`{"compute":` + strings.Repeat(" ", 1<<16)); r.Context().Err() == nil; {
			if _, err := w.Write(more); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	_, err := (&imds.Client{Endpoint: server.URL}).Instance(t.Context())
	if want := "answers with more than 1 MB"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("read: %v, want a sentence with %q", err, want)
	}
}
