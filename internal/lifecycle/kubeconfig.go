package lifecycle

import (
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/url"
	"time"

	"github.com/smallstep/pkcs7"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// recipient is whom the server seals its kubeconfig for: one up. Azure shows what a run command has printed to everybody who may read the machine.
type recipient struct {
	key         *rsa.PrivateKey
	certificate *x509.Certificate
	pem         string
}

const recipientBits = 2048

func newRecipient() (*recipient, error) {
	key, err := rsa.GenerateKey(rand.Reader, recipientBits)
	if err != nil {
		return nil, fmt.Errorf("make a key for the kubeconfig: %w", err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sluice cluster up"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0), KeyUsage: x509.KeyUsageKeyEncipherment,
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the kubeconfig: %w", err)
	}
	r := &recipient{key: key, pem: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
	if r.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("make a certificate for the kubeconfig: %w", err)
	}
	return r, nil
}

// open returns what was sealed.
func (r *recipient) open(sealed []byte) ([]byte, error) {
	message, err := pkcs7.Parse(sealed)
	if err != nil {
		return nil, fmt.Errorf("open the kubeconfig: %w", err)
	}
	packed, err := message.Decrypt(r.certificate, r.key)
	if err != nil {
		return nil, fmt.Errorf("open the kubeconfig: %w", err)
	}
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("open the kubeconfig: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(zipped, mostState))
	if err != nil {
		return nil, fmt.Errorf("open the kubeconfig: %w", err)
	}
	return text, nil
}

// Kubeconfig is the admin's kubeconfig as the server has it, for use elsewhere: the server is at an address, and everything has the cluster's name.
// Only certificates, key and token are taken over: a server that others have taken must not name programs that kubectl starts here.
func Kubeconfig(text []byte, name, address string) ([]byte, error) {
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil, fmt.Errorf("read the server's kubeconfig: %w", err)
	}
	now := config.Contexts[config.CurrentContext]
	if now == nil || config.Clusters[now.Cluster] == nil || config.AuthInfos[now.AuthInfo] == nil {
		return nil, errors.New("the server's kubeconfig has no current context")
	}
	there := config.Clusters[now.Cluster]
	at, err := url.Parse(there.Server)
	if err != nil {
		return nil, fmt.Errorf("read the server's kubeconfig: %w", err)
	}
	port := at.Port()
	if port == "" {
		port = "443"
	}
	who := config.AuthInfos[now.AuthInfo]
	return clientcmd.Write(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{name: {
			Server: "https://" + address + ":" + port, CertificateAuthorityData: there.CertificateAuthorityData,
		}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{name: {
			ClientCertificateData: who.ClientCertificateData, ClientKeyData: who.ClientKeyData, Token: who.Token,
		}},
		Contexts: map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}}, CurrentContext: name,
	})
}
