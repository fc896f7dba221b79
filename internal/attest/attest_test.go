package attest_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/smallstep/pkcs7"

	"sluice.dev/sluice/internal/attest"
)

var now = time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC)

// authority is a small copy of Azure's: a root, one whom it vouches for, an issuer, and a signer.
type authority struct {
	chain []*x509.Certificate // root first
	key   *rsa.PrivateKey     // of the last
}

func newAuthority(name string, change func(leaf *x509.Certificate)) *authority {
	a := &authority{}
	var parent crypto.Signer
	for n, who := range []string{name + " root", name + " cross", name + " issuer", "metadata.azure.com"} {
		template := &x509.Certificate{
			SerialNumber: big.NewInt(int64(n + 1)), Subject: pkix.Name{CommonName: who}, NotBefore: now.AddDate(-1, 0, 0), NotAfter: now.AddDate(1, 0, 0),
			IsCA: n < 3, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		}
		own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		must(err)
		public := own.Public()
		if n == 3 {
			template.DNSNames, template.ExtKeyUsage = []string{"eastus.metadata.azure.com", "metadata.azure.com"}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
			if change != nil {
				change(template)
			}
			a.key, err = rsa.GenerateKey(rand.Reader, 2048)
			must(err)
			public = a.key.Public()
		}
		by := template
		if n == 0 {
			parent = own
		} else {
			by = a.chain[n-1]
		}
		der, err := x509.CreateCertificate(rand.Reader, template, by, public, parent)
		must(err)
		c, err := x509.ParseCertificate(der)
		must(err)
		a.chain, parent = append(a.chain, c), own
	}
	return a
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// azure is made once: keys take their time.
var azure = sync.OnceValue(func() *authority { return newAuthority("Azure", nil) })

func (a *authority) options() attest.Options {
	roots := x509.NewCertPool()
	roots.AddCert(a.chain[0])
	return attest.Options{Roots: roots, Intermediates: a.chain[1:3], Now: now, Nonce: "n0nce", Subscription: "5Ub"}
}

// content is what a machine's metadata service says, with changes.
func content(change ...string) string {
	text := `{"licenseType":"","nonce":"n0nce","plan":{"name":"","product":"","publisher":""},"sku":"22_04-lts","subscriptionId":"5ub",` +
		`"timeStamp":{"createdOn":"11/28/26 05:59:00 -0000","expiresOn":"11/28/26 11:59:00 -0000"},"vmId":"DC18DE58-292f"}`
	return strings.NewReplacer(change...).Replace(text)
}

// sign signs as Azure does: no attributes, and the whole signature's algorithm in the place of the digest's.
func (a *authority) sign(content string, digest asn1.ObjectIdentifier) string {
	s, err := pkcs7.NewSignedData([]byte(content))
	must(err)
	s.SetDigestAlgorithm(digest)
	must(s.SignWithoutAttr(a.chain[3], a.key, pkcs7.SignerInfoConfig{}))
	der, err := s.Finish()
	must(err)
	return base64.StdEncoding.EncodeToString(der)
}

func TestADocumentProvesWhichMachineItIs(t *testing.T) {
	a := azure()
	c, err := attest.Verify(a.sign(content(), pkcs7.OIDDigestAlgorithmSHA256), a.options())
	if err != nil {
		t.Fatal(err)
	}
	want := attest.Claims{VMID: "dc18de58-292f", Subscription: "5ub", SKU: "22_04-lts", Nonce: "n0nce", Created: now.Add(-time.Minute), Expires: now.Add(6*time.Hour - time.Minute)}
	if c != want {
		t.Errorf("it claims %+v, want %+v", c, want)
	}
}

// TestWhatProvesNothingIsRefused takes one thing after the other away from a good document.
func TestWhatProvesNothingIsRefused(t *testing.T) {
	a := azure()
	stranger := newAuthority("Stranger", nil)
	good := content()
	signed := func(change ...string) string { return a.sign(content(change...), pkcs7.OIDDigestAlgorithmSHA256) }
	forged, err := base64.StdEncoding.DecodeString(signed())
	must(err)
	forged = []byte(strings.Replace(string(forged), "DC18DE58", "DC18DE59", 1))
	for name, of := range map[string]struct {
		document string
		change   func(*attest.Options)
		want     attest.Code
	}{
		"nothing":                       {"", nil, attest.Unreadable},
		"no base64":                     {"!", nil, attest.Unreadable},
		"no PKCS #7":                    {"aGVsbG8=", nil, attest.Unreadable},
		"too long":                      {strings.Repeat("A", 64<<10), nil, attest.Unreadable},
		"no JSON":                       {a.sign("hello", pkcs7.OIDDigestAlgorithmSHA256), nil, attest.Unreadable},
		"no machine":                    {signed("DC18DE58-292f", ""), nil, attest.Unreadable},
		"no times":                      {signed("11/28/26 05", "2026-11-28 05"), nil, attest.Unreadable},
		"a changed content":             {base64.StdEncoding.EncodeToString(forged), nil, attest.BadSignature},
		"a weak digest":                 {a.sign(good, pkcs7.OIDDigestAlgorithmSHA1), nil, attest.BadSignature},
		"a stranger's root":             {stranger.sign(good, pkcs7.OIDDigestAlgorithmSHA256), nil, attest.Chain},
		"no roots":                      {signed(), func(o *attest.Options) { o.Roots = nil }, attest.Chain},
		"an issuer that is not known":   {signed(), func(o *attest.Options) { o.Intermediates = o.Intermediates[:1] }, attest.Chain},
		"a signer whose time is over":   {a.sign(content("11/28/26", "11/28/28"), pkcs7.OIDDigestAlgorithmSHA256), func(o *attest.Options) { o.Now = now.AddDate(2, 0, 0) }, attest.Chain},
		"seven minutes and a second":    {signed("05:59:00", "05:52:59"), nil, attest.Expired},
		"two minutes ahead and one":     {signed("05:59:00", "06:02:01"), nil, attest.Expired},
		"over":                          {signed("11:59:00", "05:57:59"), nil, attest.Expired},
		"an earlier challenge's answer": {signed("n0nce", "n0nc3"), nil, attest.Nonce},
		"no challenge at all":           {signed("n0nce", ""), func(o *attest.Options) { o.Nonce = "" }, attest.Nonce},
		"another subscription":          {signed(`"5ub"`, `"other"`), nil, attest.Subscription},
	} {
		o := a.options()
		if of.change != nil {
			of.change(&o)
		}
		_, err := attest.Verify(of.document, o)
		var refused *attest.Error
		if !errors.As(err, &refused) || refused.Code != of.want || refused.Message == "" {
			t.Errorf("%s: %v, want %s", name, err, of.want)
		}
	}
}

func TestAgeAndClocksMayDifferALittle(t *testing.T) {
	a := azure()
	for _, created := range []string{"05:53:00", "06:02:00"} {
		if _, err := attest.Verify(a.sign(content("05:59:00", created), pkcs7.OIDDigestAlgorithmSHA256), a.options()); err != nil {
			t.Errorf("created at %s: %v", created, err)
		}
	}
}

// TestTheSignerIsAzuresMetadataService refuses certificates that the same root vouches for: whoever has one for a server of his own signs nothing here.
func TestTheSignerIsAzuresMetadataService(t *testing.T) {
	for name, want := range map[string]attest.Code{
		"www.example.com": attest.Signer, "metadata.azure.com.example.com": attest.Signer, "evilmetadata.azure.com": attest.Signer,
		"usgovvirginia.metadata.azure.us": "",
	} {
		a := newAuthority("Azure", func(leaf *x509.Certificate) { leaf.DNSNames = []string{name} })
		_, err := attest.Verify(a.sign(content(), pkcs7.OIDDigestAlgorithmSHA256), a.options())
		var refused *attest.Error
		if got := attest.Code(""); !errors.As(err, &refused) {
			if got != want {
				t.Errorf("%s is taken", name)
			}
		} else if refused.Code != want {
			t.Errorf("%s: %s, want %q", name, refused.Code, want)
		}
	}
	a := newAuthority("Azure", func(leaf *x509.Certificate) { leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} })
	_, err := attest.Verify(a.sign(content(), pkcs7.OIDDigestAlgorithmSHA256), a.options())
	if refused := new(attest.Error); !errors.As(err, &refused) || refused.Code != attest.Chain {
		t.Errorf("a certificate for another purpose: %v", err)
	}
}

