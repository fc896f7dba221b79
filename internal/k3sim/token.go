package k3sim

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// FullToken is a token in the form that names the server's authority, too: K10, the hash of the bytes of /cacerts, and what signs in, which is
// "node:SECRET", "server:SECRET" or the "id.secret" of a bootstrap token.
func (s *Server) FullToken(credential string) string {
	return "K10" + hashOfCA(s.CACerts()) + "::" + credential
}

// NodeToken and ServerToken are the static tokens as a server writes them into its files.
func (s *Server) NodeToken() string { return s.FullToken(userNode + ":" + s.options.AgentToken) }

// ServerToken is the one that adds servers.
func (s *Server) ServerToken() string { return s.FullToken(userServer + ":" + s.options.Token) }

func hashOfCA(bundle []byte) string {
	sum := sha256.Sum256(bundle)
	return hex.EncodeToString(sum[:])
}

// bootstrapForm is that of a bootstrap token.
var bootstrapForm = regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`)

// token is what an agent reads out of the token that it was given.
type token struct {
	caHash   string // "" when it names no authority: then any is believed
	bearer   string // a bootstrap token
	password string // of user node, for whom an agent signs in whatever user the token names
}

// parseToken reads a token of one of the forms: bare, "id.secret", and both behind "K10<hash>::", where "user:password" stands for the bare one.
func parseToken(text string) (t token, err error) {
	if text == "" {
		return t, errors.New("token must not be empty")
	}
	rest, full := strings.CutPrefix(text, "K10")
	if full {
		hash, credential, is := strings.Cut(rest, "::")
		if is && hash != "" && len(hash) != sha256.Size*2 {
			return t, errors.New("invalid token CA hash length")
		}
		if is {
			t.caHash, rest = hash, credential
		}
	}
	if bootstrapForm.MatchString(rest) {
		t.bearer = rest
		return t, nil
	}
	t.password = rest
	if full {
		_, password, is := strings.Cut(rest, ":")
		if !is || password == "" {
			return t, errors.New("invalid token format")
		}
		t.password = password
	}
	return t, nil
}

// trusts says why the token is of another server's.
func (t token) trusts(bundle []byte) error {
	if have := hashOfCA(bundle); t.caHash != "" && t.caHash != have {
		return fmt.Errorf("token CA hash does not match the Cluster CA certificate hash: %s != %s", t.caHash, have)
	}
	return nil
}

// sign puts the credential on a request.
func (t token) sign(r *http.Request) {
	if t.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+t.bearer)
	} else {
		r.SetBasicAuth(userNode, t.password)
	}
}
