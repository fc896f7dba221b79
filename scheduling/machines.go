package scheduling

import (
	"sluice.dev/sluice/scheduling/internal/whatif"
)

// Awaited is a machine that is coming.
type Awaited struct {
	Like *Template
	Name string // that no node has
	Was  Handle // its handle in the last snapshot where that is known; any other one costs a look
}

// machines are those that are coming. They stand below all what-ifs.
type machines struct {
	world        *whatif.World
	reservations *reservations
	awaited      []Handle // all of them are present; no node of the snapshot is among them
}

// await opens machines that do not stand yet, and gives up those that are not awaited any more.
func (m *machines) await(all []Awaited) []Handle {
	w := m.world
	if w.Pretended() > 0 {
		panic("scheduling: machines are awaited while something is pretended")
	}
	stay := make([]bool, w.Nodes.Size(), w.Nodes.Size()+len(all))
	handles := make([]Handle, len(all))
	for i, a := range all {
		h, ok := a.Was, w.Nodes.Is(a.Was, a.Name)
		if !ok {
			h, ok = w.Nodes.Handle(a.Name)
		}
		if ok = ok && w.Nodes.Like(h) != nil; ok && !a.Like.Same(w.Nodes.Like(h)) {
			m.dismiss(h)
			ok = false
		}
		if !ok {
			h = w.Nodes.Machine(a.Name, a.Like)
			w.Classes.Enter(h)
			stay = append(stay, true)
		}
		handles[i], stay[h] = h, true
	}
	for _, h := range m.awaited {
		if w.Nodes.Present(h) && !stay[h] {
			m.dismiss(h)
		}
	}
	m.awaited = handles
	return handles
}

// dismiss gives up a machine.
func (m *machines) dismiss(h Handle) {
	m.reservations.vacate(h)
	m.world.Classes.Leave(h)
	m.world.Nodes.SetPods(h, nil)
}
