package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

// The goals of the quiet time, as a share of one core and in bytes.
const (
	steadyPart  = "steady"
	steadyCPU   = 0.01
	steadyBytes = 250 << 20
)

// halt is a gap between two looks, one second apart, that can only mean that everything stood still, as on a laptop that slept: sluice and its meter
// alike. It is left out of the time that a part took.
const halt = 5 * time.Second

// meter watches the process of sluice from outside.
type meter struct {
	out     io.Writer
	proxy   *proxy
	process atomic.Pointer[os.Process]
	before  atomic.Int64 // nanoseconds of CPU that processes before this one took
	starts  atomic.Int64 // how often it was started again
	address string       // of its own pages
	begun   time.Time
	parts   []taken
	halted  time.Duration // in all
	seen    time.Duration // CPU time, at most: it never runs backwards while one process follows the other
}

// taken is what one part of the story took.
type taken struct {
	name     string
	lasted   time.Duration
	cpu      time.Duration
	resident int64 // bytes, at most
	requests int64
	kinds    map[string]int64 // these by what they were
}

// share is of one core.
func (t taken) share() float64 { return float64(t.cpu) / float64(max(t.lasted, time.Millisecond)) }

// asked are the requests a minute, by what they were, the most frequent first.
func (t taken) asked() string {
	kinds := slices.SortedFunc(maps.Keys(t.kinds), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.kinds[b], t.kinds[a]), cmp.Compare(a, b))
	})
	said := make([]string, 0, len(kinds))
	for _, kind := range kinds {
		said = append(said, fmt.Sprintf("%s %.1f", kind, float64(t.kinds[kind])/max(t.lasted, time.Millisecond).Minutes()))
	}
	return strings.Join(said, ", ")
}

// sample is the process as it is.
type sample struct {
	at       time.Time
	cpu      time.Duration // user and system, of all processes so far
	resident int64         // bytes
	requests int64         // to the API server, so far
	kinds    map[string]int64
}

// look samples the process, as proc(5) has it.
func (m *meter) look() (sample, error) {
	at, kinds, requests := time.Now(), m.proxy.counted(), int64(0)
	for _, n := range kinds {
		requests += n
	}
	before := time.Duration(m.before.Load())
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.process.Load().Pid))
	if errors.Is(err, os.ErrNotExist) { // between two processes
		m.seen = max(m.seen, before)
		return sample{at, m.seen, 0, requests, kinds}, nil
	}
	if err != nil {
		return sample{}, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks, pages int64
	for _, i := range []int{11, 12} { // utime and stime, in hundredths of a second
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return sample{}, err
		}
		ticks += n
	}
	if pages, err = strconv.ParseInt(fields[21], 10, 64); err != nil {
		return sample{}, err
	}
	m.seen = max(m.seen, before+time.Duration(ticks)*10*time.Millisecond)
	return sample{at, m.seen, pages * int64(os.Getpagesize()), requests, kinds}, nil
}

// part does one part of the story and tells, every ten seconds and at its end, what sluice takes.
func (m *meter) part(ctx context.Context, name string, do func(context.Context) error) error {
	told, err := m.look()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	all := taken{name: name, resident: told.resident, kinds: map[string]int64{}}
	begin, last, since := told.kinds, told, time.Duration(0) // since the last line, without halts
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		var result error
		ended := false
		select {
		case result = <-done:
			ended = true
		case <-every.C:
		}
		now, err := m.look()
		if err != nil {
			return errors.Join(result, err)
		}
		if span := now.at.Sub(last.at); span < halt {
			since += span
		} else {
			m.halted += span
		}
		last, all.resident = now, max(all.resident, now.resident)
		if !ended && since < 10*time.Second {
			continue
		}
		line := taken{lasted: since, cpu: now.cpu - told.cpu}
		_, _ = fmt.Fprintf(m.out, "%7s  %-27s cpu %6.2f %%  resident %4d MB  requests %5d\n", now.at.Sub(m.begun).Round(time.Second), name, 100*line.share(), now.resident>>20, now.requests-told.requests)
		all.lasted, all.cpu, all.requests = all.lasted+since, all.cpu+line.cpu, all.requests+now.requests-told.requests
		told, since = now, 0
		if ended {
			for kind, n := range now.kinds {
				if n -= begin[kind]; n > 0 {
					all.kinds[kind] = n
				}
			}
			m.parts = append(m.parts, all)
			return result
		}
	}
}

// summary is one line for each part.
func (m *meter) summary() {
	w := tabwriter.NewWriter(m.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\npart\tlasted\tCPU time\tof one core\tresident at most\trequests\ta minute")
	for _, p := range m.parts {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%.2f %%\t%d MB\t%d\t%.0f\n", p.name, p.lasted.Round(time.Second), p.cpu, 100*p.share(), p.resident>>20, p.requests,
			float64(p.requests)/max(p.lasted, time.Millisecond).Minutes())
	}
	w.Flush() // nobody is left to tell
	for _, p := range m.parts {
		if p.name == steadyPart {
			_, _ = fmt.Fprintf(m.out, "\nrequests a minute while nothing happened: %s\n", p.asked())
		}
	}
	_, _ = fmt.Fprintf(m.out, "\nsluice was started again %d times\n", m.starts.Load())
	if m.halted > 0 {
		_, _ = fmt.Fprintf(m.out, "everything stood still for %s in all, which is left out\n", m.halted.Round(time.Second))
	}
}

// judge says whether the quiet time, measured first, was within its goals. The error is [errWrong].
func (m *meter) judge() error {
	for _, p := range m.parts {
		if p.name != steadyPart {
			continue
		}
		word, err := "met", error(nil)
		if p.share() > steadyCPU || p.resident > steadyBytes {
			word, err = "NOT met", errWrong
		}
		_, _ = fmt.Fprintf(m.out, "goal for the steady state: at most %.0f %% of one core and %d MB; measured over %s: %.2f %% and %d MB: %s\n",
			100*steadyCPU, steadyBytes>>20, p.lasted.Round(time.Second), 100*p.share(), p.resident>>20, word)
		return err
	}
	return nil
}
