package imds_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"sluice.dev/sluice/internal/imds"
)

func TestTokensComeFromThePlatformsEndpoint(t *testing.T) {
	for name, tc := range map[string]struct {
		who  imds.Selector
		want string
	}{
		"the machine's own":      {imds.Selector{}, "api-version=2019-08-01&resource=https%3A%2F%2Farm.test"},
		"one by its client id":   {imds.Selector{ClientID: "c"}, "api-version=2019-08-01&client_id=c&resource=https%3A%2F%2Farm.test"},
		"one by its resource id": {imds.Selector{ResourceID: "/r"}, "api-version=2019-08-01&mi_res_id=%2Fr&resource=https%3A%2F%2Farm.test"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Identity-Header") != "pass" || r.Header.Get("Metadata") != "" || r.URL.Path != "/msi/token" {
					t.Errorf("%s with header %v", r.URL, r.Header)
				}
				if r.URL.RawQuery != tc.want {
					t.Errorf("query %s, want %s", r.URL.RawQuery, tc.want)
				}
				fmt.Fprintf(w, `{"access_token":"t","client_id":"c","expires_on":"%d","resource":"x","token_type":"Bearer"}`, time.Now().Add(time.Hour).Unix())
			}))
			defer s.Close()
			c := &imds.Client{IdentityEndpoint: s.URL + "/msi/token", IdentityHeader: "pass"}
			got, err := c.Token(context.Background(), "https://arm.test", tc.who)
			if err != nil || got.Value != "t" || got.ClientID != "c" || got.Life < 59*time.Minute || got.Life > time.Hour {
				t.Errorf("token %+v, %v", got, err)
			}
		})
	}
}
