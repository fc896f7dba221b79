package app

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"sluice.dev/sluice/policy"
	"sluice.dev/sluice/setting"
)

// PolicyFlags declares the flags that make a policy. Their names, defaults and meanings are cluster-autoscaler's where it has them.
// The returned function reads what they say by then; its error names the flag, the value and what is allowed.
func PolicyFlags(f *pflag.FlagSet) func() (*policy.Policy, error) {
	p := policy.Default()
	for row := range setting.All() {
		switch to := p.At(row); {
		case row.Flag == "":
		case to != nil:
			declare(f, row, to)
		case row.Alias != "" && p.At(setting.Find(row.Alias)) != nil:
			declareAlias(f, row)
		}
	}
	var compat bool
	Bind(f, map[string]any{"compat": &compat})
	declareTheirs(f)

	return func() (*policy.Policy, error) {
		if err := checkTheirs(f); err != nil {
			return nil, err
		}
		if compat {
			if err := takeTheirDefaults(f); err != nil {
				return nil, err
			}
		}
		checked := p.Clone()
		if err := cmp.Or(checkAliases(f), checked.Check()); err != nil {
			return nil, err
		}
		if compat {
			checked.Removal.Busy.Threshold = 0
		}
		return checked, nil
	}
}

// checkAliases is the first flag given under another name whose value makes no sense, by the name that was given.
func checkAliases(f *pflag.FlagSet) (first error) {
	f.Visit(func(given *pflag.Flag) {
		if Setting(given) && first == nil {
			if row := setting.Find(given.Name); row.Alias != "" && !f.Changed(row.Alias) {
				first = Senseless(given)
			}
		}
	})
	return first
}

// Senseless is what to give where the number of a setting makes no sense by itself, nil where it does.
func Senseless(f *pflag.Flag) error {
	if !Setting(f) {
		return nil
	}
	row := *setting.Find(f.Name)
	if row.Alias != "" {
		row = *setting.Find(row.Alias)
		row.Flag = f.Name
	}
	if d, err := time.ParseDuration(f.Value.String()); err == nil && f.Value.Type() == "duration" {
		return row.Check(d)
	}
	if n, err := strconv.ParseFloat(f.Value.String(), 64); err == nil {
		return row.Check(n)
	}
	return nil
}

// Bind declares flags of the table of settings, and their aliases: each sets the variable to which the pointer under its name points. The
// variables have the defaults at once.
func Bind(f *pflag.FlagSet, to map[string]any) {
	for flag, variable := range to {
		setting.Find(flag).Fill(variable)
	}
	for row := range setting.All() {
		if variable := to[row.Flag]; variable != nil {
			declare(f, row, variable)
		} else if to[row.Alias] != nil {
			declareAlias(f, row)
		}
	}
}

// BindAs is [Bind] for a verb to which the flag means something else: it has no aliases there, and is no [Setting].
func BindAs(f *pflag.FlagSet, flag string, to any, usage string) {
	row := *setting.Find(flag)
	row.Help = usage
	row.Fill(to)
	declare(f, &row, to)
	f.Lookup(flag).Annotations = nil
}

// settingNote is the annotation of a flag that is as the table of settings has it.
const settingNote = "sluice_setting"

// Setting says whether the flag is that of the table of settings, and no flag of a verb's own, even of the same name.
func Setting(f *pflag.Flag) bool { return f.Annotations[settingNote] != nil }

// declare gives a flag the value that it has now as its default.
func declare(f *pflag.FlagSet, row *setting.Row, to any) {
	name, usage := row.Flag, row.Usage()
	switch to := to.(type) {
	case *bool:
		f.BoolVar(to, name, *to, usage)
	case *int:
		f.IntVarP(to, name, row.Short, *to, usage)
	case *int32:
		f.Int32Var(to, name, *to, usage)
	case *int64:
		f.Int64Var(to, name, *to, usage)
	case *float64:
		f.Float64Var(to, name, *to, usage)
	case *time.Duration:
		f.DurationVar(to, name, *to, usage)
	case *string:
		f.StringVar(to, name, *to, usage)
	case *[]string:
		if row.Unit == setting.Commas {
			f.StringSliceVar(to, name, *to, usage)
		} else {
			f.StringArrayVar(to, name, *to, usage)
		}
	case pflag.Value:
		f.Var(to, name, usage)
		if to.Type() == "bool" {
			f.Lookup(name).NoOptDefVal = "true"
		}
	default:
		panic(fmt.Sprintf("--%s: no flag sets a %T", name, to))
	}
	declared := f.Lookup(name)
	declared.Annotations = map[string][]string{settingNote: {}}
	if row.Blank != "" {
		declared.DefValue = row.Blank
	}
}

// declareAlias declares another name of a flag.
func declareAlias(f *pflag.FlagSet, row *setting.Row) {
	value := f.Lookup(row.Alias).Value
	if row.Yields {
		value = yielding{value, row.Alias, f}
	}
	f.Var(value, row.Flag, row.Usage())
	f.Lookup(row.Flag).Annotations = map[string][]string{settingNote: {}}
}

// yielding is a value that another flag sets as well, which wins.
type yielding struct {
	pflag.Value
	to    string
	flags *pflag.FlagSet
}

// Set takes the value where the other flag has given none, and refuses one that makes no sense in either case.
func (y yielding) Set(text string) error {
	was := y.String()
	err := y.Value.Set(text)
	if err == nil && y.flags.Changed(y.to) {
		return y.Value.Set(was)
	}
	return err
}

// allowed says what to give to a flag of a plain type.
var allowed = map[string]string{
	"bool":     "true or false",
	"int":      "a whole number, such as 10",
	"int32":    "a whole number, such as 10",
	"int64":    "a whole number, such as 10",
	"uint64":   "a whole number of zero or more",
	"float64":  "a number, such as 0.5",
	"duration": "a duration, such as 90s or 10m",
}

// BadValue says what to give to a flag instead of a value that it refused.
func BadValue(f *pflag.Flag, value string) error {
	if v, ok := f.Value.(*policy.Value); ok {
		return fmt.Errorf("--%s=%s: %w", f.Name, value, v.Set(value))
	}
	if form, ok := allowed[f.Value.Type()]; ok {
		return fmt.Errorf("--%s=%s: give %s", f.Name, value, form)
	}
	return fmt.Errorf("--%s=%s: give another value", f.Name, value)
}
