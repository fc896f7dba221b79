// Package setting is the one table of what an operator can set. Its rows are data. Everything that speaks of a setting is made from
// them: the flag with its help and default, the tag that overrides it for one group, the key in the policy of a journal, the page
// docs/reference/flags.md, and which flags of cluster-autoscaler sluice has. A new setting is one row and the field that it fills.
package setting

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"strings"
	"time"
)

// Section is a part of the table under one heading, in help and on the page of flags. Its rows stand in the order of the page.
type Section struct {
	Title string
	Rows  []Row
}

// Row is one setting. The zero value of a column says that the setting has no such thing.
type Row struct {
	// Flag is the name without dashes, the name by which code finds the row; "" where no flag sets it. Short is its one letter.
	Flag, Short string

	// Key is where the setting stands in the policy of a journal, its parts joined by dots: old journals have it, so it never changes.
	// The fields of policy.Policy have the same names, but for their case, unless Field, its parts joined alike, says otherwise. With ",omitzero" a journal
	// leaves out the zero value; it always leaves out an empty list and an empty text. A flag that sets two fields has both keys, with a
	// space between them. A setting of the process has no key: the program binds it to a variable.
	Key, Field string

	// Default is the value without the flag, as one writes it after the flag; "" is the zero value. Blank is what an empty value means, for
	// help to show.
	Default, Blank string

	// Unit is what the value counts, with the values that make sense; nil where its Go type says it all. Such is an example for errors, "" for
	// the unit's own.
	Unit *Unit
	Such string

	// Tag is the tag of a node group that overrides the flag for that group. The flag's own help may speak of it as {tag}.
	Tag string

	// Alias is the flag of which this one is another name. One that Yields counts only where the other is not given.
	Alias  string
	Yields bool

	// Theirs says that cluster-autoscaler has a flag of this name, with the same default unless There is its default; then Why says why it
	// differs.
	Theirs     bool
	There, Why string

	Help string // what the flag does; help adds type and default

	// First says that the flag is one of the few that people use first: help shows these, and all only where it is asked for all.
	First bool
}

// Unit is what a value counts. Values from least to most make sense; with above, least itself does not.
type Unit struct {
	least, most float64
	above       bool
	advice      string // what to give instead, without the example
	such        string // the usual example, "" for none
}

// The units. Those without bounds only say how a value is written.
var (
	Span    = &Unit{least: 0, most: endless, advice: "give a duration of zero or more, such as ", such: "10m"}
	Wait    = &Unit{least: 0, most: endless, above: true, advice: "give a duration above zero, such as ", such: "15m"}
	Seconds = &Unit{least: 0, most: endless, advice: "give a duration of zero or more, such as ", such: "10m"} // written as a whole number
	Share   = &Unit{least: 0, most: 1, advice: "give a share between 0 and 1, such as ", such: "0.5"}
	Percent = &Unit{least: 0, most: 100, advice: "give a percentage between 0 and 100, such as "}
	USD     = &Unit{least: 0, most: endless, advice: "give dollars, zero or more, such as "}
	Count   = &Unit{least: 0, most: endless, advice: "give 0 or more"}
	Cap     = &Unit{least: 0, most: endless, advice: "give 0 or more; 0 is no limit"}
	Places  = &Unit{least: 1, most: endless, advice: "give 1 or more"}
	Bounds  = new(Unit) // min:max, of the two keys
	Inverse = new(Unit) // true where the field is false
	Commas  = new(Unit) // a list with commas, where other lists are flags that are repeated
)

// endless is more than any value: a year has 3e16 nanoseconds.
const endless = 1e300

// All are the rows of the table, in its order. Nobody changes them.
func All() iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		for s := range Table {
			for r := range Table[s].Rows {
				if !yield(&Table[s].Rows[r]) {
					return
				}
			}
		}
	}
}

// Find is the row of a flag. It panics where there is none: flags are named in code, and every test that starts the program asks for all.
func Find(flag string) *Row {
	for r := range All() {
		if r.Flag == flag {
			return r
		}
	}
	panic("no row of the table of settings has the flag --" + flag)
}

// Tagged is the row that a tag overrides, nil where there is none. Case carries no meaning in the names of tags.
func Tagged(tag string) *Row {
	for r := range All() {
		if r.Tag != "" && strings.EqualFold(r.Tag, tag) {
			return r
		}
	}
	return nil
}

// Usage is the help of the flag as people read it.
func (r *Row) Usage() string { return strings.ReplaceAll(r.Help, "{tag}", r.Tag) }

// Check says what to give where a number, of any kind, makes no sense for the setting.
func (r *Row) Check(value any) error {
	u := r.Unit
	if u == nil || u.advice == "" {
		return nil
	}
	v := reflect.ValueOf(value)
	var n float64
	if v.CanInt() {
		n = float64(v.Int())
	} else {
		n = v.Float()
	}
	if n >= u.least && n <= u.most && !(u.above && n == u.least) { // so that NaN is refused
		return nil
	}
	return fmt.Errorf("--%s=%v: %s%s", r.Flag, value, u.advice, cmp.Or(r.Such, u.such))
}

// Fill puts the default into the variable that into points to: a bool, a number, a duration, a text without spaces or a list of texts. It
// panics at a default that is none; a test fills all.
func (r *Row) Fill(into any) {
	if r.Default == "" {
		return
	}
	var err error
	switch to := into.(type) {
	case *time.Duration:
		*to, err = time.ParseDuration(r.Default)
	case interface{ Set(string) error }:
		err = to.Set(r.Default)
	default:
		_, err = fmt.Sscan(r.Default, into)
	}
	if err != nil {
		panic(fmt.Sprintf("the default of --%s: %v", r.Flag, err))
	}
}
