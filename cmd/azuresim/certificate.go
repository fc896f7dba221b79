package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Files in the directory of a server.
const (
	caFile     = "ca.pem"
	caKeyFile  = "ca-key.pem"
	certFile   = "server.pem"
	certKey    = "server-key.pem"
	cloudFile  = "cloud.json"
	configFile = "azure.json"
	attestFile = "attestation.pem"
)

// certificate issues the server's certificate for a host, signed by the CA in the directory. The CA is made once, so that clients
// that trust it keep doing so. Private keys are readable by their owner alone.
func certificate(dir, host string) (tls.Certificate, error) {
	ca, key, err := authority(dir)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "azuresim"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = append(template.IPAddresses, ip)
	} else if host != "" {
		template.DNSNames = append(template.DNSNames, host)
	}
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the server's key: %w", err)
	}
	if err := issue(dir, certFile, certKey, template, ca, own, key); err != nil {
		return tls.Certificate{}, err
	}
	return tls.LoadX509KeyPair(filepath.Join(dir, certFile), filepath.Join(dir, certKey))
}

// writeAttestation writes the certificates that attested documents lead to.
func writeAttestation(dir string, all []*x509.Certificate) error {
	var text []byte
	for _, c := range all {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	if err := os.WriteFile(filepath.Join(dir, attestFile), text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", attestFile, err)
	}
	return nil
}

// authority loads the CA of the directory, or makes it.
func authority(dir string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, caFile), filepath.Join(dir, caKeyFile))
	if os.IsNotExist(err) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, nil, fmt.Errorf("make the CA's key: %w", err)
		}
		template := &x509.Certificate{
			Subject:  pkix.Name{CommonName: "azuresim CA"},
			KeyUsage: x509.KeyUsageCertSign, IsCA: true, BasicConstraintsValid: true,
		}
		if err := issue(dir, caFile, caKeyFile, template, template, key, key); err != nil {
			return nil, nil, err
		}
		return authority(dir)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("load the CA in %s: %w; remove %s and %s to have a new one made", dir, err, caFile, caKeyFile)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return nil, nil, fmt.Errorf("load the CA in %s: it is not one that azuresim made; choose another --dir", dir)
	}
	return pair.Leaf, key, nil
}

// issue signs a certificate and writes it with its key.
func issue(dir, cert, key string, template, parent *x509.Certificate, own, signer *ecdsa.PrivateKey) error {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return fmt.Errorf("make a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &own.PublicKey, signer)
	if err != nil {
		return fmt.Errorf("sign %s: %w", cert, err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	if err := os.WriteFile(filepath.Join(dir, key), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600); err != nil {
		return fmt.Errorf("write the key: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, cert), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		return fmt.Errorf("write the certificate: %w", err)
	}
	return nil
}
