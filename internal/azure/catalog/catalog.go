// Package catalog is what is known of Azure's virtual machine sizes without asking Azure: what a machine of a size has, and what one
// costs by the hour. Both tables are files of this directory, dated, and made anew from Azure's own answers by the command in
// generate; docs/reference/catalog.md says how. What is not in a table is unknown: no size is guessed from its name, and no region's price
// stands for another's.
package catalog

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

//go:embed sizes.csv
var sizesCSV string

// Size is what one machine of a size has.
type Size struct {
	Name            string // as Azure spells it: Standard_D4s_v5
	Family          string // what its cores count against, as usages name it: standardDSv5Family; "" when unknown
	VCPUs           int    // that the machine sees
	QuotaVCPUs      int    // that it counts for; more than VCPUs for sizes with constrained cores, such as Standard_E16-4s_v5
	MemoryMiB       int64
	GPUs            int // whole or in part: a machine that is given a sixth of one sees one
	MaxDataDisks    int
	ResourceDiskMiB int64  // the temporary disk; 0 when it has none or none is known. Local NVMe disks are not counted
	Arch            string // as Kubernetes names it: amd64, arm64
	Spot            bool   // known to be sold as spot
}

// GPUResource is the extended resource that device plugins report the size's GPUs under, "" for a size without GPUs.
func (s Size) GPUResource() string {
	if s.GPUs == 0 {
		return ""
	}
	name := strings.ToLower(s.Name)
	for _, amd := range []string{"_v620_", "_v710_", "_mi300x_"} {
		if strings.Contains(name, amd) {
			return "amd.com/gpu"
		}
	}
	if strings.HasPrefix(name, "standard_nv") && strings.HasSuffix(name, "as_v4") { // Radeon Instinct MI25
		return "amd.com/gpu"
	}
	return "nvidia.com/gpu"
}

// Find is the size of that name in any letter case.
func Find(name string) (Size, bool) {
	s, ok := sizes().byName[strings.ToLower(name)]
	return s, ok
}

// Sizes are all sizes of the table, in its order. The caller may keep them.
func Sizes() []Size { return append([]Size(nil), sizes().all...) }

// Generated is the day on which the table of sizes was made.
func Generated() time.Time { return sizes().made }

type sizeTable struct {
	made   time.Time
	all    []Size
	byName map[string]Size // by lower-case name
}

// sizes reads the table once. It panics on a damaged one, which any test shows.
var sizes = sync.OnceValue(func() *sizeTable {
	made, all, err := ReadSizes(strings.NewReader(sizesCSV))
	if err != nil {
		panic("catalog: sizes.csv: " + err.Error())
	}
	t := &sizeTable{made: made, all: all, byName: make(map[string]Size, len(all))}
	for _, s := range all {
		t.byName[strings.ToLower(s.Name)] = s
	}
	return t
})

var sizeColumns = []string{"name", "family", "vcpus", "quota_vcpus", "memory_mib", "gpus", "max_data_disks", "resource_disk_mib", "arch", "spot"}

// ReadSizes reads a table as [WriteSizes] writes it: the day it was made and its rows. The error names line and column.
func ReadSizes(r io.Reader) (time.Time, []Size, error) {
	var all []Size
	seen := map[string]bool{}
	made, err := readTable(r, sizeColumns, func(row *row) {
		s := Size{
			Name: row.text("name"), Family: row.text("family"), VCPUs: int(row.whole("vcpus")), QuotaVCPUs: int(row.whole("quota_vcpus")),
			MemoryMiB: row.whole("memory_mib"), GPUs: int(row.whole("gpus")), MaxDataDisks: int(row.whole("max_data_disks")),
			ResourceDiskMiB: row.whole("resource_disk_mib"), Arch: row.text("arch"), Spot: row.text("spot") == "yes",
		}
		if seen[strings.ToLower(s.Name)] {
			row.refuse("name", "is there twice")
		}
		seen[strings.ToLower(s.Name)] = true
		all = append(all, s)
	})
	return made, all, err
}

// WriteSizes writes a table with the day it was made. Source says in a few words where the facts are from.
func WriteSizes(w io.Writer, made time.Time, source string, all []Size) error {
	if err := writeHeader(w, "Azure virtual machine sizes", made, source, sizeColumns); err != nil {
		return err
	}
	out := csv.NewWriter(w)
	for _, s := range all {
		spot := "no"
		if s.Spot {
			spot = "yes"
		}
		err := out.Write([]string{
			s.Name, s.Family, strconv.Itoa(s.VCPUs), strconv.Itoa(s.QuotaVCPUs), strconv.FormatInt(s.MemoryMiB, 10), strconv.Itoa(s.GPUs),
			strconv.Itoa(s.MaxDataDisks), strconv.FormatInt(s.ResourceDiskMiB, 10), s.Arch, spot,
		})
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func writeHeader(w io.Writer, what string, made time.Time, source string, columns []string) error {
	_, err := fmt.Fprintf(w, "# %s. generated: %s. source: %s\n%s\n", what, made.UTC().Format(time.DateOnly), source, strings.Join(columns, ","))
	return err
}
