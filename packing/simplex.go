package packing

// simplex is a linear program in the making: least cost with every row's sum equal to its right side, and columns that come one by
// one. It keeps the inverse of its basis, dense, so that a step costs the square of the rows.
type simplex struct {
	rows    int
	inverse []float64 // rows x rows
	value   []float64 // by row: how much of its basic column
	basis   []column  // by row
	dual    []float64 // by row: what one more on the right side costs
	cost    float64
	enters  []float64 // scratch
}

// column is a variable of the program: what one of it costs and puts into rows.
type column struct {
	cost    float64
	entries []entry
	group   int    // of a column that is a machine; else -1
	loads   []load // what the machine holds
}

// entry is a number in a row of a column.
type entry struct {
	row int
	n   float64
}

// newSimplex starts from a basis of one column for each row, which has its only entry there, and a right side of at least zero.
func newSimplex(basis []column, right []float64) *simplex {
	n := len(basis)
	s := &simplex{
		rows: n, inverse: make([]float64, n*n), value: make([]float64, n), basis: basis,
		dual: make([]float64, n), enters: make([]float64, n),
	}
	for i, c := range basis {
		pivot := c.entries[0].n
		s.inverse[i*n+i] = 1 / pivot
		s.value[i] = right[i] / pivot
		s.dual[i] = c.cost / pivot
		s.cost += float64(s.value[i] * c.cost)
	}
	return s
}

// reduced is how much one of the column changes the cost.
func (s *simplex) reduced(c *column) float64 {
	v := c.cost
	for _, e := range c.entries {
		v -= float64(s.dual[e.row] * e.n)
	}
	return v
}

// enter brings a column into the basis and says whether it could; the column has a reduced cost below zero.
func (s *simplex) enter(c column) bool {
	n, u := s.rows, s.enters
	for i := range n {
		row := s.inverse[i*n : (i+1)*n]
		var v float64
		for _, e := range c.entries {
			v += float64(row[e.row] * e.n)
		}
		u[i] = v
	}
	leaves, least := -1, 0.0
	for i, v := range u {
		if v > 1e-9 {
			if at := s.value[i] / v; leaves < 0 || at < least {
				leaves, least = i, at
			}
		}
	}
	if leaves < 0 {
		return false
	}
	gain := s.reduced(&c)
	s.cost += float64(gain * least)
	out := s.inverse[leaves*n : (leaves+1)*n]
	by := 1 / u[leaves]
	for j := range out {
		out[j] *= by
		s.dual[j] += float64(gain * out[j])
	}
	for i, v := range u {
		if i == leaves || v == 0 {
			continue
		}
		row := s.inverse[i*n : (i+1)*n]
		for j, x := range out {
			row[j] -= float64(v * x)
		}
		s.value[i] = max(0, s.value[i]-float64(v*least))
	}
	s.value[leaves] = least
	s.basis[leaves] = c
	return true
}
