package remove

import (
	"sluice.dev/sluice/reason"
)

// fitsPending says which waiting pod has its place on the node, or for whose it is kept, nil when for none (S-16). A pod holds one node: that of its
// place. A pod of a gang that is not whole has none, and holds the first node that is asked about and takes it. It is to be asked first while none of the
// node's pods has been pretended away; the answer then holds for the cycle.
func (d *Removal) fitsPending(st *candidate) *reason.Reason {
	if why := d.CountedOn(st.Name()); why != nil {
		return why
	}
	if st.passedOver || len(d.Asking) == 0 {
		return nil
	}
	st.passedOver = true
	h, present := d.Check.Handle(st.Name())
	if !present {
		return nil
	}
	for i := range d.Asking {
		p := &d.Asking[i]
		if p.Pods == 0 {
			continue
		}
		room := d.Check.Room(p.Class, h)
		if room == 0 {
			continue
		}
		p.Pods -= min(room, p.Pods)
		if p.Claim != nil {
			d.KeepFor(p.Claim, st.Name())
		} else {
			d.Counted[st.Name()] = p.String()
		}
		return d.CountedOn(st.Name())
	}
	return nil
}
