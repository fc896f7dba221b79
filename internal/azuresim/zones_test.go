package azuresim

import (
	"slices"
	"testing"
)

// TestMachinesComeUpWhereThereIsRoom says what becomes of a growth when zones are full, by the balance of the set.
func TestMachinesComeUpWhereThereIsRoom(t *testing.T) {
	for name, c := range map[string]struct {
		strict bool
		full   []string
		zones  []string // of the machines, by id
		failed []bool
	}{
		"with room everywhere the emptiest zone has its turn, the first of several":    {zones: []string{"1", "2", "3", "1"}, failed: make([]bool, 4)},
		"best effort balances over the zones that have room":                           {full: []string{"2"}, zones: []string{"1", "3", "1", "3"}, failed: make([]bool, 4)},
		"best effort puts all into the one zone that is left":                          {full: []string{"2", "3"}, zones: []string{"1", "1", "1", "1"}, failed: make([]bool, 4)},
		"a strict balance takes turns all the same, and machines fail in a full zone":  {strict: true, full: []string{"2"}, zones: []string{"1", "2", "3", "1"}, failed: []bool{false, true, false, false}},
		"where no zone has room best effort fails too, in the zone whose turn it is":   {full: []string{"1", "2", "3"}, zones: []string{"1", "2", "3", "1"}, failed: []bool{true, true, true, true}},
		"a zone of another set that is full is no matter, as long as it is none of it": {full: []string{"4"}, zones: []string{"1", "2", "3", "1"}, failed: make([]bool, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{}
			if err := s.AddScaleSet(ScaleSet{Subscription: "s", ResourceGroup: "g", Name: "set", Location: "westeurope", Size: "Standard_D4s_v5", Zones: []string{"1", "2", "3"}, Strict: c.strict}); err != nil {
				t.Fatal(err)
			}
			s.FillZones(c.full...)
			if err := s.SetCapacity("set", 4); err != nil {
				t.Fatal(err)
			}
			var zones []string
			var failed []bool
			for _, i := range s.store.sets[0].instances {
				zones = append(zones, i.placement.zone)
				failed = append(failed, i.provisioning.failure.Code == "ZonalAllocationFailed")
			}
			if !slices.Equal(zones, c.zones) || !slices.Equal(failed, c.failed) {
				t.Errorf("machines are in %v and fail %v, want %v and %v", zones, failed, c.zones, c.failed)
			}
		})
	}
}
