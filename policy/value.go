package policy

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/setting"
)

// Value is a setting whose text has a form of its own. Its methods are those that package pflag wants of a flag's value.
type Value struct {
	kind string
	set  func(text string) error // changes nothing when it refuses
	show func() string
}

// Type is the word that help puts after the flag.
func (v *Value) Type() string { return v.kind }

// String is what Set reads; of a list its values with commas between them.
func (v *Value) String() string { return v.show() }

// Set takes a value; a list grows by it. The error is one clause for the operator, and then nothing has changed.
func (v *Value) Set(text string) error { return v.set(text) }

// one is a value that replaces the one before.
func one[V any](kind string, to *V, read func(string) (V, error), show func(V) string) *Value {
	return &Value{kind, func(text string) error {
		v, err := read(text)
		if err == nil {
			*to = v
		}
		return err
	}, func() string { return show(*to) }}
}

// list is a value that comes after those before.
func list[V any](kind string, to *[]V, read func(string) (V, error), show func(V) string) *Value {
	return &Value{kind, func(text string) error {
		v, err := read(text)
		if err == nil {
			*to = append(*to, v)
		}
		return err
	}, func() string { return joined(*to, ", ", show) }}
}

func joined[V any](all []V, between string, show func(V) string) string {
	words := make([]string, len(all))
	for i, v := range all {
		words[i] = show(v)
	}
	return strings.Join(words, between)
}

// written gives the fields of a row the form in which its flag is written; the field itself where that is the usual one of its type.
func written(row *setting.Row, fields []any) any {
	switch to := fields[0].(type) {
	case *int64:
		return bounds(to, fields[1].(*int64))
	case *bool:
		if row.Unit == setting.Inverse {
			return one("bool", to, readInverse, func(off bool) string { return strconv.FormatBool(!off) })
		}
	case *time.Duration:
		if row.Unit == setting.Seconds {
			return one("seconds", to, readSeconds, func(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) })
		}
	case *Overdue:
		return one("string", to, ParseOverdue, func(o Overdue) string { return string(o) })
	case *[]Band:
		return one("bands", to, ParseBands, PrintBands)
	case *[]Expander:
		return expanderNames(to)
	case *[]GPUTotal:
		return list("total", to, ParseGPUTotal, GPUTotal.String)
	case *[]GroupHeadroom:
		return list("headroom", to, ParseGroupHeadroom, GroupHeadroom.String)
	case *[]GroupSchedule:
		return list("schedule", to, ParseGroupSchedule, GroupSchedule.String)
	case *[]GroupCeiling:
		return list("ceiling", to, ParseGroupCeiling, GroupCeiling.String)
	case *[]DrainTarget:
		return list("target", to, ParseDrainTarget, DrainTarget.String)
	case *[]WorkRule:
		return list("patience", to, ParseWorkRule, WorkRule.String)
	case *[]cluster.PodSelector:
		return list("pods", to, cluster.ParsePodSelector, cluster.PodSelector.String)
	case *[]cluster.GroupID:
		return list("group", to, ParseConsolidated, func(id cluster.GroupID) string { return string(id) })
	}
	return fields[0]
}

// readInverse reads a flag that is true where its field is false.
func readInverse(text string) (bool, error) {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, errors.New("give true or false")
	}
	return !on, nil
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

// expanderNames are names with commas between them; a repeated flag adds to the ones before. [Policy.Check] judges the names.
func expanderNames(to *[]Expander) *Value {
	return &Value{"names", func(text string) error {
		for word := range strings.SplitSeq(text, ",") {
			*to = append(*to, Expander(strings.TrimSpace(word)))
		}
		return nil
	}, func() string { return joined(*to, ",", func(e Expander) string { return string(e) }) }}
}

// ReadTag reads what a tag of a group says in the place of the flag of its row. Of several values, with semicolons between them, those
// that make sense count. The error is one clause for the operator about wrong, the first value that makes none.
func ReadTag(row *setting.Row, text string, into *cluster.Options) (wrong string, err error) {
	key := row.Key[strings.LastIndexByte(row.Key, '.')+1:]
	option := reflect.ValueOf(into).Elem().FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, key) })
	switch to := option.Addr().Interface().(type) {
	case **float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || row.Check(n) != nil {
			return text, errors.New("the flag's value stays; give a share from 0 to 1, such as 0.5")
		}
		*to = &n
	case **time.Duration:
		d, err := time.ParseDuration(text)
		if err != nil || row.Check(d) != nil {
			return text, errors.New("the flag's value stays; give a duration, such as 10m or 1h30m")
		}
		*to = &d
	case **cluster.Headroom:
		h, err := cluster.ParseHeadroom(strings.TrimSpace(text))
		if err != nil {
			return text, err
		}
		*to = &h
	case *[]cluster.Schedule:
		return each(to, text, cluster.ParseSchedule)
	case *[]cluster.Ceiling:
		return each(to, text, cluster.ParseCeiling)
	case *[]cluster.PodSelector:
		if wrong, err = each(to, text, cluster.ParsePodSelector); err != nil { // it is there to protect work, and nobody knows which (S-15)
			*to = append(*to, cluster.EveryPod)
			err = fmt.Errorf("all pods of DaemonSets count as work there until it can be read; %w", err)
		}
	}
	return wrong, err
}

// each takes in the values of a tag that make sense, in their order.
func each[V any](to *[]V, text string, read func(string) (V, error)) (wrong string, err error) {
	for part := range strings.SplitSeq(text, ";") {
		part = strings.TrimSpace(part)
		v, e := read(part)
		switch {
		case e == nil:
			*to = append(*to, v)
		case err == nil:
			wrong, err = part, e
		}
	}
	return wrong, err
}
