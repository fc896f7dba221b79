package azuresim_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azuresim"
)

func TestThrottlingSpeaksBothDialects(t *testing.T) {
	for name, tc := range map[string]struct {
		fault              azuresim.Fault
		code, retry        string
		header, headerText string
	}{
		"by the front door": {
			azuresim.Fault{Style: "arm", RetryAfter: 17 * time.Second}, "SubscriptionRequestsThrottled", "17",
			"X-Ms-Ratelimit-Remaining-Subscription-Reads", "0",
		},
		"by the compute provider": {
			azuresim.Fault{Style: "compute", RetryAfter: 20 * time.Minute}, "OperationNotAllowed", "1200",
			"X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/HighCostGet3Min;107,Microsoft.Compute/HighCostGet30Min;0",
		},
		"without a time": {azuresim.Fault{}, "TooManyRequests", "", "X-Ms-Ratelimit-Remaining-Resource", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(1)
			tc.fault.Kind, tc.fault.Status = "GET virtualMachineScaleSets", http.StatusTooManyRequests
			a.Inject(tc.fault)
			_, err := a.sets.Get(context.Background(), group, "agents", nil)
			var re *azcore.ResponseError
			if !errors.As(err, &re) {
				t.Fatal(err)
			}
			h := re.RawResponse.Header
			got := []string{re.ErrorCode, h.Get("Retry-After"), h.Get(tc.header)}
			if diff := cmp.Diff([]string{tc.code, tc.retry, tc.headerText}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFalseErrorsSayWhatAzureSays(t *testing.T) {
	for name, tc := range map[string]struct {
		fault azuresim.Fault
		want  string
	}{
		"forbidden":   {azuresim.Fault{Status: 403}, "does not have authorization to perform action 'Microsoft.Compute/virtualMachineScaleSets/write'"},
		"locked":      {azuresim.Fault{Status: 409, Code: "ScopeLocked"}, "cannot perform write operation because following scope(s) are locked"},
		"not there":   {azuresim.Fault{Status: 404}, "ARMResourceNotFoundFix"},
		"with detail": {azuresim.Fault{Status: 400, Code: "InvalidTemplateDeployment", Details: []azuresim.Detail{{Code: "QuotaExceeded", Message: "no cores"}}}, "no cores"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(1)
			tc.fault.Kind = "PATCH *"
			a.Inject(tc.fault)
			if _, err := a.resize(2, nil); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if got := a.capacity(); got != 1 {
				t.Errorf("capacity %d after a refusal", got)
			}
		})
	}
}

func TestEachServiceFailsInItsOwnShape(t *testing.T) {
	a := newAzure(t)
	a.agents(1, func(s *azuresim.ScaleSet) { s.SystemAssigned = true })
	a.Inject(azuresim.Fault{Kind: "GET metadata/instance", Status: 410})
	a.Inject(azuresim.Fault{Kind: "POST token", Status: 401, Code: "invalid_client"})
	resp, body := a.wireFrom("agents_0", "GET", "http://169.254.169.254/metadata/instance?api-version=2021-02-01", "", "Metadata", "true")
	if resp.StatusCode != 410 || field(t, body, "error") != "Gone" {
		t.Errorf("instance metadata: %d %s", resp.StatusCode, body)
	}
	resp, body = a.wireFrom("", "POST", "https://login.azure.test/"+tenant+"/oauth2/v2.0/token", "")
	if resp.StatusCode != 401 || field(t, body, "error") != "invalid_client" {
		t.Errorf("token: %d %s", resp.StatusCode, body)
	}
	if !strings.Contains(resp.Header.Get("Www-Authenticate"), "Bearer") {
		t.Error("a 401 has a challenge")
	}
}

func TestAWriteCanBeAcceptedAndAnsweredWithAnError(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.Inject(azuresim.Fault{Kind: "PATCH *", Status: 500, Applied: true, Times: 1})
	if _, err := a.resize(3, nil); err == nil {
		t.Error("the client noticed nothing")
	}
	if got := a.capacity(); got != 3 {
		t.Errorf("capacity %d, want 3", got)
	}
}

func TestAHangingServerAnswersNobodyAndBlocksNobody(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	token := a.token()
	a.Inject(azuresim.Fault{Kind: "PATCH *", Hang: true, Times: 1})
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, "PATCH", "https://management.azure.test"+setPath+version, strings.NewReader(`{"sku":{"capacity":3}}`))
	a.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	done := make(chan error)
	go func() {
		resp, err := a.Client("").Do(r)
		if err == nil {
			resp.Body.Close()
		}
		done <- err
	}()
	patched := func(r azuresim.Request) bool { return r.Method == http.MethodPatch }
	for !slices.ContainsFunc(a.Requests(), patched) { // it has been acted upon
		select {
		case err := <-done:
			t.Fatalf("it was answered: %v", err)
		default:
		}
	}
	if got := a.capacity(); got != 3 {
		t.Errorf("capacity %d while the answer hangs, want 3", got)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller gave up and got %v", err)
	}
}

func TestADelayPassesTheServersOwnTime(t *testing.T) {
	var a *azure
	var slept []time.Duration
	a = newAzure(t, func(s *azuresim.Server) {
		s.Sleep = func(_ context.Context, d time.Duration) {
			slept = append(slept, d)
			a.advance(d)
		}
	})
	a.agents(1)
	a.Inject(azuresim.Fault{Kind: "GET virtualMachineScaleSets", Delay: 90 * time.Second, Times: 1})
	before := a.now
	a.capacity()
	if got := a.now.Sub(before); got != 90*time.Second || len(slept) != 1 {
		t.Errorf("the answer took %s, in %v", got, slept)
	}
}

func TestAWrongClockShowsInDatesAndTokens(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	token := a.token()
	a.Inject(azuresim.Fault{Kind: "GET *", Skew: 2 * time.Hour, Times: 1})
	resp, body := a.wireFrom("", "GET", "https://management.azure.test"+setPath+version, "", "Authorization", "Bearer "+token)
	if got := field(t, body, "error", "code"); got != "ExpiredAuthenticationToken" {
		t.Errorf("an hour's token two hours ahead: %v", got)
	}
	if got := resp.Header.Get("Date"); got != "Sat, 02 May 2026 00:00:00 GMT" {
		t.Errorf("date %s", got)
	}
}

func TestListsAreCutInEveryWay(t *testing.T) {
	all := []string{"0", "1", "2", "3", "4"}
	for name, tc := range map[string]struct {
		fault azuresim.Fault
		want  []string
	}{
		"not at all":            {azuresim.Fault{PageSize: 2}, all},
		"after the first page":  {azuresim.Fault{PageSize: 2, Pages: 1}, all[:2]},
		"after the second page": {azuresim.Fault{PageSize: 2, Pages: 2}, all[:4]},
		"after more than there": {azuresim.Fault{PageSize: 2, Pages: 9}, all},
		"two in the middle":     {azuresim.Fault{Hide: []string{"1", "3"}}, []string{"0", "2", "4"}},
		"the last two":          {azuresim.Fault{Omit: 2}, all[:3]},
		"everything":            {azuresim.Fault{Omit: -1}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(5)
			tc.fault.Kind = "LIST virtualMachineScaleSets/virtualMachines"
			a.Inject(tc.fault)
			if diff := cmp.Diff(tc.want, a.ids()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHeadersCanBeSetAndTakenAway(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	a.Inject(azuresim.Fault{Kind: "PATCH *", Header: []azuresim.Header{{Name: "Azure-AsyncOperation"}, {Name: "Retry-After", Value: "Fri, 01 May 2026 23:00:00 GMT"}}})
	resp, _ := a.wire("PATCH", setPath+version, `{"sku":{"capacity":2}}`)
	if _, there := resp.Header["Azure-Asyncoperation"]; there || !slices.Equal(resp.Header["Retry-After"], []string{"Fri, 01 May 2026 23:00:00 GMT"}) {
		t.Errorf("got %v", resp.Header)
	}
}

func TestADuplicatedWriteIsCarriedOutTwice(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	a.Inject(azuresim.Fault{Kind: "PATCH *", Duplicate: true, Times: 1})
	_, err := a.resize(4, to.Ptr(`"1"`))
	if got, status := code(err); got != "PreconditionFailed" || status != 412 {
		t.Errorf("the second one met the first one's work: %s %d %v", got, status, err)
	}
	if got := a.capacity(); got != 4 {
		t.Errorf("capacity %d, want 4", got)
	}
	if got := a.Counters()["PATCH virtualMachineScaleSets"]; got != 2 {
		t.Errorf("%d writes in the log, want 2", got)
	}
}
