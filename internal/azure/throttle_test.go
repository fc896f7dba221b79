package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"pgregory.net/rapid"
)

// wire is an Azure that answers what it is told to, and remembers what it was asked.
type wire struct {
	answer func(*http.Request) *http.Response
	sent   []string
}

func (w *wire) Do(r *http.Request) (*http.Response, error) {
	w.sent = append(w.sent, r.Method+" "+r.URL.Path)
	resp := w.answer(r)
	resp.Request = r
	return resp, nil
}

// reply is an answer; headers are pairs.
func reply(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func fine(*http.Request) *http.Response { return reply(200, "{}") }

// gated is a pipeline through a gate on a clock of its own.
type gated struct {
	gate *gate
	wire wire
	now  time.Time
	pipe runtime.Pipeline
}

func newGated(share float64) *gated {
	g := &gated{now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), wire: wire{answer: fine}}
	g.gate = newGate(func() time.Time { return g.now }, share, "")
	g.pipe = runtime.NewPipeline("t", "v1", runtime.PipelineOptions{}, &policy.ClientOptions{
		Transport: &g.wire, Retry: policy.RetryOptions{MaxRetries: -1}, PerCallPolicies: []policy.Policy{g.gate},
	})
	return g
}

// ask sends "METHOD path" and returns the gate's refusal, nil when it was sent.
func (g *gated) ask(ctx context.Context, request string) *shutError {
	method, path, _ := strings.Cut(request, " ")
	req, err := runtime.NewRequest(ctx, method, "https://management.azure.com"+path)
	if err != nil {
		panic(err)
	}
	_, err = g.pipe.Do(req)
	var shut *shutError
	if err != nil && !errors.As(err, &shut) {
		panic(err)
	}
	return shut
}

const (
	inGroup  = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute"
	setPath  = inGroup + "/virtualMachineScaleSets"
	everyKey = "/subscriptions/s/providers/Microsoft.Compute"
)

// oneOfEach is a request of every class with a limit of its own, and of some without, on two resources where the class knows them.
var oneOfEach = map[string][2]string{
	"operation reads":         {"GET " + everyKey + "/locations/l/operations/1", "GET " + everyKey + "/locations/l/operations/2"},
	"scale set lists":         {"GET " + setPath},
	"scale set reads":         {"GET " + setPath + "/a", "GET " + setPath + "/b"},
	"scale set views":         {"GET " + setPath + "/a/instanceView", "GET " + setPath + "/b/instanceView"},
	"scale set creates":       {"PUT " + setPath + "/a", "PUT " + setPath + "/b"},
	"scale set updates":       {"PATCH " + setPath + "/a", "PATCH " + setPath + "/b"},
	"scale set deletes":       {"DELETE " + setPath + "/a", "DELETE " + setPath + "/b"},
	"machine lists":           {"GET " + setPath + "/a/virtualMachines", "GET " + setPath + "/b/virtualMachines"},
	"machine reads":           {"GET " + setPath + "/a/virtualMachines/1", "GET " + setPath + "/a/virtualMachines/2"},
	"machine updates":         {"PUT " + setPath + "/a/virtualMachines/1", "PUT " + setPath + "/a/virtualMachines/2"},
	"machine deletes":         {"POST " + setPath + "/a/delete", "POST " + setPath + "/b/delete"},
	"machine stops":           {"DELETE " + setPath + "/a/virtualMachines/1", "DELETE " + setPath + "/a/virtualMachines/2"},
	"VM lists":                {"GET " + inGroup + "/virtualMachines"},
	"VM reads":                {"GET " + inGroup + "/virtualMachines/a", "GET " + inGroup + "/virtualMachines/b"},
	"VM creates":              {"PUT " + inGroup + "/virtualMachines/a", "PUT " + inGroup + "/virtualMachines/b"},
	"VM updates":              {"PATCH " + inGroup + "/virtualMachines/a", "PATCH " + inGroup + "/virtualMachines/b"},
	"VM stops":                {"DELETE " + inGroup + "/virtualMachines/a", "DELETE " + inGroup + "/virtualMachines/b"},
	"disk reads":              {"GET " + inGroup + "/disks/a"},
	"disk writes":             {"DELETE " + inGroup + "/disks/a"},
	"size reads":              {"GET " + everyKey + "/skus"},
	"usage reads":             {"GET " + everyKey + "/locations/l/usages"},
	"network reads":           {"GET /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/a", "GET /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/b"},
	"network writes":          {"DELETE /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/a", "PUT /subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/b"},
	"deployment reads":        {"GET /subscriptions/s/resourceGroups/g/providers/Microsoft.Resources/deployments/a"},
	"deployment writes":       {"PUT /subscriptions/s/resourceGroups/g/providers/Microsoft.Resources/deployments/a"},
	"authorization reads":     {"GET /subscriptions/s/resourceGroups/g/providers/Microsoft.Authorization/permissions"},
	"autoscale setting reads": {"GET /subscriptions/s/resourceGroups/g/providers/Microsoft.Insights/autoscaleSettings"},
}

