package azure_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// overheard is a connection that keeps how deletions were asked for.
type overheard struct {
	next      http.RoundTripper
	deletions []string
}

func (o *overheard) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/delete") {
		how := "plain"
		if r.URL.Query().Get("forceDeletion") == "true" {
			how = "force"
		}
		o.deletions = append(o.deletions, how)
	}
	return o.next.RoundTrip(r)
}

func machinesOf(g *cluster.Group, ids ...cluster.InstanceID) []cluster.Machine {
	var named []cluster.Machine
	for _, id := range ids {
		named = append(named, g.Instance(id).Machine())
	}
	return named
}

func TestDeletionIsForcedWhereAzureCan(t *testing.T) {
	for name, tc := range map[string]struct {
		size     string
		off      bool // not switched on
		refused  string
		requests string // the query of each deletion, "force" or "plain"
		removed  bool
	}{
		"as it is by default":                {size: "Standard_D4s_v5", off: true, requests: "plain", removed: true},
		"when it is switched on":             {size: "Standard_D4s_v5", requests: "force", removed: true},
		"a size with a host of its own":      {size: "Standard_F72s_v2", requests: "plain", removed: true},
		"when Azure does not allow it":       {size: "Standard_D4s_v5", refused: "OperationNotAllowed", requests: "force plain", removed: true},
		"when Azure refuses for other cause": {size: "Standard_D4s_v5", refused: "ScopeLocked", requests: "force"},
	} {
		t.Run(name, func(t *testing.T) {
			s := set("agents", 2)
			s.Size = tc.size
			w := newWorld(t, s)
			o := w.options("0:9:agents")
			o.ForceDelete = !tc.off
			wire := &overheard{next: o.Transport}
			o.Transport = wire
			w.open(o)
			if tc.refused != "" {
				w.sim.Inject(azuresim.Fault{Kind: deleteByID, Status: 409, Code: tc.refused, Times: 1})
			}
			g, err := w.Group(t.Context(), "agents")
			w.must(err)
			err = w.DeleteInstances(t.Context(), g, machinesOf(g, "1"))
			if (err == nil) != tc.removed {
				t.Errorf("error %v, want it removed: %t", err, tc.removed)
			}
			if got := strings.Join(wire.deletions, " "); got != tc.requests {
				t.Errorf("deletions sent: %q, want %q", got, tc.requests)
			}
			w.pass(2 * time.Minute)
			if n := len(w.groups()["agents"].Instances); tc.removed && n != 1 {
				t.Errorf("%d machines are left, want 1", n)
			}
		})
	}
}
