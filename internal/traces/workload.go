package traces

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The first half of the sha256 of what the generator prints: another workload is not comparable with the published figures.
const (
	w1Sum = "84d5b1ca03faf117"
	w2Sum = "385828b50026bd34"
)

// W1 is the dense month of the openb trace, folded onto one day.
func (d *Data) W1(ctx context.Context) ([]Pod, error) {
	openb, err := filepath.Abs(d.path(openbFile))
	if err != nil {
		return nil, err
	}
	return d.generate(ctx, w1Sum, "w1", openb)
}

// W2 is three days of a render farm.
func (d *Data) W2(ctx context.Context) ([]Pod, error) { return d.generate(ctx, w2Sum, "w2", "1") }

// generate runs the generator and reads what it prints, when it has the sum.
func (d *Data) generate(ctx context.Context, sum string, args ...string) ([]Pod, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "."}, args...)...)
	cmd.Dir = filepath.Dir(d.path(workloadsFile))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("generate workload %s in %s: %w\n%s", args[0], cmd.Dir, err, stderr.String())
	}
	got := sha256.Sum256(stdout.Bytes())
	if have := hex.EncodeToString(got[:8]); have != sum {
		return nil, fmt.Errorf("workload %s of %s has the sum %s, want %s: it is not the one that the figures are about", args[0], cmd.Dir, have, sum)
	}
	return parseWorkload(&stdout)
}

// parseWorkload reads rows of t_ms,op,id,owner,kind,cpu_m,mem_mib,gpu,dur_ms,pool,tolerates,evictable. Pods that run until
// they are deleted are refused: no workload read here has any.
func parseWorkload(from *bytes.Buffer) ([]Pod, error) {
	t, err := readTable(from, "t_ms", "op", "id", "owner", "cpu_m", "mem_mib", "gpu", "dur_ms", "evictable")
	if err != nil {
		return nil, fmt.Errorf("read workload: %w", err)
	}
	var pods []Pod
	for t.next() {
		p := Pod{
			At: time.Duration(t.int("t_ms")) * time.Millisecond, Name: t.text("id"), Owner: t.text("owner"),
			Asks:      Vector{t.int("cpu_m"), t.int("mem_mib"), t.int("gpu")},
			Run:       time.Duration(t.int("dur_ms")) * time.Millisecond,
			Evictable: strings.EqualFold(t.text("evictable"), "true"),
		}
		if t.text("op") != "create" || p.Run <= 0 {
			return nil, fmt.Errorf("read workload: pod %s: %s with a run time of %s, want a creation with one above zero", p.Name, t.text("op"), p.Run)
		}
		pods = append(pods, p)
	}
	return pods, t.err
}
