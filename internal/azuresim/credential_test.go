package azuresim_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"

	"sluice.dev/sluice/internal/azuresim"
)

// keyPair is a certificate with its key; two are made, once.
type keyPair struct {
	key  *rsa.PrivateKey
	cert *x509.Certificate
}

var keyPairs = sync.OnceValue(func() [2]keyPair {
	var pairs [2]keyPair
	for n := range pairs {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(n + 1)), Subject: pkix.Name{CommonName: "sluice"}, NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
		if err != nil {
			panic(err)
		}
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			panic(err)
		}
		pairs[n] = keyPair{key, cert}
	}
	return pairs
})

// sign makes an RS256 token.
func (p keyPair) sign(header, claims map[string]any) string {
	header["alg"], header["typ"] = "RS256", "JWT"
	enc := base64.RawURLEncoding
	h, _ := json.Marshal(header)
	c, _ := json.Marshal(claims)
	signed := enc.EncodeToString(h) + "." + enc.EncodeToString(c)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, p.key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return signed + "." + enc.EncodeToString(signature)
}

func (p keyPair) name() map[string]any {
	sum := sha256.Sum256(p.cert.Raw)
	return map[string]any{"x5t#S256": base64.RawURLEncoding.EncodeToString(sum[:])}
}

// asserting signs in with an assertion and returns the answer.
func (a *azure) asserting(client, assertion string) string {
	a.t.Helper()
	form := url.Values{
		"grant_type": {"client_credentials"}, "scope": {"https://management.azure.test/.default"}, "client_id": {client},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}, "client_assertion": {assertion},
	}
	_, body := a.wireFrom("", "POST", "https://login.azure.test/"+tenant+"/oauth2/v2.0/token", form.Encode())
	return body
}

func TestAnAssertionMustBeSignedByARegisteredCertificate(t *testing.T) {
	pairs := keyPairs()
	ours, theirs := pairs[0], pairs[1]
	for name, tc := range map[string]struct {
		signer keyPair
		header map[string]any
		claims map[string]any // over the good ones
		want   string
	}{
		"as it should be":           {ours, ours.name(), nil, "access_token"},
		"with its chain":            {ours, map[string]any{"x5t#S256": ours.name()["x5t#S256"], "x5c": []string{base64.StdEncoding.EncodeToString(ours.cert.Raw)}}, nil, "access_token"},
		"with a chain of others":    {ours, map[string]any{"x5t#S256": ours.name()["x5t#S256"], "x5c": []string{base64.StdEncoding.EncodeToString(theirs.cert.Raw)}}, nil, "AADSTS700027"},
		"by an unknown certificate": {theirs, theirs.name(), nil, "The key was not found"},
		"by another key":            {theirs, ours.name(), nil, "failed signature validation"},
		"expired":                   {ours, ours.name(), map[string]any{"exp": 1}, "AADSTS700024"},
		"for another authority":     {ours, ours.name(), map[string]any{"aud": "https://login.elsewhere.test/x"}, "AADSTS700023"},
		"for another application":   {ours, ours.name(), map[string]any{"sub": "x"}, "AADSTS700021"},
		"without an id":             {ours, ours.name(), map[string]any{"jti": ""}, "'jti'"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.must(a.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: tenant, ClientID: "app", Certificates: []*x509.Certificate{ours.cert}}))
			claims := map[string]any{
				"iss": "app", "sub": "app", "jti": "1", "nbf": a.now.Unix(), "exp": a.now.Add(time.Minute).Unix(),
				"aud": "https://login.azure.test/" + tenant + "/oauth2/v2.0/token",
			}
			for k, v := range tc.claims {
				claims[k] = v
			}
			if body := a.asserting("app", tc.signer.sign(tc.header, claims)); !strings.Contains(body, tc.want) {
				t.Errorf("got %s, want %s", body, tc.want)
			}
		})
	}
}

func TestAFederatedTokenMustMatchItsCredential(t *testing.T) {
	pairs := keyPairs()
	const issuer, subject = "https://issuer.farm.test", "system:serviceaccount:kube-system:sluice"
	for name, tc := range map[string]struct {
		signer keyPair
		claims map[string]any
		want   string
	}{
		"as it should be":         {pairs[0], nil, "access_token"},
		"one audience of several": {pairs[0], map[string]any{"aud": []string{"x", "api://AzureADTokenExchange"}}, "access_token"},
		"another issuer":          {pairs[0], map[string]any{"iss": issuer + "/"}, "AADSTS700211"},
		"another service account": {pairs[0], map[string]any{"sub": "system:serviceaccount:default:x"}, "AADSTS700213"},
		"another audience":        {pairs[0], map[string]any{"aud": "kubernetes"}, "AADSTS700212"},
		"expired":                 {pairs[0], map[string]any{"exp": 1}, "AADSTS700024"},
		"by another key":          {pairs[1], nil, "could not be verified"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.must(a.AddIdentity(azuresim.Identity{ID: identityID + "w", TenantID: tenant, ClientID: "workload", Credentials: []azuresim.FederatedCredential{
				{Issuer: "https://other.test", Subject: subject}, {Issuer: issuer, Subject: subject, Key: &pairs[0].key.PublicKey},
			}}))
			claims := map[string]any{"iss": issuer, "sub": subject, "aud": "api://AzureADTokenExchange", "exp": a.now.Add(time.Hour).Unix()}
			for k, v := range tc.claims {
				claims[k] = v
			}
			if body := a.asserting("workload", tc.signer.sign(map[string]any{}, claims)); !strings.Contains(body, tc.want) {
				t.Errorf("got %s, want %s", body, tc.want)
			}
		})
	}
}

