package policy

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"sluice.dev/sluice/setting"
)

// place is one key of the table of settings, and the field of [Policy] that has its value.
type place struct {
	row   *setting.Row
	key   string
	omit  bool  // a journal leaves the zero value out
	index []int // as [reflect.Value.FieldByIndex] takes it
}

// places are the keys of all rows, in the order of the table.
var places = func() (all []place) {
	for row := range setting.All() {
		fields := strings.Fields(row.Field)
		for i, word := range strings.Fields(row.Key) {
			key, omit := strings.CutSuffix(word, ",omitzero")
			at, path := place{row: row, key: key, omit: omit}, key
			if len(fields) > 0 {
				path = fields[i]
			}
			of := reflect.TypeFor[Policy]()
			for name := range strings.SplitSeq(path, ".") {
				field, ok := of.FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, name) })
				if !ok {
					panic(fmt.Sprintf("the policy has no field for the setting %s: %s has no %s", key, of, name))
				}
				at.index, of = append(at.index, field.Index...), field.Type
			}
			all = append(all, at)
		}
	}
	return all
}()

// in is the place's field of a policy, which can be set.
func (at place) in(p *Policy) reflect.Value { return reflect.ValueOf(p).Elem().FieldByIndex(at.index) }

// At is where the policy keeps a setting: a pointer to a bool, a number, a duration, a text or a list of texts, or a [Value] where its
// text has a form of its own. It is nil for a setting of the process.
func (p *Policy) At(row *setting.Row) any {
	var fields []any
	for _, at := range places {
		if at.row == row {
			fields = append(fields, at.in(p).Addr().Interface())
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return written(row, fields)
}

// Default is what cluster-autoscaler does without flags, but for the rows of the table that say otherwise.
func Default() *Policy {
	p := standard
	return &p
}

// standard has no lists, so that copies share nothing.
var standard = func() (p Policy) {
	for row := range setting.All() {
		if to := p.At(row); to != nil {
			row.Fill(to)
		}
	}
	return p
}()

// Clone shares no list with the policy.
func (p *Policy) Clone() *Policy {
	c := *p
	for _, at := range places {
		if list := at.in(&c); list.Kind() == reflect.Slice && !list.IsNil() {
			list.Set(reflect.AppendSlice(reflect.MakeSlice(list.Type(), 0, list.Len()), list))
		}
	}
	return &c
}

// Check returns the first setting that makes no sense, by the name of its flag: first those of which the table says what is allowed, then
// those that contradict another one.
func (p *Policy) Check() error {
	for i, at := range places {
		if err := at.row.Check(at.in(p).Interface()); err != nil {
			return err
		}
		if at.row.Unit == setting.Bounds && places[i-1].row == at.row && at.in(p).Int() < places[i-1].in(p).Int() {
			return fmt.Errorf("--%s=%d: give %d or more", at.row.Flag, at.in(p).Int(), places[i-1].in(p).Int())
		}
	}
	return cmp.Or(p.Growth.check(), p.Removal.check())
}
