package scheduling

import "math/bits"

// mixEntry adds pods: their class, how many they are and whether they are leaving.
func mixEntry(sum uint64, e *entry) uint64 {
	n := uint64(uint32(e.n)) << 1
	if e.leaving() {
		n++
	}
	return mix(mix(sum, uint64(e.class)), n)
}

// mixObject adds all that an object says.
func mixObject(sum uint64, o interface{ Marshal() ([]byte, error) }) uint64 {
	raw, err := o.Marshal() // with the keys of maps in order
	if err != nil {
		panic("scheduling: an object does not encode: " + err.Error()) // its types leave no room for that
	}
	return mixString(sum, string(raw))
}

func mixString(sum uint64, s string) uint64 {
	sum = mix(sum, uint64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		sum = mix(sum, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
	}
	for i := range len(s) {
		sum = mix(sum, uint64(s[i]))
	}
	return sum
}

// mix is one round of a multiplying hash: each bit of what went in moves half the bits of the sum.
func mix(sum, v uint64) uint64 {
	high, low := bits.Mul64(sum^v^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return high ^ low ^ bits.RotateLeft64(sum, 23)
}
