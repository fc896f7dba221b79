package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/bench"
)

// settings are the flags of the command.
type settings struct {
	runs  int
	time  time.Duration
	cap   time.Duration
	scale float64
	json  string
	list  bool

	settle time.Duration
}

func root() *cobra.Command {
	o := settings{}
	cmd := &cobra.Command{
		Use:   "bench [ROW...]",
		Short: "Measure what sluice's decisions cost on this machine",
		Long: `Measure what sluice's decisions cost on this machine.

Without a ROW everything is measured; bench --list names what there is. Each row is a decision about a world that is generated
from a seed. It runs in a process of its own and on one core, which collects garbage as "sluice run" does (GOGC and GOMEMLIMIT
override that): once to warm up, then up to --runs times, each after a garbage collection.

The columns:
  TIMED        what is inside the timing. decision: plan.Decide of a new process, on a joined snapshot. cycle: joining the
               snapshot and deciding, after earlier cycles. watch: a cycle, and recording the objects that the watch delivered.
               start: recording, joining and deciding about everything for the first time.
  TIME, CPU    medians of the wall clock and of the process's user and system time. Goals and limits hold for CPU.
  ALLOCATED    what the row allocated; GOGC turns it into the processor time of collections.
  PEAK RSS     the highest resident memory, the world included.
  VERDICT      goal, within (the limit), over, stopped (--cap), wrong. A row that decides something else than it should has no figures.

On a machine with other work CPU times grow too, by half and more, since caches and hyperthreads are shared. Then compare two
programs row by row and by turns, and look at ratios. The exponents and the scaling are ratios of one run, and hold anyway.

The exit code is 0 when all is within its limits, 1 when something is not, and 2 when it could not be measured.
docs/reference/benchmarks.md describes the worlds and the method.`,
		Example: `  bench                          everything
  bench backlog quiet            two rows
  bench resident                 the memory of a process that watches a whole cluster
  bench scaling exponents        how the cost grows with pods, nodes, stuck pods and exclusive jobs
  bench steady cold-start        what sluice costs that runs for days, and that starts
  bench one-class --runs=100     more runs
  bench backlog --scale=0.1      a tenth of the row's world, for a quick look`,
		Args:          cobra.ArbitraryArgs, // checked against the rows
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.list {
				list(cmd.OutOrStdout())
				return nil
			}
			return measure(cmd.Context(), o, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.runs, "runs", 21, "runs that count, at most")
	f.DurationVar(&o.time, "time", 5*time.Second, "no further run of a row begins after this")
	f.DurationVar(&o.cap, "cap", 2*time.Minute, "a row that takes longer is stopped")
	f.Float64Var(&o.scale, "scale", 1, "share of the rows' worlds, for a quick look that is held to no limit; scaling and exponents take no notice")
	f.StringVar(&o.json, "json", "bin/bench.json", "`file` to write the report to as JSON; empty: none")
	f.DurationVar(&o.settle, "settle", 65*time.Second, "how long a process watches a cluster before its resident memory is read")
	f.BoolVar(&o.list, "list", false, "name the rows and end")
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return fmt.Errorf("%w; see %s --help", err, c.CommandPath()) })
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(childCommand(), serveCommand(), watchCommand())
	return cmd
}

const (
	scaling   = "scaling"
	exponents = "exponents"
)

func list(w io.Writer) {
	for _, r := range bench.Rows {
		fmt.Fprintf(w, "%-14s %s\n", r.Name, r.Title)
	}
	fmt.Fprintf(w, "%-14s %s\n", scaling, "how the cost grows: 1, 2, 4 and 8 times the pods and the nodes")
	for _, l := range bench.Ladders() {
		fmt.Fprintf(w, "  %s\n", l.Name)
	}
	fmt.Fprintf(w, "%-14s %s\n", exponents, "the exponent of the size in the cost, which must stay below 1.2")
	for _, l := range bench.Exponents() {
		fmt.Fprintf(w, "  %s\n", l.Name)
	}
	fmt.Fprintf(w, "%-14s %s\n", residentRow, "resident memory of a process that watches 1,000, 2,500 and 5,000 nodes")
}

