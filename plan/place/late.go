package place

import (
	"sluice.dev/sluice/scheduling"
)

// PlaceOnLate has pods that no other group helps go on waiting for the machines that are late.
func (d *Room) PlaceOnLate() {
	row := d.Check.Row()
	for _, g := range d.Snapshot.Groups {
		st := d.groups[g.ID]
		if g.Template == nil {
			continue
		}
		for i, in := range st.Late {
			zone := ""
			if st.Rotation != nil {
				zone = in.Zone
			}
			h := d.Check.Open(d.Template(st, zone), comingName(g.ID, st.expects+i))
			d.Opened.Set(h, st)
			d.TellOpen(g.ID, h)
			row.Append(h)
		}
	}
	for _, band := range d.bands() {
		d.PlaceOn(row, band, func(dm *Demand, h scheduling.Handle, n int) { d.PlaceComing(dm, h, n) })
	}
}
