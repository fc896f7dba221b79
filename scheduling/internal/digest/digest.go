// Package digest hashes what is compared often. Equal contents give equal sums, in every process.
package digest

import "math/bits"

// Object adds all that an API object says.
func Object(sum uint64, o interface{ Marshal() ([]byte, error) }) uint64 {
	return String(sum, Encoded(o))
}

// Encoded is all that an API object says, as a key of a map. The keys of its own maps are in order.
func Encoded(o interface{ Marshal() ([]byte, error) }) string {
	raw, err := o.Marshal()
	if err != nil {
		panic("scheduling: an object does not encode: " + err.Error()) // its types leave no room for that
	}
	return string(raw)
}

// String adds the bytes of a string and its length.
func String(sum uint64, s string) uint64 {
	sum = Mix(sum, uint64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		low := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
		sum = Mix(sum, low|uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
	}
	for i := range len(s) {
		sum = Mix(sum, uint64(s[i]))
	}
	return sum
}

// Mix is one round of a multiplying hash: each bit of what went in moves half the bits of the sum.
func Mix(sum, v uint64) uint64 {
	high, low := bits.Mul64(sum^v^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return high ^ low ^ bits.RotateLeft64(sum, 23)
}
