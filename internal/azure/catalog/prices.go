package catalog

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed prices.csv
var pricesCSV string

// Key is what has one price. Names compare in any letter case, and a region also with spaces: "East US" is eastus.
type Key struct {
	Size    string
	Region  string
	Spot    bool
	Windows bool // with its licence; otherwise Linux
}

func (k Key) normal() Key {
	k.Size = strings.ToLower(strings.TrimSpace(k.Size))
	k.Region = strings.ToLower(strings.ReplaceAll(k.Region, " ", ""))
	return k
}

// Prices are prices in USD an hour without any discount of the account's own. The zero value knows none. They are not safe for
// changes at the same time as anything else.
type Prices struct {
	usd map[Key]float64
	at  map[Key]time.Time // since when a price of the retail list holds
}

// USDPerHour is what one machine costs by the hour; false when it is not known.
func (p *Prices) USDPerHour(k Key) (float64, bool) {
	if p == nil {
		return 0, false
	}
	usd, ok := p.usd[k.normal()]
	return usd, ok
}

// Len counts the prices.
func (p *Prices) Len() int {
	if p == nil {
		return 0
	}
	return len(p.usd)
}

// Set keeps a price. A price that is not above zero is not kept: unknown is not free.
func (p *Prices) Set(k Key, usdPerHour float64) {
	if !(usdPerHour > 0) {
		return
	}
	if p.usd == nil {
		p.usd = map[Key]float64{}
	}
	p.usd[k.normal()] = usdPerHour
}

// Listed is the table of prices that sluice brings along: Linux, pay as you go. Nobody may change it. It panics on a damaged table,
// which any test shows.
var Listed = sync.OnceValue(func() *Prices {
	_, rows, err := ReadPrices(strings.NewReader(pricesCSV))
	if err != nil {
		panic("catalog: prices.csv: " + err.Error())
	}
	p := &Prices{usd: make(map[Key]float64, 2*len(rows))}
	for _, r := range rows {
		p.Set(Key{Size: r.Size, Region: r.Region}, r.Regular)
		p.Set(Key{Size: r.Size, Region: r.Region, Spot: true}, r.Spot)
	}
	return p
})

// PriceRow is one line of the table of prices.
type PriceRow struct {
	Size, Region  string
	Regular, Spot float64 // USD an hour; 0 when unknown
	AsOf          string  // the day, month or year the facts are of: 2026-06-18, 2023-12, 2024
}

var priceColumns = []string{"size", "region", "regular", "spot", "as_of"}

// ReadPrices reads a table as [WritePrices] writes it: the day it was made and its rows. The error names line and column.
func ReadPrices(r io.Reader) (time.Time, []PriceRow, error) {
	var all []PriceRow
	seen := map[Key]bool{}
	made, err := readTable(r, priceColumns, func(row *row) {
		one := PriceRow{Size: row.text("size"), Region: row.text("region"), AsOf: row.text("as_of")}
		if row.text("regular") != "" {
			one.Regular = row.dollars("regular")
		}
		if row.text("spot") != "" {
			one.Spot = row.dollars("spot")
		}
		k := Key{Size: one.Size, Region: one.Region}.normal()
		if seen[k] {
			row.refuse("size", fmt.Sprintf("is there twice for region %s", one.Region))
		}
		seen[k] = true
		all = append(all, one)
	})
	return made, all, err
}

// WritePrices writes a table with the day it was made. Source says in a few words where the facts are from.
func WritePrices(w io.Writer, made time.Time, source string, all []PriceRow) error {
	if err := writeHeader(w, "Azure list prices, Linux, pay as you go, USD an hour", made, source, priceColumns); err != nil {
		return err
	}
	amount := func(usd float64) string {
		if usd == 0 {
			return ""
		}
		return strconv.FormatFloat(usd, 'f', -1, 64)
	}
	out := csv.NewWriter(w)
	for _, r := range all {
		if err := out.Write([]string{r.Size, r.Region, amount(r.Regular), amount(r.Spot), r.AsOf}); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// ParseOverrides reads the operator's own prices: CSV with the columns size, region, priority (regular or spot) and usd_per_hour, and
// optionally os (linux, as when it is empty, or windows), in any order. The error names line and field.
func ParseOverrides(r io.Reader) (*Prices, error) {
	p := &Prices{}
	err := readRows(r, 0, []string{"size", "region", "priority", "usd_per_hour"}, []string{"os"}, func(row *row) {
		k := Key{Size: row.text("size"), Region: row.text("region")}
		if _, known := Find(k.Size); !known && !strings.Contains(k.Size, "_") {
			row.refuse("size", "must be a size as Azure names it, such as Standard_D4s_v5")
		}
		if k.Region == "" {
			row.refuse("region", "must be a region as Azure names it, such as westeurope")
		}
		k.Spot = row.oneOf("priority", "regular", "spot") == "spot"
		k.Windows = row.oneOf("os", "", "linux", "windows") == "windows"
		if _, twice := p.USDPerHour(k); twice {
			row.refuse("size", "has a price for that region and priority already")
		}
		p.Set(k, row.dollars("usd_per_hour"))
	})
	return p, err
}

// oneOf is the field in lower case, which must be one of the words.
func (r *row) oneOf(column string, words ...string) string {
	got := strings.ToLower(r.fields[column])
	if !slices.Contains(words, got) {
		r.refuse(column, "must be "+strings.TrimPrefix(strings.Join(words, " or "), " or "))
	}
	return got
}
