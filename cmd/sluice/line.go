package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"sluice.dev/sluice/internal/app"
)

// beside is where sluice serves on the machine that runs it, and where kubectl port-forward leads to.
const beside = "http://127.0.0.1:" + servicePort

// line is the way to a running sluice, for somebody who asks again and again: the door that led there is taken until it leads there no more.
type line struct {
	settings *settings
	whom

	mu   sync.Mutex
	door *door // nil when the way is to be found
}

// name is what somebody calls the cluster or the address that is asked.
func (l *line) name() string {
	if u, err := url.Parse(l.server); err == nil && u.Host != "" {
		return u.Host
	}
	config, _ := l.settings.client()
	raw, err := config.RawConfig()
	switch {
	case l.settings.overrides.CurrentContext != "":
		return l.settings.overrides.CurrentContext
	case err == nil && raw.CurrentContext != "":
		return raw.CurrentContext
	}
	return "sluice"
}

// ask reads an answer, and gives its header.
func (l *line) ask(ctx context.Context, page string, query url.Values, to any) (http.Header, error) {
	l.mu.Lock()
	known := l.door
	l.mu.Unlock()
	if known != nil {
		soon, cancel := context.WithTimeout(ctx, answerWithin)
		r, err := known.get(soon, page, query)
		cancel()
		if _, waits := r.standsBy(); err == nil && !waits && r.ofAPIServer() == nil {
			return r.header, r.into(to)
		}
	}
	r, err := l.find(ctx, page, query)
	var found *door
	if err == nil {
		err = r.into(to)
		if _, waits := r.standsBy(); !waits {
			found = &r.door
		}
	}
	l.mu.Lock()
	l.door = found
	l.mu.Unlock()
	return r.header, err
}

// find asks the sluice of the cluster. Where no cluster is named it asks the port of this machine, to which kubectl may forward.
func (l *line) find(ctx context.Context, page string, query url.Values) (reply, error) {
	r, err := l.settings.reach(ctx, l.whom, page, query)
	var none *noSluice
	switch {
	case !errors.As(err, &none):
		return r, err
	case strings.Contains(none.why, "--server"): // it names the remedy
		return r, fmt.Errorf("no running sluice is found: %s", none.why)
	case none.why != "":
		return r, fmt.Errorf("no running sluice is found: %s; name its address with --server, or a journal with --journal", none.why)
	case !errors.Is(none.unknown, app.ErrNoCluster):
		return r, none.unknown
	}
	if r, err := reachAddress(ctx, beside, "", page, query); err == nil {
		return r, nil
	}
	return r, fmt.Errorf("%w; or name the address of a sluice with --server, or a journal with --journal", none.unknown)
}
