package app

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"sluice.dev/sluice/internal/doctor"
)

// TestASignInThatIsThrottledIsNotRefused holds apart what mends by itself and what somebody has to correct.
func TestASignInThatIsThrottledIsNotRefused(t *testing.T) {
	for status, want := range map[int]doctor.FailureKind{
		http.StatusTooManyRequests:    doctor.Throttled,
		http.StatusServiceUnavailable: doctor.Failing,
		http.StatusUnauthorized:       doctor.Refused,
		http.StatusBadRequest:         doctor.Refused,
	} {
		err := fmt.Errorf("get a token: %w", &azidentity.AuthenticationFailedError{RawResponse: &http.Response{StatusCode: status}})
		if got := kindOf(err); got != want {
			t.Errorf("%d: %s, want %s", status, got, want)
		}
	}
}
