package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice.dev/sluice/internal/app"
	"sluice.dev/sluice/internal/progress"
)

const (
	widest   = 120 // longer lines are hard to read, however wide the terminal is
	column   = 32  // where the texts of flags begin, unless a word of them does not fit there
	narrow   = 60  // below this width they begin below the flag
	moreHelp = "more"
)

func init() { cobra.EnableCommandSorting = false } // a command stands beside the one that undoes it

// withHelp has a command and those below it show help that fits the terminal: the flags that people use first, and with --help-all every one.
// What a command's annotation moreHelp says is shown with --help-all, too.
func withHelp(cmd *cobra.Command) {
	help := cmd.Flags().BoolP("help", "h", false, "show this")
	cmd.Flags().Var(&helpAll{asked: help}, "help-all", "show every flag")
	every := cmd.Flags().Lookup("help-all")
	every.NoOptDefVal, every.Hidden = "true", true
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		out := cmd.OutOrStdout()
		_, _ = io.WriteString(out, helpOf(cmd, every.Changed, progress.Width(out))) // there is nobody else to tell
	})
	for _, c := range cmd.Commands() {
		withHelp(c)
	}
}

// helpAll is a flag that asks for help, too: then a command shows it before it looks at its arguments.
type helpAll struct{ asked *bool }

func (h *helpAll) String() string { return "false" }
func (h *helpAll) Type() string   { return "bool" }

func (h *helpAll) Set(string) error {
	*h.asked = true
	return nil
}

// asCalled are texts with the name by which the user calls the program, in what is quoted and in examples.
func asCalled(cmd *cobra.Command, text string) string {
	name := cmd.Root().CommandPath()
	text = strings.ReplaceAll(text, `"sluice `, `"`+name+` `)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if rest, example := strings.CutPrefix(l, "  sluice "); example {
			lines[i] = "  " + name + " " + rest
		}
	}
	return strings.Join(lines, "\n")
}

// helpOf is the help of a command in lines of so many columns.
func helpOf(cmd *cobra.Command, all bool, width int) string {
	p := page{width: min(width, widest)}
	p.prose(asCalled(cmd, cmp.Or(cmd.Long, cmd.Short)))
	if more := cmd.Annotations[moreHelp]; all && more != "" {
		p.line("")
		p.prose(more)
	}
	p.line("\nUsage:\n  %s", cmd.UseLine())
	if cmd.HasAvailableSubCommands() {
		p.verbs(cmd)
	}
	if cmd.HasExample() {
		p.line("\nExamples:\n%s", asCalled(cmd, cmd.Example)) // to be copied whole
	}
	front, rest := inFront(cmd.Flags())
	titles, flags := []string{own}, [][]*pflag.Flag{front}
	if all {
		titles, flags = inSections(cmd.Flags())
	}
	for i, title := range titles {
		p.flags(title, flags[i])
	}
	more := ""
	switch {
	case all:
	case rest > 0:
		more = fmt.Sprintf("%d flags more: %s --help-all", rest, cmd.CommandPath())
	case cmd.Annotations[moreHelp] != "":
		more = fmt.Sprintf("More: %s --help-all", cmd.CommandPath())
	case cmd.HasAvailableSubCommands():
		more = fmt.Sprintf("%s COMMAND --help explains a command.", cmd.CommandPath())
	}
	if more != "" {
		p.line("\n%s", more)
	}
	return p.String()
}

// page is a text that is made for a screen.
type page struct {
	strings.Builder
	width int
}

func (p *page) line(form string, args ...any) { fmt.Fprintf(p, form+"\n", args...) }

// prose writes paragraphs. Lines that begin with a space stay lines of their own.
func (p *page) prose(text string) {
	var paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			p.hanging("", 0, strings.Join(paragraph, " "))
		}
		paragraph = nil
	}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		trimmed := strings.TrimLeft(line, " ")
		if trimmed != "" && trimmed == line {
			paragraph = append(paragraph, line)
			continue
		}
		end()
		indent := line[:len(line)-len(trimmed)]
		p.hanging(indent, len(indent), trimmed)
	}
	end()
}

// hanging writes what stands before a text, and the text from a column on.
func (p *page) hanging(before string, at int, text string) {
	for _, line := range wrapped(text, p.width-at) {
		p.line("%s", strings.TrimRight(before+line, " "))
		before = strings.Repeat(" ", at)
	}
}

// verbs lists the commands below one, in their groups.
func (p *page) verbs(cmd *cobra.Command) {
	of := map[string][]*cobra.Command{}
	at := 0
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			of[c.GroupID] = append(of[c.GroupID], c)
			at = max(at, len("  "+c.Name()+"  "))
		}
	}
	for _, g := range append(slices.Clone(cmd.Groups()), &cobra.Group{Title: "Commands"}) {
		if len(of[g.ID]) > 0 {
			p.line("\n%s:", g.Title)
		}
		for _, c := range of[g.ID] {
			p.hanging(fmt.Sprintf("%-*s", at, "  "+c.Name()), at, c.Short)
		}
	}
}

// flags lists flags below a title. Of those that change nothing the names do.
func (p *page) flags(title string, all []*pflag.Flag) {
	if len(all) == 0 {
		return
	}
	p.line("\n%s:", title)
	if app.Moot(all[0]) {
		var names []string
		for _, f := range all {
			names = append(names, "--"+f.Name)
		}
		p.hanging("  ", 2, strings.Join(names, " "))
		return
	}
	for _, f := range all {
		kind, usage := pflag.UnquoteUsage(f)
		if kind == "stringArray" {
			kind = "string" // one each time
		}
		head := "      --"
		if f.Shorthand != "" {
			head = "  -" + f.Shorthand + ", --"
		}
		head = strings.TrimRight(head+f.Name+" "+kind, " ")
		if !slices.Contains([]string{"", "[]", "0", "0s", "false"}, f.DefValue) {
			usage += " (default " + f.DefValue + ")"
		}
		at := column
		if p.width < narrow || longestWord(usage) > p.width-at {
			at = 8
		}
		if len(head)+2 > at {
			p.line("%s", head)
			head = ""
		}
		p.hanging(fmt.Sprintf("%-*s", at, head), at, usage)
	}
}

// wrapped is a text in lines of at most so many columns; a longer word has one of its own. There is at least one line.
func wrapped(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}

// longestWord is how long the longest word of a text is.
func longestWord(text string) (n int) {
	for _, word := range strings.Fields(text) {
		n = max(n, len([]rune(word)))
	}
	return n
}

// helpCommand is cobra's, and refuses what is no command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the help of a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if of == cmd.Root() && len(rest) > 0 {
				return knownCommand(of, rest)
			}
			return of.Help()
		},
	}
}
