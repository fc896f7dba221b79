package azure

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

// gate keeps a class of requests from Azure until the time Azure asked for (S-32). A 429 shuts its class for the whole subscription;
// for one scale set alone when the exceeded limit is one of a single resource, so that the others go on (S-30); and with all
// classes of reads or of writes when it is the front door's.
type gate struct {
	now func() time.Time

	mu    sync.Mutex
	until map[string]time.Time // by class, or by class and scale set
}

// defaultRetryAfter is how long a class rests when Azure names no time; its buckets refill by the minute.
const defaultRetryAfter = 30 * time.Second

// shutError says that a request was not sent.
type shutError struct {
	class string
	until time.Time
}

func (e *shutError) Error() string {
	return fmt.Sprintf("Azure asked for no %s before %s", e.class, e.until.UTC().Format(time.TimeOnly))
}

// Do sends the request unless its class is shut, and shuts the class when Azure answers 429.
func (g *gate) Do(req *policy.Request) (*http.Response, error) {
	class, set := classOf(req.Raw())
	door := "reads"
	if req.Raw().Method != http.MethodGet {
		door = "writes"
	}
	if until, shut := g.shut(class, class+" of "+set, door); shut {
		return nil, &shutError{class, until}
	}
	resp, err := req.Next()
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		key := class
		if raw, err := runtime.Payload(resp); err == nil {
			switch told := parseAnswer(raw); {
			case told.Code == "SubscriptionRequestsThrottled":
				key = door
			case set != "" && told.ofOneResource():
				key += " of " + set
			}
		}
		g.mu.Lock()
		g.until[key] = g.now().Add(retryAfter(resp, g.now(), defaultRetryAfter))
		g.mu.Unlock()
	}
	return resp, err
}

// shut is the latest time until which any of the keys is shut.
func (g *gate) shut(keys ...string) (time.Time, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var latest time.Time
	for _, k := range keys {
		if t := g.until[k]; t.After(latest) {
			latest = t
		}
	}
	return latest, latest.After(g.now())
}

// classOf names what a request spends, as Azure counts it, and its scale set.
func classOf(r *http.Request) (class, set string) {
	segments := strings.Split(strings.ToLower(strings.Trim(r.URL.Path, "/")), "/")
	for i, s := range segments {
		if s == "operations" {
			return "operation reads", ""
		}
		if s == "virtualmachinescalesets" && i+1 < len(segments) {
			set = segments[i+1]
		}
	}
	last := segments[len(segments)-1]
	switch {
	case r.Method == http.MethodPost && last == "delete":
		return "machine deletes", set
	case r.Method != http.MethodGet:
		return "scale set updates", set
	case last == "virtualmachines":
		return "machine lists", set
	case set == "":
		return "scale set lists", ""
	default:
		return "scale set reads", set
	}
}

// retryAfter is the wait that an answer asks for, or other when it asks for none. A date counts from now.
func retryAfter(resp *http.Response, now time.Time, other time.Duration) time.Duration {
	for header, unit := range map[string]time.Duration{"Retry-After-Ms": time.Millisecond, "X-Ms-Retry-After-Ms": time.Millisecond, "Retry-After": time.Second} {
		v := resp.Header.Get(header)
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			return time.Duration(n) * unit
		}
		if t, err := http.ParseTime(v); err == nil && t.After(now) {
			return t.Sub(now)
		}
	}
	return other
}
