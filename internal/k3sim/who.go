package k3sim

import (
	"context"
	"crypto/subtle"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The groups by which the supervisor tells who may ask for what.
const (
	groupAgent         = "k3s:agent"
	groupServer        = "k3s:server"
	groupNodes         = "system:nodes"
	groupBootstrappers = "system:bootstrappers"
)

// user is who asks; the zero user is nobody in particular.
type user struct {
	name   string
	groups []string
}

// node is the name of the node that asks by its client certificate, false for everybody else.
func (u user) node() (string, bool) {
	name, is := strings.CutPrefix(u.name, "system:node:")
	return name, is && slices.Contains(u.groups, groupNodes)
}

type whoKey struct{}

// only lets in who is of one of the groups. A credential that is wrong or has expired is 401, no credential or one of another group 403.
func (s *Server) only(next http.HandlerFunc, groups ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := s.who(r)
		switch {
		case err != nil:
			s.logf("level=error msg=\"Failed to authenticate request from %s: %v\"", r.RemoteAddr, err)
			s.refuse(w, r, http.StatusUnauthorized, errors.New("not authorized"))
		case !slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(who.groups, g) }):
			s.refuse(w, r, http.StatusForbidden, errors.New("forbidden"))
		default:
			next(w, r.WithContext(context.WithValue(r.Context(), whoKey{}, who)))
		}
	}
}

// who says who asks: by a client certificate, which goes first, by a static token, or by a token of the API server's.
func (s *Server) who(r *http.Request) (user, error) {
	if r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
		return s.certified(r.TLS.PeerCertificates[0])
	}
	if name, password, is := r.BasicAuth(); is {
		switch {
		case name == userNode && same(password, s.options.AgentToken):
			return user{name, []string{groupAgent}}, nil
		case name == userServer && same(password, s.options.Token):
			return user{name, []string{groupServer}}, nil
		}
		return user{}, errors.New("invalid username/password combination")
	}
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !is {
		return user{}, nil
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	review, err := s.client.AuthenticationV1().TokenReviews().Create(r.Context(), review, metav1.CreateOptions{})
	switch {
	case err != nil:
		return user{}, err
	case !review.Status.Authenticated:
		return user{}, fmt.Errorf("invalid bearer token %s", review.Status.Error)
	}
	return user{review.Status.User.Username, review.Status.User.Groups}, nil
}

func (s *Server) certified(certificate *x509.Certificate) (user, error) {
	_, err := certificate.Verify(x509.VerifyOptions{
		Roots: s.clientCA.pool(), CurrentTime: s.options.Now(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if err != nil {
		return user{}, err
	}
	return user{certificate.Subject.CommonName, certificate.Subject.Organization}, nil
}

// same says whether both are the same and not empty.
func same(a, b string) bool { return b != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
