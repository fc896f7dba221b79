package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"
)

// Machine is where the figures come from.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"` // of the machine; decisions run on one
	Memory uint64 `json:"memoryBytes"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
	OS     string `json:"os"`
}

// ThisMachine is the one that this process runs on. What it does not tell is empty.
func ThisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPU = field(info, "model name")
	}
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib uint64
		if _, err := fmt.Sscan(field(info, "MemTotal"), &kib); err == nil {
			m.Memory = kib << 10
		}
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = string(bytes.TrimSpace(release))
	}
	return m
}

func field(info []byte, name string) string {
	for l := range strings.Lines(string(info)) {
		if key, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// Report is everything that was measured.
type Report struct {
	At       time.Time `json:"at"`
	Machine  Machine   `json:"machine"`
	Rows     []Result  `json:"rows,omitempty"`
	Scaling  []Growth  `json:"scaling,omitempty"`
	Resident *Resident `json:"resident,omitempty"`
}

// Passed says whether nothing was above its limit, stopped or wrong.
func (r *Report) Passed() bool {
	ok := func(v Verdict) bool { return v == Goal || v == Within || v == Measured }
	for _, row := range r.Rows {
		if !ok(row.Verdict) {
			return false
		}
	}
	for _, g := range r.Scaling {
		if !ok(g.Verdict) {
			return false
		}
	}
	return r.Resident == nil || ok(r.Resident.Verdict)
}

// Save writes the report as JSON.
func (r *Report) Save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Print writes the tables of the report.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d cores, %s, %s, %s: one core for each decision\n", r.Machine.CPU, r.Machine.Cores, Size(r.Machine.Memory), r.Machine.OS, r.Machine.Go)
	if len(r.Rows) > 0 {
		fmt.Fprintln(w)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "ROW\tDECISION\tTIMED\tTIME\tCPU\tALLOCATIONS\tALLOCATED\tPEAK RSS\tNS A POD\tGOAL\tNEVER ABOVE\tVERDICT")
		for _, row := range r.Rows {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", row.Name, row.Title, row.Pays, row.figures(), allowed(row.Goal), allowed(row.Limit), row.Verdict)
		}
		t.Flush()
		for _, row := range r.Rows {
			if row.Figures != nil && row.Figures.OfCore > 0 {
				fmt.Fprintf(w, "%s: %.2f %% of a core with a cycle every %s\n", row.Name, 100*row.Figures.OfCore, betweenCycles)
			}
		}
		for _, row := range r.Rows {
			if row.Figures != nil && row.Figures.Week > 0 {
				fmt.Fprintf(w, "%s: the journal takes %s a week (goal %s)\n", row.Name, Size(uint64(row.Figures.Week)), Size(pastGoal)) //nolint:gosec // it is no less than none
			}
		}
		r.noteDelays(w)
		for _, row := range r.Rows {
			if row.Problem != "" {
				fmt.Fprintf(w, "%s: %s\n", row.Name, row.Problem)
			}
		}
	}
	for _, g := range r.Scaling {
		g.tell(w)
	}
	if r.Resident != nil {
		r.Resident.tell(w)
	}
}

// allowed is a goal or a limit in words.
func allowed(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return Duration(d)
}

// noteDelays says that the times are not sluice's own when rows waited for a core for a third of their time.
func (r *Report) noteDelays(w io.Writer) {
	for _, row := range r.Rows {
		if f := row.Figures; f != nil && f.Time > f.CPU*3/2 {
			fmt.Fprintln(w, "NB: other processes held the cores. Verdicts are on the CPU times, which others lengthen too: compare rows of one run, or measure on an idle machine.")
			return
		}
	}
}

// figures are the row's six columns of figures.
func (r Result) figures() string {
	f := r.Figures
	if f == nil {
		took := "-"
		if r.Verdict == Stopped {
			took = "> " + Duration(r.Cap)
		}
		return took + "\t-\t-\t-\t-\t-"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%.0f", Duration(f.Time), Duration(f.CPU), Count(f.Allocations), Size(f.Bytes), Size(f.PeakRSS), f.PerPod)
}

func (g Growth) tell(w io.Writer) {
	fmt.Fprintf(w, "\nGrowing with %s\n", g.Title)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SIZE\tTIME\tCPU\tALLOCATIONS\tALLOCATED\tPEAK RSS\tNS A POD\tVERDICT")
	for _, row := range g.Rungs {
		verdict := ""
		if row.Figures == nil {
			verdict = string(row.Verdict)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", row.Title, row.figures(), verdict)
	}
	t.Flush()
	for _, row := range g.Rungs {
		if row.Problem != "" {
			fmt.Fprintf(w, "%s: %s\n", row.Name, row.Problem)
		}
	}
	if g.Doubling > 0 {
		word := "within"
		if g.Verdict != Goal {
			word = "above"
		}
		fmt.Fprintf(w, "a doubling costs %.2f times the CPU: exponent %.2f, %s the bar %.2f; of the bytes %.2f\n",
			g.Doubling, g.Exponent, word, g.Bar, g.Memory)
	}
}
