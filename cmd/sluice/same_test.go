package main

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/top"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/reason"
)

// TestAllSayTheSameOfACycle asks a running sluice by its page, its API, top, the plugin's explain and its journal about one and the same cycle.
func TestAllSayTheSameOfACycle(t *testing.T) {
	f := newFarm(t)
	f.pod("web")
	journal := file(t, "journal", "")
	r := f.run("--dry-run", "--scan-interval=10m", "--journal="+journal)
	r.until("/readyz", func() bool { return r.answers("/readyz") })
	get := func(address string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.address+address, nil)
		must(t, err)
		req.Header.Set("Accept", "text/html, application/json")
		resp, err := http.DefaultClient.Do(req)
		must(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("GET %s: %s %s", address, resp.Status, body)
		}
		return html.UnescapeString(string(body))
	}
	var n view.Now
	must(t, json.Unmarshal([]byte(get("/api/v1/now")), &n))
	if n.Pending != 1 || len(n.Groups) != 1 || len(n.Waiting) != 1 {
		t.Fatalf("not the cycle that is meant: %+v", n)
	}
	page, why := get("/"), get("/why/pod/default/web")
	for _, words := range []string{n.Headline, n.Detail, n.Groups[0].Why, n.Waiting[0].Sentence} {
		if !strings.Contains(page, words) {
			t.Errorf("the page does not say %q", words)
		}
	}
	if !strings.Contains(why, n.Waiting[0].Sentence) {
		t.Errorf("the page about the pod does not say %q", n.Waiting[0].Sentence)
	}
	screen := sluice(t.Context(), "top", "--server="+r.address, "-o", "text")
	screen.expect(t, exitNothing, "1 pod waits", string(n.Waiting[0].Code), " agents ")
	if data := sluice(t.Context(), "top", "--server="+r.address, "-o", "json"); data.out != get("/api/v1/now") {
		t.Errorf("top has\n%s\nthe API\n%s", data.out, get("/api/v1/now"))
	}
	if data := sluice(t.Context(), "top", "--journal="+journal, "-o", "json"); data.out != get("/api/v1/now") {
		t.Errorf("of the journal top has\n%s\nthe API\n%s", data.out, get("/api/v1/now"))
	}
	explained := sluice(t.Context(), "explain", "pod", "web", "--server="+r.address)
	explained.expect(t, exitNothing, n.Waiting[0].Sentence, string(n.Waiting[0].Code))
	source := &top.Server{Ask: (&line{whom: whom{server: r.address}}).ask}
	if got, err := source.Why(t.Context(), reason.Pod("default", "web"), time.Time{}); err != nil || got != explained.out {
		t.Errorf("top explains (%v)\n%s\nexplain\n%s", err, got, explained.out)
	}
	if past, err := source.At(t.Context(), n.Time); err != nil || past.Now.Cycle != n.Cycle || past.Now.Headline != n.Headline {
		t.Errorf("of its own past the server says %+v (%v)", past.Now, err)
	}
	if banner := get("/?at=" + n.Time.UTC().Format(time.RFC3339Nano)); !strings.Contains(banner, "You see") || !strings.Contains(banner, n.Headline) {
		t.Error("the page as of that cycle has no banner, or another headline")
	}
	if told, err := source.Told(t.Context(), time.Time{}); err != nil || len(told) == 0 || !strings.Contains(get("/time"), told[0].Sentence) {
		t.Errorf("top and the page do not tell the same: %+v (%v)", told, err)
	}
	if found, err := source.Find(t.Context(), "web", time.Time{}); err != nil || len(found) == 0 || found[0].Ref != reason.Pod("default", "web") {
		t.Errorf("found %+v (%v)", found, err)
	}
	r.end()
}
