package azure_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azure"
)

// beside answers some requests itself and passes the others on.
type beside struct {
	http.RoundTripper
	answer func(*http.Request) (int, string) // 0: passed on

	mu    sync.Mutex
	asked []string
}

func (b *beside) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := b.answer(r)
	if status == 0 {
		return b.RoundTripper.RoundTrip(r)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, r.URL.Host+r.URL.Path+"?"+r.URL.RawQuery)
	if r.URL.Host == "prices.azure.com" && r.Header.Get("Authorization") != "" {
		return nil, fmt.Errorf("a token went to %s", r.URL.Host)
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{"Content-Type": {"application/json"}}, Request: r}, nil
}

func (b *beside) questions() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.asked...)
}

// TestTheListOfSizesIsReadPageByPage uses the real client: its filter, its pages, and the words for a refusal.
func TestTheListOfSizesIsReadPageByPage(t *testing.T) {
	const path = "/subscriptions/" + subscription + "/providers/Microsoft.Compute/skus"
	s := set("odd", 1)
	s.Size = "Standard_Odd_v99"
	w := newWorld(t, s)
	o := w.options("0:9:odd")
	refuse := true
	wire := &beside{RoundTripper: o.Transport}
	wire.answer = func(r *http.Request) (int, string) {
		switch {
		case r.URL.Path != path:
			return 0, ""
		case refuse:
			return http.StatusForbidden, `{"error":{"code":"AuthorizationFailed","message":"no permission for Microsoft.Compute/skus/read"}}`
		case r.URL.Query().Get("page") == "":
			return http.StatusOK, `{"value":[],"nextLink":"https://management.azure.com` + path + `?page=2"}`
		}
		return http.StatusOK, `{"value":[{"resourceType":"virtualMachines","name":"Standard_Odd_v99","capabilities":[{"name":"vCPUs","value":"6"},{"name":"MemoryGB","value":"12"}]}]}`
	}
	o.Transport = wire
	w.open(o)
	if g := w.groups()["odd"]; g.Template != nil {
		t.Error("there is a template at once")
	}
	w.AwaitErrands()
	if got := w.log.String(); strings.Count(got, "Microsoft.Compute/skus/read") != 1 || !strings.Contains(got, "sizes are taken from the table") {
		t.Errorf("the refusal is told thus:\n%s", got)
	}
	refuse = false
	w.now = w.now.Add(time.Hour)
	w.groups()
	w.AwaitErrands()
	w.now = w.now.Add(time.Minute)
	if g := w.groups()["odd"]; g.Template == nil || g.Template.Status.Capacity.Cpu().Value() != 6 {
		t.Errorf("template %v, want one with 6 CPUs", g.Template)
	}
	want := []string{
		"management.azure.com" + path + "?%24filter=location+eq+%27westeurope%27&api-version=2021-07-01",
		"management.azure.com" + path + "?%24filter=location+eq+%27westeurope%27&api-version=2021-07-01",
		"management.azure.com" + path + "?page=2",
	}
	if d := cmp.Diff(want, wire.questions()); d != "" {
		t.Errorf("questions (-want +got):\n%s", d)
	}
}

// item is a line of the retail price list.
func item(size, region, sku, product string, usd float64) map[string]any {
	return map[string]any{
		"currencyCode": "USD", "retailPrice": usd, "armRegionName": region, "armSkuName": size, "skuName": sku, "meterName": sku, "productName": product,
		"serviceName": "Virtual Machines", "unitOfMeasure": "1 Hour", "type": "Consumption", "effectiveStartDate": "2025-01-01T00:00:00Z",
	}
}

// shop is a retail price list on a loopback address with one item a page.
type shop struct {
	*httptest.Server
	answers sync.Mutex // held while it answers
	mu      sync.Mutex
	items   []map[string]any
	fault   int    // status to answer with, 0 for none
	leadsTo string // where the next page is said to be, "" for here
	filters []string
}

func newShop(t *testing.T, items ...map[string]any) *shop {
	s := &shop{items: items}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.answers.Lock()
		defer s.answers.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if r.URL.Path != "/api/retail/prices" || r.Header.Get("Authorization") != "" || s.fault != 0 {
			w.WriteHeader(max(s.fault, http.StatusNotFound))
			return
		}
		n := 0
		if page := r.URL.Query().Get("$skip"); page != "" {
			n, _ = strconv.Atoi(page)
		} else {
			s.filters = append(s.filters, r.URL.Query().Get("$filter")+" "+r.URL.Query().Get("api-version"))
		}
		next := ""
		if n+1 < len(s.items) {
			host := s.leadsTo
			if host == "" {
				host = s.URL
			}
			next = fmt.Sprintf("%s/api/retail/prices?$skip=%d", host, n+1)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"Items": s.items[n:min(n+1, len(s.items))], "NextPageLink": next})
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *shop) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.filters)
}