const (
	// bareBody is how Azure says it of any limit, whatever the sentence says.
	bareBody     = `{"code":"OperationNotAllowed","message":"The server rejected the request because too many requests have been received for this subscription.","details":[{"code":"TooManyRequests","target":"HighCostGet30Min","message":"{}"}]}`
	classBody    = `{"code":"OperationNotAllowed","message":"too many","details":[{"code":"TooManyRequests","target":"GetVMScaleSetSubscription","message":"{}"}]}`
	resourceBody = `{"code":"OperationNotAllowed","message":"too many","details":[{"code":"TooManyRequests","target":"GetVMScaleSetResource","message":"{}"}]}`
	doorBody     = `{"error":{"code":"SubscriptionRequestsThrottled","message":"Number of requests exceeded the limit."}}`
)

func TestARefusalStopsItsClassAndNoOtherUntilItsTime(t *testing.T) {
	start := newGated(1).now
	for form, tc := range map[string]struct {
		refusal func() *http.Response
		until   time.Duration
		single  bool // of one resource alone, where the class has some
		door    bool
	}{
		"twenty minutes":         {refusal: func() *http.Response { return reply(429, bareBody, "Retry-After", "1200") }, until: 20 * time.Minute, single: true},
		"twenty minutes for all": {refusal: func() *http.Response { return reply(429, classBody, "Retry-After", "1200") }, until: 20 * time.Minute},
		"two days":               {refusal: func() *http.Response { return reply(429, "", "Retry-After", "172800") }, until: 48 * time.Hour, single: true},
		"no time":                {refusal: func() *http.Response { return reply(429, "{}") }, until: 30 * time.Second, single: true},
		"a date": {refusal: func() *http.Response {
			return reply(429, bareBody, "Retry-After", start.Add(7*time.Minute).Format(http.TimeFormat))
		}, until: 7 * time.Minute, single: true},
		"milliseconds":  {refusal: func() *http.Response { return reply(429, "{}", "Retry-After-Ms", "90500") }, until: 90500 * time.Millisecond, single: true},
		"several times": {refusal: func() *http.Response { return reply(429, "{}", "X-Ms-Retry-After-Ms", "1000", "Retry-After", "60") }, until: time.Minute, single: true},
		"no JSON":       {refusal: func() *http.Response { return reply(429, "<html>", "Retry-After", "60") }, until: time.Minute, single: true},
		"a limit in a header": {refusal: func() *http.Response {
			return reply(429, "{}", "Retry-After", "60", "X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/HighCostGet3Min;107,Microsoft.Compute/HighCostGet30Min;0")
		}, until: time.Minute, single: true},
		"the subscription's limit in a header": {refusal: func() *http.Response {
			return reply(429, "{}", "Retry-After", "60", "X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/GetVMScaleSetResource;11,Microsoft.Compute/GetVMScaleSetSubscriptionMaximum;0")
		}, until: time.Minute},
		"a resource's limit in a header": {refusal: func() *http.Response {
			return reply(429, bareBody, "Retry-After", "60", "X-Ms-Ratelimit-Remaining-Resource", "Microsoft.Compute/GetVMScaleSetResource;0,Microsoft.Compute/GetVMScaleSetSubscriptionMaximum;90")
		}, until: time.Minute, single: true},
		"the subscription in a sentence": {refusal: func() *http.Response {
			return reply(429, `{"error":{"code":"TooManyRequests","message":"too many requests have been received for this subscription"}}`, "Retry-After", "60")
		}, until: time.Minute, single: true},
		"a conflict that throttles": {refusal: func() *http.Response { return reply(409, bareBody, "Retry-After", "60") }, until: time.Minute, single: true},
		"one resource":              {refusal: func() *http.Response { return reply(429, resourceBody, "Retry-After", "60") }, until: time.Minute, single: true},
		"unavailable for a while":   {refusal: func() *http.Response { return reply(503, "{}", "Retry-After", "60") }, until: time.Minute, single: true},
		"the front door":            {refusal: func() *http.Response { return reply(429, doorBody, "Retry-After", "60") }, until: time.Minute, door: true},
	} {
		for name, pair := range oneOfEach {
			t.Run(form+" for "+name, func(t *testing.T) {
				g := newGated(1)
				g.wire.answer = func(*http.Request) *http.Response { return tc.refusal() }
				if shut := g.ask(context.Background(), pair[0]); shut != nil {
					t.Fatalf("the first request is not sent: %v", shut)
				}
				g.wire.answer = fine
				check := func(when string, early bool) {
					t.Helper()
					for other, requests := range oneOfEach {
						for i, request := range requests {
							if request == "" {
								continue
							}
							want := early && other == name && (!tc.single || i == 0)
							if tc.door {
								want = early && doorOf(strings.Fields(request)[0]).name == doorOf(strings.Fields(pair[0])[0]).name
							}
							shut := g.ask(asEvidence(context.Background()), request)
							if (shut != nil) != want {
								t.Errorf("%s: %s: refused: %v, want refused: %t", when, request, shut, want)
							}
							if want && shut != nil && (shut.own || !shut.until.Equal(start.Add(tc.until))) {
								t.Errorf("%s: %s: shut until %s (own: %t), want Azure's %s", when, request, shut.until, shut.own, start.Add(tc.until))
							}
						}
					}
				}
				check("at once", true)
				g.now = start.Add(tc.until - time.Millisecond)
				check("just before", true)
				g.now = start.Add(tc.until)
				check("then", false)
			})
		}
	}
}

