// Package attest verifies attested documents: by one a machine on Azure proves which machine it is.
//
// The metadata service of a machine signs a small JSON document about it, with a nonce that the asker chooses. The envelope is PKCS #7 without
// attributes, and holds the signer's certificate alone. Certificates that lead from there to a root are the caller's to give, and so is the time.
// Sources: Microsoft's page of the Instance Metadata Service, section "Attested data", and documents that Azure users have published.
package attest

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/smallstep/pkcs7"
)

// A Code says why a document proves nothing. Codes are stable.
type Code string

// The codes, in the order in which a document is looked at. What costs nothing comes before what may need certificates from elsewhere.
const (
	Unreadable   Code = "document-unreadable"   // it is no PKCS #7 signed data with one signer, or its content is not Azure's
	BadSignature Code = "document-signature"    // the signature is not that of the certificate that comes along
	Signer       Code = "document-signer"       // the certificate is for something else than Azure's metadata service
	Expired      Code = "document-expired"      // it is too old, or over, or from the future
	Nonce        Code = "document-nonce"        // it answers another challenge
	Subscription Code = "document-subscription" // the machine is in another subscription
	Chain        Code = "document-chain"        // no chain of certificates leads from the signer to a root
)

// Error is a refusal: a code, and a sentence for the operator.
type Error struct {
	Code    Code
	Message string

	// Missing says of a Chain that the certificate of an issuer is unknown, so that another try with it may succeed.
	Missing bool
}

func (e *Error) Error() string { return e.Message }

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// mostBytes bounds a document. Those of Azure have some 4 KiB.
const mostBytes = 32 << 10

// The times that hold where Options leave them out.
const (
	DefaultAge  = 5 * time.Minute
	DefaultSkew = 2 * time.Minute
)

// Domains are the names of Azure's metadata services: public, of the United States' government, and of China.
var Domains = []string{"metadata.azure.com", "metadata.azure.us", "metadata.azure.cn"}

// Options are what a document is held to.
type Options struct {
	Roots         *x509.CertPool      // nil trusts nobody
	Intermediates []*x509.Certificate // between a signer and a root
	Now           time.Time
	Nonce         string        // the challenge; "" accepts none
	Subscription  string        // "" accepts any
	Age           time.Duration // how old a document may be; 0 means DefaultAge
	Skew          time.Duration // how far clocks may be apart; 0 means DefaultSkew
	Domains       []string      // nil means Domains
}

// Claims are what a verified document says.
type Claims struct {
	VMID         string // in lower case
	Subscription string // in lower case
	SKU          string
	Nonce        string
	Created      time.Time
	Expires      time.Time
}

// Document is one whose signature is that of its own certificate. Nobody vouches for that certificate before Verify.
type Document struct {
	Signer *x509.Certificate
	Claims Claims

	others []*x509.Certificate // that came along
}

// Verify reads a document, base64 as the metadata service gives it, and holds it to the options. Its error is an [*Error].
func Verify(signature string, o Options) (Claims, error) {
	d, err := Parse(signature)
	if err != nil {
		return Claims{}, err
	}
	return d.Verify(o)
}

// Parse reads a document and checks that its signer has signed it. Its error is an [*Error].
func Parse(signature string) (*Document, error) {
	if base64.StdEncoding.DecodedLen(len(signature)) > mostBytes {
		return nil, refuse(Unreadable, "the document has more than %d KiB", mostBytes>>10)
	}
	der, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return nil, refuse(Unreadable, "the document is not base64")
	}
	p7, err := parse(der)
	if err != nil {
		return nil, refuse(Unreadable, "the document is not PKCS #7 signed data")
	}
	signer := p7.GetOnlySigner()
	if signer == nil {
		return nil, refuse(Unreadable, "the document has %d signers, or comes without its signer's certificate", len(p7.Signers))
	}
	if !signed(p7) {
		return nil, refuse(BadSignature, "the document's signature is not that of its certificate")
	}
	d := &Document{Signer: signer}
	for _, c := range p7.Certificates {
		if c != signer {
			d.others = append(d.others, c)
		}
	}
	if d.Claims, err = claims(p7.Content); err != nil {
		return nil, refuse(Unreadable, "%s", err)
	}
	return d, nil
}

