package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary be the child process of a harness.
func TestMain(m *testing.M) {
	switch row := os.Getenv("BENCH_ROW"); row {
	case "":
		os.Exit(m.Run())
	case "crash":
		fmt.Fprintln(os.Stderr, "out of memory\nand a long trace")
		os.Exit(2)
	default:
		if err := Child(os.Stdout, row, small, Effort{Runs: 2, Time: time.Hour}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func TestRowsRunInProcessesOfTheirOwn(t *testing.T) {
	self := func(row string) func(context.Context, string) *exec.Cmd {
		return func(ctx context.Context, _ string) *exec.Cmd {
			c := exec.CommandContext(ctx, os.Args[0])
			c.Env = append(os.Environ(), "BENCH_ROW="+row)
			return c
		}
	}
	for name, c := range map[string]struct {
		harness Harness
		verdict Verdict
		problem string
	}{
		"one that ends": {Harness{self("one-class"), time.Hour}, Measured, ""},
		"one that hangs": {
			Harness{func(ctx context.Context, _ string) *exec.Cmd { return exec.CommandContext(ctx, "sleep", "3600") }, time.Millisecond},
			Stopped, "building its world and turning the cycles before took more than 1ms",
		},
		"one that dies":             {Harness{self("crash"), time.Hour}, Wrong, "out of memory"},
		"one that nobody has named": {Harness{self("nothing"), time.Hour}, Wrong, `no row "nothing"`},
		"one that cannot start": {
			Harness{func(ctx context.Context, _ string) *exec.Cmd { return exec.CommandContext(ctx, "./no-such-program") }, time.Hour},
			Wrong, "start the row's process",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.harness.Run(t.Context(), Row{Name: "one-class"})
			if r.Verdict != c.verdict || !strings.HasPrefix(r.Problem, c.problem) || c.problem == "" && r.Problem != "" {
				t.Errorf("%s %q, want %s %q", r.Verdict, r.Problem, c.verdict, c.problem)
			}
			if (r.Figures != nil) != (c.verdict == Measured) {
				t.Errorf("figures %+v", r.Figures)
			}
		})
	}
}

// TestEveryRungIsFound holds that a child knows every row that a parent may ask it for.
func TestEveryRungIsFound(t *testing.T) {
	for _, l := range append(Ladders(), Exponents()...) {
		for _, r := range l.Rows {
			if find(r.Name) == nil {
				t.Errorf("no row %s", r.Name)
			}
		}
	}
}
