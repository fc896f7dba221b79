package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/setting"
)

// sections are the flags in the order in which an operator meets them, in help and in docs/reference/flags.md: those that only other verbs than
// run have, and the table of settings. Flags that no section names come last, and those that change nothing after them.
var sections = append([]setting.Section{
	{Title: "The question and the answer", Rows: []setting.Row{{Flag: "output"}, {Flag: "as"}, {Flag: "timeout"}, {Flag: "server"}, {Flag: "cycle"}, {Flag: "at"}}},
	{Title: "The machine", Rows: []setting.Row{{Flag: "node-name"}, {Flag: "heed"}}},
}, setting.Table...)

// inSections sorts flags into sections; a section of which there is none is left out.
func inSections(all *pflag.FlagSet) (titles []string, flags [][]*pflag.Flag) {
	add := func(title string, of []*pflag.Flag) {
		if len(of) > 0 {
			titles, flags = append(titles, title), append(flags, of)
		}
	}
	named := map[string]bool{}
	for _, s := range sections {
		var of []*pflag.Flag
		for _, row := range s.Rows {
			if f := all.Lookup(row.Flag); f != nil && !f.Hidden {
				of = append(of, f)
				named[f.Name] = true
			}
		}
		add(s.Title, of)
	}
	var others, moot, refused []*pflag.Flag
	all.VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || named[f.Name]:
		case app.Moot(f):
			moot = append(moot, f)
		case app.RefusedFlag(f):
			refused = append(refused, f)
		default:
			others = append(others, f)
		}
	})
	add("Other", others)
	add("Accepted with their default only", refused)
	add("Accepted, without effect", moot)
	return titles, flags
}

// showSections lets a command's help show its flags in sections.
func showSections(cmd *cobra.Command) {
	cmd.SetUsageFunc(func(cmd *cobra.Command) error {
		out := cmd.OutOrStderr()
		fmt.Fprintf(out, "Usage:\n  %s\n", cmd.UseLine())
		if cmd.HasExample() {
			fmt.Fprintf(out, "\nExamples:\n%s\n", cmd.Example)
		}
		titles, flags := inSections(cmd.Flags())
		for i, title := range titles {
			part := pflag.NewFlagSet(title, pflag.ContinueOnError)
			part.SortFlags = false
			for _, f := range flags[i] {
				part.AddFlag(f)
			}
			fmt.Fprintf(out, "\n%s:\n%s", title, part.FlagUsagesWrapped(140))
		}
		return nil
	})
}

// writeFlags writes the page of all flags of a command.
func writeFlags(out io.Writer, cmd *cobra.Command) {
	fmt.Fprintf(out, "# The flags of `%s`\n\n", cmd.CommandPath())
	fmt.Fprint(out, "This page is made by `go test ./cmd/sluice -run PageOfFlags -update`.\n"+`
Names, forms and meanings are those of cluster-autoscaler; so are the defaults, except those in the last table. sluice knows every flag of
cluster-autoscaler, removed ones too: a manifest of cluster-autoscaler starts sluice unchanged. Called as cluster-autoscaler, or with flags and
no verb, the program runs. One log line at the start names given flags that have no effect. Write --name=value or --name value; an underscore may
stand for a dash. A repeatable flag, and a list with commas, adds to what was given before. An unknown flag or a bad value ends the start with
exit code 2 and a sentence that says what is allowed.

`)
	titles, flags := inSections(cmd.Flags())
	for i, title := range titles {
		fmt.Fprintf(out, "## %s\n\n| flag | default | |\n|---|---|---|\n", title)
		for _, f := range flags[i] {
			if f.Name != "help" {
				fmt.Fprintf(out, "| `--%s` | %s | %s |\n", f.Name, code(f), strings.ReplaceAll(f.Usage, "|", "\\|"))
			}
		}
		fmt.Fprintln(out)
	}
	fmt.Fprint(out, `## Defaults that are not cluster-autoscaler's

With --compat each of these has cluster-autoscaler's default, unless it is given.

| flag | here | there | why |
|---|---|---|---|
`)
	for row := range setting.All() {
		if f := cmd.Flags().Lookup(row.Flag); row.There != "" && f != nil {
			fmt.Fprintf(out, "| `--%s` | %s | `%s` | %s |\n", row.Flag, code(f), row.There, row.Why)
		}
	}
}

// code is a flag's default as the page shows it, empty for none.
func code(f *pflag.Flag) string {
	if slices.Contains([]string{"", "[]"}, f.DefValue) {
		return ""
	}
	return "`" + f.DefValue + "`"
}
