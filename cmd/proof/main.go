// Command proof plays random histories and says whether a promise of sluice was broken in any; see docs/reference/proof.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/pprof"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"sluice.dev/sluice/internal/progress"
	"sluice.dev/sluice/internal/proof"
	"sluice.dev/sluice/internal/world"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "proof:", err)
		os.Exit(1)
	}
}

// plays bounds how often a failing history is played to make it shorter.
const plays = 300

// run plays what the arguments ask for. What came of it goes to out, how far it is to aside.
func run(ctx context.Context, args []string, out, aside io.Writer) error {
	flags := pflag.NewFlagSet("proof", pflag.ContinueOnError)
	n := flags.Int("histories", 20_000, "how many histories are played")
	first := flags.Uint64("seed", 0, "the first seed; 0: a fresh one, which is printed")
	workers := flags.Int("workers", runtime.GOMAXPROCS(0)+1, "histories played at once")
	journals := flags.Int("journals", 50, "of every so many histories one is decided again from its journal; 0: none")
	dir := flags.String("keep", "bin/proof", "where failing histories are written, whole and shrunk")
	kills := flags.Bool("kills", false, "play each history once for each of its writes, and kill sluice right after that write")
	reckless := flags.Bool("reckless", false, "sluice also tries at random what it must not: the guard alone keeps its promises")
	many := flags.Bool("many", false, "histories of what strikes many machines at once, which last for hours")
	large := flags.Bool("large", false, "the same with groups of 50 to 200 machines")
	shrink := flags.Int("shrink", 5, "how many failing histories are made shorter")
	stop := flags.Bool("stop-at-failure", false, "play no more after the first history that fails")
	strict := flags.Bool("strict", true, "fail also where only progress was not made (P-1 to P-4); those histories are told in any case")
	profile := flags.String("cpuprofile", "", "write a CPU profile there")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil
		}
		return err
	}
	if chosen := count(*kills, *reckless, *many || *large); chosen > 1 {
		return errors.New("--kills, --reckless and --many or --large are histories of three kinds: give one of them")
	}
	if *first == 0 {
		*first = rand.Uint64N(1 << 40) // #nosec G404 -- luck, not a secret
	}
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // a profile that is cut is seen to be
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	klog.LogToStderr(false) // watches that were cut are part of the story
	klog.SetOutput(io.Discard)
	debug.SetGCPercent(1600) // memory is there, and worlds live for a moment
	debug.SetMemoryLimit(1 << 30)
	fmt.Fprintf(out, "playing %d histories from seed %d; replay one with: sluice simulate --seed N\n", *n, *first)
	line, seen := progress.NewLine(aside), 0
	out = line.Before(out)
	play := world.History
	if *reckless {
		play = world.RecklessHistory
	}
	if *many || *large {
		play = func(seed uint64) []byte { return world.ManyHistory(seed, *large) }
	}
	run := proof.Run
	if *kills {
		run = proof.RunKills
	}
	meter := line.Meter()
	playing, enough := context.WithCancel(ctx)
	defer enough()
	report := run(playing, proof.Options{First: *first, Histories: *n, Workers: *workers, Journals: *journals, Play: play, Each: func(done int, r *proof.Report) {
		if *stop && len(r.Failures) > 0 {
			enough()
		}
		for ; seen < len(r.Failures); seen++ { // told again at the end
			fmt.Fprintf(out, "%6d plays: %s\n", done, r.Failures[seen])
		}
		meter.At(int64(r.Histories), int64(*n), func() string {
			return fmt.Sprintf("%d of %d histories in %d plays, %.2f years, %d violations", r.Histories, *n, done, r.Simulated.Hours()/24/365, len(r.Failures))
		})
	}})
	line.Clear()
	report.Write(out)
	for i := range report.Failures {
		f := &report.Failures[i]
		if i < *shrink {
			fmt.Fprintf(out, "shrinking seed %d\n", f.Seed)
			f.Shrunk = proof.Shrink(ctx, f.Seed, f.Script, f.Kind, plays)
		}
		if err := keep(*dir, i+1, *f); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("stopped after %d of %d histories", report.Histories, *n)
	}
	if failed := len(report.Failures); failed > 0 && (*strict || report.Unsafe()) {
		return fmt.Errorf("%d of %d plays broke a promise; %s has them", len(report.Failures), report.Plays, *dir)
	}
	return nil
}

func count(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}

// keep writes a failing history, the number of which tells it from others of the same seed.
func keep(dir string, number int, f proof.Failure) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range map[string][]byte{"": f.Script, "-shrunk": f.Shrunk} {
		if text == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d-%d%s.txtar", number, f.Seed, name)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
