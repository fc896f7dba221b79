package guard_test

import (
	"testing"

	"sluice.dev/sluice/policy"
)

// ceiling sets a ceiling, and a price of 0.2 an hour for each machine.
func (w *world) ceiling(text string) {
	c, err := policy.ParseGroupCeiling(text)
	if err != nil {
		panic(err)
	}
	w.policy.Growth.Ceilings = append(w.policy.Growth.Ceilings, c)
	for _, g := range w.groups {
		g.PriceUSDPerHour = 0.2
	}
}

func TestAGrowthUpToACeilingOfCostPasses(t *testing.T) {
	w := growing()
	w.ceiling("usd-per-hour:1")
	if err := w.check(); err != nil {
		t.Error(err)
	}
}
