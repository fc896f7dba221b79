package azure_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/azuresim"
)

// nearlySpent answers as the simulator does, and adds to every list of machines that little is left.
type nearlySpent struct{ http.RoundTripper }

func (n nearlySpent) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := n.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Header.Set("X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/HighCostGetVMScaleSet30Min;3")
	}
	return resp, err
}

func TestLittleLeftDelaysRefreshesAndNoWrite(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	o := w.options("0:9:agents")
	o.Transport = nearlySpent{o.Transport}
	w.open(o)
	w.groups()
	w.grow("agents", 1)
	w.remove("agents", "0")
	if c := w.sim.Counters(); c[patchSet] != 1 || c[deleteByID] != 1 {
		t.Errorf("%d growths and %d deletions were sent, want one of each", c[patchSet], c[deleteByID])
	}
	before := w.sim.Counters()[listMachines]
	w.now = w.now.Add(20 * time.Second)
	w.groups()
	if n := w.sim.Counters()[listMachines] - before; n != 0 {
		t.Errorf("%d machine lists were read for a cache while little was left", n)
	}
}

func TestTheSimulatorsLimitsAndTheProvidersShareAgree(t *testing.T) {
	w := newWorld(t, set("agents", 2), set("render", 2))
	w.sim.Throttle = true
	w.open(w.options("0:9:agents", "0:9:render"))
	w.groups()
	var e *cloud.Error
	for range 100 {
		if _, err := w.Group(context.Background(), "agents"); err != nil {
			e = errorOf(t, err)
			break
		}
	}
	if e == nil || e.Kind != cloud.Throttled || e.Code != "ShareSpent" || e.RetryAfter <= 0 || e.RetryAfter > 11*time.Second {
		t.Errorf("after many reads the error is %+v, want sluice's share spent and the time of the next", e)
	}
	for _, r := range w.sim.Requests() {
		if r.Status == http.StatusTooManyRequests {
			t.Errorf("Azure refused %s %s: the share did not keep sluice from that", r.Method, r.Path)
		}
	}
	if _, err := w.Group(context.Background(), "render"); err != nil {
		t.Errorf("the other group cannot be read: %v", err)
	}
	w.now = w.now.Add(e.RetryAfter)
	if _, err := w.Group(context.Background(), "agents"); err != nil {
		t.Errorf("at its time the group cannot be read: %v", err)
	}
}

func TestAnOperationThatIsGoneIsNotPolledAgain(t *testing.T) {
	w := newWorld(t, set("agents", 2))
	w.open(w.options("0:9:agents"))
	w.grow("agents", 1)
	w.sim.Inject(azuresim.Fault{Kind: "GET operations", Status: http.StatusNotFound})
	w.pass(30 * time.Minute)
	if n := w.sim.Counters()["GET operations"]; n != 1 {
		t.Errorf("the operation was asked for %d times, want once: it was not found", n)
	}
	if g := w.groups()["agents"]; !g.Usable() || g.Capacity != 3 {
		t.Errorf("the group is %+v, want it usable with 3: its reads tell how the operation went", g)
	}
}
