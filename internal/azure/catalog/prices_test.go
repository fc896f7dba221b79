package catalog_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azure/catalog"
)

func TestAPriceIsKnownOrUnknownNeverGuessed(t *testing.T) {
	for what, c := range map[string]struct {
		key  catalog.Key
		want float64 // 0: unknown
	}{
		"the list price of east US":             {catalog.Key{Size: "Standard_D4s_v5", Region: "eastus"}, 0.192},
		"in any spelling":                       {catalog.Key{Size: "STANDARD_d4S_v5", Region: "East US"}, 0.192},
		"another region's is its own":           {catalog.Key{Size: "Standard_D4s_v5", Region: "westeurope"}, 0.23},
		"spot":                                  {catalog.Key{Size: "Standard_D4s_v5", Region: "eastus", Spot: true}, 0.02112},
		"spot unknown where only regular is":    {catalog.Key{Size: "Standard_D4s_v5", Region: "westeurope", Spot: true}, 0},
		"a region without prices":               {catalog.Key{Size: "Standard_D4s_v5", Region: "mars"}, 0},
		"a size that is not sold in the region": {catalog.Key{Size: "Standard_HC44rs", Region: "westus"}, 0},
		"Windows costs its licence":             {catalog.Key{Size: "Standard_D4s_v5", Region: "eastus", Windows: true}, 0},
		"a size without a price":                {catalog.Key{Size: "Standard_D4as_v6", Region: "eastus"}, 0},
		"a size that does not exist":            {catalog.Key{Size: "Standard_D3s_v5", Region: "eastus"}, 0},
		"no region":                             {catalog.Key{Size: "Standard_D4s_v5"}, 0},
		"a GPU size":                            {catalog.Key{Size: "Standard_NC4as_T4_v3", Region: "eastus"}, 0.526},
		"constrained cores cost the whole":      {catalog.Key{Size: "Standard_E16-4s_v5", Region: "eastus"}, 1.008},
		"a machine with eight GPUs":             {catalog.Key{Size: "Standard_ND40rs_v2", Region: "eastus"}, 22.032},
	} {
		t.Run(what, func(t *testing.T) {
			got, ok := catalog.Listed().USDPerHour(c.key)
			if got != c.want || ok != (c.want > 0) {
				t.Errorf("%v %v, want %v", got, ok, c.want)
			}
		})
	}
}

func TestTheTableOfPricesIsSound(t *testing.T) {
	asOf := regexp.MustCompile(`^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$`)
	_, rows, err := catalog.ReadPrices(strings.NewReader(catalog.PricesCSV))
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 5000 {
		t.Errorf("it has %d rows only", len(rows))
	}
	for _, r := range rows {
		s, known := catalog.Find(r.Size)
		switch {
		case !known || s.Name != r.Size:
			t.Errorf("%s in %s is not in the table of sizes", r.Size, r.Region)
		case r.Regular == 0:
			t.Errorf("%s in %s has no price", r.Size, r.Region)
		case r.Spot >= r.Regular:
			t.Errorf("%s in %s costs %v as spot and %v otherwise", r.Size, r.Region, r.Spot, r.Regular)
		case !asOf.MatchString(r.AsOf):
			t.Errorf("%s in %s is as of %q", r.Size, r.Region, r.AsOf)
		case s.GPUs == 0 && (r.Regular/float64(s.QuotaVCPUs) > 0.4 || r.Regular/float64(s.QuotaVCPUs) < 0.003):
			t.Errorf("%s in %s costs %v for %d vCPUs", r.Size, r.Region, r.Regular, s.QuotaVCPUs)
		}
	}
}

func TestThePriceOfNothingIsNotKept(t *testing.T) {
	var p catalog.Prices
	p.Set(catalog.Key{Size: "Standard_D4s_v5", Region: "eastus"}, 0)
	p.Set(catalog.Key{Size: "Standard_D4s_v5", Region: "eastus"}, -1)
	if p.Len() != 0 {
		t.Error("it is kept")
	}
	if _, ok := (*catalog.Prices)(nil).USDPerHour(catalog.Key{}); ok {
		t.Error("no prices know a price")
	}
}

