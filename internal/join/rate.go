package join

import (
	"sync"
	"time"
)

// How often one address may ask, and how often Azure is asked for one machine. A machine asks the door twice for a token, and again some seconds later.
var (
	ofAddress = rate{perSecond: 1, burst: 10}
	ofMachine = rate{perSecond: 1. / 30, burst: 10}
)

// mostKnown bounds those whose rate is known.
const mostKnown = 4096

type rate struct{ perSecond, burst float64 }

// rates are buckets by who asks. When there are too many, the others share one.
type rates[K comparable] struct {
	rate
	now func() time.Time

	mu     sync.Mutex
	of     map[K]*bucket
	others bucket
}

type bucket struct {
	left float64
	at   time.Time
}

func newRates[K comparable](r rate, now func() time.Time) *rates[K] {
	return &rates[K]{rate: r, now: now, of: map[K]*bucket{}, others: bucket{r.burst, now()}}
}

// take says whether a request of somebody may be looked at.
func (r *rates[K]) take(who K) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	b := r.of[who]
	if b == nil {
		if len(r.of) >= mostKnown {
			for a, known := range r.of {
				if r.refill(known, now); known.left >= r.burst {
					delete(r.of, a)
				}
			}
		}
		if b = &r.others; len(r.of) < mostKnown {
			b = &bucket{r.burst, now}
			r.of[who] = b
		}
	}
	if r.refill(b, now); b.left < 1 {
		return false
	}
	b.left--
	return true
}

func (r rate) refill(b *bucket, now time.Time) {
	if now.After(b.at) {
		b.left = min(r.burst, b.left+now.Sub(b.at).Seconds()*r.perSecond)
		b.at = now
	}
}
