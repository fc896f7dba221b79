package azure_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// usualWords is what Azure says of any limit, one of a single scale set among them.
const usualWords = "The server rejected the request because too many requests have been received for this subscription."

// TestTheOthersGoOnWhileOneScaleSetIsThrottled is about ten minutes of 429s on one of three scale sets, over HTTP: the others grow at once whenever they are
// asked to, and the one that is refused is asked no more often than Azure wants.
func TestTheOthersGoOnWhileOneScaleSetIsThrottled(t *testing.T) {
	const wait, lasts = 90 * time.Second, 10 * time.Minute
	for name, fault := range map[string]azuresim.Fault{
		"lists":                    {Kind: listMachines, Style: "compute"},
		"lists, without a limit":   {Kind: listMachines, Code: "TooManyRequests", Message: usualWords},
		"growths":                  {Kind: patchSet, Style: "compute"},
		"growths, without a limit": {Kind: patchSet, Code: "OperationNotAllowed", Message: usualWords},
		"everything":               {Style: "compute"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, set("agents", 1), set("render", 1), set("video", 1))
			arm, metadata := httptest.NewServer(w.sim), httptest.NewServer(w.sim.Metadata("server-0"))
			t.Cleanup(arm.Close)
			t.Cleanup(metadata.Close)
			o := w.options("0:99:agents", "0:99:render", "0:99:video")
			o.Transport, o.ResourceManagerEndpoint, o.MetadataEndpoint = nil, arm.URL, metadata.URL
			w.open(o)
			w.groups()

			struck := map[string][]time.Time{} // by the kind of request
			w.sim.Observe = func(r azuresim.Request, _ []azuresim.MachineState) {
				if r.Status == http.StatusTooManyRequests {
					struck[r.Kind] = append(struck[r.Kind], r.Time)
				}
			}
			fault.ScaleSet, fault.Status, fault.RetryAfter, fault.Until = "agents", http.StatusTooManyRequests, wait, w.now.Add(lasts)
			w.sim.Inject(fault)
			began, grown := w.now, 1
			for at := began; at.Before(began.Add(lasts)); at = at.Add(10 * time.Second) {
				w.now = at
				for id, g := range w.groups() {
					if id != "agents" && !g.Usable() {
						t.Errorf("after %s %s is not usable: %s", at.Sub(began), id, g.Problem)
					}
				}
				if at.Sub(began)%time.Minute != 0 {
					continue
				}
				grown++
				for _, id := range []cluster.GroupID{"agents", "render", "video"} { // the refused one first
					g, err := w.Group(context.Background(), id)
					if err == nil {
						err = w.SetCapacity(context.Background(), g, g.Capacity+1)
					}
					switch {
					case id == "agents" && cloud.KindOf(err) != cloud.Throttled:
						t.Errorf("after %s agents grows or fails with %v", at.Sub(began), err)
					case id != "agents" && err != nil:
						t.Errorf("after %s %s does not grow: %v", at.Sub(began), id, err)
					}
				}
			}
			if len(struck) == 0 {
				t.Error("nothing was throttled")
			}
			for kind, times := range struck {
				if len(times) < 2 {
					t.Errorf("%s: refused %d times only in ten minutes", kind, len(times))
				}
				for i := 1; i < len(times); i++ {
					if pause := times[i].Sub(times[i-1]); pause < wait {
						t.Errorf("%s: asked again after %s", kind, pause)
					}
				}
			}
			w.pass(wait + 20*time.Second)
			w.grow("agents", 1)
			w.pass(time.Minute)
			for id, want := range map[cluster.GroupID]int{"agents": 2, "render": grown, "video": grown} {
				if g := w.groups()[id]; !g.Usable() || g.Capacity != want {
					t.Errorf("%s has %d machines at last, want %d: %s", id, g.Capacity, want, g.Problem)
				}
			}
		})
	}
}
