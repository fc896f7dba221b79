package workload

import "math"

// Chance is a stream of numbers that look random and depend on the seed alone: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
// Draws happen in the order in which a workload's description names them.
type Chance struct{ state uint64 }

// NewChance begins the stream of a seed.
func NewChance(seed uint64) *Chance { return &Chance{seed} }

// Bits are the stream's next 64 bits.
func (c *Chance) Bits() uint64 {
	c.state += 0x9e3779b97f4a7c15
	z := c.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Share is in [0, 1), of 53 bits.
func (c *Chance) Share() float64 { return float64(c.Bits()>>11) / (1 << 53) }

// Below is in [0, n): the next bits modulo n.
func (c *Chance) Below(n int) int { return int(c.Bits() % uint64(n)) }

// Exponential has mean 1.
func (c *Chance) Exponential() float64 { return -math.Log(1 - c.Share()) }

// LogNormal has this median and sigma. It takes two draws (Box and Muller, the cosine alone).
func (c *Chance) LogNormal(median, sigma float64) float64 {
	radius := math.Sqrt(-2 * math.Log(1-c.Share()))
	return median * math.Exp(sigma*radius*math.Cos(2*math.Pi*c.Share()))
}

// one of the values, all alike in likelihood.
func one[T any](c *Chance, values ...T) T { return values[c.Below(len(values))] }

// parts cuts a whole into n parts of at least 1, of sizes that differ as exponential draws do.
func parts(c *Chance, whole, n int) []int {
	ends := make([]float64, n)
	total := 0.0
	for i := range ends {
		total += c.Exponential()
		ends[i] = total
	}
	sizes := make([]int, n)
	from := 0
	for i := range sizes {
		to := int(float64(whole-n) * ends[i] / total)
		if i == n-1 {
			to = whole - n
		}
		sizes[i], from = 1+to-from, to
	}
	return sizes
}
