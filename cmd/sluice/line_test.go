package main

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/internal/web"
)

// TestALineTakesTheDoorThatLedThere, and finds another when it leads there no more: the service's replica stands by, or its pod is gone.
func TestALineTakesTheDoorThatLedThere(t *testing.T) {
	f := newFarm(t)
	s := web.New(web.Options{})
	s.Report(steady())
	const service, first, second = "services/http:sluice:8085", "pods/http:leader-0:", "pods/http:leader-1:"
	p := &proxying{next: fromProtobuf(f.cluster), behind: map[string]http.Handler{service: standby("leader-0_0a0a0a0a_1"), first: s.Handler()}}
	var h operator
	h.contentType, h.kubeconfig = "application/json", kubeconfig(t, f.serve(p))
	l := &line{settings: &h.settings, whom: whom{namespace: "kube-system"}}
	asks := func(why string, doors ...string) {
		t.Helper()
		p.asked = nil
		var n view.Now
		if _, err := l.ask(t.Context(), "api/v1/now", url.Values{}, &n); err != nil || n.Cycle != 7 {
			t.Errorf("%s: cycle %d, %v", why, n.Cycle, err)
		}
		if !slices.Equal(p.asked, doors) {
			t.Errorf("%s: asked %q, want %q", why, p.asked, doors)
		}
	}
	asks("at first", service, first)
	asks("again", first)
	p.behind[service], p.behind[first], p.behind[second] = standby("leader-1_0a0a0a0a_1"), standby("leader-1_0a0a0a0a_1"), s.Handler()
	asks("another leads", first, service, second)
	delete(p.behind, second)
	p.behind[service] = s.Handler()
	asks("the pod is gone", second, service)
	delete(p.behind, service)
	if _, err := l.ask(t.Context(), "api/v1/now", nil, &view.Now{}); err == nil {
		t.Error("nobody answers, and it is no error")
	}
	p.behind[service] = s.Handler()
	asks("after nobody answered", service)
}
