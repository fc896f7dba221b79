package azure

import (
	_ "embed"
	"encoding/csv"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// sizesCSV is a table of common sizes: name, vCPUs, memory in MiB, GPUs, and the on-demand list price in USD an hour for Linux in east
// US, taken from Azure's public retail price list on 2026-06-18. Prices elsewhere differ; their order rarely does.
//
//go:embed sizes.csv
var sizesCSV string

// size is what one machine of a size has.
type size struct {
	vcpus           int
	memoryMiB       int64
	gpus            int
	priceUSDPerHour float64
}

// knownSizes is the table by lower-case name. It panics on a damaged table, which any test shows.
var knownSizes = sync.OnceValue(func() map[string]size {
	rows, err := csv.NewReader(strings.NewReader(sizesCSV)).ReadAll()
	if err != nil {
		panic("azure: sizes.csv: " + err.Error())
	}
	number := func(s string) float64 {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic("azure: sizes.csv: " + err.Error())
		}
		return n
	}
	table := make(map[string]size, len(rows))
	for _, r := range rows[1:] {
		table[strings.ToLower(r[0])] = size{int(number(r[1])), int64(number(r[2])), int(number(r[3])), number(r[4])}
	}
	return table
})

// armSize finds the letter p among a size's features, as in Standard_D4ps_v5.
var armSize = regexp.MustCompile(`(?i)^[a-z]+_[a-z]+[0-9]+(-[0-9]+)?[a-z]*p[a-z]*(_|$)`)

// architecture is the Kubernetes name of a size's processor architecture, as its name tells.
func architecture(name string) string {
	if armSize.MatchString(name) {
		return "arm64"
	}
	return "amd64"
}
