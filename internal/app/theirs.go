package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"sluice.dev/sluice/setting"
)

// Taken is what sluice does about a flag of cluster-autoscaler.
type Taken string

// The ways to take one.
const (
	NoEffect Taken = "without effect" // any value is accepted, and changes nothing
	Refused  Taken = "refused"        // a value other than cluster-autoscaler's default ends the start
)

// TheirFlag is one row of [TheirFlags].
type TheirFlag struct {
	Name    string
	Kind    string // of its values, as pflag calls the type
	Default string // cluster-autoscaler's, as pflag prints it
	Taken   Taken

	Why string // of a flag without effect, why it needs none; of a refused one, why and what to do instead
	// Gone is the first release of cluster-autoscaler that does not have the flag; "" while it has it.
	Gone string
}

// Annotations of a flag that is declared here, with its Why.
const (
	mootNote    = "sluice_moot"
	refusedNote = "sluice_refused"
)

// Moot says whether the flag changes nothing whatever it says.
func Moot(f *pflag.Flag) bool { return f.Annotations[mootNote] != nil }

// RefusedFlag says whether the flag takes its default only.
func RefusedFlag(f *pflag.Flag) bool { return f.Annotations[refusedNote] != nil }

// declareTheirs declares what sluice has no flag of its own for.
func declareTheirs(f *pflag.FlagSet) {
	for _, t := range TheirFlags {
		switch t.Taken {
		case NoEffect:
			t.declare(f, "no effect: "+t.Why, mootNote)
		case Refused:
			t.declare(f, "only "+cmp.Or(t.Default, "empty")+": "+t.Why, refusedNote)
		}
	}
}

// kinds are variables that go nowhere, by what their flag takes.
var kinds = map[string]func() any{
	"bool":        func() any { return new(bool) },
	"int":         func() any { return new(int) },
	"float64":     func() any { return new(float64) },
	"duration":    func() any { return new(time.Duration) },
	"string":      func() any { return new(string) },
	"stringArray": func() any { return new([]string) },
}

// declare gives the flag a value of its kind that goes nowhere.
func (t TheirFlag) declare(f *pflag.FlagSet, usage, note string) {
	row, to := setting.Row{Flag: t.Name, Default: t.Default, Help: usage}, kinds[t.Kind]()
	row.Fill(to)
	declare(f, &row, to)
	f.Lookup(t.Name).Annotations = map[string][]string{note: {t.Why}}
}

// checkTheirs refuses what asks for something that sluice does not do.
func checkTheirs(f *pflag.FlagSet) error {
	for _, t := range TheirFlags {
		given := f.Lookup(t.Name)
		if t.Taken == Refused && given != nil && given.Value.String() != given.DefValue {
			return fmt.Errorf("--%s=%s: %s", t.Name, given.Value, t.Why)
		}
	}
	return nil
}

// takeTheirDefaults gives every flag that nobody has given the default that cluster-autoscaler has for it.
func takeTheirDefaults(f *pflag.FlagSet) error {
	for row := range setting.All() {
		if given := f.Lookup(row.Flag); row.There != "" && given != nil && !given.Changed && given.Value.String() != row.There {
			if err := given.Value.Set(row.There); err != nil {
				return fmt.Errorf("--%s=%s: %w", row.Flag, row.There, err)
			}
		}
	}
	return nil
}

// GivenWithoutEffect are the flags that were given and change nothing, with their dashes, in alphabetical order.
func GivenWithoutEffect(f *pflag.FlagSet) string {
	var names []string
	f.Visit(func(given *pflag.Flag) {
		if Moot(given) {
			names = append(names, "--"+given.Name)
		}
	})
	slices.Sort(names)
	return strings.Join(names, " ")
}
