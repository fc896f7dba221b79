package azure

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/internal/azure/config"
)

// gate is what every request to Resource Manager passes. It keeps a class of requests from Azure until the time Azure asked for (S-32):
// a 429 shuts its class in its region; for one resource alone when the exceeded limit is one of a single resource, so that the others go
// on (S-30); and with all classes of reads, writes or deletes when it is the front door's. One that names no limit shuts its resource, and
// the class as soon as another resource is answered so. And it spends no more than sluice's share of
// what Azure gives, leaving the last of it to what matters most. It never waits: who may not go now is told when.
type gate struct {
	now    func() time.Time
	share  float64          // of Azure's published limits
	rates  config.RateLimit // the operator's own limits besides
	region string           // of resources whose region is not known; "" is a region of its own

	mu      sync.Mutex
	unnamed map[string]unnamed   // the last refusal that named no limit, by class
	until   map[string]time.Time // shut by Azure: by class, by class and resource, or by front door
	low     map[string]time.Time // little is left, as Azure says: no refresh before, by class
	buckets map[string]*bucket
	regions map[string]string // of resources, by target.resource
	tallies map[string]*tally // by class
	swept   time.Time
}

func newGate(now func() time.Time, share float64, region string) *gate {
	return &gate{
		now: now, share: share, region: strings.ToLower(region),
		unnamed: map[string]unnamed{}, until: map[string]time.Time{}, low: map[string]time.Time{}, buckets: map[string]*bucket{},
		regions: map[string]string{}, tallies: map[string]*tally{},
	}
}

// unnamed is what Azure refused one resource without naming the limit.
type unnamed struct {
	resource string
	until    time.Time
}

// defaultRetryAfter is how long a class rests when Azure names no time; its buckets refill by the minute.
const defaultRetryAfter = 30 * time.Second

// shutError says that a request was not sent.
type shutError struct {
	class string
	until time.Time
	own   bool // sluice's own economy, and not Azure, asks for it
}

func (e *shutError) Error() string {
	if e.own {
		return fmt.Sprintf("sluice keeps within its share of Azure's requests: no %s before %s", e.class, e.until.UTC().Format(time.TimeOnly))
	}
	return fmt.Sprintf("Azure asked for no %s before %s", e.class, e.until.UTC().Format(time.TimeOnly))
}

// shareSpent is the code of a request that sluice held back to keep within its share.
const shareSpent = "ShareSpent"

// code is the error's stable code.
func (e *shutError) code() string {
	if e.own {
		return shareSpent
	}
	return "NotBeforeRetryAfter"
}

// Do sends the request unless it has to wait, and learns from the answer. Its error is then a *shutError, and nothing was sent.
func (g *gate) Do(req *policy.Request) (*http.Response, error) {
	t := targetOf(req.Raw())
	k, shut := g.enter(t, priorityOf(req.Raw(), t))
	if shut != nil {
		return nil, shut
	}
	resp, err := req.Next()
	g.leave(k, resp, err)
	return resp, err
}

// enter spends what the request costs, or says until when it has to wait.
func (g *gate) enter(t target, p priority) (keys, *shutError) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	g.sweep(now)
	k := g.keysOf(t)
	count := g.tally(k.class)
	shut := &shutError{class: t.class.name}
	for _, key := range []string{k.class, k.resource, k.door} {
		shut.until = latest(shut.until, g.until[key])
	}
	if shut.until.After(now) {
		count.shut++
		return k, shut
	}
	shut.own, shut.until = true, time.Time{}
	if p == refreshing {
		shut.until = g.low[k.class]
	}
	spent := g.bucketsOf(t, k, now)
	for _, b := range spent {
		shut.until = latest(shut.until, b.free(p, now))
	}
	if shut.until.After(now) {
		count.held++
		return k, shut
	}
	for _, b := range spent {
		b.tokens--
	}
	return k, nil
}

// leave learns from an answer.
func (g *gate) leave(k keys, resp *http.Response, err error) {
	if err != nil || resp == nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.tally(k.class).answers["none"]++
		return
	}
	key, wait := g.refusal(k, resp)
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	if key == anyLimit {
		key, wait = g.guess(k, now, wait)
	}
	g.tally(k.class).answers[strconv.Itoa(resp.StatusCode)]++
	g.heed(resp.Header, k, now)
	if key != "" {
		g.until[key] = latest(g.until[key], now.Add(wait))
	}
}

