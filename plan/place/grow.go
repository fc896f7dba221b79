package place

import (
	"sluice.dev/sluice/scheduling"
)

// OnEmpty asks about an empty machine of the group in that zone, alone and for the moment.
func (d *Room) OnEmpty(st *Incoming, zone string, ask func(h scheduling.Handle)) {
	undo := d.Check.Mark()
	ask(d.Check.Open(d.Template(st, zone), "new machine of "+string(st.ID)))
	undo()
}
