package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice.dev/sluice/internal/azure/catalog"
	"sluice.dev/sluice/internal/imds"
)

// The retail price list: where it is, how long its answers serve, and how long a failed question rests.
const (
	publicPrices   = "https://prices.azure.com"
	pricesVersion  = "2023-01-01-preview"
	pricesServe    = 24 * time.Hour
	pricesAskAgain = time.Hour
	pricesSoon     = 5 * time.Minute // after an answer, when a size is wanted that it was not about
	pricesPerAsk   = 15              // sizes that one request names: its address stays below 2 KiB
)

// priceList is what machines cost: the operator's own prices first, then the retail list where it is switched on and has answered, then
// the table.
type priceList struct {
	own    *catalog.Prices // nil without
	retail *retailList     // nil when it is not switched on
}

// usdPerHour is 0 when the price is not known.
func (l *priceList) usdPerHour(k catalog.Key) float64 {
	if usd, ok := l.own.USDPerHour(k); ok {
		return usd
	}
	if l.retail != nil {
		if usd, ok := l.retail.usdPerHour(k); ok {
			return usd
		}
	}
	usd, _ := catalog.Listed().USDPerHour(k)
	return usd
}

// known is the price as it is known now, 0 when it is not. It asks nobody.
func (l *priceList) known(k catalog.Key) float64 {
	if usd, ok := l.own.USDPerHour(k); ok {
		return usd
	}
	if usd, ok := l.read().USDPerHour(k); ok {
		return usd
	}
	usd, _ := catalog.Listed().USDPerHour(k)
	return usd
}

// read is the retail list's last answer, nil without one. Another answer is another list.
func (l *priceList) read() *catalog.Prices {
	if l.retail == nil {
		return nil
	}
	l.retail.mu.Lock()
	defer l.retail.mu.Unlock()
	return l.retail.prices
}

// readPricesFile reads the operator's own prices.
func readPricesFile(path string) (*catalog.Prices, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("--prices-file: %w; give the path of a CSV file with the columns size,region,priority,usd_per_hour", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	prices, err := catalog.ParseOverrides(f)
	if err != nil {
		return nil, fmt.Errorf("--prices-file=%s: %w", path, err)
	}
	return prices, nil
}

// retailList asks Azure's public price list for the sizes of the groups, once a day, without any credential. Nobody waits for it.
type retailList struct {
	endpoint       string // without a trailing slash
	client         *http.Client
	now            func() time.Time
	log            *slog.Logger
	backgroundTask *backgroundTask

	mu     sync.Mutex
	prices *catalog.Prices            // of the last good answer; nil before
	wanted map[string]map[string]bool // sizes by region, in lower case but for the size
	asked  map[string]bool            // size and region that the last good answer was about
	fault  string                     // of the last question, "" when it was good
}

// usdPerHour is what the last answer says. It asks when the answer has served its time or was not about this size.
func (l *retailList) usdPerHour(k catalog.Key) (float64, bool) {
	region := strings.ToLower(strings.ReplaceAll(k.Region, " ", ""))
	if k.Size == "" || region == "" {
		return 0, false
	}
	l.mu.Lock()
	if l.wanted[region] == nil {
		if l.wanted == nil {
			l.wanted = map[string]map[string]bool{}
		}
		l.wanted[region] = map[string]bool{}
	}
	l.wanted[region][k.Size] = true
	prices, isNew := l.prices, l.prices != nil && !l.asked[k.Size+"|"+region]
	l.mu.Unlock()
	if isNew {
		l.backgroundTask.hurry(pricesServe - pricesSoon)
	}
	l.backgroundTask.run(l.now, l.ask)
	return prices.USDPerHour(k)
}

// ask reads the prices of all wanted sizes. One failure leaves the last answer in force.
func (l *retailList) ask(ctx context.Context) time.Duration {
	l.mu.Lock()
	wanted := map[string][]string{}
	for region, sizes := range l.wanted {
		wanted[region] = slices.Sorted(maps.Keys(sizes))
	}
	l.mu.Unlock()

	prices, asked := &catalog.Prices{}, map[string]bool{}
	for _, region := range slices.Sorted(maps.Keys(wanted)) {
		for sizes := range slices.Chunk(wanted[region], pricesPerAsk) {
			if err := l.read(ctx, region, sizes, prices); err != nil {
				return l.refuse(err)
			}
			for _, s := range sizes {
				asked[s+"|"+region] = true
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.prices, l.asked, l.fault = prices, asked, ""
	l.log.Debug("read Azure's retail price list", "prices", prices.Len())
	return pricesServe
}

func (l *retailList) refuse(err error) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if said := err.Error(); said != l.fault {
		l.fault = said
		l.log.Warn("the retail price list is not read; the last known prices stay", "err", err)
	}
	return pricesAskAgain
}

// read adds the prices of some sizes in a region.
func (l *retailList) read(ctx context.Context, region string, sizes []string, prices *catalog.Prices) error {
	names := make([]string, len(sizes))
	for i, s := range sizes {
		names[i] = fmt.Sprintf("armSkuName eq '%s'", quoted(s))
	}
	// Values are compared with their letter case since this api-version.
	filter := fmt.Sprintf("serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and armRegionName eq '%s' and (%s)", quoted(region), strings.Join(names, " or "))
	next := l.endpoint + "/api/retail/prices?" + url.Values{"api-version": {pricesVersion}, "$filter": {filter}}.Encode()
	links := links{}
	for next != "" {
		if err := links.follow(next); err != nil {
			return fmt.Errorf("read retail prices of %s: %w", region, err)
		}
		page, err := l.page(ctx, next)
		if err != nil {
			return fmt.Errorf("read retail prices of %s: %w", region, err)
		}
		prices.AddRetail(page.Items, l.now())
		next = page.NextPageLink
	}
	return nil
}

// page reads one page. Links to elsewhere are not followed.
func (l *retailList) page(ctx context.Context, address string) (*catalog.RetailPage, error) {
	if hostOf(address) != hostOf(l.endpoint) || !strings.HasPrefix(address, l.endpoint[:strings.Index(l.endpoint, "://")+3]) {
		return nil, fmt.Errorf("the answer links to %q instead of %q, and is not followed", hostOf(address), hostOf(l.endpoint))
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		_, message := unanswered(err, hostOf(l.endpoint))
		return nil, fmt.Errorf("%s", message)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", hostOf(l.endpoint), resp.Status)
	}
	var page catalog.RetailPage
	if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
		return nil, fmt.Errorf("%s answers what is no page of prices: %s", hostOf(l.endpoint), cmp.Or(imds.Undecodable(err), firstLine(err.Error())))
	}
	return &page, nil
}

// quoted is a text as OData has it between apostrophes.
func quoted(s string) string { return strings.ReplaceAll(s, "'", "''") }