// parse keeps a fault of the library to one refusal: what it reads comes from strangers.
func parse(der []byte) (p7 *pkcs7.PKCS7, err error) {
	defer func() {
		if r := recover(); r != nil {
			p7, err = nil, errors.New("unreadable")
		}
	}()
	if !nested(der, 0) {
		return nil, errors.New("no DER")
	}
	p7, err = pkcs7.Parse(der)
	if err != nil {
		return nil, err
	}
	if len(p7.Certificates) > mostCertificates {
		return nil, errors.New("too many certificates")
	}
	for _, c := range p7.Certificates {
		if key, ok := c.PublicKey.(*rsa.PublicKey); ok && key.N.BitLen() > mostKey {
			return nil, errors.New("too large a key")
		}
	}
	return p7, nil
}

// mostKey is how many bits a key of RSA may have; Azure's have 2,048 and 4,096. Who names one of 88,000 needs no private key, and each signature that is
// checked by it costs a second of a core.
const mostKey = 4096

// deepest is how far parts of a document may be nested. A certificate's names and extensions need some twelve.
const deepest = 32

// nested says whether a document is parts of definite length, each within the one around it. pkcs7 reads other encodings as well, in a time that doubles with
// each part that reaches beyond the one around it: 132 bytes keep it busy for a minute, 400 for years. Azure's documents are DER.
func nested(der []byte, depth int) bool {
	for len(der) > 0 {
		if depth > deepest || len(der) < 2 || der[0]&0x1f == 0x1f {
			return false
		}
		constructed, length := der[0]&0x20 != 0, int(der[1])
		der = der[2:]
		if more := length - 0x80; more >= 0 {
			if more == 0 || more > 3 || more > len(der) {
				return false
			}
			length = 0
			for _, b := range der[:more] {
				length = length<<8 | int(b)
			}
			der = der[more:]
		}
		if length > len(der) || constructed && !nested(der[:length], depth+1) {
			return false
		}
		der = der[length:]
	}
	return true
}

// signed says whether the content is what the signer has signed. Without a pool of roots pkcs7 checks the signature alone; the chain is [Document.Verify]'s
// business. A digest with known collisions is no digest: the asker of a document chooses a part of it.
func signed(p7 *pkcs7.PKCS7) (is bool) {
	defer func() {
		if recover() != nil {
			is = false
		}
	}()
	digest := p7.Signers[0].DigestAlgorithm.Algorithm
	return slices.ContainsFunc(digests, digest.Equal) && p7.Verify() == nil
}

// digests are the good ones. Azure names the algorithm of the whole signature where the digest's belongs: sha256WithRSAEncryption.
var digests = []asn1.ObjectIdentifier{
	pkcs7.OIDDigestAlgorithmSHA256, pkcs7.OIDDigestAlgorithmSHA384, pkcs7.OIDDigestAlgorithmSHA512,
	pkcs7.OIDEncryptionAlgorithmRSASHA256, pkcs7.OIDEncryptionAlgorithmRSASHA384, pkcs7.OIDEncryptionAlgorithmRSASHA512,
}

// mostCertificates bounds what is tried to build a chain.
const mostCertificates = 8

// layout is how Azure writes times in a document: "06/25/26 18:56:45 -0000".
const layout = "01/02/06 15:04:05 -0700"

