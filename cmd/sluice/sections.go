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

// own is the title of the flags that a verb has for itself.
const own = "Flags"

// inSections sorts a command's flags as help and docs/reference/flags.md show them: first those of its own, then those of the table of settings
// under the headings and in the order of the table, then what changes nothing. A section of which there is none is left out.
func inSections(all *pflag.FlagSet) (titles []string, flags [][]*pflag.Flag) {
	add := func(title string, of []*pflag.Flag) {
		if len(of) > 0 {
			titles, flags = append(titles, title), append(flags, of)
		}
	}
	var owned, moot, refused []*pflag.Flag
	all.VisitAll(func(f *pflag.Flag) {
		switch {
		case f.Hidden || f.Name == "help":
		case app.Moot(f):
			moot = append(moot, f)
		case app.RefusedFlag(f):
			refused = append(refused, f)
		case !app.Setting(f):
			owned = append(owned, f)
		}
	})
	add(own, owned)
	for _, s := range setting.Table {
		var of []*pflag.Flag
		for _, row := range s.Rows {
			if f := all.Lookup(row.Flag); f != nil && !f.Hidden && app.Setting(f) {
				of = append(of, f)
			}
		}
		add(s.Title, of)
	}
	add("Accepted with their default only", refused)
	add("Accepted, without effect", moot)
	return titles, flags
}

// firstNote is the annotation of a setting that is first in the help of a command that is about it.
const firstNote = "sluice_first"

func first(f *pflag.Flag) { f.Annotations[firstNote] = []string{} }

// inFront are the flags that help shows unless it is asked for all: a command's own, and of the table of settings those that people use first.
// The others are rest.
func inFront(all *pflag.FlagSet) (front []*pflag.Flag, rest int) {
	_, sections := inSections(all)
	for _, f := range slices.Concat(sections...) {
		if app.Setting(f) && !setting.Find(f.Name).First && f.Annotations[firstNote] == nil || app.Moot(f) || app.RefusedFlag(f) {
			rest++
			continue
		}
		front = append(front, f)
	}
	return front, rest
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
