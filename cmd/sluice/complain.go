package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice.dev/sluice/internal/report"

	"sluice.dev/sluice/internal/app"
)

// oneLine is an error as the user reads it: libraries break some of theirs into lines.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// flagError says in one sentence what is wrong about a flag and what to give instead.
func flagError(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	var empty *pflag.ValueRequiredError
	switch {
	case errors.As(err, &bad):
		return app.BadValue(bad.GetFlag(), bad.GetValue())
	case errors.As(err, &empty):
		return fmt.Errorf("--%s has no value: %s; see %s --help", empty.GetFlag().Name, empty.GetFlag().Usage, cmd.CommandPath())
	}
	var unknown *pflag.NotExistError
	near := ""
	if errors.As(err, &unknown) {
		near = nearFlag(cmd.Flags(), unknown)
	}
	return fmt.Errorf("%w; %ssee %s --help", err, near, cmd.CommandPath())
}

// nearFlag asks whether the flag with the nearest name was meant, or one of a few that have what was given as words of theirs; "" when none is near.
func nearFlag(all *pflag.FlagSet, unknown *pflag.NotExistError) string {
	name := unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" { // -scan-interval=1s
		name, _, _ = strings.Cut(letters, "=")
	}
	best, distance := "", 3 // a slip or two
	var within []string
	all.VisitAll(func(f *pflag.Flag) {
		if d := report.EditDistance(name, f.Name); d < distance && d < len(name)/2 {
			best, distance = f.Name, d
		}
		if strings.Contains("-"+f.Name+"-", "-"+name+"-") && !app.Moot(f) && !app.RefusedFlag(f) {
			within = append(within, "--"+f.Name)
		}
	})
	const few = 4
	switch {
	case best != "":
		return "did you mean --" + best + "? "
	case len(within) > 0 && len(within) <= few:
		return "did you mean " + strings.Join(within, ", ") + "? "
	}
	return ""
}

// arguments wants so many arguments that are no flags.
func arguments(least, most int, such string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return fmt.Errorf("%s wants %s", cmd.Name(), such)
		}
		return nil
	}
}

// noArguments wants none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Flags().Lookup(args[0]) != nil {
		return fmt.Errorf("%[1]s takes flags only, not %[2]q; did you mean --%[2]s? See %[3]s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	for _, verb := range cmd.Root().Commands() {
		if verb.Name() == args[0] {
			return fmt.Errorf("%s takes flags only, not %q; a command stands before its flags: %s", cmd.Name(), args[0], verb.CommandPath())
		}
	}
	return fmt.Errorf("%s takes flags only, not %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
}

// knownCommand refuses what comes to the root as an argument, because no command has that name.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := ""
	if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
		near = "did you mean " + strings.Join(names, ", ") + "? "
	}
	return fmt.Errorf("%q is no command; %ssee %s --help", args[0], near, cmd.CommandPath())
}