func TestOverridesAreReadOrRefusedByLineAndField(t *testing.T) {
	const good = `# our agreement of 2026
size,region,priority,usd_per_hour,os
Standard_D4s_v5,westeurope,regular,0.17,

standard_d4s_v5, West Europe , Spot ,0.03,linux
Standard_D4s_v5,westeurope,regular,0.35,windows
Standard_New9_v9,westeurope,regular,1.5,
`
	p, err := catalog.ParseOverrides(strings.NewReader(good))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[catalog.Key]float64{
		{Size: "Standard_D4s_v5", Region: "westeurope"}:                0.17,
		{Size: "Standard_D4s_v5", Region: "westeurope", Spot: true}:    0.03,
		{Size: "Standard_D4s_v5", Region: "westeurope", Windows: true}: 0.35,
		{Size: "Standard_New9_v9", Region: "westeurope"}:               1.5,
	} {
		if got, _ := p.USDPerHour(key); got != want {
			t.Errorf("%+v: %v, want %v", key, got, want)
		}
	}
	for what, c := range map[string]struct{ file, want string }{
		"an empty file":       {"", "it has no line with the columns size,region,priority,usd_per_hour"},
		"a column is missing": {"size,region,usd_per_hour\n", `line 1: column "priority" is missing`},
		"an unknown column":   {"# ours\nsize,region,priority,usd_per_hour,euro\n", `line 2: column "euro" is not known`},
		"a column twice":      {"size,size,region,priority,usd_per_hour\n", `line 1: column "size" is there twice`},
		"a free machine":      {"size,region,priority,usd_per_hour\nStandard_D4s_v5,westeurope,regular,0\n", `line 2: usd_per_hour "0" must be USD an hour`},
		"no number":           {"size,region,priority,usd_per_hour\nStandard_D4s_v5,westeurope,regular,0.1$\n", `line 2: usd_per_hour "0.1$"`},
		"a decimal comma":     {"size,region,priority,usd_per_hour\nStandard_D4s_v5,westeurope,spot,0,12\n", "line 2: it has 5 fields and the columns are 4: separate them by commas, and write decimals with a point"},
		"not finite":          {"size,region,priority,usd_per_hour\nStandard_D4s_v5,westeurope,regular,inf\n", `line 2: usd_per_hour "inf"`},
		"an odd priority":     {"size,region,priority,usd_per_hour\nStandard_D4s_v5,westeurope,low,1\n", `line 2: priority "low" must be regular or spot`},
		"an odd system":       {"size,region,priority,usd_per_hour,os\nStandard_D4s_v5,westeurope,spot,1,beos\n", `line 2: os "beos" must be linux or windows`},
		"no size":             {"size,region,priority,usd_per_hour\nD4s v5,westeurope,spot,1\n", `line 2: size "D4s v5" must be a size as Azure names it`},
		"no region":           {"size,region,priority,usd_per_hour\nStandard_D4s_v5,,spot,1\n", `line 2: region "" must be a region`},
		"the same twice": {
			"size,region,priority,usd_per_hour\nStandard_D4s_v5,westeurope,spot,1\n\nStandard_D4s_v5,West Europe,spot,2\n", `line 4: size "Standard_D4s_v5" has a price`,
		},
		"a stray quote": {"size,region,priority,usd_per_hour\nStandard_D4s_v5,west\"europe,spot,1\n", "line 2: "},
	} {
		t.Run(what, func(t *testing.T) {
			if _, err := catalog.ParseOverrides(strings.NewReader(c.file)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestOfTheRetailListOnlyMachinesByTheHourCount(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	item := func(change func(*catalog.RetailItem)) catalog.RetailItem {
		i := catalog.RetailItem{
			CurrencyCode: "USD", RetailPrice: 0.2, ArmRegionName: "eastus", EffectiveStartDate: now.AddDate(-1, 0, 0), ProductName: "Virtual Machines Dsv5 Series",
			SkuName: "D4s v5", MeterName: "D4s v5", ServiceName: "Virtual Machines", UnitOfMeasure: "1 Hour", Type: "Consumption", ArmSkuName: "Standard_D4s_v5",
		}
		change(&i)
		return i
	}
	for what, change := range map[string]func(*catalog.RetailItem){
		"another currency":      func(i *catalog.RetailItem) { i.CurrencyCode = "EUR" },
		"a reservation":         func(i *catalog.RetailItem) { i.Type = "Reservation" },
		"a month":               func(i *catalog.RetailItem) { i.UnitOfMeasure = "1/Month" },
		"a volume discount":     func(i *catalog.RetailItem) { i.TierMinimumUnits = 100 },
		"a dedicated host":      func(i *catalog.RetailItem) { i.ProductName = "Dsv5 Series Dedicated Host" },
		"a cloud service":       func(i *catalog.RetailItem) { i.ProductName = "Dsv5 Series Cloud Services" },
		"low priority":          func(i *catalog.RetailItem) { i.SkuName = "D4s v5 Low Priority" },
		"low priority by meter": func(i *catalog.RetailItem) { i.MeterName = "D4s v5 Low Priority" },
		"another service":       func(i *catalog.RetailItem) { i.ServiceName = "Storage" },
		"a price of nothing":    func(i *catalog.RetailItem) { i.RetailPrice = 0 },
		"a price to come":       func(i *catalog.RetailItem) { i.EffectiveStartDate = now.AddDate(0, 0, 10) },
		"no size":               func(i *catalog.RetailItem) { i.ArmSkuName = "" },
		"no region":             func(i *catalog.RetailItem) { i.ArmRegionName = "" },
	} {
		t.Run(what, func(t *testing.T) {
			var p catalog.Prices
			if n := p.AddRetail([]catalog.RetailItem{item(change)}, now); n != 0 || p.Len() != 0 {
				t.Errorf("%d used, %d kept", n, p.Len())
			}
		})
	}

	var p catalog.Prices
	p.AddRetail([]catalog.RetailItem{
		item(func(i *catalog.RetailItem) { i.RetailPrice, i.EffectiveStartDate = 0.3, now.AddDate(-3, 0, 0) }),
		item(func(*catalog.RetailItem) {}),
		item(func(i *catalog.RetailItem) { i.RetailPrice, i.EffectiveStartDate = 0.4, now.AddDate(-2, 0, 0) }),
		item(func(i *catalog.RetailItem) { i.RetailPrice, i.SkuName = 0.05, "D4s v5 Spot" }),
		item(func(i *catalog.RetailItem) {
			i.RetailPrice, i.ProductName = 0.5, "Virtual Machines Dsv5 Series Windows"
		}),
	}, now)
	for key, want := range map[catalog.Key]float64{
		{Size: "Standard_D4s_v5", Region: "eastus"}:                0.2,
		{Size: "Standard_D4s_v5", Region: "eastus", Spot: true}:    0.05,
		{Size: "Standard_D4s_v5", Region: "eastus", Windows: true}: 0.5,
	} {
		if got, _ := p.USDPerHour(key); got != want {
			t.Errorf("%+v: %v, want %v", key, got, want)
		}
	}
}
