package scheduling

type (
	Refuge = Destinations
	Lodger = Reservation
)

func (c *Checker) Refuge(nodes ...Handle) *Refuge { return c.Destinations(nodes...) }
func (c *Checker) Lodge(all []Lodger)             { c.Reserve(all) }

// Lodged is how many pods stand.
func (c *Checker) Lodged() int {
	n := 0
	for _, s := range c.reservations.all {
		for _, seat := range s.seats {
			n += seat.Pods
		}
	}
	return n
}
