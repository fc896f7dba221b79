package economics

import (
	"math"

	"sluice.dev/sluice/packing"
)

// Bound is a cost in USD an hour that no choice of machines can be below: the larger of what package packing proves and of the volume,
// which needs no trust in it.
func Bound(in Instance) float64 {
	s := packing.Solve(problem(in))
	return max(float64(s.Bound)/micro, volumeBound(in))
}

// micro is how many of packing's units of cost are a dollar.
const micro = 1e6

// Pack is what package packing buys for an instance when nothing else is to be thought of. It shows how much of a plan's distance from
// the bound is the packing's.
func Pack(in Instance) Answer {
	s := packing.Solve(problem(in))
	a := Answer{Count: s.Count(len(in.Kinds))}
	for _, l := range s.Left {
		a.Unplaced += l.Count
	}
	return a
}

// problem is the instance as package packing has it. Of plans that cost the same it prefers small machines: they are empty sooner.
func problem(in Instance) packing.Problem {
	var p packing.Problem
	for i := range in.Kinds {
		k := &in.Kinds[i]
		cost := int64(math.Round(k.PriceUSDPerHour * micro))
		p.Groups = append(p.Groups, packing.Group{
			Capacity: []int64{k.Room.Milli, k.Room.MiB, k.Room.GPU}, Cost: cost, Tie: cost / 1000 * cost / 1000, Max: k.Max,
		})
	}
	for _, d := range in.Demands {
		welcome := packing.NewSet(len(in.Kinds))
		for i := range in.Kinds {
			if in.Kinds[i].Takes(d.Asks) {
				welcome.Add(i)
			}
		}
		p.Classes = append(p.Classes, packing.Class{Requests: []int64{d.Asks.Milli, d.Asks.MiB, d.Asks.GPU}, Count: d.Count, Groups: welcome})
	}
	return p
}

// volumeBound is the value of what is asked at the best linear prices of CPU, memory and GPUs at which no machine holds more than it
// costs: the dual of the volume relaxation. Machines with GPUs and those without serve different pods and are bounded apart.
func volumeBound(in Instance) float64 {
	var sum float64
	for _, gpus := range []bool{false, true} {
		var asked Vector
		for _, d := range in.Demands {
			if (d.Asks.GPU > 0) == gpus {
				asked = asked.Plus(d.Asks.Times(d.Count))
			}
		}
		var planes []plane
		for _, k := range in.Kinds {
			if (k.Machine.GPU > 0) == gpus {
				planes = append(planes, plane{amounts(k.Room), k.PriceUSDPerHour})
			}
		}
		sum += volume(amounts(asked), planes)
	}
	return sum
}

// plane is a limit on prices: what a machine holds must not be worth more than its price.
type plane struct {
	room  [3]float64
	price float64
}

func amounts(v Vector) [3]float64 {
	return [3]float64{float64(v.Milli) / 1000, float64(v.MiB) / 1024, float64(v.GPU)}
}

// volume is the greatest value of what is asked at prices that keep all limits. It tries every corner, where three limits meet.
func volume(asked [3]float64, limits []plane) float64 {
	corners := append([]plane{}, limits...)
	for r := range 3 {
		var axis plane
		axis.room[r] = 1
		corners = append(corners, axis)
	}
	var best float64
	for i := range corners {
		for j := range i {
			for k := range j {
				prices, ok := meet(corners[i], corners[j], corners[k])
				if !ok {
					continue
				}
				within := true
				for _, l := range limits {
					within = within && dot(prices, l.room) <= l.price*(1+1e-9)
				}
				if within {
					best = max(best, dot(prices, asked)*(1-1e-9))
				}
			}
		}
	}
	return best
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

// meet is the point where three planes meet, false when there is none without a negative price.
func meet(a, b, c plane) ([3]float64, bool) {
	det := func(x, y, z [3]float64) float64 {
		return x[0]*(y[1]*z[2]-y[2]*z[1]) - x[1]*(y[0]*z[2]-y[2]*z[0]) + x[2]*(y[0]*z[1]-y[1]*z[0])
	}
	d := det(a.room, b.room, c.room)
	if d > -1e-12 && d < 1e-12 {
		return [3]float64{}, false
	}
	var at [3]float64
	for i := range at {
		x, y, z := a.room, b.room, c.room
		x[i], y[i], z[i] = a.price, b.price, c.price
		if at[i] = det(x, y, z) / d; at[i] < -1e-9 {
			return at, false
		}
	}
	return at, true
}
