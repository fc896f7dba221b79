package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
)

// Access says who may read. It is asked about every address but those of health, which kubelets ask without a token.
type Access interface {
	// May is nil when whoever shows this bearer token may get the path. It is [ErrUnknown], [ErrForbidden], or says why that cannot be told.
	May(ctx context.Context, token, path string) error
}

// The two refusals that are about the reader. What wraps them is a sentence for the reader.
var (
	ErrUnknown   = errors.New("the API server does not know this token")
	ErrForbidden = errors.New("forbidden")
)

// TokenHeader bears a token where the Authorization header cannot: the API server's proxy takes that one off, since it is for the API server.
const TokenHeader = "Sluice-Authorization"

// maxToken is more than any token that an API server issues, in bytes.
const maxToken = 16 << 10

// allowed lets through whom access lets get the address, and health for everybody.
func allowed(access Access, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz", "/health-check", "/readyz":
			next.ServeHTTP(w, r)
			return
		}
		scheme, token, _ := strings.Cut(cmp.Or(r.Header.Get("Authorization"), r.Header.Get(TokenHeader)), " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
			w.Header().Set("WWW-Authenticate", "Bearer")
			text(w, http.StatusUnauthorized, "show a bearer token of the cluster\n")
			return
		}
		err := access.May(r.Context(), token, r.URL.Path)
		switch {
		case err == nil:
			next.ServeHTTP(w, r)
		case errors.Is(err, ErrUnknown):
			w.Header().Set("WWW-Authenticate", "Bearer")
			text(w, http.StatusUnauthorized, err.Error()+"\n")
		case errors.Is(err, ErrForbidden):
			text(w, http.StatusForbidden, err.Error()+"\n")
		default:
			text(w, http.StatusServiceUnavailable, "who may read this cannot be told now: "+err.Error()+"\n")
		}
	})
}