func TestOtherAnswersShutNothing(t *testing.T) {
	for name, refusal := range map[string]func() *http.Response{
		"not found":   func() *http.Response { return reply(404, `{"error":{"code":"ResourceNotFound"}}`, "Retry-After", "60") },
		"a lost race": func() *http.Response { return reply(409, `{"error":{"code":"Conflict"}}`) },
		"quota": func() *http.Response {
			return reply(409, `{"error":{"code":"OperationNotAllowed","message":"exceeding approved quota"}}`)
		},
		"a gateway's defect": func() *http.Response { return reply(502, "") },
		"unavailable":        func() *http.Response { return reply(503, "") },
		"accepted":           func() *http.Response { return reply(202, "", "Retry-After", "60") },
	} {
		g := newGated(1)
		g.wire.answer = func(*http.Request) *http.Response { return refusal() }
		for range 2 {
			if shut := g.ask(context.Background(), "GET "+setPath+"/a"); shut != nil {
				t.Errorf("%s: %v", name, shut)
			}
		}
	}
}

func TestTheRegionOfARefusalAloneIsShut(t *testing.T) {
	g := newGated(1)
	g.gate.place("g", "virtualMachineScaleSets/a", "WestEurope")
	g.gate.place("G", "virtualMachineScaleSets/B", "northeurope")
	g.gate.place("g", "virtualMachineScaleSets/c", "westeurope")
	g.wire.answer = func(*http.Request) *http.Response { return reply(429, classBody, "Retry-After", "60") }
	_ = g.ask(context.Background(), "GET "+setPath+"/a")
	g.wire.answer = fine
	for set, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if shut := g.ask(context.Background(), "GET "+setPath+"/"+set); (shut != nil) != want {
			t.Errorf("scale set %s: refused: %v, want refused: %t", set, shut, want)
		}
	}
}

