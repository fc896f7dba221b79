package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/timeline"
	"sluice.dev/sluice/journal"
)

func historyCommand() *cobra.Command {
	var path, format, since, namespace string
	cmd := &cobra.Command{
		Use:   "history pod|node|group|instance|request|buffer NAME",
		Short: "Show from the journal what happened to a pod, node, group or machine, and why",
		Long: `Show from the journal what happened to one thing, in order. Each changed verdict comes with its reasons, each action with its result. The
thing may be gone by now.`,
		Example: `  sluice history node agents000003 --journal=/var/lib/sluice/journal.jsonl
  sluice history pod default/web-7d9f --journal=journal.jsonl --since=2h`,
		Args: arguments(2, 2, "a kind and a name, such as: sluice history node agents000003"),
		RunE: func(cmd *cobra.Command, args []string) error {
			about, err := question(args, format, func() string { return namespace })
			if err != nil {
				return err
			}
			from, err := parseMoment("since", since, time.Now())
			if err != nil {
				return err
			}
			if path == "" {
				return errors.New("--journal: " + history.Which)
			}
			h := report.NewHistory(about)
			var newest time.Time
			err = eachLine(path, from, tellAside(cmd.ErrOrStderr()), func(line journal.Line, r *history.Reader) error {
				if newest = line.Time; !newest.Before(from) {
					h.Read(line, r.Known())
				}
				return cmd.Context().Err()
			})
			switch {
			case err != nil:
				return err
			case newest.Before(from):
				return endsBefore(path, newest)
			case len(h.Moments) == 0:
				return fmt.Errorf("journal %s: from %s to %s it tells nothing of %s; sluice explain says which names are like it", path, report.Clock(h.Since), report.Clock(h.Until), about)
			case format == "json":
				return h.WriteJSON(cmd.OutOrStdout())
			}
			return h.WriteText(cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	app.BindAs(f, "journal", &path, "a journal that sluice run wrote")
	f.StringVar(&since, "since", "", "from when on: 02:13, 2026-03-02 02:13, or 2h for so long ago; empty: all that is kept")
	f.StringVarP(&format, "output", "o", "text", "text or json")
	f.StringVarP(&namespace, "namespace", "n", "default", "namespace of a pod, request or buffer that is named without one")
	return cmd
}

// endsBefore says that a journal has nothing of the time that is asked about.
func endsBefore(path string, newest time.Time) error {
	return fmt.Errorf("journal %s: its last cycle is of %s; ask about an earlier time with --since", path, report.Clock(newest))
}

// follows is how often a journal that is followed is looked at for more.
const follows = time.Second

func logCommand() *cobra.Command {
	var path, since, until, format string
	var follow bool
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show from the journal what was done, in sentences",
		Long: `Show from the journal what happened, one line each. This is what was done, refused or failed, and which machines became nodes or went. It
is also when troubles and pauses of groups began and ended, and where the record has a gap. Each intention of a dry run is shown once.`,
		Example: `  sluice log --journal=/var/lib/sluice/journal.jsonl --since=8h --until=6h
  sluice log --journal=journal.jsonl --since=10m -f
  sluice log --journal=journal.jsonl --since=1d -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := parseMoment("since", since, time.Now())
			if err != nil {
				return err
			}
			to, err := parseMoment("until", until, time.Now())
			switch {
			case err != nil:
				return err
			case path == "":
				return errors.New("--journal: " + history.Which + "; a sluice run without --journal remembers only what its page shows, until it ends")
			case format != "text" && format != "json":
				return fmt.Errorf("--output=%s: give text or json", format)
			case follow && until != "":
				return errors.New("--until and --follow: give one of them")
			case !to.IsZero() && to.Before(from):
				return fmt.Errorf("--until=%s is before --since=%s: give a later time", until, since)
			}
			left := tellAside(cmd.ErrOrStderr())
			told := &teller{w: left.Before(cmd.OutOrStdout()), json: format == "json"}
			visit := func(line journal.Line, r *history.Reader) error {
				if told.newest = line.Time; told.newest.Before(from) {
					told.earlier = true
					return cmd.Context().Err()
				}
				return errors.Join(told.visit(r), cmd.Context().Err())
			}
			if follow {
				return followLines(cmd.Context(), path, from, left, visit)
			}
			if err := read(path, from, to, left, visit); err != nil {
				return err
			}
			switch {
			case told.newest.Before(from) && !to.IsZero():
				return fmt.Errorf("journal %s: it has no cycle from %s to %s; give an earlier --since or a later --until", path, report.Clock(from), report.Clock(to))
			case told.newest.Before(from):
				return endsBefore(path, told.newest)
			}
			return nil
		},
	}
	f := cmd.Flags()
	app.BindAs(f, "journal", &path, "a journal that sluice run wrote")
	f.StringVar(&since, "since", "1h", "from when on: 02:13, 2026-03-02 02:13, or 2h for so long ago; 0s: from now on")
	f.StringVar(&until, "until", "", "until when, likewise; empty: all that is there")
	f.BoolVarP(&follow, "follow", "f", false, "go on with what is written from now on")
	f.StringVarP(&format, "output", "o", "text", "text or json, which is one object a line")
	return cmd
}

// followLines goes through a journal, and on with what is written to it, until the context ends.
func followLines(ctx context.Context, path string, since time.Time, left aside, visit func(journal.Line, *history.Reader) error) error {
	r, err := history.Read(path, since)
	if err != nil {
		return err
	}
	defer r.Close()
	r.Follow()
	defer left.Clear()
	far := howFar(left, path)
	for told := 0; ; {
		line, err := r.Next()
		for ; told < len(r.Left()); told++ {
			left.Clear()
			_, _ = fmt.Fprintf(left.w, "sluice: journal: %s\n", r.Left()[told])
		}
		switch {
		case err == nil:
			far(r)
			if err := visit(line, r); err != nil {
				return ended(ctx, err)
			}
			continue
		case !errors.Is(err, io.EOF):
			return err
		}
		left.Clear()
		select {
		case <-time.After(follows):
		case <-ctx.Done():
			return nil
		}
	}
}

// ended is no error where the user ended it.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// teller writes what a journal tells, as its lines come.
type teller struct {
	w      io.Writer
	json   bool
	of     timeline.Timeline
	left   int       // what the reader has told to have left out
	newest time.Time // of the lines

	earlier bool // there are lines from before what is told; then the first cycle's troubles began before it
}

// visit takes in the line that was read last, and writes what is new with it.
func (t *teller) visit(r *history.Reader) error {
	e, err := r.Entry()
	if err != nil {
		return err
	}
	if n := len(r.Left()); n > t.left {
		t.left = n
		t.of.Damaged(timeline.JournalDamaged)
	}
	t.of.Note(e)
	before := t.earlier
	t.earlier = false
	for _, s := range t.of.Told() {
		if before && s.Kind == report.ToldWarning {
			s.Sentence += " (since before)"
		}
		if t.json {
			err = json.NewEncoder(t.w).Encode(s)
		} else {
			_, err = fmt.Fprintf(t.w, "%s  %s\n", report.Clock(s.Time), s.Sentence)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
