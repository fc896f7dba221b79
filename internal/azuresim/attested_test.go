package azuresim_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	for _, part := range []string{`"nonce":"1234567890"`, `"vmId":"` + a.Machines()[0].VMID + `"`, `"expiresOn":"05/02/26 04:00:00 +0000"`} {
		if !bytes.Contains(der, []byte(part)) {
			t.Errorf("%s does not stand in it", part)
		}
	}
	ca, err := a.AttestationCA()
	a.must(err)
	changed := bytes.Replace(der, []byte("1234567890"), []byte("1234567891"), 1)
	for name, verify := range map[string]func([]byte, *x509.Certificate) error{"this test": verified, "openssl": verifiedByOpenSSL(t)} {
		if err := verify(der, ca); err != nil {
			t.Errorf("%s refuses it: %v", name, err)
		}
		if verify(changed, ca) == nil {
			t.Errorf("%s takes a changed document", name)
		}
	}
	if resp, _ := a.wireFrom("agents_0", "GET", imds+"/attested/document?api-version=2018-10-01&nonce=abc", "", "Metadata", "true"); resp.StatusCode != http.StatusBadRequest {
		t.Error("a nonce of letters is taken")
	}
}

// verified reads a document's signed data (RFC 2315) and holds its signature against its certificate, and that against the root.
func verified(der []byte, ca *x509.Certificate) error {
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
	if err := signer.CheckSignatureFrom(ca); err != nil {
		return err
	}
	return signer.CheckSignature(x509.SHA256WithRSA, outer.Data.Inner.Content, outer.Data.Signers[0].Signature)
}

// verifiedByOpenSSL is a second opinion on the same; where there is no openssl the first has to do.
func verifiedByOpenSSL(t *testing.T) func([]byte, *x509.Certificate) error {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		return verified
	}
	dir := t.TempDir()
	return func(document []byte, ca *x509.Certificate) error {
		for name, content := range map[string][]byte{"ca.pem": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca.Raw}), "document": document} {
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
	ca, err := a.AttestationCA()
	a.must(err)
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	if _, err := own.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "westeurope.metadata.azure.com", CurrentTime: a.now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		t.Error(err)
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
		"storageProfile":{"imageReference":{"publisher":"Debian","sku":"13"},"osDisk":{"diskSizeGB":64}},"osProfile":{"adminUsername":"ops"}}}}`); resp.StatusCode != http.StatusOK {
		t.Fatal(body)
	}
	leafOf := func(path string) string {
		_, body := a.wireFrom("agents_0", "GET", imds+"/instance/compute/"+path+"?api-version=2021-12-13&format=text", "", "Metadata", "true")
		return body
	}
	for path, want := range map[string]string{
		"azEnvironment": "AzureStackCloud", "publisher": "Debian", "storageProfile/imageReference/sku": "13", "storageProfile/osDisk/diskSizeGB": "64",
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
