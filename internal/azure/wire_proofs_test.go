package azure_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"sluice.dev/sluice/internal/azuresim"
)

func certificates(c *x509.Certificate) []*x509.Certificate { return []*x509.Certificate{c} }

// inPKCS12 is the certificate in testdata/sluice.p12, which holds a self-signed one of a hundred years that opens nothing anywhere.
func inPKCS12(t *testing.T) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile("testdata/sluice.p12")
	if err != nil {
		t.Fatal(err)
	}
	chain, _, err := azidentity.ParseCertificates(data, []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	return chain[0]
}

// accountToken is a token as the API server projects it into a pod. Nobody looks at its signature.
func accountToken(c azuresim.FederatedCredential) []byte {
	payload, err := json.Marshal(map[string]any{
		"iss": c.Issuer, "sub": c.Subject, "aud": []string{"api://AzureADTokenExchange"},
		"nbf": time.Now().Add(-time.Minute).Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	})
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	encode := base64.RawURLEncoding.EncodeToString
	return []byte(encode([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + encode(payload) + "." + encode([]byte("signature")) + "\n")
}

// own sends a request as the owner of the subscription, who is not sluice, over the same wire.
func (w *wired) own(method, path, body string) {
	w.t.Helper()
	client := w.arm.Client()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {"owner"}, "client_secret": {"owner"}, "scope": {w.arm.URL + "/.default"}}
	resp, err := client.PostForm(w.arm.URL+"/"+wireTenant+"/oauth2/v2.0/token", form)
	w.must(err)
	var token struct {
		Value string `json:"access_token"`
	}
	w.must(json.NewDecoder(resp.Body).Decode(&token))
	w.must(resp.Body.Close())
	req, err := http.NewRequest(method, w.arm.URL+path+"?api-version=2024-11-01", strings.NewReader(body))
	w.must(err)
	req.Header.Set("Authorization", "Bearer "+token.Value)
	req.Header.Set("Content-Type", "application/json")
	resp, err = client.Do(req)
	w.must(err)
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		answer, err := io.ReadAll(resp.Body)
		w.must(err)
		w.must(fmt.Errorf("%s %s: %s %s", method, path, resp.Status, answer))
	}
}