func claims(content []byte) (Claims, error) {
	var said struct {
		Nonce          string `json:"nonce"`
		SKU            string `json:"sku"`
		SubscriptionID string `json:"subscriptionId"`
		VMID           string `json:"vmId"`
		TimeStamp      struct {
			CreatedOn string `json:"createdOn"`
			ExpiresOn string `json:"expiresOn"`
		} `json:"timeStamp"`
	}
	if json.Unmarshal(content, &said) != nil {
		return Claims{}, errors.New("the document's content is not JSON")
	}
	if said.VMID == "" || said.SubscriptionID == "" {
		return Claims{}, errors.New("the document names no vmId or no subscription")
	}
	c := Claims{VMID: strings.ToLower(said.VMID), Subscription: strings.ToLower(said.SubscriptionID), SKU: said.SKU, Nonce: said.Nonce}
	for _, t := range []struct {
		text string
		into *time.Time
	}{{said.TimeStamp.CreatedOn, &c.Created}, {said.TimeStamp.ExpiresOn, &c.Expires}} {
		at, err := time.Parse(layout, t.text)
		if err != nil {
			return Claims{}, errors.New("the document's time stamps cannot be read")
		}
		*t.into = at.UTC()
	}
	return c, nil
}

// Verify holds a document to the options. Its error is an [*Error].
func (d *Document) Verify(o Options) (Claims, error) {
	if err := d.Check(o); err != nil {
		return Claims{}, err
	}
	if err := d.chain(o); err != nil {
		return Claims{}, err
	}
	return d.Claims, nil
}

// Check is the part of Verify that needs no certificates: it can refuse a document, and trusts none. Its error is an [*Error].
func (d *Document) Check(o Options) error {
	if err := named(d.Signer, o.Domains); err != nil {
		return err
	}
	c, age, skew := d.Claims, o.Age, o.Skew
	if age == 0 {
		age = DefaultAge
	}
	if skew == 0 {
		skew = DefaultSkew
	}
	switch old := o.Now.Sub(c.Created); {
	case old > age+skew:
		return refuse(Expired, "the document is %s old (limit %s)", old.Round(time.Second), age)
	case -old > skew:
		return refuse(Expired, "the document is of %s from now (limit %s): see to the clocks", (-old).Round(time.Second), skew)
	case o.Now.After(c.Expires.Add(skew)):
		return refuse(Expired, "the document ended at %s", c.Expires.Format(time.RFC3339))
	}
	if o.Nonce == "" || c.Nonce != o.Nonce {
		return refuse(Nonce, "the document answers another challenge: the metadata service gave an earlier answer")
	}
	if o.Subscription != "" && !strings.EqualFold(c.Subscription, o.Subscription) {
		return refuse(Subscription, "the machine is in subscription %.40q", c.Subscription)
	}
	return nil
}

// named wants a certificate for a metadata service, or for that of one region.
func named(c *x509.Certificate, domains []string) error {
	if domains == nil {
		domains = Domains
	}
	for _, name := range c.DNSNames {
		for _, domain := range domains {
			if strings.EqualFold(name, domain) || strings.HasSuffix(strings.ToLower(name), "."+domain) {
				return nil
			}
		}
	}
	return refuse(Signer, "the signer's certificate is not for %s", strings.Join(domains, " or "))
}

// chain leads from the signer to a root. Azure's signers are certificates for servers.
func (d *Document) chain(o Options) error {
	if o.Roots == nil {
		return refuse(Chain, "no root certificate is trusted")
	}
	between := x509.NewCertPool()
	for _, c := range o.Intermediates {
		between.AddCert(c)
	}
	for _, c := range d.others {
		between.AddCert(c)
	}
	_, err := d.Signer.Verify(x509.VerifyOptions{
		Roots: o.Roots, Intermediates: between, CurrentTime: o.Now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err == nil {
		return nil
	}
	refusal := refuse(Chain, "no chain of certificates leads from the document's signer to a trusted root")
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		refusal.Missing = true
		refusal.Message = fmt.Sprintf("the certificate of %.80q, who vouches for the document's signer, is not known", d.Signer.Issuer.CommonName)
	}
	return refusal
}
