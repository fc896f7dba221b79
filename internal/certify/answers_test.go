package certify_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/certify"
)

// between is what stands between a run and its Azure.
type between = func(*http.Request, http.RoundTripper) (*http.Response, error)

// answer puts other words into the answers to a method whose path has all of some words.
func answer(method, words, old, other string) between {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil || !about(r, method, words) {
			return resp, err
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(raw, []byte(old), []byte(other)))), -1
		return resp, err
	}
}

// header sets a header of the answers to reads whose path has all of some words; "" takes it away.
func header(words, name, value string) between {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && about(r, http.MethodGet, words) && resp.Header.Get(name) != "" {
			resp.Header.Del(name)
			if value != "" {
				resp.Header.Set(name, value)
			}
		}
		return resp, err
	}
}

// instead answers requests whose path has all of some words without asking Azure.
func instead(method, words string, status int, body string) between {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if !about(r, method, words) {
			return next.RoundTrip(r)
		}
		return &http.Response{
			StatusCode: status, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		}, nil
	}
}

// withoutDeleting leaves machines that are being deleted out of the list of the uniform set.
func withoutDeleting(r *http.Request, next http.RoundTripper) (*http.Response, error) {
	resp, err := next.RoundTrip(r)
	if err != nil || !about(r, http.MethodGet, "/uniform/virtualMachines?") {
		return resp, err
	}
	var list struct {
		Value []map[string]any `json:"value"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil {
		return nil, err
	}
	list.Value = slices.DeleteFunc(list.Value, func(m map[string]any) bool {
		return m["properties"].(map[string]any)["provisioningState"] == "Deleting"
	})
	raw, err := json.Marshal(list)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(raw)), -1
	return resp, err
}

func about(r *http.Request, method, words string) bool {
	all := strings.Fields(words)
	return r.Method == method && !slices.ContainsFunc(all, func(word string) bool { return !strings.Contains(r.URL.RequestURI(), word) })
}

// after is something between from the first request on whose path has a word.
func after(word string, what between) between {
	began := false
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if began {
			return what(r, next)
		}
		began = strings.Contains(r.URL.Path, word)
		return next.RoundTrip(r)
	}
}

// TestAnotherAnswerIsADifference has Azure answer otherwise in one thing at a time, and wants its probe, and no other, to differ.
func TestAnotherAnswerIsADifference(t *testing.T) {
	const notFound = `{"error":{"code":"ResourceNotFound","message":"no"}}`
	for probe, tc := range map[string]between{
		"refusals-bear-a-code":                   header("absent", "X-Ms-Error-Code", "NotFound"),
		"absent-group-is-named":                  answer("GET", "-absent/", "ResourceGroupNotFound", "ResourceNotFound"),
		"usages-tell-quotas":                     answer("GET", "usages", `"value":"cores"`, `"value":"vCPUs"`),
		"answers-tell-what-is-left":              header("virtualMachineScaleSets", "X-Ms-Ratelimit-Remaining-Subscription-Reads", ""),
		"compute-tells-what-is-left":             header("virtualMachineScaleSets", "X-Ms-Ratelimit-Remaining-Resource", "12"),
		"unknown-operation-is-not-found":         instead("GET", "operations/00000000", 200, `{"status":"Succeeded"}`),
		"availability-set-has-no-capacity":       answer("GET", "availabilitySets", `"id":`, `"etag":"1","id":`),
		"autoscale-settings-are-listed":          instead("GET", "autoscalesettings", 404, notFound),
		"entity-tag-in-body":                     answer("GET", "virtualMachineScaleSets?", `"etag":`, `"eTag":`),
		"custom-data-stays-hidden":               answer("GET", "/uniform?", `"osProfile":{`, `"osProfile":{"customData":"eA==",`),
		"names-in-any-case":                      instead("GET", "/UNIFORM?", 404, notFound),
		"growth-is-an-operation":                 answer("GET", "operations/", "InProgress", "Running"),
		"growing-set-is-busy":                    answer("GET", "/uniform?", `"Updating"`, `"Succeeded"`),
		"machine-is-named-by-its-id":             answer("GET", "/uniform/virtualMachines", `"computerName":"certify0`, `"computerName":"certify-`),
		"deleted-machine-is-shown-leaving":       withoutDeleting,
		"new-model-reaches-new-machines":         answer("GET", "/uniform/virtualMachines", `"latestModelApplied":false`, `"latestModelApplied":true`),
		"started-machine-is-the-same":            after("/start", answer("GET", "/uniform/virtualMachines", `"vmId":"`, `"vmId":"0`)),
		"flexible-instances-tell-no-states":      instead("GET", "/flexible/virtualMachines", 400, `{"error":{"code":"BadRequest"}}`),
		"flexible-machines-are-listed-by-filter": answer("GET", "virtualMachines? filter=", "PowerState/", "Power/"),
	} {
		t.Run(probe, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.between, w.quiet = tc, true
			record, left := w.run(t.Context())
			if left != nil {
				t.Errorf("left: %+v", left)
			}
			for _, r := range record.Results {
				if differs := r.Verdict == certify.Differs; differs != (r.Name == probe) {
					t.Errorf("%s %s: %s", r.Name, r.Verdict, r.Sentence)
				}
			}
		})
	}
}