// TestNoRequestOfAShutClassIsSent holds S-32 against any sequence of requests and answers. What Azure asked for is kept in a model of the
// test's own.
func TestNoRequestOfAShutClassIsSent(t *testing.T) {
	var requests []string
	var pairs [][]string
	classOf := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(oneOfEach)) {
		pair := oneOfEach[name]
		if pair[1] != "" {
			pairs = append(pairs, pair[:])
		}
		for _, r := range pair {
			if r != "" {
				requests = append(requests, r)
				classOf[r] = name
			}
		}
	}
	closed := 0
	rapid.Check(t, func(t *rapid.T) {
		g := newGated(rapid.SampledFrom([]float64{0.01, 0.5, 1}).Draw(t, "share"))
		until := map[string]time.Time{} // by class, request or method
		type refusal struct {
			until time.Time
			alone bool // another was answered since
		}
		unsaid := map[string]map[string]*refusal{} // those that did not say what they count and were not answered since, by class and request
		among, bodies := requests, []string{"", bareBody, classBody, resourceBody, doorBody}
		if rapid.Bool().Draw(t, "one class") { // without a word of what is counted
			bodies = []string{"", bareBody}
			among = rapid.SampledFrom(pairs).Draw(t, "pair")
		}
		for step := range rapid.IntRange(1, 120).Draw(t, "steps") {
			request := rapid.SampledFrom(among).Draw(t, "request")
			method, _, _ := strings.Cut(request, " ")
			door := doorOf(method).name
			wait := rapid.SampledFrom([]int{0, 1, 29, 60, 1200, 100000}).Draw(t, "wait")
			body := rapid.SampledFrom(bodies).Draw(t, "body")
			status := rapid.SampledFrom([]int{200, 202, 404, 409, 429, 429, 500}).Draw(t, "status")
			g.wire.answer = func(*http.Request) *http.Response {
				if wait == 0 {
					return reply(status, body)
				}
				return reply(status, body, "Retry-After", fmt.Sprint(wait))
			}
			ctx := context.Background()
			if rapid.Bool().Draw(t, "evidence") {
				ctx = asEvidence(ctx)
			}
			before := len(g.wire.sent)
			shut := g.ask(ctx, request)
			sent := len(g.wire.sent) > before
			for _, key := range []string{classOf[request], request, door} {
				if sent && g.now.Before(until[key]) {
					t.Fatalf("step %d: %s was sent at %s, and %s was to rest until %s", step, request, g.now, key, until[key])
				}
			}
			if sent == (shut != nil) || shut != nil && !shut.until.After(g.now) {
				t.Fatalf("step %d: sent: %t with the refusal %v at %s", step, sent, shut, g.now)
			}
			class := classOf[request]
			for key, r := range unsaid[class] {
				switch {
				case sent && status < 300 && key == request, g.now.Sub(r.until) >= forgetRefusal:
					delete(unsaid[class], key)
				case sent && status < 300:
					r.alone = true
				}
			}
			if sent && (status == 429 || status == 409 && (body == bareBody || body == classBody || body == resourceBody) || status < 500 && status >= 400 && body == doorBody) {
				rest := time.Duration(wait) * time.Second
				if wait == 0 {
					rest = defaultRetryAfter
				}
				single := oneOfEach[class][1] != "" // the class knows single resources
				key, end := class, g.now.Add(rest)
				switch {
				case body == doorBody:
					key = door
				case body == classBody || !single:
				case body == resourceBody:
					key = request
				default:
					all := unsaid[class]
					if all == nil {
						all = map[string]*refusal{}
						unsaid[class] = all
					}
					if all[request] == nil {
						all[request] = &refusal{}
					}
					all[request].until = end
					key = request
					for other, r := range all {
						if other != request && r.until.After(g.now) && !(r.alone && all[request].alone) {
							key, end = class, latest(end, r.until)
						}
					}
					if key == class {
						closed++
					}
				}
				until[key] = latest(until[key], end)
			}
			g.now = g.now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 10, 30, 600}).Draw(t, "pause")) * time.Second)
		}
	})
	if closed < 3 {
		t.Errorf("%d times a second resource of a class was refused: too few", closed)
	}
}

