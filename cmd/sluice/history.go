package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/history"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/journal"
)

func historyCommand() *cobra.Command {
	var path, format, since, namespace string
	cmd := &cobra.Command{
		Use:   "history pod|node|group|instance|request|buffer NAME",
		Short: "Tell from the journal what became of a pod, a node, a group or a machine, and why",
		Long: `Tell from the journal what became of one thing, in its order: each verdict that was another one than before, with its reasons, and
each action about it with what became of it. It need not be there any more.`,
		Example: `  sluice history node agents000003 --journal=/var/lib/sluice/journal.jsonl
  sluice history pod default/web-7d9f --journal=journal.jsonl --since=2h`,
		Args: arguments(2, 2, "a kind and a name, such as: sluice history node agents000003"),
		RunE: func(cmd *cobra.Command, args []string) error {
			about, err := question(args, format, namespace)
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
	var path, since string
	var follow bool
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Tell from the journal what was done, in sentences",
		Long: `Tell from the journal what was done, refused or failed, and which troubles of groups began and ended, one line each. Of a dry run each
intention is told once.`,
		Example: `  sluice log --journal=/var/lib/sluice/journal.jsonl --since=8h
  sluice log --journal=journal.jsonl --since=10m -f`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := parseMoment("since", since, time.Now())
			if err != nil {
				return err
			}
			if path == "" {
				return errors.New("--journal: " + history.Which)
			}
			var newest time.Time
			left := tellAside(cmd.ErrOrStderr())
			told := &teller{w: left.Before(cmd.OutOrStdout())}
			log := report.NewLog(slog.New(told))
			visit := func(line journal.Line, r *history.Reader) error {
				if newest = line.Time; newest.Before(from) {
					return cmd.Context().Err()
				}
				e, err := r.Entry()
				if err != nil {
					return err
				}
				told.at = e.Seen.Time
				for _, sentence := range report.Done(e) {
					told.tell(sentence)
				}
				log.Besides(cmd.Context(), e)
				return errors.Join(told.err, cmd.Context().Err())
			}
			if follow {
				return followLines(cmd.Context(), path, from, left, visit)
			}
			if err := eachLine(path, from, left, visit); err != nil {
				return err
			}
			if newest.Before(from) {
				return endsBefore(path, newest)
			}
			return nil
		},
	}
	f := cmd.Flags()
	app.BindAs(f, "journal", &path, "a journal that sluice run wrote")
	f.StringVar(&since, "since", "1h", "from when on: 02:13, 2026-03-02 02:13, or 2h for so long ago; 0s: from now on")
	f.BoolVarP(&follow, "follow", "f", false, "go on with what is written from now on")
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

// teller is a slog.Handler that writes sentences, with the time of the cycle that they are about.
type teller struct {
	w   io.Writer
	at  time.Time
	err error
}

func (t *teller) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelInfo }

func (t *teller) WithAttrs([]slog.Attr) slog.Handler { return t }

func (t *teller) WithGroup(string) slog.Handler { return t }

// Handle writes a line: what, to what, and why.
func (t *teller) Handle(_ context.Context, r slog.Record) error {
	line, why := r.Message, ""
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "cycle", "code", "action": // the sentence has them
		case "why", "err":
			why += ": " + a.Value.String()
		case "group", "node", "pod", "instance":
			if !strings.Contains(line, a.Value.String()) {
				line += " " + a.Key + " " + a.Value.String()
			}
		default:
			line += " " + a.Key + " " + a.Value.String()
		}
		return true
	})
	t.tell(line + why)
	return t.err
}

// tell writes a sentence about the cycle.
func (t *teller) tell(sentence string) {
	if _, err := fmt.Fprintf(t.w, "%s  %s\n", report.Clock(t.at), report.Printable(sentence)); err != nil {
		t.err = err
	}
}
