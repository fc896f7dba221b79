package k3sim

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
)

// A proxy passes requests on to the API server: with their own bearer token, or in the name of whoever has shown a client certificate of this
// server's, which the API server behind does not know.
type proxy struct{ as, own http.Handler }

func newProxy(config *rest.Config) (*proxy, error) {
	base, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	forward := func(c *rest.Config) (http.Handler, error) {
		transport, err := rest.TransportFor(c)
		if err != nil {
			return nil, err
		}
		return &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(base) },
			Transport:     transport,
			FlushInterval: -1, // watches
		}, nil
	}
	p := &proxy{}
	if p.as, err = forward(config); err != nil {
		return nil, err
	}
	p.own, err = forward(rest.AnonymousClientConfig(config))
	return p, err
}

// behind hands to the API server what is no route of the supervisor's. A request without a credential is 401, as anonymous requests are off.
func (s *Server) behind(p *proxy) http.HandlerFunc {
	refused := errors.New("Unauthorized")
	return func(w http.ResponseWriter, r *http.Request) {
		_, _, basic := r.BasicAuth()
		switch {
		case r.TLS != nil && len(r.TLS.PeerCertificates) > 0:
			who, err := s.certified(r.TLS.PeerCertificates[0])
			if err != nil {
				s.refuse(w, r, http.StatusUnauthorized, refused)
				return
			}
			r.Header.Del("Authorization")
			r.Header.Set(authenticationv1.ImpersonateUserHeader, who.name)
			r.Header[authenticationv1.ImpersonateGroupHeader] = append([]string{"system:authenticated"}, who.groups...)
			p.as.ServeHTTP(w, r)
		case basic || r.Header.Get("Authorization") == "":
			s.refuse(w, r, http.StatusUnauthorized, refused)
		default:
			p.own.ServeHTTP(w, r)
		}
	}
}

func (s *Server) logf(format string, values ...any) {
	if s.options.Log != nil {
		s.options.Log(fmt.Sprintf(format, values...))
	}
}
