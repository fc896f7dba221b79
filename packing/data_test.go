package packing

import (
	"encoding/csv"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shared is the directory of traces and prices; it lies beside the repository.
const shared = "../../shared/data"

// data is the path of a file or directory of the shared data. A test that needs it fails without it.
func data(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(shared, name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%v: the directory shared/data has to lie beside the repository", err)
	}
	return path
}

// table reads a CSV file and gives each row's fields by the names of the header.
func table(t testing.TB, text string) []map[string]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for _, row := range rows[1:] {
		r := map[string]string{}
		for i, name := range rows[0] {
			r[name] = row[i]
		}
		all = append(all, r)
	}
	return all
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(data(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func number(t testing.TB, s string) int64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(math.Round(v))
}

// azure is a group for each size, priced in millionths of a dollar an hour. Of a machine, 180 millicores and 5 % of the memory and
// 200 MiB more are the system's. Dimensions: millicores, MiB, GPUs, pods.
func azure(t testing.TB, sizes ...string) []Group {
	t.Helper()
	rows := table(t, read(t, "azure_prices_eastus.csv"))
	var groups []Group
	for _, size := range sizes {
		for _, r := range rows {
			if r["sku"] != "Standard_"+size {
				continue
			}
			price, err := strconv.ParseFloat(r["usd_per_h"], 64)
			if err != nil {
				t.Fatal(err)
			}
			groups = append(groups, Group{
				Capacity: []int64{
					number(t, r["vcpu"])*1000 - 180, number(t, r["mem_mib"])*95/100 - 200, number(t, r["gpu"]), 110,
				},
				Cost: int64(math.Round(price * 1e6)), Max: 1000,
			})
		}
	}
	if len(groups) != len(sizes) {
		t.Fatalf("%d of the sizes %v have a price", len(groups), sizes)
	}
	return groups
}

var (
	cpuSizes = []string{"D4s_v5", "D16s_v5", "E16s_v5", "F16s_v2", "D64s_v5", "E64s_v5"}
	gpuSizes = []string{"NC4as_T4_v3", "NC8as_T4_v3", "NC16as_T4_v3", "NC64as_T4_v3"}
)

// pods counts vectors of millicores, MiB, GPUs as classes, sorted.
func pods(vectors [][3]int64) []Class {
	slices.SortFunc(vectors, func(a, b [3]int64) int { return slices.Compare(a[:], b[:]) })
	var classes []Class
	for i, v := range vectors {
		if i > 0 && v == vectors[i-1] {
			classes[len(classes)-1].Count++
			continue
		}
		classes = append(classes, Class{Requests: []int64{v[0], v[1], v[2], 1}, Count: 1})
	}
	return classes
}

// an instance of the report: a name, and problems of one sort.
type instances struct {
	name     string
	problems []Problem
}

// openb is the whole trace placed at once: the pods without GPUs, and those with.
func openb(t testing.TB) []instances {
	t.Helper()
	var cpu, gpu [][3]int64
	for _, r := range table(t, read(t, "openb/openb_pod_list_default.csv")) {
		v := [3]int64{number(t, r["cpu_milli"]), number(t, r["memory_mib"]), number(t, r["num_gpu"])}
		if v[2] == 0 {
			cpu = append(cpu, v)
		} else {
			gpu = append(gpu, v)
		}
	}
	cpuGroups, gpuGroups := azure(t, cpuSizes...), azure(t, gpuSizes...)
	whole := azure(t, gpuSizes...)
	for g := range whole {
		whole[g].Max = Unlimited
	}
	return []instances{
		{"openb, CPU pods", []Problem{{Classes: pods(cpu), Groups: cpuGroups}}},
		{"openb, GPU pods, 1000 a group", []Problem{{Classes: pods(gpu), Groups: gpuGroups}}},
		{"openb, GPU pods, no limit", []Problem{{Classes: pods(gpu), Groups: whole}}},
	}
}

// workload runs the program that writes a workload and returns its rows.
func workload(t testing.TB, args ...string) []map[string]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", "."}, args...)...)
	cmd.Dir = data(t, "workloads")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go run . %v in %s: %v", args, cmd.Dir, err)
	}
	return table(t, string(out))
}

// moments cuts a workload into what is pending at once: at every step, the pods created in the time a machine takes to boot (180 s), and
// those that are alive, as if all had to move.
func moments(t testing.TB, name string, rows []map[string]string, step int64, gpu bool, groups []Group) []instances {
	t.Helper()
	type life struct {
		from, to int64
		v        [3]int64
	}
	var lives []life
	var end int64
	for _, r := range rows {
		if r["op"] != "create" || (r["gpu"] != "0") != gpu {
			continue
		}
		at := number(t, r["t_ms"])
		lives = append(lives, life{at, at + 180_000 + number(t, r["dur_ms"]), [3]int64{number(t, r["cpu_m"]), number(t, r["mem_mib"]), number(t, r["gpu"])}})
		end = max(end, at)
	}
	burst, alive := instances{name: name + ", created in 180 s"}, instances{name: name + ", alive"}
	for now := step; now <= end; now += step {
		var fresh, all [][3]int64
		for _, l := range lives {
			if l.from <= now && now < l.to {
				all = append(all, l.v)
				if l.from > now-180_000 {
					fresh = append(fresh, l.v)
				}
			}
		}
		if len(fresh) > 0 {
			burst.problems = append(burst.problems, Problem{Classes: pods(fresh), Groups: groups})
		}
		if len(all) > 0 {
			alive.problems = append(alive.problems, Problem{Classes: pods(all), Groups: groups})
		}
	}
	return []instances{burst, alive}
}

// cases are all instances that the report is about.
func cases(t testing.TB) []instances {
	t.Helper()
	cpu, gpu := azure(t, cpuSizes...), azure(t, gpuSizes...)
	w1 := workload(t, "w1", "../openb/openb_pod_list_default.csv")
	w2 := workload(t, "w2", "1")
	all := openb(t)
	all = append(all, moments(t, "W1 CPU", w1, 600_000, false, cpu)...)
	all = append(all, moments(t, "W1 GPU", w1, 600_000, true, gpu)...)
	all = append(all, moments(t, "W2", w2, 300_000, false, cpu)...)
	return all
}