// TestASecondResourceRefusedShutsTheClass is about refusals that do not say what they count: one may be the resource's own, two are taken for the class's.
func TestASecondResourceRefusedShutsTheClass(t *testing.T) {
	g := newGated(1)
	lists := func(set string) string { return "GET " + setPath + "/" + set + "/virtualMachines" }
	refused := func(retryAfter string) {
		g.wire.answer = func(*http.Request) *http.Response { return reply(429, "{}", "Retry-After", retryAfter) }
	}
	ask := func(set, want string) {
		t.Helper()
		got := "sent"
		if shut := g.ask(context.Background(), lists(set)); shut != nil {
			got = "not before " + shut.until.Format(time.TimeOnly)
		}
		if got != want {
			t.Errorf("at %s the list of %s: %s, want %s", g.now.Format(time.TimeOnly), set, got, want)
		}
	}
	refused("600")
	ask("a", "sent")
	g.wire.answer = fine
	ask("a", "not before 09:10:00")
	ask("b", "sent")
	refused("60")
	ask("c", "sent") // the second witness
	g.wire.answer = fine
	for set, until := range map[string]string{"a": "09:10:15", "b": "09:10:00", "c": "09:10:15", "d": "09:10:00"} {
		ask(set, "not before "+until)
	}
	g.now = g.now.Add(10 * time.Minute)
	refused("60")
	ask("d", "sent") // what was refused before is over
	g.wire.answer = fine
	ask("b", "sent")
}

// TestOffendersComeLastAfterAPause is about two scale sets of three whose lists stay refused: the third one waits once, and never again.
func TestOffendersComeLastAfterAPause(t *testing.T) {
	g := newGated(1)
	g.wire.answer = func(r *http.Request) *http.Response {
		if strings.Contains(r.URL.Path, "/c/") {
			return reply(200, "{}")
		}
		return reply(429, bareBody, "Retry-After", "90")
	}
	last := 0
	for second := range 600 {
		for _, set := range []string{"a", "b", "c"} { // the offenders ask first
			if shut := g.ask(asEvidence(context.Background()), "GET "+setPath+"/"+set+"/virtualMachines"); set != "c" || shut != nil {
				continue
			}
			if last == 0 && second != 90 || last > 0 && second-last > 5 { // Azure gives it 12 requests a minute
				t.Errorf("the list of c is asked for after %d s, and before after %d s", second, last)
			}
			last = second
		}
		g.now = g.now.Add(time.Second)
	}
	if last < 590 {
		t.Errorf("the list of c is asked for last after %d s", last)
	}
}

// TestLimitsOfSingleResourcesShutNoClass is about refusals that say whose limit is exceeded: however many there are, the others are asked about.
func TestLimitsOfSingleResourcesShutNoClass(t *testing.T) {
	g := newGated(1)
	g.wire.answer = func(*http.Request) *http.Response { return reply(429, resourceBody, "Retry-After", "60") }
	for _, set := range []string{"a", "b", "c"} {
		if shut := g.ask(context.Background(), "GET "+setPath+"/"+set); shut != nil {
			t.Errorf("scale set %s is not asked about: %v", set, shut)
		}
	}
}
