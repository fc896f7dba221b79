package azure

import (
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"sluice.dev/sluice/internal/azure/config"
)

// gate is what every request to Resource Manager passes. It keeps a class of requests from Azure until the time Azure asked for (S-32). What a class is, a
// refusal says by its code, the target of its details and its headers, never by its sentence: all reads, writes or deletes when the front door is meant,
// the kind of request in its region, or one resource alone. A refusal that says none of it shuts its resource, so that the others go on (S-30), and the
// kind of request once another resource is refused as well. The gate also spends no more than sluice's share of what Azure gives, and leaves the last of
// it to what matters most. It never waits: who may not go now is told when.
type gate struct {
	now    func() time.Time
	share  float64          // of Azure's published limits
	rates  config.RateLimit // the operator's own limits besides
	region string           // of resources whose region is not known; "" is a region of its own

	mu      sync.Mutex
	refused map[string]refusals  // whose last refusal did not say what it counts, by class
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
		refused: map[string]refusals{}, until: map[string]time.Time{}, low: map[string]time.Time{}, buckets: map[string]*bucket{},
		regions: map[string]string{}, tallies: map[string]*tally{},
	}
}

// refusals are those resources of a class, by their keys, whose last answer was a refusal that did not say what it counts.
type refusals map[string]refusal

type refusal struct {
	until time.Time // Azure takes no request about it before
	alone bool      // another resource of the class has been answered since it was first refused
}

// othersWait is how much longer than its class a resource rests that was refused: long enough for all others to be asked about first.
const othersWait = 15 * time.Second

// forgetRefusal is how long after its time a refusal is remembered of a resource that nobody asks about.
const forgetRefusal = 10 * time.Minute

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

// notBefore is the code of one that was not sent since Azure had refused another one.
const notBefore = "NotBeforeRetryAfter"

// code is the error's stable code.
func (e *shutError) code() string {
	if e.own {
		return shareSpent
	}
	return notBefore
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
	until := now.Add(wait)
	switch {
	case key == anyLimit:
		key, until = g.guess(k, now, until)
	case key == "" && resp.StatusCode < http.StatusMultipleChoices:
		g.answered(k)
	}
	g.tally(k.class).answers[strconv.Itoa(resp.StatusCode)]++
	g.merge(resp.Header, k, now, key != "" && key == k.resource)
	if key != "" {
		g.until[key] = latest(g.until[key], until)
	}
	if k.group && key != "" && key != k.resource { // whose read was refused comes last
		g.until[k.resource] = latest(g.until[k.resource], until.Add(othersWait))
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
	var reported answer
	if raw, err := runtime.Payload(resp); err == nil {
		reported = parseAnswer(raw)
	}
	switch {
	case reported.says("SubscriptionRequestsThrottled", "TenantRequestsThrottled"):
		return k.door, wait
	case resp.StatusCode != http.StatusTooManyRequests && !reported.says("TooManyRequests"):
		return "", 0
	}
	switch limits := exceeded(reported, resp.Header); {
	case k.resource == "" || counts(limits, "Subscription"):
		return k.class, wait
	case counts(limits, "Resource") || reported.says("RetryableErrorDueToAnotherOperation"):
		return k.resource, wait
	}
	return anyLimit, wait
}

// anyLimit stands for a refusal that does not say what it counts.
const anyLimit = "any limit"

// guess is what a refusal shuts, and until when, that does not say what it counts. It may be the resource's own limit, the smallest by far, or that of
// all: then another resource is refused as well. Two that were refused while others were answered tell nothing new. Where the class is shut, those that
// were refused come last after it. gate.mu is held.
func (g *gate) guess(k keys, now, until time.Time) (key string, shut time.Time) {
	all := g.refused[k.class]
	if all == nil {
		all = refusals{}
		g.refused[k.class] = all
	}
	r := refusal{until, all[k.resource].alone}
	all[k.resource] = r
	key, shut = k.resource, until
	for resource, other := range all {
		if resource != k.resource && other.until.After(now) && !(r.alone && other.alone) {
			key, shut = k.class, latest(shut, other.until)
		}
	}
	if key == k.class {
		for resource := range all {
			g.until[resource] = latest(g.until[resource], shut.Add(othersWait))
		}
	}
	return key, shut
}

// answered takes in that a resource is refused no more, so that what others of its class are refused is theirs alone. gate.mu is held.
func (g *gate) answered(k keys) {
	all := g.refused[k.class]
	delete(all, k.resource)
	for resource, r := range all {
		r.alone = true
		all[resource] = r
	}
}

// exceeded are the names of the limits that a refusal says are exceeded, as "GetVMScaleSetResource" or "HighCostGet30Min".
func exceeded(reported answer, h http.Header) (limits []string) {
	for _, l := range append(reported.leaves(), reported) {
		limits = append(limits, l.Target)
	}
	for _, value := range h.Values(ruleLeft) {
		for rule := range strings.SplitSeq(value, ",") {
			if name, left, _ := strings.Cut(strings.TrimSpace(rule), ";"); left == "0" {
				limits = append(limits, path.Base(name))
			}
		}
	}
	return limits
}

// counts says whether one of the limits bears in its name what it counts.
func counts(limits []string, what string) bool {
	return slices.ContainsFunc(limits, func(name string) bool { return strings.Contains(name, what) })
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
