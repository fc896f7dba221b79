package fleettest_test

import (
	"testing"

	"sluice.dev/sluice/fleet"
	"sluice.dev/sluice/fleet/fleettest"
)

const minute = fleet.Instant(60_000)

// TestWhatIsTrueHasToBePossible tells what a ledger may miss from what it may not.
func TestWhatIsTrueHasToBePossible(t *testing.T) {
	for _, x := range []struct {
		name  string
		truth fleettest.Truth
		may   fleet.Set
		sound bool
	}{
		{"what is true is possible", fleettest.Truth{State: fleet.Here, Own: true}, fleet.Here | fleet.Gone, true},
		{"what is true is not possible", fleettest.Truth{State: fleet.Here, Own: true}, fleet.Gone, false},
		{"it is so for less than a minute", fleettest.Truth{State: fleet.Gone, Own: true, Changed: 100*minute - minute/2}, fleet.Here, true},
		{"it is being deleted, and counts as gone", fleettest.Truth{State: fleet.Leaving, Own: true}, fleet.Gone, true},
		{"it is gone, and counts as being deleted", fleettest.Truth{State: fleet.Gone, Own: true}, fleet.Leaving, false},
		{"another hand did it, and no list can tell for certain", fleettest.Truth{State: fleet.Gone, Changed: 80 * minute, Reported: 89 * minute}, fleet.Here, true},
		{"another hand did it, and a list has told", fleettest.Truth{State: fleet.Gone, Changed: 80 * minute, Reported: 90 * minute}, fleet.Here, false},
		{"the process did it itself, and no list has told", fleettest.Truth{State: fleet.Gone, Changed: 80 * minute, Own: true}, fleet.Here, false},
	} {
		if got := x.truth.Sound(x.may, 100*minute, fleet.Usual()); got != x.sound {
			t.Errorf("%s: sound is %v", x.name, got)
		}
	}
}
