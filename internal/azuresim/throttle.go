package azuresim

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
)

// limit is a token bucket's shape.
type limit struct {
	perMinute float64
	burst     float64
}

// bucket is a token bucket; it is refilled when somebody looks.
type bucket struct {
	limit  limit
	tokens float64
	at     time.Time
}

func (b *bucket) refill(now time.Time) {
	b.tokens = min(b.limit.burst, b.tokens+now.Sub(b.at).Minutes()*b.limit.perMinute)
	b.at = now
}

// computePolicy is one of the compute provider's throttling policies: a limit
// for each resource and one for the subscription. Documented 2026-05; those of
// the instance list and of the delete by id are assumed.
type computePolicy struct {
	name                   string
	resource, subscription limit
}

// policyOf is the policy a kind of request counts against; false for none.
func policyOf(kind string) (computePolicy, bool) {
	method, resource, _ := strings.Cut(kind, " ")
	network := strings.HasSuffix(resource, nicsType) // those of scale sets are the network provider's too
	switch {
	case resource == "operations":
		return computePolicy{"GetOperation", limit{15, 45}, limit{5000, 15000}}, true
	case network && isRead(kind):
		return computePolicy{"NetworkReads", limit{}, limit{10_000. / 5, 10_000}}, true
	case network:
		return computePolicy{"NetworkWrites", limit{}, limit{1000. / 5, 1000}}, true
	case kind == "GET "+setsType:
		return computePolicy{"GetVMScaleSet", limit{12, 36}, limit{800, 2400}}, true
	case kind == "GET "+setsType+"/instanceView":
		return computePolicy{"GetVMScaleSetInstanceView", limit{10, 30}, limit{360, 1080}}, true
	case kind == "LIST "+setsType:
		return computePolicy{"ListVMScaleSets", limit{}, limit{360, 1080}}, true
	case kind == "LIST "+vmsType:
		return computePolicy{"ListVMScaleSetVMs", limit{12, 36}, limit{800, 2400}}, true
	case method == "GET" && strings.HasPrefix(resource, vmsType):
		return computePolicy{"GetVMScaleSetVM", limit{12, 36}, limit{2000, 6000}}, true
	case kind == "POST "+setsType+"/delete":
		return computePolicy{"DeleteVMScaleSetVMs", limit{4, 12}, limit{175, 525}}, true
	case kind == "LIST "+machinesType:
		return computePolicy{"HighCostGetVM", limit{}, limit{300, 900}}, true
	case method == "GET" && strings.HasPrefix(resource, machinesType):
		return computePolicy{"LowCostGetVM", limit{12, 36}, limit{8000, 24000}}, true
	case method == "DELETE" && resource == machinesType || kind == "POST "+machinesType+"/deallocate":
		return computePolicy{"DeleteVM", limit{4, 12}, limit{500, 1500}}, true
	case method == "PUT" && resource == machinesType:
		return computePolicy{"PutVM", limit{4, 12}, limit{500, 1500}}, true
	case strings.HasPrefix(resource, machinesType):
		return computePolicy{"UpdateVM", limit{4, 12}, limit{500, 1500}}, true
	case kind == "DELETE "+vmsType, kind == "POST "+vmsType+"/deallocate", kind == "POST "+vmsType+"/poweroff":
		return computePolicy{"DeleteVMScaleSetVM", limit{4, 12}, limit{500, 1500}}, true
	case kind == "DELETE "+setsType, kind == "POST "+setsType+"/deallocate", kind == "POST "+setsType+"/poweroff":
		return computePolicy{"DeleteVMScaleSet", limit{4, 12}, limit{175, 525}}, true
	case strings.HasPrefix(resource, vmsType):
		return computePolicy{"UpdateVMScaleSetVM", limit{4, 12}, limit{500, 1500}}, true
	case strings.HasPrefix(resource, setsType):
		return computePolicy{"UpdateVMScaleSet", limit{4, 12}, limit{500, 1500}}, true
	}
	return computePolicy{}, false
}

// armReads and armWrites are the front door's limits for a principal in a
// subscription.
var (
	armReads  = limit{25 * 60, 250}
	armWrites = limit{10 * 60, 200}
)

// buckets are the token buckets in use, by what they count: one that is missing is full.
type buckets struct {
	byKey map[string]*bucket
}

