package packing

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// azure is a group for each size, priced in millionths of a dollar an hour: list prices of East US, of 2026-06-18. Of a machine, 180
// millicores and 5 % of the memory and 200 MiB more are the system's. Dimensions: millicores, MiB, GPUs, pods.
func azure(t testing.TB, sizes ...string) []Group {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(read(t, "sizes.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var groups []Group
	for _, size := range sizes {
		i := slices.IndexFunc(rows, func(row []string) bool { return row[0] == size })
		if i < 0 {
			t.Fatalf("testdata/sizes.csv has no size %s", size)
		}
		price, err := strconv.ParseFloat(rows[i][4], 64)
		if err != nil {
			t.Fatal(err)
		}
		groups = append(groups, Group{
			Capacity: []int64{number(t, rows[i][1])*1000 - 180, number(t, rows[i][2])*95/100 - 200, number(t, rows[i][3]), 110},
			Cost:     int64(math.Round(price * 1e6)), Max: 1000,
		})
	}
	return groups
}

var (
	cpuSizes = []string{"D4s_v5", "D16s_v5", "E16s_v5", "F16s_v2", "D64s_v5", "E64s_v5"}
	gpuSizes = []string{"NC4as_T4_v3", "NC8as_T4_v3", "NC16as_T4_v3", "NC64as_T4_v3"}
)

// instances are problems of one sort under a name.
type instances struct {
	name     string
	problems []Problem
}

// cases are all sets of testdata/pending.txt, each with the groups that suit it.
func cases(t testing.TB) []instances {
	t.Helper()
	cpu, gpu := azure(t, cpuSizes...), azure(t, gpuSizes...)
	unlimited := azure(t, gpuSizes...)
	for g := range unlimited {
		unlimited[g].Max = Unlimited
	}
	var all []instances
	for _, set := range strings.Split(read(t, "pending.txt"), "\n== ")[1:] {
		name, lines, _ := strings.Cut(set, "\n")
		pending := strings.Split(strings.TrimSpace(lines), "\n")
		groups := cpu
		if strings.Contains(name, "GPU") {
			groups = gpu
		}
		all = append(all, problems(t, name, pending, groups))
		if name == "openb, GPU pods" {
			all = append(all, problems(t, name+", no limit", pending, unlimited))
		}
	}
	return all
}

// problems reads a problem a line.
func problems(t testing.TB, name string, lines []string, groups []Group) instances {
	t.Helper()
	set := instances{name: name}
	for _, line := range lines {
		var classes []Class
		for pods := range strings.FieldsSeq(line) {
			var count int
			v := make([]int64, 4)
			if _, err := fmt.Sscanf(pods, "%dx%d/%d/%d", &count, &v[0], &v[1], &v[2]); err != nil {
				t.Fatalf("testdata/pending.txt, %s: %q: %v", name, pods, err)
			}
			v[3] = 1
			classes = append(classes, Class{Requests: v, Count: count})
		}
		slices.SortFunc(classes, func(a, b Class) int {
			return cmp.Or(slices.Compare(a.Requests, b.Requests), cmp.Compare(a.Count, b.Count))
		})
		set.problems = append(set.problems, Problem{Classes: classes, Groups: groups})
	}
	return set
}

// read is a file of testdata.
func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func number(t testing.TB, s string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
