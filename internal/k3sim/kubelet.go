package k3sim

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The headers by which an agent says which node it is.
const (
	headerName     = "k3s-Node-Name"
	headerPassword = "k3s-Node-Password"
	headerIP       = "k3s-Node-IP"
)

func (s *Server) clientKubelet(w http.ResponseWriter, r *http.Request) {
	name, code, err := s.admit(r)
	if err != nil {
		s.refuse(w, r, code, err)
		return
	}
	s.issue(w, r, s.clientCA, pkix.Name{Organization: []string{groupNodes}, CommonName: "system:node:" + name}, x509.ExtKeyUsageClientAuth, nil, nil)
}

func (s *Server) servingKubelet(w http.ResponseWriter, r *http.Request) {
	name, code, err := s.admit(r)
	if err != nil {
		s.refuse(w, r, code, err)
		return
	}
	ips := []net.IP{net.IPv4(127, 0, 0, 1)}
	if given := r.Header.Get(headerIP); given != "" {
		for one := range strings.SplitSeq(given, ",") {
			ip := net.ParseIP(one)
			if ip == nil {
				s.refuse(w, r, http.StatusInternalServerError, fmt.Errorf("invalid node IP address %s", one))
				return
			}
			ips = append(ips, ip)
		}
	}
	s.issue(w, r, s.serverCA, pkix.Name{CommonName: name}, x509.ExtKeyUsageServerAuth, []string{name, "localhost"}, ips)
}

// admit says which node asks for a certificate, or with which status it is turned away.
//
//	evidence                                          answer
//	no name, or no password                           400
//	the client certificate of another node            400
//	the client certificate of a node that is not there 401, so that the agent tries its token
//	another password than the Secret has              403
//	no Secret                                         it is made with this password
func (s *Server) admit(r *http.Request) (string, int, error) {
	who, _ := r.Context().Value(whoKey{}).(user)
	name, password := strings.ToLower(r.Header.Get(headerName)), r.Header.Get(headerPassword)
	switch {
	case name == "":
		return "", http.StatusBadRequest, errors.New("node name not set")
	case password == "":
		return "", http.StatusBadRequest, errors.New("node password not set")
	}
	if own, is := who.node(); is {
		if own != name {
			return "", http.StatusBadRequest, errors.New("header node name does not match auth node name")
		}
		switch _, err := s.client.CoreV1().Nodes().Get(r.Context(), name, metav1.GetOptions{}); {
		case apierrors.IsNotFound(err):
			return "", http.StatusUnauthorized, fmt.Errorf("unable to verify node identity: %w", err)
		case err != nil:
			return "", http.StatusInternalServerError, err
		}
	}
	switch err := s.ensurePassword(r.Context(), name, password); {
	case errors.Is(err, errPassword):
		return "", http.StatusForbidden, err
	case err != nil:
		return "", http.StatusInternalServerError, err
	}
	return name, http.StatusOK, nil
}

// issue signs for the key of the request's body. To who sends none, as agents of old did, it gives a key as well.
func (s *Server) issue(w http.ResponseWriter, r *http.Request, by *authority, subject pkix.Name, usage x509.ExtKeyUsage, names []string, ips []net.IP) {
	var public crypto.PublicKey
	var given []byte
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	if request, bad := x509.ParseCertificateRequest(body); err == nil && bad == nil && r.Method == http.MethodPost {
		public = request.PublicKey
	} else {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			s.refuse(w, r, http.StatusInternalServerError, err)
			return
		}
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			s.refuse(w, r, http.StatusInternalServerError, err)
			return
		}
		public, given = key.Public(), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	}
	leaf, err := by.leaf(subject, usage, names, ips, public, s.options.Now())
	if err != nil {
		s.refuse(w, r, http.StatusInternalServerError, err)
		return
	}
	_, _ = w.Write(append(inPEM(leaf, by.certificate), given...))
}
