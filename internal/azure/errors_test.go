package azure

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"sluice.dev/sluice/cloud"
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
		"a size that is not sold":                      {409, `{"error":{"code":"SkuNotAvailable","message":"x"}}`, cloud.Allocation, "SkuNotAvailable"},
		"an allocation that failed among other things": {0, `{"status":"Failed","error":{"code":"ResourceOperationFailure","message":"x","details":[{"code":"VMExtensionProvisioningError","message":"y"},{"code":"OverconstrainedZonalAllocationRequest","message":"z","target":"11"}]}}`, cloud.Allocation, "OverconstrainedZonalAllocationRequest"},
		"a machine that did not start":                 {0, `{"status":"Failed","error":{"code":"ResourceOperationFailure","message":"x","details":[{"code":"OSProvisioningTimedOut","message":"y"}]}}`, cloud.Transient, "OSProvisioningTimedOut"},
		"a full subnet":                                {0, `{"error":{"code":"SubnetIsFull","message":"x"}}`, cloud.Allocation, "SubnetIsFull"},
		"throttling without envelope":                  {429, `{"code":"OperationNotAllowed","message":"x","details":[{"code":"TooManyRequests","target":"HighCostGet30Min","message":"{}"}]}`, cloud.Throttled, "TooManyRequests"},
		"throttling at the front door":                 {429, `{"error":{"code":"SubscriptionRequestsThrottled","message":"x"}}`, cloud.Throttled, "SubscriptionRequestsThrottled"},
		"no right":                                     {403, `{"error":{"code":"AuthorizationFailed","message":"x"}}`, cloud.Unauthorized, "AuthorizationFailed"},
		"no right to join a subnet":                    {403, `{"error":{"code":"LinkedAuthorizationFailed","message":"x"}}`, cloud.Unauthorized, "LinkedAuthorizationFailed"},
		"a lock":                                       {409, `{"error":{"code":"ScopeLocked","message":"x"}}`, cloud.Unauthorized, "ScopeLocked"},
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

func TestClassesAreWhatAzureCounts(t *testing.T) {
	const sets = "https://management.azure.com/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets"
	for path, want := range map[string]string{
		"GET " + sets:                             "scale set lists of ",
		"GET " + sets + "/Agents":                 "scale set reads of agents",
		"PATCH " + sets + "/agents":               "scale set updates of agents",
		"GET " + sets + "/agents/virtualMachines": "machine lists of agents",
		"POST " + sets + "/agents/delete":         "machine deletes of agents",
		"GET https://management.azure.com/subscriptions/s/providers/Microsoft.Compute/locations/westeurope/operations/1": "operation reads of ",
	} {
		method, url, _ := strings.Cut(path, " ")
		req, err := http.NewRequest(method, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if class, set := classOf(req); class+" of "+set != want {
			t.Errorf("%s is %q of %q, want %q", path, class, set, want)
		}
	}
}

func TestAFailureWithoutACodeGetsOne(t *testing.T) {
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	if f := (answer{Message: "x"}).failure(at, 0, "OperationFailed"); f.Code != "OperationFailed" {
		t.Errorf("code %q, want OperationFailed", f.Code)
	}
	if f := (answer{Code: "AllocationFailed"}).failure(at, 0, "OperationFailed"); f.Code != "AllocationFailed" {
		t.Errorf("code %q, want Azure's own", f.Code)
	}
	refused := &azcore.ResponseError{StatusCode: http.StatusServiceUnavailable}
	e := (&Provider{options: Options{Now: time.Now}}).wrap("agents", "read agents", refused)
	if e.Code != "Status503" || e.Message != "read agents: Azure answered 503 Service Unavailable" {
		t.Errorf("%s: %s, want the status for a code", e.Code, e.Message)
	}
}