// shopping are options for a provider whose price list is the shop; Azure itself stays in the process.
func (w *world) shopping(s *shop, groups ...string) azure.Options {
	o := w.options(groups...)
	azureItself := o.Transport
	o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		if "http://"+r.URL.Host == s.URL {
			return http.DefaultTransport.RoundTrip(r)
		}
		return azureItself.RoundTrip(r)
	})
	o.RetailPrices, o.RetailPricesEndpoint = true, s.URL
	return o
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTheRetailListIsAskedOnceADayAndNobodyWaits(t *testing.T) {
	spot := set("spot", 0)
	spot.Priority = "Spot"
	w := newWorld(t, set("agents", 0), spot)
	s := newShop(t,
		item("Standard_D4s_v5", "westeurope", "D4s v5", "Virtual Machines Dsv5 Series", 0.5),
		item("Standard_D4s_v5", "westeurope", "D4s v5 Spot", "Virtual Machines Dsv5 Series", 0.07),
		item("Standard_D4s_v5", "westeurope", "D4s v5", "Virtual Machines Dsv5 Series Windows", 0.9),
	)
	o := w.shopping(s, "0:9:agents", "0:9:spot")
	o.Runner = nil // which waits for the list
	w.open(o)
	costs := func() [2]float64 {
		g := w.groups()
		return [2]float64{g["agents"].PriceUSDPerHour, g["spot"].PriceUSDPerHour}
	}
	s.answers.Lock() // it takes its time
	if got := costs(); got != [2]float64{0.23, 0} {
		t.Errorf("prices %v before the list has answered, want the table's", got)
	}
	s.answers.Unlock()
	w.AwaitErrands()
	w.now = w.now.Add(time.Minute)
	if got := costs(); got != [2]float64{0.5, 0.07} {
		t.Errorf("prices %v, want the list's", got)
	}
	for range 23 {
		w.now = w.now.Add(time.Hour)
		w.groups()
		w.AwaitErrands()
	}
	if n := s.asked(); n != 1 {
		t.Errorf("it was asked %d times within a day, want once", n)
	}
	want := "serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and armRegionName eq 'westeurope' and (armSkuName eq 'Standard_D4s_v5') 2023-01-01-preview"
	if s.filters[0] != want {
		t.Errorf("filter\n%s, want\n%s", s.filters[0], want)
	}
	s.mu.Lock()
	s.items[0]["retailPrice"] = 0.6
	s.mu.Unlock()
	w.now = w.now.Add(time.Hour)
	w.groups()
	w.AwaitErrands()
	w.now = w.now.Add(time.Minute)
	if got := costs(); got != [2]float64{0.6, 0.07} || s.asked() != 2 {
		t.Errorf("prices %v after a day and %d questions, want the new ones and 2", got, s.asked())
	}
}

func TestASizeThatComesUpLaterIsAskedForSoon(t *testing.T) {
	later := set("later", 0)
	later.Size, later.VCPUs = "Standard_D8s_v5", 8
	w := newWorld(t, set("agents", 0), later)
	s := newShop(t,
		item("Standard_D4s_v5", "westeurope", "D4s v5", "Virtual Machines Dsv5 Series", 0.5),
		item("Standard_D8s_v5", "westeurope", "D8s v5", "Virtual Machines Dsv5 Series", 1),
	)
	o := w.shopping(s, "0:9:agents")
	o.Discovery = []azure.Discovery{{Tags: map[string]string{"on": "true"}}}
	w.open(o)
	w.groups()
	w.AwaitErrands()
	w.must(w.sim.SetTags("later", map[string]string{"on": "true", "min": "0", "max": "5"}))
	for range 7 {
		w.now = w.now.Add(time.Minute)
		w.groups()
		w.AwaitErrands()
	}
	if s.asked() != 2 || !strings.Contains(s.filters[1], "armSkuName eq 'Standard_D4s_v5' or armSkuName eq 'Standard_D8s_v5'") {
		t.Errorf("questions %q, want a second one within minutes, about both sizes", s.filters)
	}
	if g := w.groups(); g["later"].PriceUSDPerHour != 1 || g["agents"].PriceUSDPerHour != 0.5 {
		t.Errorf("prices %v and %v, want the list's", g["later"].PriceUSDPerHour, g["agents"].PriceUSDPerHour)
	}
}

