package azure

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// TestASignInThatIsThrottledIsNotRefused holds apart what mends by itself and what somebody has to correct.
func TestASignInThatIsThrottledIsNotRefused(t *testing.T) {
	for status, want := range map[int]int{
		http.StatusTooManyRequests: http.StatusTooManyRequests, http.StatusServiceUnavailable: http.StatusServiceUnavailable,
		http.StatusUnauthorized: 0, http.StatusBadRequest: 0,
	} {
		err := fmt.Errorf("get a token: %w", &azidentity.AuthenticationFailedError{RawResponse: &http.Response{StatusCode: status}})
		if got := Status(err); got != want {
			t.Errorf("%d: %d, want %d", status, got, want)
		}
	}
}
