package attest

import (
	"crypto/sha256"
	"crypto/x509"
	_ "embed"
	"encoding/hex"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// microsoft holds certificates of issuers that Azure's signers have in 2026, as TLS servers of Microsoft showed them. TestMicrosoftsIssuersLeadToARoot proves that
// they are what they say: each is signed by the one before it, the first by DigiCert Global Root G2. The issuers rotate: others are fetched or given.
//
//go:embed microsoft.pem
var microsoft []byte

// trusted are the roots of Azure's documents (Microsoft, "Azure Certificate Authority details"), by the SHA-256 of their certificates. The certificates
// themselves are those of Mozilla's list.
var trusted = map[string]string{
	"cb3ccbb76031e5e0138f8dd39a23f9de47ffc35e43c1144cea27d46a5ab1cb5f": "DigiCert Global Root G2",
	"c741f70f4b2a8d88bf2e71c14122ef53ef10eba0cfa5e64cfa20f418853073e0": "Microsoft RSA Root Certificate Authority 2017",
}

// Microsoft are the roots that Azure's documents lead to, and the issuers between that sluice brings along.
func Microsoft() (*x509.CertPool, []*x509.Certificate, error) {
	roots, found := x509.NewCertPool(), 0
	for root := range bundle.Roots() {
		sum := sha256.Sum256(root.Certificate)
		if trusted[hex.EncodeToString(sum[:])] == "" {
			continue
		}
		c, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, nil, fmt.Errorf("read a root certificate: %w", err)
		}
		found++
		if root.Constraint != nil {
			roots.AddCertWithConstraint(c, root.Constraint)
		} else {
			roots.AddCert(c)
		}
	}
	if found != len(trusted) {
		return nil, nil, fmt.Errorf("of %d root certificates of Azure's documents, %d are known", len(trusted), found)
	}
	between, err := Certificates(microsoft)
	return roots, between, err
}

// Certificates reads a PEM file of certificates. Text around them is for people.
func Certificates(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all, nil
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it holds a %s: give certificates alone", block.Type)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d cannot be read", len(all)+1)
		}
		all = append(all, c)
	}
}

// SelfSigned says whether a certificate vouches for itself, as a root does.
func SelfSigned(c *x509.Certificate) bool { return c.CheckSignatureFrom(c) == nil }
