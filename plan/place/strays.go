package place

import (
	"slices"
)

// zonesOf are the zones in which the group's next machines are expected: all of its zones but those that are passed over, while another is left.
func (d *Room) zonesOf(st *Incoming) []string {
	zones := slices.DeleteFunc(slices.Clone(st.Zones), func(zone string) bool {
		until := d.Memory.Groups[st.ID].Astray[zone].Until
		d.Wake(until)
		return until.After(d.Now)
	})
	if len(zones) == 0 {
		return st.Zones
	}
	return zones
}
