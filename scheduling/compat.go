package scheduling

// Refuge is [Destinations] by its former name.
type Refuge = Destinations

// Lodger is [Reservation] by its former name.
type Lodger = Reservation

// Refuge is [Checker.Destinations] by its former name.
func (c *Checker) Refuge(nodes ...Handle) *Refuge { return c.Destinations(nodes...) }

// Lodge is [Checker.Reserve] by its former name.
func (c *Checker) Lodge(all []Lodger) { c.Reserve(all) }

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
