package azure

import (
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
)

// FuzzGroups gives any text to --nodes and --node-group-auto-discovery.
func FuzzGroups(f *testing.F) {
	for _, seed := range []string{"1:5:agents", "0:0:a", ":", "1:5:", "-1:5:a", "9:1:a", "99999999999999999999:1:a", "label:a=b,min=c,max=d", "label:", "label:a", "label:=,=", "1:5:a:b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if g, err := ParseGroup(text); err == nil && (g.Name == "" || g.Min < 0 || g.Max < g.Min) {
			t.Errorf("%q is %+v", text, g)
		}
		if d, err := ParseDiscovery(text); err == nil && len(d.Tags) == 0 {
			t.Errorf("%q finds every scale set: %+v", text, d)
		}
	})
}

// FuzzRefusals reads any error body: a kind and a sentence come of it, and of a quota numbers that no growth can take for more than there is.
func FuzzRefusals(f *testing.F) {
	for _, seed := range []string{
		`{"error":{"code":"OperationNotAllowed","message":"Operation could not be completed as it results in exceeding approved standardDSv5Family Cores quota. Additional details - Deployment Model: Resource Manager, Location: westeurope, Current Limit: 100, Current Usage: 96, Additional Required: 8, (Minimum) New Limit Required: 104."}}`,
		`{"error":{"code":"QuotaExceeded","message":"exceeding approved X Cores quota. Additional details - Deployment Model: Resource Manager, Location: w, Current Limit: 9223372036854775807, Current Usage: 0, Additional Required: 1, (Minimum) New Limit Required: 1"}}`,
		`{"code":"OperationNotAllowed","message":"x","details":[{"code":"TooManyRequests","target":"HighCostGet30Min","message":"{}"}]}`,
		`{"status":"Failed","error":{"code":"ResourceOperationFailure","message":"x","details":[{"code":"VMExtensionProvisioningError"},{"code":"AllocationFailed","message":"z"}]}}`,
		`{"error":{"code":"AuthorizationFailed","message":"The client 'c' with object id 'o' does not have authorization to perform action 'Microsoft.Compute/virtualMachineScaleSets/read' over scope '/s'"}}`,
		`{"error":{"code":"LinkedAuthorizationFailed","message":"x"}}`, `{"error":null}`, `{"error":{"details":[{"details":[{}]}]}}`, `[]`, ``,
	} {
		for _, status := range []uint16{0, 200, 400, 403, 404, 409, 412, 429, 500} {
			f.Add(status, uint16(2), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, status, machines uint16, body []byte) {
		a := parseAnswer(body).specific(int(status))
		kind := kindOf(int(status), a)
		if kind == "" {
			t.Error("an answer of no kind")
		}
		about := subject{size: "Standard_D4s_v5", location: "westeurope", spot: len(body)%2 == 0}
		_ = a.place()
		_ = a.rights()
		_ = a.sentence(kind, about)
		fault := a.failure(time.Time{}, int(status), "Unnamed", about, int(machines))
		if fault.Kind == "" || fault.Code == "" {
			t.Errorf("a failure without kind or code: %+v", fault)
		}
		if q := fault.Quota; q != nil && (cloud.Kind(fault.Kind) != cloud.Quota || q.Left < -1 || q.Limit < 0 || q.Used < 0 || q.Needed < 0 || q.Left > q.Limit) {
			t.Errorf("a quota that cannot be: %+v", q)
		}
	})
}
