package bench

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Effort says how long to measure.
type Effort struct {
	Runs int           // that count, at most; the warm-up comes before them
	Time time.Duration // no further run begins after this
}

// betweenCycles is --scan-interval.
const betweenCycles = 10 * time.Second

// run is what one decision took.
type run struct {
	time, cpu   time.Duration
	allocations uint64
	bytes       uint64
}

// Measure decides once to warm up, then again and again, each time after a garbage collection and on one core. A warm-up that takes longer
// than the effort's time is itself the only run. The error is that of a decision which was not right.
func Measure(c Case, e Effort) (Figures, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	debug.FreeOSMemory()
	resetPeak()
	f := Figures{Pods: c.Pods, Week: c.Week, WorldRSS: statusOf("VmRSS")}
	if c.Close != nil {
		defer c.Close()
	}
	began := time.Now()
	first, err := c.once()
	if err != nil {
		return f, err
	}
	var runs []run
	for len(runs) < e.Runs && time.Since(began) < e.Time {
		r, err := c.once()
		if err != nil {
			return f, err
		}
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		runs = []run{first}
	}
	f.Runs = len(runs)
	f.PeakRSS = statusOf("VmHWM")
	f.Time, f.Fastest, f.Slowest = middle(runs, func(r run) time.Duration { return r.time })
	f.CPU, _, _ = middle(runs, func(r run) time.Duration { return r.cpu })
	f.Allocations, _, _ = middle(runs, func(r run) uint64 { return r.allocations })
	f.Bytes, _, _ = middle(runs, func(r run) uint64 { return r.bytes })
	if c.Cycles > 0 {
		f.OfCore = f.CPU.Seconds() / betweenCycles.Seconds()
	}
	if c.Pods > 0 {
		f.PerPod = float64(f.Time.Nanoseconds()) / float64(c.Pods)
	}
	return f, nil
}

// once readies, collects, decides and checks; only deciding is timed.
func (c Case) once() (run, error) {
	if c.Fresh != nil {
		c.Fresh()
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := processTime()
	began := time.Now()
	made := c.Decide()
	r := run{time: time.Since(began), cpu: processTime() - cpu}
	runtime.ReadMemStats(&after)
	r.allocations, r.bytes = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	if n := c.Cycles; n > 0 {
		r.time, r.cpu = r.time/time.Duration(n), r.cpu/time.Duration(n)
		r.allocations, r.bytes = r.allocations/uint64(n), r.bytes/uint64(n)
	}
	return r, c.Right(made)
}

// middle is the median of a figure of the runs, its least and its most.
func middle[T time.Duration | uint64](runs []run, of func(run) T) (median, least, most T) {
	all := make([]T, len(runs))
	for i, r := range runs {
		all[i] = of(r)
	}
	slices.Sort(all)
	return all[len(all)/2], all[0], all[len(all)-1]
}

// processTime is the CPU time that the process has used.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resetPeak makes the highest resident memory the present one (Linux: proc(5), clear_refs).
func resetPeak() {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // elsewhere there is no peak to read either
}

// statusOf is a field of this process's /proc status in bytes; 0 where there is none.
func statusOf(field string) uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(field+":")); ok {
			kib, _ := strconv.ParseUint(string(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// Size is a number of bytes in words: three digits and a unit of a thousand.
func Size(b uint64) string {
	v, unit := float64(b), "B"
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if v < 999.5 {
			break
		}
		v, unit = v/1000, u
	}
	return short(v) + " " + unit
}

// Count is a number in words: three digits and, from a thousand on, a unit.
func Count(n uint64) string {
	v, unit := float64(n), ""
	for _, u := range []string{"k", "M", "G"} {
		if v < 999.5 {
			break
		}
		v, unit = v/1000, u
	}
	return short(v) + unit
}

// Duration is a time in words: three digits and a unit.
func Duration(d time.Duration) string {
	v, unit := float64(d.Nanoseconds()), "ns"
	for _, u := range []string{"us", "ms", "s"} {
		if v < 999.5 {
			break
		}
		v, unit = v/1000, u
	}
	return short(v) + " " + unit
}

// short is a number below a thousand with three digits, without zeros at its end.
func short(v float64) string {
	digits := 2
	switch {
	case v >= 99.95:
		digits = 0
	case v >= 9.995:
		digits = 1
	}
	s := fmt.Sprintf("%.*f", digits, v)
	if digits > 0 {
		s = string(bytes.TrimRight(bytes.TrimRight([]byte(s), "0"), "."))
	}
	return s
}