func TestEveryKindOfApplicationCredentialWorksThroughTheSDK(t *testing.T) {
	pair := keyPairs()[0]
	for name, open := range map[string]func(a *azure, options azcore.ClientOptions) (azcore.TokenCredential, error){
		"certificate": func(_ *azure, o azcore.ClientOptions) (azcore.TokenCredential, error) {
			return azidentity.NewClientCertificateCredential(tenant, "app", []*x509.Certificate{pair.cert}, pair.key,
				&azidentity.ClientCertificateCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: true, SendCertificateChain: true})
		},
		"certificate of ADFS": func(_ *azure, o azcore.ClientOptions) (azcore.TokenCredential, error) {
			return azidentity.NewClientCertificateCredential("adfs", "app", []*x509.Certificate{pair.cert}, pair.key,
				&azidentity.ClientCertificateCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: true})
		},
		"secret of ADFS": func(_ *azure, o azcore.ClientOptions) (azcore.TokenCredential, error) {
			return azidentity.NewClientSecretCredential("adfs", "app", "s", &azidentity.ClientSecretCredentialOptions{ClientOptions: o, DisableInstanceDiscovery: true})
		},
		"workload identity": func(a *azure, o azcore.ClientOptions) (azcore.TokenCredential, error) {
			file := filepath.Join(a.t.TempDir(), "token")
			a.must(os.WriteFile(file, []byte(pair.sign(map[string]any{}, map[string]any{
				"iss": "https://issuer.test", "sub": "s", "aud": "api://AzureADTokenExchange", "exp": time.Now().Add(time.Hour).Unix()})), 0o600))
			return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
				ClientOptions: o, TenantID: tenant, ClientID: "app", TokenFilePath: file, DisableInstanceDiscovery: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.now = time.Now() // assertions are signed by the SDK's clock
			a.agents(1)
			a.must(a.AddServicePrincipal(azuresim.ServicePrincipal{
				TenantID: tenant, ClientID: "app", Secret: "s", Certificates: []*x509.Certificate{pair.cert},
				Credentials: []azuresim.FederatedCredential{{Issuer: "https://issuer.test", Subject: "s"}},
			}))
			cred, err := open(a, a.options.ClientOptions)
			a.must(err)
			sets, err := armcompute.NewVirtualMachineScaleSetsClient(subscription, cred, a.options)
			a.must(err)
			a.must2(sets.Get(context.Background(), group, "agents", nil))
		})
	}
}

func TestTheCloudDescribesItself(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) {
		s.CloudName, s.ADFS, s.Audiences = "AzureStackCloud", true, []string{"https://management.farm.onmicrosoft.test/guid"}
	})
	for v, want := range map[string]string{
		"2015-01-01": `{"authentication":{"audiences":["https://management.farm.onmicrosoft.test/guid"],"identityProvider":"ADFS","loginEndpoint":"https://arm.test/adfs"`,
		"2019-05-01": `[{`,
		"2022-09-01": `"name":"AzureStackCloud"`,
	} {
		_, body := a.wireFrom("", "GET", "https://arm.test/metadata/endpoints?api-version="+v, "")
		if !strings.Contains(body, want) {
			t.Errorf("%s: %s", v, body)
		}
	}
	_, body := a.wireFrom("", "GET", "https://arm.test/common/discovery/instance?api-version=1.1", "")
	if got := field(t, body, "tenant_discovery_endpoint"); got != "https://arm.test/common/v2.0/.well-known/openid-configuration" {
		t.Errorf("instance discovery: %s", body)
	}
	_, body = a.wireFrom("", "POST", "https://arm.test/"+tenant+"/oauth2/token", "grant_type=client_credentials&resource=r&client_secret=s3cret&client_id="+clientID)
	if got := field(t, body, "expires_in"); got != "3599" {
		t.Errorf("a version 1 token's numbers are strings: %s", body)
	}
}

func TestATokenForAnotherServiceOrTenantIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		audience, tenant string
		code             string
	}{
		"its own address":    {"https://management.azure.test/", tenant, ""},
		"the public cloud":   {"https://management.core.windows.net/", tenant, ""},
		"another service":    {"https://vault.azure.net", tenant, "InvalidAuthenticationTokenAudience"},
		"of another tenant":  {"https://management.azure.test", "t2", "InvalidAuthenticationTokenTenant"},
		"a similar audience": {"https://management.azure.test.evil", tenant, "InvalidAuthenticationTokenAudience"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t, func(s *azuresim.Server) { s.TenantID = tenant })
			a.agents(1)
			a.must(a.AddServicePrincipal(azuresim.ServicePrincipal{TenantID: tc.tenant, ClientID: "app", Secret: "s"}))
			_, body := a.wireFrom("", "POST", "https://login.azure.test/"+tc.tenant+"/oauth2/v2.0/token",
				"grant_type=client_credentials&client_id=app&client_secret=s&scope="+tc.audience+"/.default")
			bearer, _ := field(t, body, "access_token").(string)
			resp, body := a.wireFrom("", "GET", "https://management.azure.test"+setPath+version, "", "Authorization", "Bearer "+bearer)
			if got := resp.Header.Get("X-Ms-Error-Code"); got != tc.code || tc.code == "" && resp.StatusCode != http.StatusOK {
				t.Errorf("got %q, want %q: %s", got, tc.code, body)
			}
		})
	}
}
