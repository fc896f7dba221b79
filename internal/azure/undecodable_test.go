package azure_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/internal/imds"
)

func TestWhatTheSDKCannotDecodeIsSaidInWords(t *testing.T) {
	for body, want := range map[string]string{
		`{"value":[{"sku":{"capacity":"three"}}]}`: "field Value.SKU.Capacity holds a string",
		`{"value":{}}`:               "field Value holds an object",
		`{"value":[{"tags":[]}]}`:    "field Value.Tags holds an array",
		`{"nextLink":true}`:          "field NextLink holds a truth value",
		`<html><body>Sign in</body>`: "it is a page (HTML) and not JSON",
		`{"value":[`:                 "it breaks off",
		`{"value":[]]`:               "it is not what Azure documents",
	} {
		var list armcompute.VirtualMachineScaleSetListResult
		err := runtime.UnmarshalAsJSON(&http.Response{Body: io.NopCloser(strings.NewReader(body))}, &list)
		if err == nil {
			t.Errorf("%s can be decoded", body)
			continue
		}
		if got := imds.Undecodable(err); got != want {
			t.Errorf("%s: %q, want %q (%v)", body, got, want, err)
		}
	}
	var page struct {
		Next string `json:"nextLink"`
	}
	err := runtime.UnmarshalAsJSON(&http.Response{Body: io.NopCloser(strings.NewReader(`{"nextLink":3}`))}, &page)
	if got := imds.Undecodable(err); got != "field nextLink holds a number" {
		t.Errorf("%q (%v)", got, err)
	}
	if got := imds.Undecodable(io.EOF); got != "" {
		t.Errorf("of another error it says %q", got)
	}
}
