package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/top"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/reason"
)

func topCommand() *cobra.Command {
	var server, file, format string
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show on a terminal what needs you, the groups, their machines, the pods that wait, and what happens next",
		Long: `Show the newest cycle on a terminal, and follow: what needs you, the groups, their machines, the pods that wait, and what happens next.
It is the page of a running sluice (--server), or of a journal (--journal), which also knows the past and what is gone.

Press ? for the keys and signs; enter says why of a row, / finds by name, q quits. It changes nothing.
Without a terminal, with TERM=dumb or with -o it prints one screen and ends.`,
		Example: `  sluice top                       # after: kubectl -n kube-system port-forward deploy/sluice 8085
  sluice top --journal=/var/lib/sluice/journal.jsonl
  sluice top --server=http://127.0.0.1:8085 -o text`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file != "" && cmd.Flags().Changed("server") {
				return errors.New("--server and --journal: give one of them")
			}
			s, name, end := topSource(server, file)
			defer end()
			return showTop(cmd.Context(), s, name, format, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&server, "server", "http://127.0.0.1:8085", "address of a running sluice")
	app.BindAs(f, "journal", &file, "a journal that sluice run wrote, instead")
	f.StringVarP(&format, "output", "o", "", "text or json: one screen, or the cycle as data; empty: follow on a terminal")
	return cmd
}

// topSource is what answers, its name, and what ends it.
func topSource(server, file string) (top.Source, string, func()) {
	if file != "" {
		explain := func(about reason.Ref, at time.Time) (report.Explanation, error) {
			return explainFrom(file, moment{at: at}, about, tellAside(io.Discard))
		}
		j := &top.Journal{Path: file, Explain: explain}
		return j, filepath.Base(file), j.Close
	}
	name := server
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		name = u.Host
	}
	return &top.Server{Address: server}, name, func() {}
}

// showTop follows on a terminal, or writes one cycle.
func showTop(ctx context.Context, s top.Source, name, format string, in io.Reader, out io.Writer) error {
	o := top.Options{Name: name, Moment: func(text string, now time.Time) (time.Time, error) { return parseMoment("at", text, now) }}
	if format != "" && format != "text" && format != "json" {
		return fmt.Errorf("--output=%s: give text or json", format)
	}
	from, reads := in.(*os.File)
	to, writes := out.(*os.File)
	onTerminal := writes && term.IsTerminal(int(to.Fd()))
	if format == "" && reads && term.IsTerminal(int(from.Fd())) && onTerminal && os.Getenv("TERM") != "dumb" {
		o.Colour = os.Getenv("NO_COLOR") == ""
		return top.Run(ctx, o, s, in, out)
	}
	seen, err := s.Newest(ctx)
	if err != nil {
		return err
	}
	if format == "json" {
		return view.Write(out, seen.Now)
	}
	width := 80
	if onTerminal {
		if w, _, err := term.GetSize(int(to.Fd())); err == nil && w > 0 {
			width = w
		}
	}
	if seen.Clock.IsZero() {
		seen.Clock = time.Now()
	}
	_, err = io.WriteString(out, top.Once(o, seen, width))
	return err
}
