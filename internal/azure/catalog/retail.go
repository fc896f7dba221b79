package catalog

import (
	"strings"
	"time"
)

// RetailPage is a page of Azure's retail price list (API version 2023-01-01-preview).
type RetailPage struct {
	Items        []RetailItem `json:"Items"`
	NextPageLink string       `json:"NextPageLink"`
}

// RetailItem is one line of Azure's retail price list, as far as it matters for machines.
type RetailItem struct {
	CurrencyCode       string    `json:"currencyCode"`
	RetailPrice        float64   `json:"retailPrice"`
	TierMinimumUnits   float64   `json:"tierMinimumUnits"`
	ArmRegionName      string    `json:"armRegionName"`
	EffectiveStartDate time.Time `json:"effectiveStartDate"`
	ProductName        string    `json:"productName"`
	SkuName            string    `json:"skuName"`
	MeterName          string    `json:"meterName"`
	ServiceName        string    `json:"serviceName"`
	UnitOfMeasure      string    `json:"unitOfMeasure"`
	Type               string    `json:"type"`
	ArmSkuName         string    `json:"armSkuName"`
}

// AddRetail keeps the prices of machines among the items: those that hold at the time, the youngest where several do. What is no
// machine by the hour in USD is passed over: reservations, dedicated hosts, cloud services, the low priority that spot replaced.
// It returns how many items were of use.
func (p *Prices) AddRetail(items []RetailItem, now time.Time) int {
	used := 0
	if p.at == nil {
		p.at = map[Key]time.Time{}
	}
	for _, item := range items {
		k, ok := item.key(now)
		if !ok {
			continue
		}
		used++
		if since, known := p.at[k]; known && !item.EffectiveStartDate.After(since) {
			continue
		}
		p.Set(k, item.RetailPrice)
		p.at[k] = item.EffectiveStartDate
	}
	return used
}

// key is what the item is the price of. Priority and operating system stand only in words that end in them.
func (i RetailItem) key(now time.Time) (Key, bool) {
	words := i.SkuName + "|" + i.MeterName
	switch {
	case i.ArmSkuName == "" || i.ArmRegionName == "" || !(i.RetailPrice > 0) || i.RetailPrice > maxUSDPerHour:
	case i.CurrencyCode != "" && i.CurrencyCode != "USD":
	case i.ServiceName != "" && i.ServiceName != "Virtual Machines":
	case i.Type != "" && i.Type != "Consumption", i.UnitOfMeasure != "" && i.UnitOfMeasure != "1 Hour", i.TierMinimumUnits != 0:
	case i.EffectiveStartDate.After(now):
	case strings.Contains(words, "Low Priority"), strings.Contains(i.ProductName, "Dedicated Host"):
	case strings.Contains(strings.ReplaceAll(i.ProductName, " ", ""), "CloudServices"):
	default:
		return Key{
			Size: i.ArmSkuName, Region: i.ArmRegionName,
			Spot:    strings.HasSuffix(i.SkuName, " Spot") || strings.HasSuffix(i.MeterName, " Spot"),
			Windows: strings.Contains(i.ProductName, "Windows"),
		}.normal(), true
	}
	return Key{}, false
}
