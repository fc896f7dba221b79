package main

import (
	"math"
	"slices"
	"time"
)

// quantile is the smallest value that at least the share q of all values do not exceed; 0 without values.
func quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(q * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

func median(values []time.Duration) time.Duration { return quantile(values, 0.5) }

// mean is 0 without values.
func mean(values []time.Duration) time.Duration {
	var sum time.Duration
	for _, v := range values {
		sum += v
	}
	return sum / time.Duration(max(1, len(values)))
}
