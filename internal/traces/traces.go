// Package traces reads the recorded and generated workloads and the prices that sluice's economics are measured on. They are
// not part of the repository: docs/reference/economics.md says where they come from, and [Open] tells what is missing where.
package traces

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Vector is an amount of what machines have and pods ask for.
type Vector struct {
	Milli int64 // thousandths of cores
	MiB   int64 // of memory
	GPU   int64 // whole devices
}

// Plus is the sum.
func (v Vector) Plus(o Vector) Vector { return Vector{v.Milli + o.Milli, v.MiB + o.MiB, v.GPU + o.GPU} }

// Minus is the difference, which may be negative.
func (v Vector) Minus(o Vector) Vector {
	return Vector{v.Milli - o.Milli, v.MiB - o.MiB, v.GPU - o.GPU}
}

// Times is n of it.
func (v Vector) Times(n int) Vector {
	return Vector{v.Milli * int64(n), v.MiB * int64(n), v.GPU * int64(n)}
}

// In says whether it fits into room.
func (v Vector) In(room Vector) bool {
	return v.Milli <= room.Milli && v.MiB <= room.MiB && v.GPU <= room.GPU
}

// CountIn is how many of it fit into room together, at most most. What asks for nothing fits most times.
func (v Vector) CountIn(room Vector, most int) int {
	for _, d := range [3][2]int64{{v.Milli, room.Milli}, {v.MiB, room.MiB}, {v.GPU, room.GPU}} {
		if d[0] > 0 {
			most = min(most, int(max(0, d[1])/d[0]))
		}
	}
	return most
}

// Pod is one pod of a workload.
type Pod struct {
	At        time.Duration // of its creation, since the workload began
	Name      string
	Owner     string
	Asks      Vector
	Run       time.Duration // how long it runs once it has started
	Evictable bool          // a service's, which goes on elsewhere; the rest is batch work, which is lost when it is killed
}

// Size is a machine that can be bought.
type Size struct {
	Name            string
	Machine         Vector
	PriceUSDPerHour float64 // list price of regular machines
}

// Data is a directory with the traces.
type Data struct{ dir string }

// The files of the directory.
const (
	workloadsFile = "workloads/main.go"
	openbFile     = "openb/openb_pod_list_default.csv"
	pricesFile    = "azure_prices_eastus.csv"
)

// Open is the data in a directory. An error names the first file that is missing and what belongs there.
func Open(dir string) (*Data, error) {
	for _, f := range []struct{ name, what string }{
		{openbFile, "the pod list of cluster-trace-gpu-v2023 of Alibaba's public cluster data"},
		{workloadsFile, "the program that generates the workloads W1 and W2"},
		{pricesFile, "a list of prices with the columns sku, vcpu, mem_mib, gpu and usd_per_h"},
	} {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		switch _, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s is missing: put %s there, or name another directory with -data", path, f.what)
		case err != nil:
			return nil, err
		}
	}
	return &Data{dir}, nil
}

func (d *Data) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }
