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
		near = nearFlag(cmd.Flags(), unknown.GetSpecifiedName())
	}
	return fmt.Errorf("%w; %ssee %s --help", err, near, cmd.CommandPath())
}

// nearFlag asks whether the flag with the nearest name was meant; "" when none is near.
func nearFlag(all *pflag.FlagSet, name string) string {
	best, distance := "", 3 // a slip or two
	all.VisitAll(func(f *pflag.Flag) {
		if d := report.EditDistance(name, f.Name); d < distance && d < len(name)/2 && !f.Hidden {
			best, distance = f.Name, d
		}
	})
	if best == "" {
		return ""
	}
	return "did you mean --" + best + "? "
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
	if len(args) > 0 {
		return fmt.Errorf("%s takes flags only, not %q; see %s --help", cmd.Name(), args[0], cmd.CommandPath())
	}
	return nil
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
	return fmt.Errorf("%q is no command; %ssee sluice --help", args[0], near)
}
