package page

import (
	"strings"
	"testing"

	"sluice.dev/sluice/reason"
)

func TestValuesAreSaidAsPeopleSayThem(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"limit", "2m0s", "2 minutes"}, {"limit", "1h0m0s", "1 hour"}, {"age", "1h5m10s", "1 hour 5 minutes"}, {"age", "45s", "45 seconds"}, {"age", "250ms", "250 ms"},
		{"age", "1m1s", "1 minute 1 second"}, {"age", "72h0m0s", "3 days"}, {"age", "0s", "0 seconds"}, {"age", "4.2s", "4.2 seconds"},
		{"nodes", "5000", "5,000"}, {"nodes", "999", "999"}, {"nodes", "1234567", "1,234,567"}, {"free", "7800m", "7.8"}, {"needs", "130816Mi", "127.8 GiB"}, {"needs", "15", "15"},
		{"node", "5000", "5000"}, {"group", "2m0s", "2m0s"}, {"pod", "<b>", "&lt;b&gt;"}, {"", "2m0s", "2m0s"}, {"taint", "3s", "3s"},
		{"until", "2026-03-01T13:00:00Z", `<time datetime="2026-03-01T13:00:00Z" data-show="clock">13:00:00</time>`},
	} {
		if got := value(c.name, c.value); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

func TestWhatATenantSaysIsCut(t *testing.T) {
	got := string(said(reason.New(reason.SchedulerRefused, reason.Node("a"), "plugin", "<p>", "message", "\x1b[2J"+strings.Repeat("x", 5000)).Words()))
	if len(got) > 700 || strings.ContainsAny(got, "\x1b<") || !strings.HasSuffix(got, " …") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

func TestZonesAreNamedOnce(t *testing.T) {
	for want, of := range map[string][]string{
		"westeurope-1 -2 -3": {"westeurope-1", "westeurope-2", "westeurope-3"}, "1 2": {"1", "2"}, "a-1 b-2": {"a-1", "b-2"}, "": nil,
	} {
		if got := strings.Join(zones(of), " "); got != want {
			t.Errorf("%v: %q, want %q", of, got, want)
		}
	}
}