// TestAMissingIssuerIsToldFromAWrongOne: only the former is worth a look elsewhere.
func TestAMissingIssuerIsToldFromAWrongOne(t *testing.T) {
	a := azure()
	o := a.options()
	o.Intermediates = nil
	_, err := attest.Verify(a.sign(content(), pkcs7.OIDDigestAlgorithmSHA256), o)
	if refused := new(attest.Error); !errors.As(err, &refused) || !refused.Missing || !strings.Contains(refused.Message, "Azure issuer") {
		t.Errorf("the issuer is missing: %v", err)
	}
	o = a.options()
	o.Now = now.AddDate(2, 0, 0)
	document := a.sign(content("11/28/26", "11/28/28"), pkcs7.OIDDigestAlgorithmSHA256)
	if _, err = attest.Verify(document, o); err == nil || err.(*attest.Error).Missing {
		t.Errorf("the certificates are over: %v", err)
	}
}

// TestMicrosoftsIssuersLeadToARoot proves the bytes that sluice brings along: the signatures of them all lead to a root of Mozilla's list.
func TestMicrosoftsIssuersLeadToARoot(t *testing.T) {
	roots, between, err := attest.Microsoft()
	must(err)
	pool := x509.NewCertPool()
	for _, c := range between {
		pool.AddCert(c)
	}
	if len(between) < 3 {
		t.Errorf("%d issuers are known", len(between))
	}
	for _, c := range between {
		if _, err := c.Verify(x509.VerifyOptions{Roots: roots, Intermediates: pool, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", c.Subject.CommonName, err)
		}
		if left := c.NotAfter.Sub(now); left < 0 || attest.SelfSigned(c) {
			t.Errorf("%s is good until %s", c.Subject.CommonName, c.NotAfter)
		}
	}
}

func TestAFileOfCertificatesHoldsNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"hello": "", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n": "give certificates alone", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n": "certificate 1 cannot be read",
	} {
		all, err := attest.Certificates([]byte(text))
		if len(all) > 0 || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %d certificates, %v", text, len(all), err)
		}
	}
}