// chosen says whether a row was asked for.
func chosen(args []string, names ...string) bool {
	return len(args) == 0 || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(args, n) })
}

func measure(ctx context.Context, o settings, args []string, out, progress io.Writer) error {
	if err := check(o, args); err != nil {
		return err
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, to run it for each row: %w", err)
	}
	h := bench.Harness{Cap: o.cap, Command: func(ctx context.Context, row string) *exec.Cmd {
		return exec.CommandContext(ctx, exe, "row", row,
			"--runs="+strconv.Itoa(o.runs), "--time="+o.time.String(), "--scale="+strconv.FormatFloat(o.scale, 'g', -1, 64))
	}}
	r := &bench.Report{At: time.Now().UTC().Truncate(time.Second), Machine: bench.ThisMachine()}
	for _, row := range bench.Rows {
		if chosen(args, row.Name) {
			fmt.Fprintf(progress, "%s ...\n", row.Name)
			r.Rows = append(r.Rows, h.Run(ctx, row.Scaled(o.scale)))
		}
	}
	grow := func(all string, ladders []bench.Ladder) {
		for _, l := range ladders {
			if chosen(args, all, l.Name) {
				r.Scaling = append(r.Scaling, l.Judge(runRungs(ctx, h, l, progress)))
			}
		}
	}
	grow(scaling, bench.Ladders())
	grow(exponents, bench.Exponents())
	if chosen(args, residentRow) {
		r.Resident = watchAll(ctx, exe, o.settle, progress)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.Print(out)
	if o.json != "" {
		if err := r.Save(o.json); err != nil {
			return err
		}
		fmt.Fprintf(out, "\nwritten to %s\n", o.json)
	}
	if !r.Passed() {
		return errOver
	}
	return nil
}

// runRungs measures a ladder from its smallest size on.
func runRungs(ctx context.Context, h bench.Harness, l bench.Ladder, progress io.Writer) []bench.Result {
	var rungs []bench.Result
	for _, row := range l.Rows {
		fmt.Fprintf(progress, "%s ...\n", row.Name)
		rungs = append(rungs, h.Run(ctx, row))
		if rungs[len(rungs)-1].Figures == nil {
			break // what is larger takes longer
		}
	}
	return rungs
}

func check(o settings, args []string) error {
	if o.runs < 1 {
		return fmt.Errorf("--runs=%d: give at least 1", o.runs)
	}
	if !(o.scale > 0 && o.scale <= 1) {
		return fmt.Errorf("--scale=%g: give a share above 0 and at most 1", o.scale)
	}
	known := []string{scaling, exponents, residentRow}
	for _, r := range bench.Rows {
		known = append(known, r.Name)
	}
	for _, l := range append(bench.Ladders(), bench.Exponents()...) {
		known = append(known, l.Name)
	}
	for _, a := range args {
		if !slices.Contains(known, a) {
			return fmt.Errorf("no row %q; there are %s", a, strings.Join(known, ", "))
		}
	}
	return nil
}

// childCommand measures one row for the command that started it.
func childCommand() *cobra.Command {
	scale, e := 1.0, bench.Effort{}
	cmd := &cobra.Command{
		Use: "row NAME", Short: "Measure one row in this process", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			app.CollectOften()
			return bench.Child(cmd.OutOrStdout(), args[0], scale, e)
		},
	}
	cmd.Flags().IntVar(&e.Runs, "runs", 1, "runs that count, at most")
	cmd.Flags().DurationVar(&e.Time, "time", time.Second, "no further run begins after this")
	cmd.Flags().Float64Var(&scale, "scale", 1, "share of the row's world")
	return cmd
}
