package azure

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// Answer is what came back of a request, as it was on the wire. A refusal is one, too.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte

	response *http.Response // with a body that can be read again
}

// Exchange makes one request, and returns the answer that came. The path may be a link that an answer named. Nothing holds the request back and
// nothing repeats it: the caller obeys Retry-After. An error means that there was no answer.
func (r *Resources) Exchange(ctx context.Context, method, path, version string, header http.Header, body any) (*Answer, error) {
	address := path
	if !strings.HasPrefix(strings.ToLower(path), strings.ToLower(r.rm.endpoint)+"/") {
		if !strings.HasPrefix(path, "/") {
			return nil, r.client.wrap("", "ask Azure", fmt.Errorf("an answer of Azure links away from it, and is not followed"))
		}
		address = r.rm.endpoint + path
	}
	req, err := runtime.NewRequest(ctx, method, address)
	if err != nil {
		return nil, r.client.wrap("", method+" "+path, err)
	}
	if query := req.Raw().URL.Query(); version != "" {
		query.Set("api-version", version)
		req.Raw().URL.RawQuery = query.Encode()
	}
	for name, values := range header {
		req.Raw().Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Raw().Header.Set("Accept", "application/json")
	if body != nil {
		if err := runtime.MarshalAsJSON(req, body); err != nil {
			return nil, r.client.wrap("", method+" "+path, err)
		}
	}
	resp, err := r.bare.Do(req) //nolint:bodyclose // Payload reads and closes it
	if err != nil {
		return nil, r.client.wrap("", method+" "+path, err)
	}
	raw, err := runtime.Payload(resp)
	if err != nil {
		return nil, r.client.wrap("", method+" "+path, err)
	}
	return &Answer{resp.StatusCode, resp.Header, raw, resp}, nil
}

// Refusal is the error of an answer that refuses, in the words of everything else here; nil for any other answer.
func (r *Resources) Refusal(doing string, a *Answer) error {
	if a.Status < http.StatusBadRequest {
		return nil
	}
	return r.client.wrap("", doing, runtime.NewResponseError(a.response))
}

// BootLog is the end of a machine's serial console log. The machine is named by its path.
func (r *Resources) BootLog(ctx context.Context, machine string) ([]byte, error) {
	var at struct {
		Log string `json:"serialConsoleLogBlobUri"`
	}
	query := fmt.Sprintf("%s/retrieveBootDiagnosticsData?sasUriExpirationTimeInMinutes=%d", machine, consoleMinutes)
	if err := r.Post(ctx, query, bootLogVersion, nil, &at); err != nil {
		return nil, err
	}
	if at.Log == "" {
		return nil, &blobError{"Azure has no boot log of it: " + switchOn}
	}
	return r.client.options.blobTail(ctx, at.Log)
}

const bootLogVersion = "2024-07-01"
