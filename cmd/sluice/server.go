package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/web"
)

// answerWithin is how long a running sluice may take for an answer.
const answerWithin = 10 * time.Second

// A door is a way to a running sluice.
type door struct {
	client *http.Client
	at     *url.URL // the pages are below it
	name   string   // as the user calls it
	token  string   // shown to sluice; "" for none
	header string   // which bears the token
}

// reply is what came through a door.
type reply struct {
	door
	status int
	said   string // the status line
	header http.Header
	body   []byte
}

// straight is a client that follows no redirect: whoever answers in sluice's place would have tokens sent elsewhere.
func straight(c *http.Client) *http.Client {
	own := *c
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// get asks for a page.
func (d door) get(ctx context.Context, page string, query url.Values) (reply, error) {
	at := d.at.JoinPath(page)
	at.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), http.NoBody)
	if err != nil {
		return reply{}, err
	}
	if d.token != "" {
		req.Header.Set(d.header, "Bearer "+d.token)
	}
	resp, err := straight(d.client).Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 256<<20))
	if err != nil {
		return reply{}, fmt.Errorf("read the answer: %w", err)
	}
	return reply{d, resp.StatusCode, resp.Status, resp.Header, body}, nil
}

// wantsTLS says whether the port speaks TLS, and was spoken to in the clear.
func (r reply) wantsTLS() bool {
	return r.status == http.StatusBadRequest && strings.Contains(string(r.body), "HTTP request to an HTTPS server")
}

// ofAPIServer is the refusal of an API server that stands before sluice; nil for what sluice says itself.
func (r reply) ofAPIServer() error {
	var s metav1.Status
	if r.status < http.StatusBadRequest || json.Unmarshal(r.body, &s) != nil || s.Kind != "Status" {
		return nil
	}
	return apierrors.FromObject(&s)
}

// standsBy says whether another replica has the answer, and which, as far as this one knows.
func (r reply) standsBy() (leader string, so bool) {
	var problem struct {
		StandsBy bool
		Leader   string
	}
	if r.status != http.StatusServiceUnavailable || json.Unmarshal(r.body, &problem) != nil {
		return "", false
	}
	return problem.Leader, problem.StandsBy
}

// into reads sluice's answer into v.
func (r reply) into(v any) error {
	if r.status == http.StatusOK {
		var of struct { // each answer of sluice has one of them
			Cycle       *uint64
			Told, Found *json.RawMessage
		}
		if json.Unmarshal(r.body, &of) != nil || of.Cycle == nil && of.Told == nil && of.Found == nil || json.Unmarshal(r.body, v) != nil {
			return fmt.Errorf("%s answers something else than was asked for; is it sluice?", r.name)
		}
		return nil
	}
	var problem struct{ Error string }
	switch {
	case json.Unmarshal(r.body, &problem) == nil && problem.Error != "":
		return errors.New(problem.Error)
	case r.status == http.StatusUnauthorized && r.token == "":
		return fmt.Errorf(`%s answers only who shows a token (--web-authorization), and yours is not passed on: give --token="$(kubectl -n kube-system create token ACCOUNT)" of an account bound to sluice-viewer`, r.name)
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden:
		return fmt.Errorf("%s refuses --token: %s", r.name, strings.TrimSpace(string(r.body)))
	case r.status == http.StatusNotFound:
		return fmt.Errorf("%s answers %s; is it sluice? One older than %s may have no such page", r.name, r.said, version)
	}
	return fmt.Errorf("%s answers %s; is it sluice?", r.name, r.said)
}

// reachAddress asks the sluice at an address.
func reachAddress(ctx context.Context, server, token, page string, query url.Values) (reply, error) {
	at, err := url.Parse(server)
	switch {
	case err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https":
		return reply{}, fmt.Errorf("--server=%s: give an address such as http://127.0.0.1:8085, NAMESPACE/SERVICE:PORT, or none", server)
	case token != "" && at.Scheme != "https":
		return reply{}, fmt.Errorf("--token: it would go to --server=%s in the clear; give an address with https", server)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	r, err := door{http.DefaultClient, at, "--server=" + server, token, "Authorization"}.get(ctx, page, query)
	if err != nil {
		var cause *url.Error
		if errors.As(err, &cause) {
			err = cause.Err // it names the address again
		}
		return reply{}, fmt.Errorf("--server=%s: %w; is sluice run there, with --address?", server, err)
	}
	if r.wantsTLS() {
		return reply{}, fmt.Errorf("--server=%s: it speaks TLS; give the address with https", server)
	}
	return r, nil
}

// proxied are the doors that an API server has to services and pods of a namespace, by their kind.
type proxied struct {
	client *http.Client
	at     *url.URL // of the API server
	scheme string
	token  string
}

func (p proxied) door(namespace, kind, name, port string) door {
	d := door{client: p.client, name: fmt.Sprintf("%s %s/%s", strings.TrimSuffix(kind, "s"), namespace, name), header: web.TokenHeader}
	if p.scheme == "https" {
		d.token = p.token // who speaks in the clear wants none, and all could read it
	}
	d.at = p.at.JoinPath("api/v1/namespaces", namespace, kind, p.scheme+":"+name+":"+port, "proxy")
	return d
}
