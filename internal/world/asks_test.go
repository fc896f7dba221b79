package world

import (
	"net/http/httptest"
	"testing"
)

// TestAQuestionIsNoWrite holds what sluice is killed after, and what waits for a slow API server: writes, and not each POST.
func TestAQuestionIsNoWrite(t *testing.T) {
	for _, c := range []struct {
		method, path string
		asks         bool
	}{
		{"GET", "/api/v1/nodes", true},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true},
		{"POST", "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/a/virtualMachines/0/retrieveBootDiagnosticsData", true},
		{"POST", "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/a/delete", false},
		{"PATCH", "/api/v1/nodes/a", false},
		{"DELETE", "/api/v1/nodes/a", false},
	} {
		if got := asks(httptest.NewRequest(c.method, c.path, nil)); got != c.asks {
			t.Errorf("%s %s: asks %t, want %t", c.method, c.path, got, c.asks)
		}
	}
}
