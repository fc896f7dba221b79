// Command generate brings the tables of package catalog up to date from answers of Azure that were saved to files. It asks nobody
// itself. What the files tell replaces what the tables say of it; all else stays.
//
//	go run ./internal/azure/catalog/generate -date 2026-11-21 -skus 'skus*.json' -prices 'prices*.json'
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice.dev/sluice/internal/azure/catalog"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "generate: "+err.Error())
		os.Exit(2)
	}
}

func run(args []string, out io.Writer) error {
	f := flag.NewFlagSet("generate", flag.ContinueOnError)
	dir := f.String("dir", "internal/azure/catalog", "where sizes.csv and prices.csv are")
	day := f.String("date", "", "the day of the answers, such as 2026-11-21")
	skus := f.String("skus", "", "files of resource SKUs: pages of the API, or what az vm list-skus -o json prints")
	prices := f.String("prices", "", "files with pages of the retail price list")
	if err := f.Parse(args); err != nil {
		return err
	}
	made, err := time.Parse(time.DateOnly, *day)
	switch {
	case err != nil:
		return fmt.Errorf("-date=%q: give the day of the answers, such as 2026-11-21", *day)
	case *skus == "" && *prices == "":
		return fmt.Errorf("give files with -skus or -prices")
	}
	if *skus != "" {
		if err := sizes(filepath.Join(*dir, "sizes.csv"), *skus, made, out); err != nil {
			return err
		}
	}
	if *prices != "" {
		return retail(filepath.Join(*dir, "prices.csv"), *prices, made, out)
	}
	return nil
}

// each calls do with the content of every file that the pattern names, in the order of their names.
func each(pattern string, do func(content []byte) error) error {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		return fmt.Errorf("%s names no file", pattern)
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := do(content); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// sku is an entry of the list of resource SKUs, as the API and az print it.
type sku struct {
	ResourceType string `json:"resourceType"`
	Name         string `json:"name"`
	Family       string `json:"family"`
	Capabilities []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"capabilities"`
}

// sizes writes the table anew with what the files tell.
func sizes(table, pattern string, made time.Time, out io.Writer) error {
	old, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	_, rows, err := catalog.ReadSizes(bytes.NewReader(old))
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	known := map[string]catalog.Size{}
	for _, s := range rows {
		known[strings.ToLower(s.Name)] = s
	}
	read := 0
	err = each(pattern, func(content []byte) error {
		entries, err := skusOf(content)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !strings.EqualFold(e.ResourceType, "virtualMachines") {
				continue
			}
			capability := map[string]string{}
			for _, c := range e.Capabilities {
				capability[c.Name] = c.Value
			}
			s, err := catalog.FromCapabilities(e.Name, e.Family, capability)
			if err != nil {
				return err
			}
			known[strings.ToLower(s.Name)] = s
			read++
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows = rows[:0]
	for _, s := range known {
		rows = append(rows, s)
	}
	slices.SortFunc(rows, func(a, b catalog.Size) int { return natural(a.Name, b.Name) })
	var text bytes.Buffer
	if err := catalog.WriteSizes(&text, made, "Azure's list of resource SKUs; docs/reference/catalog.md", rows); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d sizes, %d of them read\n", table, len(rows), read)
	return os.WriteFile(table, text.Bytes(), 0o644)
}

// skusOf reads a page of the API or the plain list of az.
func skusOf(content []byte) ([]sku, error) {
	var page struct {
		Value []sku `json:"value"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("[")) {
		return page.Value, json.Unmarshal(content, &page.Value)
	}
	err := json.Unmarshal(content, &page)
	if err == nil && page.Value == nil {
		err = fmt.Errorf(`it has no list "value"`)
	}
	return page.Value, err
}

// retail writes the table anew with what the files tell.
func retail(table, pattern string, made time.Time, out io.Writer) error {
	old, err := os.ReadFile(table)
	if err != nil {
		return err
	}
	_, rows, err := catalog.ReadPrices(bytes.NewReader(old))
	if err != nil {
		return fmt.Errorf("%s: %w", table, err)
	}
	var reported catalog.Prices
	names := map[string][2]string{} // size and region as the list spells them
	err = each(pattern, func(content []byte) error {
		var page catalog.RetailPage
		if err := json.Unmarshal(content, &page); err != nil {
			return err
		}
		if page.Items == nil {
			return fmt.Errorf(`it has no list "Items"`)
		}
		reported.AddRetail(page.Items, made.AddDate(0, 0, 1))
		for _, i := range page.Items {
			names[strings.ToLower(i.ArmSkuName+"|"+i.ArmRegionName)] = [2]string{i.ArmSkuName, strings.ToLower(i.ArmRegionName)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	known := map[string]catalog.PriceRow{}
	for _, r := range rows {
		known[strings.ToLower(r.Size+"|"+r.Region)] = r
	}
	read := 0
	for k, name := range names {
		r := catalog.PriceRow{Size: name[0], Region: name[1], AsOf: made.Format(time.DateOnly)}
		r.Regular, _ = reported.USDPerHour(catalog.Key{Size: r.Size, Region: r.Region})
		r.Spot, _ = reported.USDPerHour(catalog.Key{Size: r.Size, Region: r.Region, Spot: true})
		if r.Regular == 0 && r.Spot == 0 {
			continue
		}
		known[k] = r
		read++
	}
	rows = rows[:0]
	for _, r := range known {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b catalog.PriceRow) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), natural(a.Size, b.Size))
	})
	var text bytes.Buffer
	if err := catalog.WritePrices(&text, made, "Azure's retail price list; docs/reference/catalog.md", rows); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d prices, %d of them read\n", table, len(rows), read)
	return os.WriteFile(table, text.Bytes(), 0o644)
}

var digits = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// natural compares names so that their numbers stand in the order of their size.
func natural(a, b string) int {
	x, y := digits.FindAllString(strings.ToLower(a), -1), digits.FindAllString(strings.ToLower(b), -1)
	return slices.CompareFunc(x, y, func(p, q string) int {
		n, left := strconv.Atoi(p)
		m, right := strconv.Atoi(q)
		if left == nil && right == nil {
			return cmp.Compare(n, m)
		}
		return cmp.Compare(p, q)
	})
}
