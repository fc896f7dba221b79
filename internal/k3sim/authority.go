package k3sim

import (
	"bytes"
	"crypto"
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
	"time"
)

// authority is one of a server's two certificate authorities.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(name string, now time.Time) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: fmt.Sprintf("%s@%d", name, now.Unix())},
		NotAfter:              now.AddDate(10, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
		BasicConstraintsValid: true, IsCA: true,
	}
	a := &authority{certificate: template, key: key}
	a.certificate, err = a.sign(template, key.Public(), now)
	return a, err
}

// sign makes a certificate of a template that says when it ends.
func (a *authority) sign(template *x509.Certificate, key crypto.PublicKey, now time.Time) (*x509.Certificate, error) {
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, err
	}
	template.NotBefore = now.Add(-time.Minute) // for clocks that disagree
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key, a.key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// leaf signs a certificate of one year.
func (a *authority) leaf(subject pkix.Name, usage x509.ExtKeyUsage, names []string, ips []net.IP, key crypto.PublicKey, now time.Time) (*x509.Certificate, error) {
	return a.sign(&x509.Certificate{
		Subject: subject, DNSNames: names, IPAddresses: ips, NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{usage},
	}, key, now)
}

// own is the certificate with which this server listens.
func (a *authority) own(now time.Time) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	names := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	leaf, err := a.leaf(pkix.Name{Organization: []string{"k3s"}, CommonName: "k3s"}, x509.ExtKeyUsageServerAuth, names, []net.IP{net.IPv4(127, 0, 0, 1)}, key.Public(), now)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{leaf.Raw, a.certificate.Raw}, PrivateKey: key}, nil
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// bundle is the authority's own certificate in PEM.
func (a *authority) bundle() []byte { return inPEM(a.certificate) }

func inPEM(all ...*x509.Certificate) []byte {
	var b bytes.Buffer
	for _, c := range all {
		b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return b.Bytes()
}
