package azure

import (
	"context"
	"testing"

	"sluice.dev/sluice/internal/azure/config"
)

func TestTheOperatorsOwnLimitsHoldBesideAzures(t *testing.T) {
	for name, tc := range map[string]struct {
		rates   config.RateLimit
		request string
		atOnce  int
	}{
		"none":                          {config.RateLimit{ReadBurst: 3}, listSets, 93}, // of the front door's 125: a refresh leaves a quarter
		"by default":                    {config.RateLimit{Enabled: true}, listSets, 3},
		"stricter for reads":            {config.RateLimit{Enabled: true, ReadQPS: 0.1, ReadBurst: 2}, listSets, 1},
		"stricter for writes":           {config.RateLimit{Enabled: true, WriteBurst: 3}, growA, 3},
		"looser than Azure's":           {config.RateLimit{Enabled: true, WriteBurst: 50}, growA, 12},
		"of this kind of resource":      {config.RateLimit{Enabled: true, Clients: map[string]config.RateLimit{"virtualMachineScaleSet": {Enabled: true, WriteBurst: 2}}}, growA, 2},
		"off for this kind of resource": {config.RateLimit{Enabled: true, WriteBurst: 3, Clients: map[string]config.RateLimit{"virtualMachineScaleSet": {}}}, growA, 12},
		"of another kind of resource":   {config.RateLimit{Enabled: true, WriteBurst: 4, Clients: map[string]config.RateLimit{"disk": {Enabled: true, WriteBurst: 2}}}, growA, 4},
		"and not for machines beneath":  {config.RateLimit{Enabled: true, ReadBurst: 2}, listOfA, 27},
	} {
		g := newGated(0.5)
		g.gate.rates = tc.rates
		if sent, _ := g.until(context.Background(), tc.request); sent != tc.atOnce {
			t.Errorf("%s: %d requests were sent at once, want %d", name, sent, tc.atOnce)
		}
	}
}