// spend takes a token. It reports what is left and, when there is none and requests
// are refused, how long to wait.
func (bs *buckets) spend(key string, l limit, refuse bool, now time.Time) (left int, wait time.Duration) {
	b := bs.byKey[key]
	if b == nil {
		b = &bucket{limit: l, tokens: l.burst, at: now}
		if bs.byKey == nil {
			bs.byKey = map[string]*bucket{}
		}
		bs.byKey[key] = b
	}
	b.refill(now)
	if b.tokens >= 1 {
		b.tokens--
		return int(b.tokens), 0
	}
	if !refuse {
		return 0, 0
	}
	missing := (1 - b.tokens) / l.perMinute
	return 0, time.Duration(math.Ceil(missing*60)) * time.Second
}

// sweep drops the buckets that are full again, which changes nothing.
func (bs *buckets) sweep(now time.Time) {
	for key, b := range bs.byKey {
		b.refill(now)
		if b.tokens >= b.limit.burst {
			delete(bs.byKey, key)
		}
	}
}

// throttle counts the request against its buckets, and refuses it when one is
// empty and the server throttles.
func (q *request) throttle() *problem {
	s, kind := q.server, q.route.kind
	subscription := strings.ToLower(q.route.subscription)
	caller := ""
	if q.principal != nil {
		caller = q.principal.clientID
	}
	class, l := "reads", armReads
	if q.http.Method != http.MethodGet {
		class, l = "writes", armWrites
	}
	if q.http.Method == http.MethodDelete {
		class = "deletes"
	}
	left, wait := s.buckets.spend("arm/"+class+"/"+subscription+"/"+caller, l, s.Throttle, q.now)
	q.remaining = append(q.remaining, [2]string{"X-Ms-Ratelimit-Remaining-Subscription-" + class, fmt.Sprint(left)})
	if wait > 0 {
		p := fail(http.StatusTooManyRequests, "SubscriptionRequestsThrottled",
			"Number of requests for subscription '%s' and operation '%s' exceeded the limit. Please try again after '%s' seconds.", q.route.subscription, class, seconds(wait))
		p.header = http.Header{"Retry-After": {seconds(wait)}}
		return p
	}
	policy, ok := policyOf(kind)
	if !ok {
		return nil
	}
	namespace := "Microsoft.Compute"
	if strings.HasPrefix(policy.name, "Network") {
		namespace = "Microsoft.Network"
	}
	var parts []string
	if policy.resource != (limit{}) {
		key := strings.ToLower(policy.name + "/" + subscription + "/" + q.route.group + "/" + q.route.set + "/" + q.route.instance + "/" + q.route.name + "/" + q.route.operation)
		left, wait = s.buckets.spend(key, policy.resource, s.Throttle, q.now)
		parts = append(parts, fmt.Sprintf("%s/%sResource;%d", namespace, policy.name, left))
		if wait > 0 {
			return tooMany(policy.name+"Resource", policy.resource, wait)
		}
	}
	left, wait = s.buckets.spend(strings.ToLower(policy.name+"/"+subscription), policy.subscription, s.Throttle, q.now)
	parts = append(parts, fmt.Sprintf("%s/%sSubscription;%d", namespace, policy.name, left))
	if wait > 0 {
		return tooMany(policy.name+"Subscription", policy.subscription, wait)
	}
	q.remaining = append(q.remaining, [2]string{"X-Ms-Ratelimit-Remaining-Resource", strings.Join(parts, ",")})
	return nil
}

// tooMany is the compute provider's refusal, which comes without the envelope.
func tooMany(policy string, l limit, wait time.Duration) *problem {
	return &problem{
		status: http.StatusTooManyRequests, bare: true,
		header: http.Header{"Retry-After": {seconds(wait)}},
		detail: errorDetail{
			Code:    "OperationNotAllowed",
			Message: "The server rejected the request because too many requests have been received for this subscription.",
			Details: []errorDetail{{
				Code: "TooManyRequests", Target: policy,
				Message: fmt.Sprintf(`{"operationGroup":%q,"allowedRequestCount":%d,"measuredRequestCount":%d}`, policy, int(l.burst), int(l.burst)+1),
			}},
		},
	}
}

// decorate adds what is left in the buckets to an answer.
func (q *request) decorate(a answer) answer {
	for _, r := range q.remaining {
		a = a.with(r[0], r[1])
	}
	return a
}
