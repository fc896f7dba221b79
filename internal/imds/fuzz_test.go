package imds_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"

	"sluice.dev/sluice/internal/imds"
)

// says answers every question with one status and one body.
type says struct {
	status int
	body   []byte
}

// RoundTrip implements [http.RoundTripper].
func (s says) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: s.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(s.body)), Request: r}, nil
}

// FuzzAnswers puts any answer to every question: each ends in a value or in an [imds.Error], and a token that is given can be used.
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"compute":{"name":"agents_1","vmId":"a","tagsList":[{"name":"a","value":"b"}]},"network":{"interface":[{"ipv4":{"ipAddress":[{"privateIpAddress":"10.0.0.4"}]}}]}}`,
		`{"Events":[{"EventId":"1","EventType":"Preempt","Resources":["agents_1"],"EventStatus":"Scheduled","NotBefore":"Mon, 02 Mar 2026 09:00:00 GMT","DurationInSeconds":-1}]}`,
		`{"access_token":"t","expires_in":"86399","expires_on":1}`, `{"access_token":"t","expires_in":99999999999999999999}`, `{"error":"invalid_request","error_description":"Identity not found"}`,
		`{"Events":[{"NotBefore":"soon"}]}`, `[]`, `null`, `{"compute":null,"network":{"interface":[null]}}`, "\xff",
	} {
		f.Add(uint16(200), []byte(seed))
		f.Add(uint16(400), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, status uint16, body []byte) {
		ctx := context.Background()
		c := imds.Client{Transport: says{int(status), body}}
		_, events := c.Events(ctx)
		token, refused := c.Token(ctx, "https://management.azure.com", imds.Selector{})
		if refused == nil && (token.Value == "" || token.Life <= 0) {
			t.Errorf("a token without value or life: %+v", token.Life)
		}
		faults := []error{events, refused, c.Agree(ctx, string(body))}
		if status < 500 && status != http.StatusGone && status != http.StatusTooManyRequests { // which are asked again after a while
			_, err := c.Instance(ctx)
			faults = append(faults, err)
		}
		for _, err := range faults {
			if e := new(imds.Error); err != nil && (!errors.As(err, &e) || e.Message == "") {
				t.Errorf("not an Error with a sentence: %v", err)
			}
		}
	})
}
