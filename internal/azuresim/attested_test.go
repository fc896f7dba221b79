package azuresim_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"sluice.dev/sluice/internal/azuresim"
)

func TestAnAttestedDocumentIsSignedByTheRoot(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	resp, body := a.wireFrom("agents_0", "GET", imds+"/attested/document?api-version=2018-10-01&nonce=1234567890", "", "Metadata", "true")
	if resp.StatusCode != http.StatusOK || field(t, body, "encoding") != "pkcs7" {
		t.Fatal(body)
	}
	der, err := base64.StdEncoding.DecodeString(field(t, body, "signature").(string))
	a.must(err)
	for _, part := range []string{`"nonce":"1234567890"`, `"vmId":"` + a.Machines()[0].VMID + `"`, `"expiresOn":"05/02/26 04:00:00 -0000"`} {
		if !bytes.Contains(der, []byte(part)) {
			t.Errorf("%s does not stand in it", part)
		}
	}
	between := a.between()
	signer, err := a.Attestor()
	a.must(err)
	ca := signer.CA
	changed := bytes.Replace(der, []byte("1234567890"), []byte("1234567891"), 1)
	for name, verify := range map[string]func([]byte, *x509.Certificate, []*x509.Certificate) error{"this test": verified, "openssl": verifiedByOpenSSL(t)} {
		if err := verify(der, ca, between); err != nil {
			t.Errorf("%s refuses it: %v", name, err)
		}
		if verify(changed, ca, between) == nil {
			t.Errorf("%s takes a changed document", name)
		}
		if name == "this test" && verify(der, ca, between[1:]) == nil {
			t.Error("a certificate between is not wanted")
		}
	}
}

// between fetches the certificates between signer and root as a verifier does: each is named by the one below it.
func (a *azure) between() (all []*x509.Certificate) {
	own, err := a.Server.Attestor()
	a.must(err)
	for c := own.Leaf; len(c.IssuingCertificateURL) == 2; {
		resp, err := a.Client("").Get(c.IssuingCertificateURL[0])
		a.must(err)
		body, err := io.ReadAll(resp.Body)
		a.must(err)
		a.must(resp.Body.Close())
		c, err = x509.ParseCertificate(body)
		a.must(err)
		all = append([]*x509.Certificate{c}, all...)
	}
	return all
}

// TestANonceHasUpTo32Characters holds the alphabets that are in use.
func TestANonceHasUpTo32Characters(t *testing.T) {
	a := newAzure(t)
	a.agents(1)
	for nonce, taken := range map[string]bool{
		"1234567890": true, "0123456789abcdef0123456789abcdef": true, "AbCdEfGhIjKlMnOpQrStUvWx+/AbCd==": true, "0123456789abcdef0123456789abcdef0": false, "a b": false,
	} {
		resp, body := a.wireFrom("agents_0", "GET", imds+"/attested/document?api-version=2021-02-01&nonce="+url.QueryEscape(nonce), "", "Metadata", "true")
		if (resp.StatusCode == http.StatusOK) != taken {
			t.Errorf("nonce %q: %d %s", nonce, resp.StatusCode, body)
		}
	}
	if body := a.attestedText("agents_0", ""); !strings.Contains(body, `"nonce":"20260502-040000"`) {
		t.Errorf("without a nonce it is %s", body)
	}
}

// attestedText is what stands in a machine's attested document.
func (a *azure) attestedText(vm, nonce string) string {
	a.t.Helper()
	_, body := a.wireFrom(vm, "GET", imds+"/attested/document?api-version=2021-02-01&nonce="+nonce, "", "Metadata", "true")
	der, err := base64.StdEncoding.DecodeString(field(a.t, body, "signature").(string))
	a.must(err)
	_, text, _ := strings.Cut(string(der), `{"licenseType"`)
	text, _, _ = strings.Cut(text, "}\xa0")
	return text
}

