package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// rootsFile is where sluice's image has whom it believes attested documents.
const rootsFile = "/etc/sluice/attestation.pem"

// trusted are the authorities of this Azure: of its addresses, and of its attested documents. They are kept, since the machine image has them.
type trusted struct {
	ca, roots         []byte // in PEM
	caFile, rootsFile string
	server            tls.Certificate // of all addresses
	attestor          *azuresim.Attestor
}

// trust reads the authorities in a folder, or makes them.
func trust(dir string) (*trusted, error) {
	kept := filepath.Join(dir, "kept.pem") // with the keys
	text, err := os.ReadFile(kept)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = newAuthorities(); err != nil {
			return nil, err
		}
		err = errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(kept, text, 0o600))
	}
	if err != nil {
		return nil, err
	}
	t := &trusted{caFile: filepath.Join(dir, "ca.pem"), rootsFile: filepath.Join(dir, "attestation.pem"), attestor: &azuresim.Attestor{}}
	var certificates []*x509.Certificate
	var keys []any
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			c, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return nil, err
			}
			certificates = append(certificates, c)
			continue
		}
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	const all = 6 // the authority and what it has signed; root, two between, and the signer of documents
	if len(certificates) != all || len(keys) != 2 {
		return nil, fmt.Errorf("%s does not hold what it should: remove it", kept)
	}
	encode := func(c *x509.Certificate) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
	}
	t.ca, t.roots = encode(certificates[0]), encode(certificates[2])
	t.server = tls.Certificate{Certificate: [][]byte{certificates[1].Raw}, PrivateKey: keys[0]}
	t.attestor.CA, t.attestor.Between, t.attestor.Leaf = certificates[2], certificates[3:5], certificates[5]
	t.attestor.Key, _ = keys[1].(*rsa.PrivateKey)
	return t, errors.Join(os.WriteFile(t.caFile, t.ca, 0o644), os.WriteFile(t.rootsFile, t.roots, 0o644))
}

// newAuthorities makes them. The key of the first is forgotten.
func newAuthorities() (text []byte, err error) {
	put := func(kind string, der []byte) {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})...)
	}
	now := time.Now()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the simulated Azure's authority"}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "the simulated Azure"}, NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: append([]string{"*" + vaults}, hosts...), IPAddresses: []net.IP{azureAddress.AsSlice()},
	}
	authority, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	for _, one := range []struct {
		certificate *x509.Certificate
		of          *ecdsa.PrivateKey
	}{{ca, authority}, {leaf, key}} {
		der, err := x509.CreateCertificate(rand.Reader, one.certificate, ca, &one.of.PublicKey, authority)
		if err != nil {
			return nil, err
		}
		put("CERTIFICATE", der)
	}
	attestor, err := azuresim.NewAttestor()
	if err != nil {
		return nil, err
	}
	for _, c := range append([]*x509.Certificate{attestor.CA}, append(attestor.Between, attestor.Leaf)...) {
		put("CERTIFICATE", c.Raw)
	}
	for _, one := range []any{key, attestor.Key} {
		der, err := x509.MarshalPKCS8PrivateKey(one)
		if err != nil {
			return nil, err
		}
		put("PRIVATE KEY", der)
	}
	return text, nil
}
