package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/world"
)

func simulateCommand() *cobra.Command {
	var update, script, reckless bool
	var journal string
	var seed uint64
	cmd := &cobra.Command{
		Use:   "simulate [FILE...]",
		Short: "Play scenarios in a simulated Azure and Kubernetes",
		Long: `Play scenario files. The real sluice decides and acts; Azure, Kubernetes and the clock are simulated. An hour takes a moment, and nothing
outside of this process changes.

A scenario is a text file: prose and a script, one statement a line, then the expected transcript.

  # Scale-in removes the idle machine, not the newest one.
  group agents size=Standard_D4s_v5 min=1 max=5 machines=2
  pod render-0 cpu=3 on=agents_1 owner=job
  advance 12m
  -- transcript --
  00:00 node agents_0              idle       nothing but daemons for 0s (limit 10m0s)
  ...

With --journal you can ask about the story afterwards: sluice history group agents --journal=FILE.

What stands before the first advance, until or restart is there when sluice starts. A machine and its node are called agents_2: instance 2
of group agents. Pods of a controller are numbered: web-1, web-2. The transcript tells what happens. It has each verdict of sluice whose
outcome or first reason changes. A reason is a code with its facts; docs/reference/reasons.md has the sentence of each code.

The transcript is printed as it comes. Where the file expects one, both are compared; the difference goes to standard error. Exit code 1:
they differ; 2: a file cannot be read or played.

With --seed and no file, it plays the random history of that seed, as make proof does. It prints which promises of sluice were broken.
With a file, the seed is that of generated names and ids. --help-all explains the statements.`,
		Annotations: map[string]string{moreHelp: "Statements:\n\n" + world.Help()},
		Args:        arguments(0, math.MaxInt, "scenario files, such as: sluice simulate night.txtar"),
		RunE: func(cmd *cobra.Command, files []string) error {
			history := world.History
			if reckless {
				history = world.RecklessHistory
			}
			switch {
			case len(files) > 0:
			case !cmd.Flags().Changed("seed"):
				return errors.New("give scenario files, such as: sluice simulate testdata/remove-idle-not-newest.txtar, or a history, such as: sluice simulate --seed 7")
			case script:
				_, err := cmd.OutOrStdout().Write(history(seed))
				return err
			default:
				same, err := play(cmd, fmt.Sprintf("history %d", seed), history(seed), seed, journal)
				if err == nil && !same {
					return exit(exitActs)
				}
				return err
			}
			differs := false
			for _, file := range files {
				if len(files) > 1 {
					fmt.Fprintf(cmd.OutOrStdout(), "== %s\n", file)
				}
				same, err := simulate(cmd, file, update, seed, journal)
				if err != nil {
					return err
				}
				differs = differs || !same
			}
			if differs {
				return exit(exitActs)
			}
			return nil
		},
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "play the random history of this seed or, with files, generate names and ids from it")
	cmd.Flags().BoolVar(&script, "script", false, "with --seed: print the history's script instead of playing it")
	cmd.Flags().BoolVar(&reckless, "reckless", false, "with --seed: the history in which sluice also tries what it has not planned, as make proof ARGS=--reckless plays it")
	app.BindAs(cmd.Flags(), "journal", &journal, "write sluice's journal of the story to this file, for explain, history, log and replay; of several the last one's")
	cmd.Flags().BoolVar(&update, "update", false, "write the transcript into the file instead of comparing it")
	return cmd
}

// simulate plays one file. It says whether everything was as expected; an error means that the file could not be played.
func simulate(cmd *cobra.Command, file string, update bool, seed uint64, journal string) (same bool, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return false, fmt.Errorf("read the scenario: %w; give a file such as testdata/remove-idle-not-newest.txtar", err)
	}
	r, err := run(cmd, file, text, seed, journal)
	if err != nil {
		return false, err
	}
	for _, b := range r.Broken {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", file, b)
	}
	var outcome string
	switch after := world.Update(text, r.Transcript); {
	case update && bytes.Equal(after, text):
		outcome = "unchanged: " + lines(r.Transcript) + " as before"
	case update:
		if err := os.WriteFile(file, after, 0o644); err != nil {
			return false, fmt.Errorf("write the transcript: %w", err)
		}
		outcome = "written: " + lines(r.Transcript)
	case !r.HasOne:
		outcome = "played: " + lines(r.Transcript) + "; the file expects no transcript, --update writes this one into it"
	case r.HasOne && r.Expected != r.Transcript:
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: the transcript is another one (-want +got):\n%s", file, world.Diff(r.Expected, r.Transcript))
		return false, nil
	default:
		outcome = "ok: " + lines(r.Transcript) + " as expected"
	}
	if len(r.Broken) == 0 || update {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", file, outcome)
	}
	return len(r.Broken) == 0, nil
}

// run plays a story of that name, and keeps its journal where one is wanted.
func run(cmd *cobra.Command, name string, story []byte, seed uint64, journal string) (world.Result, error) {
	r, err := world.Run(cmd.Context(), story, cmd.OutOrStdout(), world.Options{Seed: seed})
	if err != nil {
		return r, fmt.Errorf("%s: %w", name, err)
	}
	if journal != "" {
		if err := os.WriteFile(journal, r.Journal, 0o644); err != nil { //nolint:gosec // the user names the file, for anybody to read
			return r, fmt.Errorf("--journal=%s: %w", journal, err)
		}
	}
	return r, nil
}

// lines is "1 line" or "31 lines".
func lines(transcript string) string {
	if n := strings.Count(transcript, "\n"); n != 1 {
		return fmt.Sprintf("%d lines", n)
	}
	return "1 line"
}

// play plays a script that expects no transcript. It says whether no promise was broken.
func play(cmd *cobra.Command, name string, script []byte, seed uint64, journal string) (kept bool, err error) {
	r, err := run(cmd, name, script, seed, journal)
	if err != nil {
		return false, err
	}
	for _, b := range r.Broken {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", name, b)
	}
	if len(r.Broken) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: ok: no promise was broken\n", name)
	}
	return len(r.Broken) == 0, nil
}