func TestDocumentsLieWhenTold(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	a.attestedText("agents_0", "first")
	other := a.Machines()[1]
	for _, f := range []struct {
		fault azuresim.Fault
		want  string
	}{
		{azuresim.Fault{StaleNonce: true}, `"nonce":"first"`},
		{azuresim.Fault{DocumentOf: other.ID}, `"vmId":"` + other.VMID + `"`},
		{azuresim.Fault{DocumentSubscription: "another"}, `"subscriptionId":"another"`},
		{azuresim.Fault{DocumentAge: 7 * time.Hour}, `"createdOn":"05/01/26 15:00:00 -0000","expiresOn":"05/01/26 21:00:00 -0000"`},
	} {
		f.fault.Times = 1
		a.Inject(f.fault)
		a.wireFrom("agents_0", "GET", imds+"/instance?api-version=2021-12-13", "", "Metadata", "true") // it strikes documents alone
		if got := a.attestedText("agents_0", "second"); !strings.Contains(got, f.want) {
			t.Errorf("%+v: %s", f.fault, got)
		}
		if got := a.attestedText("agents_0", "first"); strings.Contains(got, f.want) && !f.fault.StaleNonce {
			t.Errorf("%+v is not over: %s", f.fault, got)
		}
	}
	a.Inject(azuresim.Fault{Oversize: 20000, Times: 1})
	signer, err := a.Attestor()
	a.must(err)
	resp, err := a.Client("").Get(signer.Leaf.IssuingCertificateURL[0])
	a.must(err)
	if body, _ := io.ReadAll(resp.Body); len(body) < 20000 {
		t.Errorf("the certificate has %d bytes", len(body))
	}
	a.must(resp.Body.Close())
}

// verified reads a document's signed data (RFC 2315) and holds its signature against its certificate, and that against the root.
func verified(der []byte, ca *x509.Certificate, between []*x509.Certificate) error {
	var outer struct {
		Type asn1.ObjectIdentifier
		Data struct {
			Version int
			Digests asn1.RawValue
			Inner   struct {
				Type    asn1.ObjectIdentifier
				Content []byte `asn1:"explicit,tag:0"`
			}
			Certificates asn1.RawValue
			Signers      []struct {
				Version              int
				Issuer, Digest, Kind asn1.RawValue
				Signature            []byte
			} `asn1:"set"`
		} `asn1:"explicit,tag:0"`
	}
	if rest, err := asn1.Unmarshal(der, &outer); err != nil || len(rest) > 0 || len(outer.Data.Signers) != 1 {
		return fmt.Errorf("%d signers, %d bytes too many: %w", len(outer.Data.Signers), len(rest), err)
	}
	signer, err := x509.ParseCertificate(outer.Data.Certificates.Bytes)
	if err != nil {
		return err
	}
	roots, others := x509.NewCertPool(), x509.NewCertPool()
	roots.AddCert(ca)
	for _, c := range between {
		others.AddCert(c)
	}
	if _, err := signer.Verify(x509.VerifyOptions{Roots: roots, Intermediates: others, DNSName: "westeurope.metadata.azure.com"}); err != nil {
		return err
	}
	return signer.CheckSignature(x509.SHA256WithRSA, outer.Data.Inner.Content, outer.Data.Signers[0].Signature)
}

// verifiedByOpenSSL is a second opinion on the same; where there is no openssl the first has to do.
func verifiedByOpenSSL(t *testing.T) func([]byte, *x509.Certificate, []*x509.Certificate) error {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		return verified
	}
	dir := t.TempDir()
	return func(document []byte, ca *x509.Certificate, between []*x509.Certificate) error {
		known := []byte{}
		for _, c := range append(slices.Clone(between), ca) { // smime has no option for those between alone; the chain ends at the one that vouches for itself
			known = append(known, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
		}
		for name, content := range map[string][]byte{"ca.pem": known, "document": document} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return exec.Command(openssl, "smime", "-verify", "-inform", "DER", "-in", filepath.Join(dir, "document"), "-CAfile", filepath.Join(dir, "ca.pem"), "-purpose", "any").Run()
	}
}

func TestAnAttestorsOwnRootIsUsed(t *testing.T) {
	own, err := azuresim.NewAttestor()
	if err != nil {
		t.Fatal(err)
	}
	a := newAzure(t, func(s *azuresim.Server) { s.Attestation = own })
	signer, err := a.Attestor()
	a.must(err)
	if !signer.CA.Equal(own.CA) {
		t.Error("another root vouches for it")
	}
	if between := a.between(); len(between) != 2 || !between[0].Equal(own.Between[0]) || !between[1].Equal(own.Between[1]) {
		t.Errorf("%d certificates are between", len(between))
	}
}

