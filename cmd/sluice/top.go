package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/report"
	"sluice.dev/sluice/internal/top"
	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/reason"
)

func topCommand() *cobra.Command {
	var h operator
	var w whom
	var file, format string
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show on a terminal what needs you, groups, machines, waiting pods, and what happens next",
		Long: `Show the newest cycle on a terminal, and follow. You see what needs you, groups, machines, waiting pods, and what
happens next.

It asks the running sluice through the API server (rights: deploy/reader.yaml): nothing has to be exposed or forwarded. With --server it
asks that address. With --journal it reads a journal, which also has the past.

Press ? for the keys and signs. Enter shows the reasons of a row, / finds a name, q quits. It changes nothing. Without a terminal, with
TERM=dumb or with -o it prints one screen and ends. With NO_COLOR it has no colour.`,
		Example: `  sluice top                        # the cluster of your kubeconfig
  sluice top --context=prod
  sluice top --server=http://127.0.0.1:8085 -o text
  sluice top --journal=/var/lib/sluice/journal.jsonl`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f := cmd.Flags()
			switch {
			case file != "" && w.server != "":
				return errors.New("--server and --journal: give one of them")
			case w.server == nobodyAsked:
				return errors.New("--server=none: there is nothing to show; name an address, or a journal with --journal")
			}
			o := top.Options{Program: strings.TrimSuffix(cmd.CommandPath(), " "+cmd.Name()), Flags: givenOf(f, "kubeconfig", "context", "as", "as-group")}
			if file != "" {
				j := journalSource(file)
				defer j.Close()
				o.Name = filepath.Base(file)
				return showTop(cmd.Context(), j, o, format, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			l := &line{settings: &h.settings, whom: w}
			o.Name = l.name()
			flags := append(slices.Clone(o.Flags), givenOf(f, "server")...)
			if f.Changed("namespace") {
				flags = append(flags, "--status-namespace="+w.namespace) // as explain calls it
			}
			return showTop(cmd.Context(), &top.Server{Ask: l.ask, Flags: flags}, o, format, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&w.server, "server", "", "running sluice to ask: its address, such as http://127.0.0.1:8085, or NAMESPACE/SERVICE:PORT; empty: that of the cluster, through the API server")
	addToken(f, &w)
	app.BindAs(f, "journal", &file, "a journal that sluice run wrote, instead")
	f.StringVarP(&format, "output", "o", "", "text or json: one screen, or the cycle as data; empty: follow on a terminal")
	h.add(cmd)
	named := pflag.NewFlagSet("", pflag.ContinueOnError)
	app.BindAs(named, "namespace", &w.namespace, "namespace of sluice's service and lease")
	named.Lookup("namespace").Shorthand = "n"
	f.AddFlagSet(named)
	return cmd
}

// givenOf are those of some flags that the user has given, as they are given again.
func givenOf(f *pflag.FlagSet, names ...string) (given []string) {
	for _, name := range names {
		flag := f.Lookup(name)
		if flag == nil || !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if several, is := flag.Value.(pflag.SliceValue); is {
			values = several.GetSlice()
		}
		for _, v := range values {
			given = append(given, "--"+name+"="+v)
		}
	}
	return given
}

// journalSource answers from a journal.
func journalSource(file string) *top.Journal {
	return &top.Journal{Path: file, Explain: func(about reason.Ref, at time.Time) (report.Explanation, error) {
		return explainFrom(file, moment{at: at}, about, tellAside(io.Discard))
	}}
}

// showTop follows on a terminal, or writes one cycle.
func showTop(ctx context.Context, s top.Source, o top.Options, format string, in io.Reader, out io.Writer) error {
	o.Moment = func(text string, now time.Time) (time.Time, error) { return parseMoment("at", text, now) }
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
