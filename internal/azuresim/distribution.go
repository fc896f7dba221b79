package azuresim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// Distribution is a distribution of durations. The zero value stands for the
// default of the field that holds it.
type Distribution struct {
	kind distributionKind
	a, b float64 // lognormal: median in seconds, sigma; uniform: bounds in seconds; fixed: seconds
}

type distributionKind int

const (
	unset distributionKind = iota
	fixed
	uniform
	lognormal
)

// Fixed always takes d.
func Fixed(d time.Duration) Distribution {
	return Distribution{kind: fixed, a: d.Seconds()}
}

// Uniform takes at least low and less than high, all equally likely.
func Uniform(low, high time.Duration) Distribution {
	return Distribution{kind: uniform, a: low.Seconds(), b: high.Seconds()}
}

// Lognormal takes the median in half of all cases; sigma is the standard
// deviation of the logarithm, so that two thirds lie between median/e^sigma and
// median*e^sigma.
func Lognormal(median time.Duration, sigma float64) Distribution {
	return Distribution{kind: lognormal, a: median.Seconds(), b: sigma}
}

// or is d, or other when d is the zero value.
func (d Distribution) or(other Distribution) Distribution {
	if d.kind == unset {
		return other
	}
	return d
}

// draw is never negative and has millisecond resolution.
func (d Distribution) draw(r *rand.Rand) time.Duration {
	var seconds float64
	switch d.kind {
	case fixed:
		seconds = d.a
	case uniform:
		seconds = d.a + r.Float64()*(d.b-d.a)
	case lognormal:
		seconds = d.a * math.Exp(d.b*r.NormFloat64())
	}
	return max(0, time.Duration(seconds*1000)*time.Millisecond)
}

// random is a source that depends on the seed and the key alone, so that what
// happens to one instance does not depend on what was asked about another.
func random(seed uint64, key ...any) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintln(h, key...)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// guid is a version 4 UUID that depends on the seed and the key alone.
func guid(seed uint64, key ...any) string {
	r := random(seed, append([]any{"guid"}, key...)...)
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], r.Uint64())
	binary.BigEndian.PutUint64(b[8:], r.Uint64())
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// delays are how long machines take, each by its own draw.
type delays struct {
	seed         uint64
	boot, delete Distribution
}

func (d delays) ofBoot(instance string) time.Duration {
	return d.boot.or(Lognormal(150*time.Second, 0.25)).draw(random(d.seed, "boot", instance))
}

func (d delays) ofDelete(instance string) time.Duration {
	return d.delete.or(Lognormal(45*time.Second, 0.25)).draw(random(d.seed, "delete", instance))
}
