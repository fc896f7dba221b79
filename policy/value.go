package policy

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/setting"
)

// Value is a setting whose text has a form of its own. Its methods are those that package pflag wants of a flag's value.
type Value struct {
	kind string
	set  func(text string) error
	show func() string
}

// Type is the word that help puts after the flag.
func (v *Value) Type() string { return v.kind }

// String is what Set reads; of a list its values with commas between them.
func (v *Value) String() string { return v.show() }

// Set takes a value; a list grows by it. The error is one clause for the operator, and then nothing has changed.
func (v *Value) Set(text string) error { return v.set(text) }

// A form makes the value of a field, nil where the field has another type than the form's.
type form func(field any) *Value

// formed is the form of fields of type F whose texts are values V; put takes one in.
func formed[F, V any](kind string, read func(string) (V, error), put func(*F, V), show func(F) string) form {
	return func(field any) *Value {
		to, ok := field.(*F)
		if !ok {
			return nil
		}
		return &Value{kind, func(text string) error {
			v, err := read(text)
			if err == nil {
				put(to, v)
			}
			return err
		}, func() string { return show(*to) }}
	}
}

// one is the form of a field whose text replaces what it was.
func one[V any](kind string, read func(string) (V, error), show func(V) string) form {
	return formed(kind, read, func(to *V, v V) { *to = v }, show)
}

// list is the form of a field that grows by a value with each text.
func list[V any](kind string, read func(string) (V, error), show func(V) string) form {
	shown := func(all []V) string { return joined(all, ", ", show) }
	return formed(kind, read, func(to *[]V, v V) { *to = append(*to, v) }, shown)
}

// each reads texts and keeps the values that make sense, in their order. The error is that of the first text that makes none.
func each[V any](texts []string, read func(string) (V, error)) (all []V, wrong string, err error) {
	for _, text := range texts {
		switch v, e := read(text); {
		case e == nil:
			all = append(all, v)
		case err == nil:
			wrong, err = text, e
		}
	}
	return all, wrong, err
}

// joined shows values with something between them.
func joined[V any](all []V, between string, show func(V) string) string {
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = show(v)
	}
	return strings.Join(words, between)
}

// word is the text of a value that is one.
func word[V ~string](v V) string { return string(v) }

// texts is the form of a field of type T, or of a list of them, where T reads and writes its own text.
func texts(field any) *Value {
	to := reflect.ValueOf(field).Elem()
	of, grows := to.Type(), to.Kind() == reflect.Slice
	if grows {
		of = of.Elem()
	}
	if !reflect.PointerTo(of).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) || !of.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return nil
	}
	return &Value{strings.ToLower(of.Name()), func(text string) error {
		v := reflect.New(of)
		err := v.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
		if v = v.Elem(); grows {
			v = reflect.Append(to, v)
		}
		if err == nil {
			to.Set(v)
		}
		return err
	}, func() string {
		if !grows {
			return to.Interface().(fmt.Stringer).String()
		}
		words := make([]string, to.Len())
		for i := range words {
			words[i] = to.Index(i).Interface().(fmt.Stringer).String()
		}
		return strings.Join(words, ", ")
	}}
}

// forms are those of fields whose type alone says how they are written, and does not write itself.
var forms = []form{
	one("bands", ParseBands, PrintBands),
	formed("names", parseExpanders, func(to *[]Expander, v []Expander) { *to = append(*to, v...) }, printExpanders),
	list("total", ParseGPUTotal, GPUTotal.String),
	list("headroom", ParseGroupHeadroom, GroupHeadroom.String),
	list("schedule", ParseGroupSchedule, GroupSchedule.String),
	list("ceiling", ParseGroupCeiling, GroupCeiling.String),
	list("target", ParseDrainTarget, DrainTarget.String),
	list("patience", ParseWorkRule, WorkRule.String),
	list("pods", cluster.ParsePodSelector, cluster.PodSelector.String), // a journal has more than a flag may say
	list("group", ParseConsolidated, word),
}

// written gives the fields of a row the form in which its flag is written; the field itself where that is the usual one of its type.
func written(row *setting.Row, fields []any) any {
	of := forms
	switch row.Unit {
	case setting.Bounds:
		return bounds(fields[0].(*int64), fields[1].(*int64))
	case setting.Inverse:
		of = []form{one("bool", readInverse, func(off bool) string { return strconv.FormatBool(!off) })}
	case setting.Seconds:
		of = []form{one("seconds", readSeconds, func(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) })}
	}
	for _, form := range append(slices.Clip(of), texts) {
		if v := form(fields[0]); v != nil {
			return v
		}
	}
	return fields[0]
}

// readInverse reads a flag that is true where its field is false.
func readInverse(text string) (bool, error) {
	on, err := strconv.ParseBool(text)
	if err != nil {
		err = errors.New("give true or false")
	}
	return !on, err
}

// readSeconds reads whole seconds. More of them than a duration can count are refused.
func readSeconds(text string) (time.Duration, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/int64(time.Second) {
		return 0, errors.New("give whole seconds of zero or more, such as 600")
	}
	return time.Duration(n) * time.Second, nil
}

// mostBound is more cores, and more GiB, than any cluster has, and few enough to count them in thousandths and in bytes.
const mostBound = 1 << 32

// bounds are two numbers, written as min:max.
func bounds(least, most *int64) *Value {
	return &Value{"min:max", func(text string) error {
		before, after, _ := strings.Cut(text, ":")
		low, lowErr := strconv.ParseInt(before, 10, 64)
		high, highErr := strconv.ParseInt(after, 10, 64)
		if lowErr != nil || highErr != nil || low < 0 || high < low {
			return errors.New("give min:max as whole numbers with max at least min, such as 0:320")
		}
		*least, *most = min(low, mostBound), min(high, mostBound)
		return nil
	}, func() string { return fmt.Sprintf("%d:%d", *least, *most) }}
}

// ReadTag reads what a tag of a group says in the place of the flag of its row. Of several values, with semicolons between them, those
// that make sense count. The error is one clause for the operator about wrong, the first value that makes none.
func ReadTag(row *setting.Row, text string, into *cluster.Options) (wrong string, err error) {
	key := row.Key[strings.LastIndexByte(row.Key, '.')+1:]
	option := reflect.ValueOf(into).Elem().FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, key) })
	parts := strings.Split(text, ";")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	switch to := option.Addr().Interface().(type) {
	case **float64:
		n, e := strconv.ParseFloat(text, 64)
		if e != nil || row.Check(n) != nil {
			return text, errors.New("the flag's value stays; give a share from 0 to 1, such as 0.5")
		}
		*to = &n
	case **time.Duration:
		d, e := time.ParseDuration(text)
		if e != nil || row.Check(d) != nil {
			return text, errors.New("the flag's value stays; give a duration, such as 10m or 1h30m")
		}
		*to = &d
	case **cluster.Headroom:
		h, e := cluster.ParseHeadroom(strings.TrimSpace(text))
		if e != nil {
			return text, e
		}
		*to = &h
	case *[]cluster.Schedule:
		*to, wrong, err = each(parts, cluster.ParseSchedule)
	case *[]cluster.Ceiling:
		*to, wrong, err = each(parts, cluster.ParseCeiling)
	case *[]cluster.PodSelector:
		if *to, wrong, err = each(parts, cluster.ParsePodSelector); err != nil { // it protects work, and nobody knows which (S-15)
			*to = append(*to, cluster.EveryPod)
			err = fmt.Errorf("all pods of DaemonSets count as work there until it can be read; %w", err)
		}
	}
	return wrong, err
}