func TestAMachineHasItsOwnBudgetOfMetadata(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.Throttle = true })
	a.agents(2)
	ask := func(vm, path string) int {
		resp, _ := a.wireFrom(vm, "GET", imds+path, "", "Metadata", "true")
		return resp.StatusCode
	}
	const document, token = "/instance?api-version=2021-12-13", "/identity/oauth2/token?api-version=2018-02-01&resource=x"
	for n := range 6 {
		if got, limited := ask("agents_0", document), n == 5; (got == http.StatusTooManyRequests) != limited {
			t.Errorf("request %d answers %d", n+1, got)
		}
	}
	if got := ask("agents_1", document); got != http.StatusOK {
		t.Errorf("another machine pays for it: %d", got)
	}
	if got := ask("agents_0", token); got != http.StatusBadRequest {
		t.Errorf("tokens have the same budget: %d", got)
	}
	a.advance(time.Second)
	if got := ask("agents_0", document); got != http.StatusOK {
		t.Errorf("a second later it is %d", got)
	}
}

func TestTheDocumentShowsWhatTheMachineWasMadeFrom(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.CloudName = "AzureStackCloud" })
	a.agents(0, func(ss *azuresim.ScaleSet) { ss.Size = "Standard_D2s_v3" })
	if resp, body := a.wire("PATCH", setPath+version, `{"sku":{"capacity":1},"properties":{"virtualMachineProfile":{
		"networkProfile":{"networkInterfaceConfigurations":[{"properties":{"ipConfigurations":[{"properties":{"loadBalancerBackendAddressPools":[{"id":"/p"}]}}]}}]},
		"storageProfile":{"imageReference":{"sku":"13"},"osDisk":{"diskSizeGB":64}},"osProfile":{"adminUsername":"ops"}}}}`); resp.StatusCode != http.StatusOK {
		t.Fatal(body)
	}
	leafOf := func(path string) string {
		_, body := a.wireFrom("agents_0", "GET", imds+"/instance/compute/"+path+"?api-version=2021-12-13&format=text", "", "Metadata", "true")
		return body
	}
	for path, want := range map[string]string{
		"azEnvironment": "AzureStackCloud", "publisher": "Canonical", "storageProfile/imageReference/sku": "13", "storageProfile/osDisk/diskSizeGB": "64",
		"storageProfile/resourceDisk/size": "16384", "osProfile/adminUsername": "ops", "physicalZone": "westeurope-az1", "virtualMachineScaleSet/id": setPath,
	} {
		if got := leafOf(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	_, body := a.wireFrom("agents_0", "GET", imds+"/loadbalancer?api-version=2020-10-01", "", "Metadata", "true")
	if !strings.Contains(body, `"privateIpAddress":"10.0.0.4"`) {
		t.Errorf("the load balancer reads %s", body)
	}
	a.machine(false)
	if resp, _ := a.wireFrom("server-0", "GET", imds+"/loadbalancer?api-version=2020-10-01", "", "Metadata", "true"); resp.StatusCode != http.StatusNotFound {
		t.Errorf("a machine behind none: %d", resp.StatusCode)
	}
}

func TestAppServiceIdentityWorksThroughTheSDK(t *testing.T) {
	a := newAzure(t)
	a.machine(false, "a", "b")
	server := newTLSServer(t, a.AppServiceIdentity("server-0", "secret"))
	for secret, works := range map[string]bool{"secret": true, "guess": false} {
		t.Setenv("IDENTITY_ENDPOINT", server.URL+"/msi/token")
		t.Setenv("IDENTITY_HEADER", secret)
		cred, err := azidentity.NewManagedIdentityCredential(&azidentity.ManagedIdentityCredentialOptions{
			ClientOptions: policy.ClientOptions{Transport: server.Client(), Retry: policy.RetryOptions{MaxRetries: -1}}, ID: azidentity.ClientID("client-b")})
		a.must(err)
		if _, err := cred.GetToken(context.Background(), policy.TokenRequestOptions{Scopes: []string{"https://management.azure.test/.default"}}); (err == nil) != works {
			t.Errorf("with the header %q: %v", secret, err)
		}
	}
}
