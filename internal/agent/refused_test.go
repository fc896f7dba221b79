package agent_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/agent"
	"sluice.dev/sluice/internal/azuresim"
)

// TestARefusalIsPutOnRecordWithItsProperty: the node is empty, and what Azure announces has not been heard anew for a minute, so that the guard holds the
// agreement back. The log and the metric say so by the property's id; once Azure answers again the agreement is given.
func TestARefusalIsPutOnRecordWithItsProperty(t *testing.T) {
	f := newFarm(t, 1)
	f.agent.Metrics = agent.NewMetrics()
	f.announce("agents_0", azuresim.Reboot, 15*time.Minute)
	f.pass(5 * time.Second)
	f.azure.Inject(azuresim.Fault{Name: "deaf", Kind: "GET metadata*", Status: 500})
	f.pass(20 * time.Second)
	f.says(true)
	f.pass(4 * time.Minute)
	if f.agreed() != 0 {
		t.Fatal("Azure was told to go on, on a document that is minutes old")
	}
	if n := strings.Count(f.log.String(), "code=ScheduledEventsOld"); n != 1 || !strings.Contains(f.log.String(), "(S-20)") {
		t.Errorf("the log names S-20 %d times, want once in five minutes\n%s", n, &f.log)
	}
	page := scrape(t, f.agent.Metrics, http.MethodGet, "/metrics").Body.String()
	for series, want := range map[string]bool{
		`sluice_guard_refusals_total{property="S-20"} `:                   true,
		`sluice_agent_writes_total{status="refused",write="agree"} 0`:     false,
		`sluice_agent_writes_total{status="accepted",write="agree"} 0`:    true,
		`sluice_agent_writes_total{status="accepted",write="announce"} 1`: true,
	} {
		if strings.Contains(page, series) != want {
			t.Errorf("the metrics say %q: %t, want %t\n%s", series, !want, want, page)
		}
	}
	f.azure.ClearFault("deaf")
	f.pass(10 * time.Second)
	if f.agreed() != 1 {
		t.Errorf("%d agreements once Azure answered again, want 1", f.agreed())
	}
}

// TestTheAgentsPortIsReadOnly: it tells its metrics, and nothing can be asked of it.
func TestTheAgentsPortIsReadOnly(t *testing.T) {
	m := agent.NewMetrics()
	for _, c := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "/metrics", 200}, {http.MethodHead, "/metrics", 200}, {http.MethodGet, "/", 404}, {http.MethodGet, "/debug/pprof/", 404},
		{http.MethodPost, "/metrics", 405}, {http.MethodPut, "/metrics", 405}, {http.MethodDelete, "/metrics", 405}, {http.MethodPost, "/", 404},
	} {
		if got := scrape(t, m, c.method, c.path).Code; got != c.want {
			t.Errorf("%s %s is answered %d, want %d", c.method, c.path, got, c.want)
		}
	}
}

func scrape(t *testing.T, m *agent.Metrics, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
	return w
}
