package azure

import (
	"context"
	"maps"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// A priority says who goes first when little is left to spend. Azure never counts reads and writes together, so that writes and the reads
// they rest on need no order among themselves: both may spend all there is.
type priority int

const (
	refreshing priority = iota // the caches
	polling                    // the progress of an accepted write
	urgent                     // a write, or the evidence for one
)

// reserve is the share of a bucket that a priority leaves to those above it.
func (p priority) reserve() float64 {
	return map[priority]float64{refreshing: 1. / 4, polling: 1. / 8}[p]
}

type evidenceKey struct{}

// asEvidence marks the reads under ctx as evidence for a write: they go before the refreshing of caches.
func asEvidence(ctx context.Context) context.Context {
	return context.WithValue(ctx, evidenceKey{}, true)
}

type asideKey struct{}

// asAside marks what no decision waits for, whatever its method is: it comes after all else.
func asAside(ctx context.Context) context.Context {
	return context.WithValue(ctx, asideKey{}, true)
}

// priorityOf is the priority of a request.
func priorityOf(r *http.Request, t target) priority {
	switch {
	case r.Context().Value(asideKey{}) != nil:
		return refreshing
	case t.door.name != doorReads.name, r.Context().Value(evidenceKey{}) != nil:
		return urgent
	case t.class.name == operationReads.name:
		return polling
	}
	return refreshing
}

// A bucket is sluice's share of one of Azure's. It is refilled when somebody looks.
type bucket struct {
	limit
	tokens float64
	at     time.Time
}

// leastMost is the least that a bucket holds: a refresh, which leaves a quarter, must fit in.
const leastMost = 2

// newBucket is a full one with a share of the limit.
func newBucket(l limit, share float64, now time.Time) *bucket {
	own := limit{l.perMinute * share, max(leastMost, l.most*share)}
	return &bucket{own, own.most, now}
}

func (b *bucket) refill(now time.Time) {
	if now.After(b.at) {
		b.tokens = min(b.most, b.tokens+now.Sub(b.at).Minutes()*b.perMinute)
		b.at = now
	}
}

// free is when a request of the priority may be sent: now, or the time by which enough will have come in.
func (b *bucket) free(p priority, now time.Time) time.Time {
	b.refill(now)
	missing := p.reserve()*b.most + 1 - b.tokens
	if missing <= 1e-9 { // what adding fractions leaves
		return now
	}
	return now.Add(time.Duration(missing/b.perMinute*float64(time.Minute)) + time.Millisecond)
}

// keep lowers a bucket to what Azure says is left of its own: others spend from that too. One request is always left, so that a write can
// find out.
func (b *bucket) keep(left, share float64) {
	b.tokens = min(b.tokens, max(1, left*share))
}

// keys are where a request is counted and shut: the class in its region, the one resource, and the front door.
type keys struct {
	class, resource, door string
	group                 bool // it reads a node group, and there are others
}

func (g *gate) keysOf(t target) keys {
	region := t.location
	if region == "" {
		region = g.regions[t.resource]
	}
	if region == "" {
		region = g.region
	}
	k := keys{class: t.class.name + "@" + region, door: t.door.name + "@"}
	if t.resource != "" {
		k.resource = k.class + " of " + t.resource
		_, placed := g.regions[t.resource]
		k.group = placed && len(g.regions) > 1 && t.door == doorReads
	}
	return k
}

// shareOf is how much of a bucket is sluice's: of what a whole subscription shares its share, of what counts requests about a single
// resource all, since hardly anybody else asks about it and bursts of pods come one after the other.
func (g *gate) shareOf(key string) float64 {
	if strings.Contains(key, " of ") {
		return 1
	}
	return g.share
}

// buckets are those that a request spends from. gate.mu is held.
func (g *gate) bucketsOf(t target, k keys, now time.Time) []*bucket {
	var all []*bucket
	for _, e := range []struct {
		key   string
		limit limit
	}{{k.class, t.class.subscription}, {k.resource, t.class.resource}, {k.door, t.door.subscription}} {
		if e.key == "" || e.limit == (limit{}) {
			continue
		}
		b := g.buckets[e.key]
		if b == nil {
			b = newBucket(e.limit, g.shareOf(e.key), now)
			g.buckets[e.key] = b
		}
		all = append(all, b)
	}
	if key, l := configured(g.rates, t); key != "" {
		if g.buckets[key] == nil {
			g.buckets[key] = newBucket(l, 1, now)
		}
		all = append(all, g.buckets[key])
	}
	return all
}

// sweep forgets what is over: full buckets of single resources, and times that have come. gate.mu is held.
func (g *gate) sweep(now time.Time) {
	if now.Sub(g.swept) < time.Minute {
		return
	}
	g.swept = now
	for key, b := range g.buckets {
		if b.refill(now); b.tokens >= b.most && strings.Contains(key, " of ") {
			delete(g.buckets, key)
		}
	}
	for _, all := range g.refused {
		maps.DeleteFunc(all, func(_ string, r refusal) bool { return now.Sub(r.until) >= forgetRefusal })
	}
	for _, times := range []map[string]time.Time{g.until, g.low} {
		for key, t := range times {
			if !t.After(now) {
				delete(times, key)
			}
		}
	}
}

// Policies whose size Azure does not publish: when so few requests are left, caches are not refreshed for a while.
const (
	fewLeft  = 20
	restLow  = time.Minute
	doorLeft = "X-Ms-Ratelimit-Remaining-"         // followed by subscription-reads, tenant-reads, subscription-global-reads, ...
	ruleLeft = "X-Ms-Ratelimit-Remaining-Resource" // Microsoft.Compute/GetVMScaleSet3Min;197,Microsoft.Compute/GetVMScaleSet30Min;1297
)

// merge takes in what an answer says is left of Azure's own buckets. What a refusal of one resource says of limits that do not say what they count keeps
// nobody else waiting. gate.mu is held.
func (g *gate) merge(h http.Header, k keys, now time.Time, narrow bool) {
	for name, values := range h {
		name = http.CanonicalHeaderKey(name)
		if !strings.HasPrefix(name, doorLeft) || name == ruleLeft || len(values) == 0 {
			continue
		}
		if left, err := strconv.Atoi(strings.TrimSpace(values[0])); err == nil {
			g.lower(k.door, left)
		}
	}
	for _, value := range h.Values(ruleLeft) {
		for rule := range strings.SplitSeq(value, ",") {
			name, number, _ := strings.Cut(strings.TrimSpace(rule), ";")
			left, err := strconv.Atoi(number)
			switch {
			case err != nil:
			case strings.Contains(path.Base(name), "Subscription"):
				g.lower(k.class, left)
			case strings.Contains(path.Base(name), "Resource"):
				g.lower(k.resource, left)
			case left < fewLeft && !narrow:
				g.low[k.class] = now.Add(restLow)
			}
		}
	}
}

// lower applies what Azure says is left to a bucket that the request has spent from. gate.mu is held.
func (g *gate) lower(key string, left int) {
	if b := g.buckets[key]; b != nil {
		b.keep(float64(left), g.shareOf(key))
	}
}
