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
	"net/url"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Attestor signs the documents by which machines prove who they are. Azure's chain has four levels: a root that everybody knows, one whom it vouches for, the issuer, and
// the signer. A document holds the signer's certificate alone; those between are fetched where the one below names them, see [Server.Certificates].
type Attestor struct {
	CA      *x509.Certificate // the root that verifiers trust
	Between []*x509.Certificate
	Leaf    *x509.Certificate // the signer's, for metadata.azure.com and that of a region; the last of Between has signed it
	Key     *rsa.PrivateKey   // of Leaf
}

// The certificates between root and signer as Azure has them in 2026, and their files.
const (
	crossName  = "Microsoft TLS RSA Root G2"
	crossFile  = "Microsoft TLS RSA Root G2 - xsign.crt"
	issuerName = "Microsoft TLS G2 RSA CA OCSP 02"
	issuerFile = "Microsoft TLS G2 RSA CA OCSP 02.crt"
)

// issuers is what a certificate says about where that of its issuer is: Azure's name two hosts.
func issuers(file string) []string {
	path := (&url.URL{Path: "/pkiops/certs/" + file}).EscapedPath()
	return []string{"http://www.microsoft.com" + path, "http://caissuers.microsoft.com" + path}
}

// NewAttestor makes a root, those between and a signer, good for a century.
func NewAttestor() (*Attestor, error) {
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	a := &Attestor{}
	var by *x509.Certificate
	var byKey *rsa.PrivateKey
	for n, c := range []*x509.Certificate{
		{Subject: pkix.Name{CommonName: "Simulated DigiCert Global Root G2"}},
		{Subject: pkix.Name{CommonName: crossName, Organization: []string{"Microsoft Corporation"}}, IssuingCertificateURL: []string{"http://cacerts.digicert.com/DigiCertGlobalRootG2.crt"}},
		{Subject: pkix.Name{CommonName: issuerName, Organization: []string{"Microsoft Corporation"}}, IssuingCertificateURL: issuers(crossFile)},
		{
			Subject: pkix.Name{CommonName: "metadata.azure.com"}, DNSNames: []string{"westeurope.metadata.azure.com", "metadata.azure.com"},
			IssuingCertificateURL: issuers(issuerFile), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		},
	} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return nil, fmt.Errorf("make an attestation key: %w", err)
		}
		c.SerialNumber, c.NotBefore, c.NotAfter, c.BasicConstraintsValid = big.NewInt(int64(n+1)), from, from.AddDate(100, 0, 0), true
		if c.IsCA = c.DNSNames == nil; c.IsCA {
			c.KeyUsage = x509.KeyUsageCertSign
		} else {
			c.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
		}
		if by == nil {
			by, byKey = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, by, &key.PublicKey, byKey)
		if err != nil {
			return nil, fmt.Errorf("make the attestation certificate of %s: %w", c.Subject.CommonName, err)
		}
		if by, err = x509.ParseCertificate(der); err != nil {
			return nil, fmt.Errorf("read the attestation certificate of %s: %w", c.Subject.CommonName, err)
		}
		byKey = key
		switch {
		case n == 0:
			a.CA = by
		case c.IsCA:
			a.Between = append(a.Between, by)
		default:
			a.Leaf, a.Key = by, key
		}
	}
	return a, nil
}

// ownAttestor is for servers that were not given one. Its keys differ from one
// process to the next, the only thing here that a seed does not decide.
var ownAttestor = sync.OnceValues(NewAttestor)

// Attestor is who signs for the machines of the server.
func (s *Server) Attestor() (*Attestor, error) {
	if s.Attestation != nil {
		return s.Attestation, nil
	}
	return ownAttestor()
}

// Certificates are the root and those between, as a verifier that fetches nothing knows them.
func (a *Attestor) Certificates() []*x509.Certificate {
	return append([]*x509.Certificate{a.CA}, a.Between...)
}

// Certificates is where the certificates between are fetched: www.microsoft.com, path /pkiops/certs. [Server.ServeHTTP] answers there as well. Requests are of
// the kind "GET pkiops/certs" and meet faults.
func (s *Server) Certificates() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		now := s.now()
		s.sweep(now)
		q := &request{server: s, store: &s.store, now: now, http: r, base: baseURL(r), query: r.URL.Query()}
		q.route.kind = r.Method + " pkiops/certs"
		q.strike()
		a, ok := q.faulted()
		if !ok {
			a = q.issuerCertificate()
		}
		q.deliver(w, a)
	})
}

// certificatesPath is the folder of certificates.
const certificatesPath = "/pkiops/certs/"

func (q *request) issuerCertificate() answer {
	a, err := q.server.Attestor()
	at := slices.Index([]string{certificatesPath + crossFile, certificatesPath + issuerFile}, q.http.URL.Path)
	if err != nil || at < 0 || q.http.Method != http.MethodGet {
		return answer{status: http.StatusNotFound}
	}
	body := append(slices.Clone(a.Between[at].Raw), make([]byte, q.fault.Oversize)...)
	return answer{status: http.StatusOK, body: body}.with("Content-Type", "application/pkix-cert")
}

// attestedLife is how long an attested document is good.
const attestedLife = 6 * time.Hour

// nonceIn is what a document is to bear, or a refusal. Microsoft documents "a 10-digit string". In use are others, up to 32 characters: 32 hexadecimal digits by kOps and
// base64 by Teleport. What else is taken, and how a longer one is refused, is not documented; here it is letters, digits and - _ . ~ + / =.
func nonceIn(query url.Values) (nonce string, refusal *answer) {
	nonce = query.Get("nonce")
	if len(nonce) > 32 || !nonces.MatchString(nonce) {
		a := metadataFailed(http.StatusBadRequest, "Bad request. The nonce must be at most 32 characters", "")
		return "", &a
	}
	return nonce, nil
}

var nonces = regexp.MustCompile(`^[A-Za-z0-9._~+/=-]*$`)

// attested answers with a signed document about the machine. Without a nonce it bears the time of its end. Microsoft warns that the cache may give an earlier nonce:
// a fault does.
func (m metadataRequest) attested() answer {
	nonce, refusal := nonceIn(m.query)
	if refusal != nil {
		return *refusal
	}
	created := m.now.Add(-m.fault.DocumentAge)
	expires := created.Add(attestedLife)
	if nonce == "" {
		nonce = expires.Format("20060102-150405")
	}
	if m.fault.StaleNonce {
		nonce = either(m.server.nonces[m.from.vmID], "20000101-000000")
	} else if m.query.Get("nonce") != "" {
		if m.server.nonces == nil {
			m.server.nonces = map[string]string{}
		}
		m.server.nonces[m.from.vmID] = nonce
	}
	if other, ok := m.store.computer(m.fault.DocumentOf, m.now); ok && m.fault.DocumentOf != "" {
		m.from = other
	}
	const layout = "01/02/06 15:04:05 -0000"
	document, _ := json.Marshal(map[string]any{ // text always encodes
		"licenseType": "", "nonce": nonce, "sku": m.from.image("sku"), "subscriptionId": either(m.fault.DocumentSubscription, m.from.subscription), "vmId": m.from.vmID,
		"plan":      map[string]any{"name": "", "product": "", "publisher": ""},
		"timeStamp": map[string]any{"createdOn": created.Format(layout), "expiresOn": expires.Format(layout)},
	})
	signer, err := m.server.Attestor()
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
	oidSHA256RSA  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 1, 11} // Azure writes it where the digest's own belongs
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
	digest := pkix.AlgorithmIdentifier{Algorithm: oidSHA256RSA, Parameters: asn1.NullRawValue}
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
