package azure

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
)

func TestKindsFollowStatusCodeAndText(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		body   string
		kind   cloud.Kind
		code   string
	}{
		"quota of all cores":                           {409, `{"error":{"code":"OperationNotAllowed","message":"Operation could not be completed as it results in exceeding approved Total Regional Cores quota."}}`, cloud.Quota, "OperationNotAllowed"},
		"quota in a preflight":                         {400, `{"error":{"code":"InvalidTemplateDeployment","message":"see details","details":[{"code":"QuotaExceeded","message":"no"}]}}`, cloud.Quota, "QuotaExceeded"},
		"another operation in the way":                 {409, `{"error":{"code":"OperationNotAllowed","message":"The operation is in conflict with another."}}`, cloud.Conflict, "OperationNotAllowed"},
		"a conflict":                                   {409, `{"error":{"code":"Conflict","message":"x"}}`, cloud.Conflict, "Conflict"},
		"an old entity tag":                            {412, `{"error":{"code":"PreconditionFailed","message":"x"}}`, cloud.Conflict, "PreconditionFailed"},
		"a stale instance id":                          {400, `{"error":{"code":"InvalidParameter","target":"instanceIds","message":"x"}}`, cloud.Conflict, "InvalidParameter"},
		"another wrong parameter":                      {400, `{"error":{"code":"InvalidParameter","target":"sku.capacity","message":"x"}}`, cloud.Invalid, "InvalidParameter"},
		"a size that is not sold":                      {409, `{"error":{"code":"SkuNotAvailable","message":"x"}}`, cloud.Unavailable, "SkuNotAvailable"},
		"an allocation that failed among other things": {0, `{"status":"Failed","error":{"code":"ResourceOperationFailure","message":"x","details":[{"code":"VMExtensionProvisioningError","message":"y"},{"code":"OverconstrainedZonalAllocationRequest","message":"z","target":"11"}]}}`, cloud.Allocation, "OverconstrainedZonalAllocationRequest"},
		"a machine that did not start":                 {0, `{"status":"Failed","error":{"code":"ResourceOperationFailure","message":"x","details":[{"code":"OSProvisioningTimedOut","message":"y"}]}}`, cloud.Provisioning, "OSProvisioningTimedOut"},
		"a full subnet":                                {0, `{"error":{"code":"SubnetIsFull","message":"x"}}`, cloud.Network, "SubnetIsFull"},
		"throttling without envelope":                  {429, `{"code":"OperationNotAllowed","message":"x","details":[{"code":"TooManyRequests","target":"HighCostGet30Min","message":"{}"}]}`, cloud.Throttled, "TooManyRequests"},
		"throttling at the front door":                 {429, `{"error":{"code":"SubscriptionRequestsThrottled","message":"x"}}`, cloud.Throttled, "SubscriptionRequestsThrottled"},
		"no right":                                     {403, `{"error":{"code":"AuthorizationFailed","message":"x"}}`, cloud.Unauthorized, "AuthorizationFailed"},
		"no right to join a subnet":                    {403, `{"error":{"code":"LinkedAuthorizationFailed","message":"x"}}`, cloud.Unauthorized, "LinkedAuthorizationFailed"},
		"a lock":                                       {409, `{"error":{"code":"ScopeLocked","message":"x"}}`, cloud.Denied, "ScopeLocked"},
		"a provider not registered":                    {409, `{"error":{"code":"MissingSubscriptionRegistration","message":"x"}}`, cloud.Invalid, "MissingSubscriptionRegistration"},
		"nothing there":                                {404, `{"error":{"code":"ResourceNotFound","message":"x"}}`, cloud.NotFound, "ResourceNotFound"},
		"too slow":                                     {408, `{"error":{"code":"RequestTimeout","message":"x"}}`, cloud.Transient, "RequestTimeout"},
		"a failing service":                            {503, `<html>`, cloud.Transient, ""},
		"our defect":                                   {400, `{"error":{"code":"InvalidRequestContent","message":"x"}}`, cloud.Invalid, "InvalidRequestContent"},
	} {
		t.Run(name, func(t *testing.T) {
			a := parseAnswer([]byte(tc.body)).specific(tc.status)
			if got := kindOf(tc.status, a); got != tc.kind || a.Code != tc.code {
				t.Errorf("kind %q, code %q, want %q, %q", got, a.Code, tc.kind, tc.code)
			}
		})
	}
}