// TestAShortDocumentKeepsNobodyBusy has parts that reach beyond those around them. It ends at all: the library alone would read it for years.
func TestAShortDocumentKeepsNobodyBusy(t *testing.T) {
	for name, der := range map[string]string{
		"overlapping": strings.Repeat("\x30\x06\x30\x02\x30\x02", 60) + strings.Repeat("\x04\x00", 10), "deep": strings.Repeat("\x30\x80", 12000), "long": "\x30\x84\xff\xff\xff\xff", "tags": "\x1f\x80\x80",
	} {
		_, err := attest.Parse(base64.StdEncoding.EncodeToString([]byte(der)))
		if refused := new(attest.Error); !errors.As(err, &refused) || refused.Code != attest.Unreadable {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// anything signs with a key that nobody has.
type anything struct{ *rsa.PublicKey }

func (a anything) Public() crypto.PublicKey { return a.PublicKey }

func (a anything) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return make([]byte, a.Size()), nil
}

// TestAKeyOutOfAllProportionIsNotTried: it takes no private key to name a modulus of 88,000 bits, and looking at one signature by it keeps a core busy for a second.
func TestAKeyOutOfAllProportionIsNotTried(t *testing.T) {
	issuer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	for bits, want := range map[uint]attest.Code{4096: attest.BadSignature, 4104: attest.Unreadable, 88_000: attest.Unreadable} {
		key := &rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), int(bits)-1, 1), E: 1<<31 - 1} //nolint:gosec // small
		template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "m"}, NotBefore: now, NotAfter: now, DNSNames: attest.Domains}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key, issuer)
		must(err)
		c, err := x509.ParseCertificate(der)
		must(err)
		s, err := pkcs7.NewSignedData([]byte(content()))
		must(err)
		s.SetDigestAlgorithm(pkcs7.OIDDigestAlgorithmSHA256)
		must(s.SignWithoutAttr(c, anything{key}, pkcs7.SignerInfoConfig{}))
		document, err := s.Finish()
		must(err)
		_, err = attest.Parse(base64.StdEncoding.EncodeToString(document))
		if refused := new(attest.Error); !errors.As(err, &refused) || refused.Code != want {
			t.Errorf("a key of %d bits: %v, want %s", bits, err, want)
		}
	}
}

// FuzzDocument wants a refusal with a code, or what was signed, of any bytes.
func FuzzDocument(f *testing.F) {
	a := azure()
	good, _ := base64.StdEncoding.DecodeString(a.sign(content(), pkcs7.OIDDigestAlgorithmSHA256))
	weak, _ := base64.StdEncoding.DecodeString(a.sign("{}", pkcs7.OIDDigestAlgorithmSHA1))
	for _, seed := range [][]byte{nil, {0x30, 0x80, 0, 0}, []byte(strings.Repeat("\x30\x06\x30\x02\x30\x02", 9) + "\x04\x00\x04\x00"), good, good[:len(good)/2], weak} {
		f.Add(seed)
	}
	o := a.options()
	f.Fuzz(func(t *testing.T, der []byte) {
		c, err := attest.Verify(base64.StdEncoding.EncodeToString(der), o)
		var refused *attest.Error
		switch {
		case err == nil && (c.VMID != "dc18de58-292f" || c.Nonce != "n0nce"):
			t.Errorf("nobody signed %+v", c)
		case err != nil && (!errors.As(err, &refused) || refused.Code == "" || refused.Message == ""):
			t.Error(fmt.Errorf("no refusal: %w", err))
		}
	})
}
