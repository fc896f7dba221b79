package grow

import (
	"fmt"
)

// plural is a number of things in words; what is the word for one of them, whose plural ends in s.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Dollars is a number of dollars, to the cent unless it is a few cents.
func Dollars(usd float64) string {
	if usd < 0.1 {
		return fmt.Sprintf("%.3f", usd)
	}
	return fmt.Sprintf("%.2f", usd)
}
