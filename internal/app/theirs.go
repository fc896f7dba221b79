package app

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"sluice.dev/sluice/setting"
)

// Taken is what sluice does about a flag of cluster-autoscaler.
type Taken string

// The ways to take one.
const (
	Honoured Taken = "honoured"       // declared where its value goes
	NoEffect Taken = "without effect" // any value is accepted, and changes nothing
	Refused  Taken = "refused"        // a value other than cluster-autoscaler's default ends the start
)

// TheirFlag is one row of [TheirFlags].
type TheirFlag struct {
	Name    string
	Kind    string // of the values of one that is not honoured, as pflag calls the type
	Default string // cluster-autoscaler's, as pflag prints it; "" of an honoured one where sluice has the same
	Taken   Taken

	// Why is, of a flag without effect, why it needs none; of a refused one, why and what to do instead; of an honoured one, why sluice has
	// another default, "" when it has the same.
	Why string
	// Gone is the first release of cluster-autoscaler that does not have the flag; "" while it has it.
	Gone string
}

// TheirFlags is every flag of cluster-autoscaler: those that the table of settings has, by name, and those that sluice has no setting for. The
// parser of the latter, the page of flags and --compat are made from it.
var TheirFlags = append(honoured(), unhonoured...)

// honoured are the flags that sluice has too, those of the process first, else by name.
func honoured() []TheirFlag {
	var process, policy []TheirFlag
	for row := range setting.All() {
		of := &policy
		if row.Key == "" {
			of = &process
		}
		if row.Theirs {
			*of = append(*of, TheirFlag{Name: row.Flag, Default: row.There, Taken: Honoured, Why: row.Why})
		}
	}
	for _, all := range [][]TheirFlag{process, policy} {
		slices.SortFunc(all, func(a, b TheirFlag) int { return strings.Compare(a.Name, b.Name) })
	}
	return append(process, policy...)
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

// declare gives the flag a value of its kind that goes nowhere.
func (t TheirFlag) declare(f *pflag.FlagSet, usage, note string) {
	switch t.Kind {
	case "bool":
		f.Bool(t.Name, t.Default == "true", usage)
	case "int":
		f.Int(t.Name, must(strconv.Atoi(t.Default)), usage)
	case "float64":
		f.Float64(t.Name, must(strconv.ParseFloat(t.Default, 64)), usage)
	case "duration":
		f.Duration(t.Name, must(time.ParseDuration(t.Default)), usage)
	case "stringArray":
		f.StringArray(t.Name, nil, usage)
	default:
		f.String(t.Name, t.Default, usage)
	}
	f.Lookup(t.Name).Annotations = map[string][]string{note: {t.Why}}
}

// must is the value of a default in the table, which a test reads whole.
func must[V any](value V, err error) V {
	if err != nil {
		panic(err)
	}
	return value
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
	for _, t := range TheirFlags {
		if given := f.Lookup(t.Name); t.Differs() && given != nil && !given.Changed && given.Value.String() != t.Default {
			if err := given.Value.Set(t.Default); err != nil {
				return fmt.Errorf("--%s=%s: %w", t.Name, t.Default, err)
			}
		}
	}
	return nil
}

// Differs says whether sluice has another default for a flag that it honours.
func (t TheirFlag) Differs() bool { return t.Taken == Honoured && t.Why != "" }

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