// refusal is what a throttled answer shuts and for how long; "" for any other answer. A 503 that names a time is obeyed as well, by the
// resource it is about.
func (g *gate) refusal(k keys, resp *http.Response) (key string, wait time.Duration) {
	wait = retryAfter(resp, g.now(), defaultRetryAfter)
	narrow := k.resource
	if narrow == "" {
		narrow = k.class
	}
	if resp.StatusCode == http.StatusServiceUnavailable && retryAfter(resp, g.now(), 0) > 0 {
		return narrow, wait
	}
	if resp.StatusCode < 400 || resp.StatusCode >= 500 {
		return "", 0
	}
	var told answer
	if raw, err := runtime.Payload(resp); err == nil {
		told = parseAnswer(raw)
	}
	switch {
	case told.says("SubscriptionRequestsThrottled", "TenantRequestsThrottled"):
		return k.door, wait
	case resp.StatusCode != http.StatusTooManyRequests && !told.says("TooManyRequests"):
		return "", 0
	case told.ofOneResource() || told.says("RetryableErrorDueToAnotherOperation"):
		return narrow, wait
	case k.resource != "" && !told.namesLimit() && !spent(resp.Header):
		return anyLimit, wait
	}
	return k.class, wait
}

// anyLimit stands for a refusal that does not say of what.
const anyLimit = "any limit"

// guess is what a refusal shuts that does not say which limit is exceeded. It may be the resource's own, which is the smallest by far, or that of
// all: then the next resource of the class is refused as well, and both have told. gate.mu is held.
func (g *gate) guess(k keys, now time.Time, wait time.Duration) (key string, rest time.Duration) {
	if before := g.unnamed[k.class]; before.resource != k.resource && before.until.After(now) {
		return k.class, max(wait, before.until.Sub(now))
	}
	g.unnamed[k.class] = unnamed{k.resource, now.Add(wait)}
	return k.resource, wait
}

// namesLimit says whether the answer tells what is exceeded: a limit by its name, or that of the subscription.
func (a answer) namesLimit() bool {
	return slices.ContainsFunc(append(a.leaves(), a), func(l answer) bool { return l.Target != "" || strings.Contains(l.Message, "subscription") })
}

// spent says whether the headers of an answer tell of a limit of which nothing is left.
func spent(h http.Header) bool {
	for _, value := range h.Values(ruleLeft) {
		for rule := range strings.SplitSeq(value, ",") {
			if _, left, _ := strings.Cut(strings.TrimSpace(rule), ";"); left == "0" {
				return true
			}
		}
	}
	return false
}

// says whether the answer or one of its details bears one of the codes.
func (a answer) says(codes ...string) bool {
	return slices.Contains(codes, a.Code) || slices.ContainsFunc(a.leaves(), func(l answer) bool { return slices.Contains(codes, l.Code) })
}

// place says in which region a scale set or VM is, from then on counted there. Resource is the type with the name, such as
// "virtualMachineScaleSets/agents".
func (g *gate) place(resourceGroup, resource, region string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.regions[strings.ToLower("microsoft.compute/"+resource+"/"+resourceGroup)] = strings.ToLower(region)
}

// retryAfter is the wait that an answer asks for, or other when it asks for none: the longest, when it names several. A date counts from
// now.
func retryAfter(resp *http.Response, now time.Time, other time.Duration) time.Duration {
	const most = 365 * 24 * time.Hour // what a Duration surely holds
	units := map[string]time.Duration{"Retry-After-Ms": time.Millisecond, "X-Ms-Retry-After-Ms": time.Millisecond, "Retry-After": time.Second}
	var wait time.Duration
	for _, header := range slices.Sorted(maps.Keys(units)) {
		v := strings.TrimSpace(resp.Header.Get(header))
		if n, err := strconv.ParseFloat(v, 64); err == nil && n > 0 {
			wait = max(wait, time.Duration(min(n*float64(units[header]), float64(most))))
		} else if t, err := http.ParseTime(v); err == nil {
			wait = max(wait, min(t.Sub(now), most))
		}
	}
	if wait <= 0 {
		return other
	}
	return wait
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