func TestAShopThatFailsLeavesThePricesAsTheyAre(t *testing.T) {
	w := newWorld(t, set("agents", 0))
	s := newShop(t, item("Standard_D4s_v5", "westeurope", "D4s v5", "Virtual Machines Dsv5 Series", 0.5), item("Standard_D4s_v5", "westeurope", "D4s v5 Spot", "x", 0.1))
	w.open(w.shopping(s, "0:9:agents"))
	round := func(after time.Duration) float64 {
		w.now = w.now.Add(after)
		w.groups()
		w.AwaitErrands()
		w.now = w.now.Add(time.Minute)
		return w.groups()["agents"].PriceUSDPerHour
	}
	for what, c := range map[string]struct {
		fault   int
		leadsTo string
	}{
		"it throttles":               {http.StatusTooManyRequests, ""},
		"it is down":                 {http.StatusInternalServerError, ""},
		"its next page is elsewhere": {0, "http://169.254.169.254"},
	} {
		s.mu.Lock()
		s.fault, s.leadsTo = c.fault, c.leadsTo
		s.mu.Unlock()
		if got := round(2 * time.Hour); got != 0.23 {
			t.Errorf("%s: price %v, want the table's", what, got)
		}
	}
	if got := w.log.String(); strings.Count(got, "the retail price list is not read") != 3 || !strings.Contains(got, "and is not followed") {
		t.Errorf("the faults are told thus:\n%s", got)
	}
	s.mu.Lock()
	s.fault, s.leadsTo = 0, ""
	s.mu.Unlock()
	if got := round(2 * time.Hour); got != 0.5 {
		t.Errorf("price %v when it answers at last, want 0.5", got)
	}
	s.mu.Lock()
	s.fault = http.StatusBadGateway
	s.mu.Unlock()
	if got := round(25 * time.Hour); got != 0.5 {
		t.Errorf("price %v when it fails again, want the last known", got)
	}
}

func TestNoPriceIsAskedForUnlessToldTo(t *testing.T) {
	w := newWorld(t, set("agents", 0))
	o := w.options("0:9:agents")
	wire := &beside{RoundTripper: o.Transport, answer: func(r *http.Request) (int, string) {
		if strings.HasSuffix(r.URL.Host, "prices.azure.com") || strings.HasSuffix(r.URL.Path, "/skus") {
			return http.StatusTeapot, ""
		}
		return 0, ""
	}}
	o.Transport = wire
	w.open(o)
	for range 30 {
		w.groups()
		w.AwaitErrands()
		w.now = w.now.Add(time.Hour)
	}
	if asked := wire.questions(); len(asked) > 0 {
		t.Errorf("it asked %q", asked)
	}
}

func TestTheOperatorsOwnPricesWin(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.csv")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("size,region,priority,usd_per_hour\nStandard_D4s_v5,westeurope,regular,0.17\n")
	w := newWorld(t, set("agents", 0))
	s := newShop(t, item("Standard_D4s_v5", "westeurope", "D4s v5", "Virtual Machines Dsv5 Series", 0.5))
	o := w.shopping(s, "0:9:agents")
	o.PricesFile = file
	w.open(o)
	w.groups()
	w.AwaitErrands()
	w.now = w.now.Add(time.Minute)
	if got := w.groups()["agents"].PriceUSDPerHour; got != 0.17 {
		t.Errorf("price %v, want the operator's", got)
	}
	for what, c := range map[string]struct{ path, text, want string }{
		"a line that cannot be read": {file, "size,region,priority,usd_per_hour\nStandard_D4s_v5,westeurope,often,1\n", "--prices-file=" + file + `: line 2: priority "often" must be regular or spot`},
		"no such file":               {file + "x", "", "give the path of a CSV file"},
	} {
		write(c.text)
		o.PricesFile = c.path
		if _, err := azure.New(context.Background(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", what, err, c.want)
		}
	}
	o.PricesFile, o.RetailPricesEndpoint = "", "http://prices.example"
	if _, err := azure.New(context.Background(), o); err == nil || !strings.Contains(err.Error(), `--retail-prices-endpoint=http://prices.example: it must be https`) {
		t.Errorf("an endpoint in the clear: %v", err)
	}
}
