package azuresim

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Attestor signs the documents by which machines prove who they are.
type Attestor struct {
	CA   *x509.Certificate // the root that verifiers trust
	Leaf *x509.Certificate // the signer's, for *.metadata.azure.com; CA has signed it
	Key  *rsa.PrivateKey   // of Leaf
}

// NewAttestor makes a root and a signer, good for a century.
func NewAttestor() (*Attestor, error) {
	caKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make the attestation root's key: %w", err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make the attestation key: %w", err)
	}
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Simulated Azure Root"}, NotBefore: from, NotAfter: from.AddDate(100, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "metadata.azure.com"}, NotBefore: from, NotAfter: root.NotAfter,
		DNSNames: []string{"metadata.azure.com", "*.metadata.azure.com"}, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	a := &Attestor{Key: key}
	for _, c := range []struct {
		template, parent *x509.Certificate
		key              *rsa.PublicKey
		into             **x509.Certificate
	}{{root, root, &caKey.PublicKey, &a.CA}, {leaf, root, &key.PublicKey, &a.Leaf}} {
		der, err := x509.CreateCertificate(rand.Reader, c.template, c.parent, c.key, caKey)
		if err != nil {
			return nil, fmt.Errorf("make the attestation certificate of %s: %w", c.template.Subject.CommonName, err)
		}
		if *c.into, err = x509.ParseCertificate(der); err != nil {
			return nil, fmt.Errorf("read the attestation certificate of %s: %w", c.template.Subject.CommonName, err)
		}
	}
	return a, nil
}

// ownAttestor is for servers that were not given one. Its keys differ from one
// process to the next, the only thing here that a seed does not decide.
var ownAttestor = sync.OnceValues(NewAttestor)

// AttestationCA is the root that signs for the machines of the server.
func (s *Server) AttestationCA() (*x509.Certificate, error) {
	a, err := s.attestor()
	if err != nil {
		return nil, err
	}
	return a.CA, nil
}

func (s *Server) attestor() (*Attestor, error) {
	if s.Attestation != nil {
		return s.Attestation, nil
	}
	return ownAttestor()
}

// attestedLife is how long an attested document is good.
const attestedLife = 6 * time.Hour

// attested answers with a signed document about the machine.
func (q *request) attested(c computer) answer {
	nonce := q.query.Get("nonce")
	if _, err := strconv.ParseUint(nonce, 10, 64); nonce != "" && (err != nil || len(nonce) > 10) {
		return metadataFailed(http.StatusBadRequest, "Bad request. The nonce must be at most 10 digits", "")
	}
	const layout = "01/02/06 15:04:05 -0700"
	if nonce == "" {
		nonce = q.now.Format("0102150405")
	}
	document, _ := json.Marshal(map[string]any{ // text always encodes
		"licenseType": "", "nonce": nonce, "sku": c.image("sku"), "subscriptionId": c.subscription, "vmId": c.vmID,
		"plan":      map[string]any{"name": "", "product": "", "publisher": ""},
		"timeStamp": map[string]any{"createdOn": q.now.Format(layout), "expiresOn": q.now.Add(attestedLife).Format(layout)},
	})
	signer, err := q.server.attestor()
	if err == nil {
		var der []byte
		if der, err = signer.sign(document); err == nil {
			return answer{status: http.StatusOK, body: map[string]any{"encoding": "pkcs7", "signature": base64.StdEncoding.EncodeToString(der)}}
		}
	}
	return metadataFailed(http.StatusInternalServerError, err.Error(), "")
}

var (
	oidData       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSignedData = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidSHA256     = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
	oidRSA        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 1}
)

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content any `asn1:"explicit,tag:0"`
}

type signedData struct {
	Version          int
	DigestAlgorithms []pkix.AlgorithmIdentifier `asn1:"set"`
	Content          contentInfo
	Certificates     asn1.RawValue
	Signers          []signerInfo `asn1:"set"`
}

type signerInfo struct {
	Version            int
	Issuer             issuerAndSerial
	DigestAlgorithm    pkix.AlgorithmIdentifier
	SignatureAlgorithm pkix.AlgorithmIdentifier
	Signature          []byte
}

type issuerAndSerial struct {
	Issuer asn1.RawValue
	Serial *big.Int
}

// sign wraps content in PKCS #7 signed data (RFC 2315) with the signer's
// certificate and no attributes: the signature is over the content itself.
func (a *Attestor) sign(content []byte) ([]byte, error) {
	sum := sha256.Sum256(content)
	signature, err := rsa.SignPKCS1v15(nil, a.Key, crypto.SHA256, sum[:])
	if err != nil {
		return nil, fmt.Errorf("sign an attested document: %w", err)
	}
	digest := pkix.AlgorithmIdentifier{Algorithm: oidSHA256, Parameters: asn1.NullRawValue}
	der, err := asn1.Marshal(contentInfo{oidSignedData, signedData{
		Version: 1, DigestAlgorithms: []pkix.AlgorithmIdentifier{digest},
		Content:      contentInfo{oidData, content},
		Certificates: asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: a.Leaf.Raw},
		Signers: []signerInfo{{
			Version: 1, Issuer: issuerAndSerial{asn1.RawValue{FullBytes: a.Leaf.RawIssuer}, a.Leaf.SerialNumber},
			DigestAlgorithm:    digest,
			SignatureAlgorithm: pkix.AlgorithmIdentifier{Algorithm: oidRSA, Parameters: asn1.NullRawValue},
			Signature:          signature,
		}},
	}})
	if err != nil {
		return nil, fmt.Errorf("encode an attested document: %w", err)
	}
	return der, nil
}
