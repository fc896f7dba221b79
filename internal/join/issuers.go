package join

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"sluice.dev/sluice/internal/attest"
)

// DefaultIssuers is where Microsoft serves the certificates of its issuers. Signers name it with http; certificates vouch for themselves either way.
const DefaultIssuers = "https://www.microsoft.com/pkiops/certs"

// Limits of fetching. A certificate has some 2 KiB, and a chain two of them.
const (
	mostHops        = 4
	mostCertificate = 16 << 10
	fetchWithin     = 5 * time.Second
	keepGood        = 24 * time.Hour
	keepBad         = 5 * time.Minute
	mostIssuers     = 64             // that are remembered, good and bad
	fetchesPer      = 20             // in a minute
	mostWait        = mostAtOnce / 2 // for what is fetched: all others go on
)

// issuers fetches the certificates between a signer and a root, each where the one below it says (AIA), and only at Microsoft's.
type issuers struct {
	base   string
	client *http.Client
	now    func() time.Time

	waiting  chan struct{} // a place for each who waits
	fetching chan struct{} // one is fetched at a time: others wait for what it brings

	mu      sync.Mutex
	known   map[string]fetched
	fetches []time.Time
}

// fetched is what came of a fetch.
type fetched struct {
	certificate *x509.Certificate
	fault       error
	at, until   time.Time
}

func newIssuers(o Options) *issuers {
	transport := o.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	client := &http.Client{
		Transport: transport, Timeout: fetchWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &issuers{base: strings.TrimSuffix(o.IssuersFrom, "/"), client: client, now: o.Now, known: map[string]fetched{}, waiting: make(chan struct{}, mostWait), fetching: make(chan struct{}, 1)}
}

// file is the name of a certificate at Microsoft's.
var file = regexp.MustCompile(`^Microsoft [A-Za-z0-9 -]{1,80}\.crt$`)

// fileOf is the file of the certificate's issuer at www.microsoft.com/pkiops/certs; "" when it names none there.
func fileOf(c *x509.Certificate) string {
	for _, at := range c.IssuingCertificateURL {
		u, err := url.Parse(at)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host != "www.microsoft.com" || u.User != nil || u.RawQuery != "" {
			continue
		}
		if name, ok := strings.CutPrefix(u.Path, "/pkiops/certs/"); ok && file.MatchString(name) {
			return name
		}
	}
	return ""
}

// fetch brings the certificates above one, as far as they are named.
func (i *issuers) fetch(ctx context.Context, c *x509.Certificate) (all []*x509.Certificate, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	for range mostHops {
		name := fileOf(c)
		if name == "" {
			break
		}
		above, err := i.one(ctx, name, c)
		if err != nil {
			return nil, err
		}
		if all = append(all, above); c.CheckSignatureFrom(above) != nil {
			break // no chain comes of it: somebody else bears the issuer's name
		}
		c = above
	}
	if len(all) == 0 {
		return nil, errors.New("the certificate names no issuer at www.microsoft.com/pkiops/certs")
	}
	return all, nil
}

// one is a certificate by its file.
func (i *issuers) one(ctx context.Context, name string, below *x509.Certificate) (*x509.Certificate, error) {
	if f, ok := i.remembered(name, below); ok {
		return f.certificate, f.fault
	}
	select {
	case i.waiting <- struct{}{}:
		defer func() { <-i.waiting }()
	default:
		return nil, fmt.Errorf("%d requests wait for certificates already", mostWait)
	}
	select {
	case i.fetching <- struct{}{}:
		defer func() { <-i.fetching }()
	case <-ctx.Done():
		return nil, errors.New("others are fetched")
	}
	if f, ok := i.remembered(name, below); ok {
		return f.certificate, f.fault
	}
	if err := i.mayFetch(); err != nil {
		return nil, err
	}
	c, err := i.get(ctx, name)
	keep := keepGood
	if err != nil {
		keep = keepBad
	}
	if ctx.Err() == nil || err == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		i.mu.Lock()
		defer i.mu.Unlock()
		now := i.now()
		i.known[name] = fetched{c, err, now, now.Add(keep)}
	}
	return c, err
}

// remembered is what came of the last fetch. A certificate that has not signed what names it may have got a successor of its name.
func (i *issuers) remembered(name string, below *x509.Certificate) (fetched, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	f, ok := i.known[name]
	return f, ok && now.Before(f.until) && (f.fault != nil || now.Sub(f.at) < keepBad || below.CheckSignatureFrom(f.certificate) == nil)
}

// mayFetch counts a fetch, or says why there is none.
func (i *issuers) mayFetch() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.now()
	for n, f := range i.known {
		if !now.Before(f.until) {
			delete(i.known, n)
		}
	}
	for len(i.fetches) > 0 && now.Sub(i.fetches[0]) >= time.Minute {
		i.fetches = i.fetches[1:]
	}
	if len(i.fetches) >= fetchesPer || len(i.known) >= mostIssuers {
		return fmt.Errorf("%d certificates were fetched in the last minute (limit %d)", len(i.fetches), fetchesPer)
	}
	i.fetches = append(i.fetches, now)
	return nil
}

func (i *issuers) get(ctx context.Context, name string) (*x509.Certificate, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, i.base+"/"+url.PathEscape(name), http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := i.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be reached", req.URL.Host)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %d for %s", req.URL.Host, resp.StatusCode, name)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, mostCertificate+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s ended its answer early", req.URL.Host)
	case len(raw) > mostCertificate:
		return nil, fmt.Errorf("%s has more than %d KiB", name, mostCertificate>>10)
	}
	if block, _ := pem.Decode(raw); block != nil {
		raw = block.Bytes
	}
	c, err := x509.ParseCertificate(raw)
	if err != nil || attest.SelfSigned(c) {
		return nil, fmt.Errorf("%s is no certificate of an issuer", name)
	}
	return c, nil
}