func TestRetryAfterIsReadInAllItsForms(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		header, value string
		want          time.Duration
	}{
		"seconds":         {"Retry-After", "1200", 20 * time.Minute},
		"milliseconds":    {"x-ms-retry-after-ms", "1500", 1500 * time.Millisecond},
		"a date":          {"Retry-After", now.Add(90 * time.Second).Format(http.TimeFormat), 90 * time.Second},
		"a date gone by":  {"Retry-After", now.Add(-time.Minute).Format(http.TimeFormat), 7 * time.Second},
		"nothing":         {"X", "", 7 * time.Second},
		"not even a time": {"Retry-After", "soon", 7 * time.Second},
	} {
		resp := &http.Response{Header: http.Header{}}
		resp.Header.Set(tc.header, tc.value)
		if got := retryAfter(resp, now, 7*time.Second); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestRightsThatAreMissingElsewhereAreNamedOneByOne(t *testing.T) {
	const text = "The client 'c' with object id 'o' has permission to perform action 'P' on scope 'S'; however, it does not have permission to perform action(s) %s on the linked scope(s) %s (respectively) or the linked scope(s) are invalid."
	const remedy = ": give it sluice's role (deploy/azure-role.json), or another one with that action, at that scope"
	for name, tc := range map[string]struct{ text, want string }{
		"one":                  {fmt.Sprintf(text, "'join'", "'/subnet'"), "the identity may not perform join over /subnet" + remedy},
		"two":                  {fmt.Sprintf(text, "'join','assign'", "'/subnet','/identity'"), "the identity may not perform join over /subnet and assign over /identity" + remedy},
		"two for one resource": {fmt.Sprintf(text, "'read','join'", "'/subnet'"), "the identity may not perform read and join over /subnet" + remedy},
		"of availability sets": {fmt.Sprintf(text, "'Microsoft.Resources/deployments/write'", "'/group'"), "the identity may not perform Microsoft.Resources/deployments/write over /group" +
			strings.Replace(remedy, "azure-role", "azure-role-availability-sets", 1)},
		"in other words": {"You may not.", "You may not"},
	} {
		if got := (answer{Code: "LinkedAuthorizationFailed", Message: tc.text}).sentence(cloud.Unauthorized, subject{}); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestAFailureWithoutACodeGetsOne(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	if f := (answer{Message: "x"}).failure(at, 0, "OperationFailed", subject{}, 0); f.Code != "OperationFailed" {
		t.Errorf("code %q, want OperationFailed", f.Code)
	}
	if f := (answer{Code: "AllocationFailed"}).failure(at, 0, "OperationFailed", subject{}, 0); f.Code != "AllocationFailed" {
		t.Errorf("code %q, want Azure's own", f.Code)
	}
	refused := &azcore.ResponseError{StatusCode: http.StatusServiceUnavailable}
	e := (&client{options: Options{Now: time.Now}, about: new(state).subject}).wrap("agents", "read agents", refused)
	if e.Code != "Status503" || e.Message != "read agents: Azure answered 503 Service Unavailable" {
		t.Errorf("%s: %s, want the status for a code", e.Code, e.Message)
	}
}

func TestAQuotaSaysHowManyMachinesItLeaves(t *testing.T) {
	const text = "Operation could not be completed as it results in exceeding approved %s quota. Additional details - Deployment Model: Resource Manager, Location: westeurope, Current Limit: %d, Current Usage: %d, Additional Required: %d, (Minimum) New Limit Required: 12."
	for name, tc := range map[string]struct {
		text     string
		machines int
		want     *cluster.Quota
	}{
		"some":             {fmt.Sprintf(text, "standardDSv5Family Cores", 20, 8, 20), 5, &cluster.Quota{Name: "standardDSv5Family Cores", Limit: 20, Used: 8, Needed: 20, Left: 3}},
		"none":             {fmt.Sprintf(text, "Total Regional Cores", 10, 8, 4), 1, &cluster.Quota{Name: "Total Regional Cores", Limit: 10, Used: 8, Needed: 4, Left: 0}},
		"an overdrawn one": {fmt.Sprintf(text, "LowPriorityCores", 10, 18, 4), 1, &cluster.Quota{Name: "LowPriorityCores", Limit: 10, Used: 18, Needed: 4, Left: 0}},
		"unknown machines": {fmt.Sprintf(text, "Total Regional Cores", 10, 8, 4), 0, &cluster.Quota{Name: "Total Regional Cores", Limit: 10, Used: 8, Needed: 4, Left: -1}},
		"no numbers":       {"Operation results in exceeding quota limits of Core.", 1, nil},
		"absurd numbers":   {"exceeding approved X quota. Location: x, Current Limit: 99999999999999999999, Current Usage: 8, Additional Required: 4,", 1, nil},
		"no location":      {"exceeding approved X Cores quota. Current Limit: 10, Current Usage: 2, Additional Required: 16", 4, &cluster.Quota{Name: "X Cores", Limit: 10, Used: 2, Needed: 16, Left: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, answer{Message: tc.text}.quota(tc.machines)); d != "" {
				t.Errorf("quota (-want +got):\n%s", d)
			}
		})
	}
}

func TestAnAllocationFailureNamesSizeAndZone(t *testing.T) {
	about := subject{size: "Standard_NC4as_T4_v3", location: "westeurope", zones: []string{"1", "2"}, spot: true}
	got := answer{Code: "ZonalAllocationFailed", Message: "Allocation failed. We do not have sufficient capacity."}.sentence(cloud.Allocation, about)
	want := "Azure has no spot Standard_NC4as_T4_v3 in westeurope, zone 1 or 2, to give now: let another size, zone or region help out (Allocation failed)"
	if got != want {
		t.Errorf("says %q, want %q", got, want)
	}
}
