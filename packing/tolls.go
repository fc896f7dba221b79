package packing

// tolls are what machines pay, beside their price, for what they take of limits that could bind. They are prices of the dual as those
// of pods are: with any tolls of at least zero, a plan within the limits costs at least what its pods are worth where machines cost their
// price and their tolls, less what the limits bring in when all of them is used.
type tolls struct {
	*limits
	cost  float64   // of a plan, which the bound does not exceed
	dual  []float64 // by row: the toll, as [limits.charge] has it
	step  []float64 // by row: by how much what the limit brings in changes next
	up    []bool    // by row: whether that rose last
	dear  []float64 // by group: what a machine costs with its tolls
	debt  float64   // what all limits bring in
	count []float64 // by group: machines that would be added
}

// Shares of the cost that a step is between, what it is at first, and what it is while there is no toll; and how it changes where the next
// goes the same way, and where it turns round.
const (
	tollMost  = 1.0 / 3
	tollFirst = 1.0 / 50
	tollNone  = 1.0 / 250
	tollLeast = 1.0 / 10_000
	tollOn    = 1.2
	tollBack  = 0.6
)

// tolls begins with none, for an instance of which a plan costs so much; nil when no limit could bind.
func (in *instance) tolls(cost int64) *tolls {
	left := newRoom(in)
	t := &tolls{limits: in.limits(in.count, left), cost: float64(cost), dear: make([]float64, in.groups), count: make([]float64, in.groups)}
	n := len(t.rows)
	if n == 0 {
		return nil
	}
	t.dual, t.step, t.up = make([]float64, n), make([]float64, n), make([]bool, n)
	for i := range t.step {
		t.step[i] = t.cost * tollFirst
	}
	t.charge(in, t.dual, t.dear, &t.debt)
	return t
}

// move raises the toll of each limit of which more would be used than there is, and lowers the others. Weight and demand, groups x
// dimensions, say how many machines would be added.
func (t *tolls) move(in *instance, weight, demand []float64) {
	clear(t.count)
	for i, w := range weight {
		t.count[i/in.dims] += float64(w * demand[i])
	}
	for i, r := range t.rows {
		var used float64
		for g, n := range t.count {
			if n > 0 {
				used += float64(n * t.use(in, r, g))
			}
		}
		up := used > r.right
		switch {
		case !up && t.dual[i] == 0:
			t.step[i] = t.cost * tollNone
		case up == t.up[i]:
			t.step[i] = min(t.cost*tollMost, t.step[i]*tollOn)
		default:
			t.step[i] = max(t.cost*tollLeast, t.step[i]*tollBack)
		}
		t.up[i] = up
		by := t.step[i] / r.right
		if up {
			by = -by
		}
		t.dual[i] = min(0, t.dual[i]+by)
	}
	t.debt = 0
	t.charge(in, t.dual, t.dear, &t.debt)
}
