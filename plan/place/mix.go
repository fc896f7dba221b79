package place

import (
	"strings"
)

// Words is numbers as a key of a map.
func Words(lists ...[]int64) string {
	var b strings.Builder
	for _, l := range lists {
		for _, n := range l {
			for range 8 {
				b.WriteByte(byte(n))
				n >>= 8
			}
		}
	}
	return b.String()
}
