package azure_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"sluice.dev/sluice/internal/azuresim"
)

// TestABusyMetadataServiceDelaysTheStart and does not end it, whether it has to say where sluice works or only on which machine: that one
// is known all the same.
func TestABusyMetadataServiceDelaysTheStart(t *testing.T) {
	for name, discovers := range map[string]bool{"where it works": true, "which machine it is": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agents := set("agents", 2)
				agents.SystemAssigned = true
				w := newWorld(t, agents)
				w.sim.Inject(azuresim.Fault{Kind: "GET metadata/instance", Status: http.StatusTooManyRequests, Times: 3})
				o := w.options("0:9:agents")
				o.Transport = &azuresim.Transport{Server: w.sim, Machine: "agents_0"}
				if !discovers {
					o.Subscription, o.ResourceGroup = subscription, resourceGroup
				}
				w.open(o)
				if n := strings.Count(w.log.String(), "instance metadata is busy and is asked again"); n != 3 {
					t.Errorf("%d waits are told, want 3:\n%s", n, w.log.String())
				}
				if w.groups()["agents"].Own == "" {
					t.Error("the machine that sluice runs on is not known")
				}
			})
		})
	}
}
