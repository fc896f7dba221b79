package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// serviceRange is where services get their cluster IPs; its first address is the service kubernetes.
const serviceRange, serviceAddress = "10.0.0.0/16", "10.0.0.1"

// keyPair is a certificate and its key, in PEM and in files.
type keyPair struct {
	certificate, key         []byte
	certificateFile, keyFile string
}

// credentials are all the secrets of one control plane. They live as long as its run: every Start makes new ones.
type credentials struct {
	ca             keyPair // signs kube-apiserver's certificate and those of its clients
	apiserver      keyPair
	admin          keyPair // group system:masters
	scheduler      keyPair // user system:kube-scheduler
	controllers    keyPair // user system:kube-controller-manager
	serviceAccount string  // file of the key that signs and verifies service account tokens
	etcd           etcdCredentials
}

// etcdCredentials keep etcd to kube-apiserver. They have an authority of their own, so that a client certificate of the
// Kubernetes API opens nothing in etcd.
type etcdCredentials struct {
	ca, peer keyPair
}

// authority is a certificate authority that writes what it issues into dir.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pair        keyPair
}

// makeCredentials makes and writes everything. All keys are ECDSA P-256.
func makeCredentials(dir string) (*credentials, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	cluster, err := newAuthority(dir, "ca")
	if err != nil {
		return nil, err
	}
	storage, err := newAuthority(dir, "etcd-ca")
	if err != nil {
		return nil, err
	}
	c := &credentials{ca: cluster.pair, etcd: etcdCredentials{ca: storage.pair}}
	server := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	for _, issue := range []struct {
		by    *authority
		file  string
		name  pkix.Name
		hosts []string
		to    *keyPair
	}{
		{cluster, "kube-apiserver", pkix.Name{CommonName: "kube-apiserver"}, server, &c.apiserver},
		{cluster, "admin", pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, nil, &c.admin},
		{cluster, "scheduler", pkix.Name{CommonName: "system:kube-scheduler"}, nil, &c.scheduler},
		{cluster, "controllers", pkix.Name{CommonName: "system:kube-controller-manager"}, nil, &c.controllers},
		{storage, "etcd", pkix.Name{CommonName: "etcd"}, []string{"localhost"}, &c.etcd.peer},
	} {
		if *issue.to, err = issue.by.issue(issue.file, issue.name, issue.hosts); err != nil {
			return nil, err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	c.serviceAccount = filepath.Join(dir, "service-account.key")
	_, err = writeKey(c.serviceAccount, key)
	return c, err
}

func newAuthority(dir, name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := certificate(pkix.Name{CommonName: name})
	template.IsCA = true
	template.KeyUsage |= x509.KeyUsageCertSign
	a := &authority{dir: dir, certificate: template, key: key}
	if a.pair, err = a.write(name, template, key); err != nil {
		return nil, err
	}
	a.certificate, err = parse(a.pair.certificate)
	return a, err
}

// issue signs a client certificate, and with hosts a certificate that also serves them and 127.0.0.1.
func (a *authority) issue(file string, name pkix.Name, hosts []string) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, err
	}
	template := certificate(name)
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(hosts) > 0 {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.DNSNames = hosts
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(serviceAddress)}
	}
	return a.write(file, template, key)
}

// write signs template for key and stores both.
func (a *authority) write(file string, template *x509.Certificate, key *ecdsa.PrivateKey) (keyPair, error) {
	var err error
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return keyPair{}, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return keyPair{}, err
	}
	p := keyPair{
		certificate:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		certificateFile: filepath.Join(a.dir, file+".crt"),
		keyFile:         filepath.Join(a.dir, file+".key"),
	}
	if p.key, err = writeKey(p.keyFile, key); err != nil {
		return keyPair{}, err
	}
	return p, os.WriteFile(p.certificateFile, p.certificate, 0o600)
}

// certificate is the common part of all templates: valid from an hour ago, for clocks that disagree, for ten years.
func certificate(name pkix.Name) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		Subject:               name,
		NotBefore:             now.Add(-time.Hour),
		NotAfter:              now.AddDate(10, 0, 0),
		KeyUsage:              x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
	}
}

func parse(certificate []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(certificate)
	return x509.ParseCertificate(block.Bytes)
}

func writeKey(file string, key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	return text, os.WriteFile(file, text, 0o600)
}

// kubeconfigFor is self-contained: it can be copied away from the control plane's directory.
func kubeconfigFor(url, user string, ca []byte, client keyPair) clientcmdapi.Config {
	const name = "controlplane"
	return clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: url, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{user: {ClientCertificateData: client.certificate, ClientKeyData: client.key}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: user}},
		CurrentContext: name,
	}
}
