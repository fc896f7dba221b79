package clusterfile

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Difference is a field of which two files say different things. A pool, a disk or a share that only one of them has is one difference, at
// "pools[]" and the like.
type Difference struct {
	Path    string // as the table has it, such as "pools[].labels"
	Item    string // name of the pool, the disk or the share; "" outside of lists
	Key     string // of an entry of a map
	Was, Is string // as one writes them; "" for nothing
}

// Where is the field with the names around it, such as pools[agents].labels.tier.
func (d *Difference) Where() string {
	at := d.Path
	if d.Item != "" {
		at = strings.Replace(at, "[]", "["+d.Item+"]", 1)
	}
	if d.Key != "" {
		at += "." + d.Key
	}
	return at
}

// Differ says in which fields two files that [Parse] has read differ, in the order of the table.
func Differ(was, is *File) (all []Difference) {
	differ(reflect.ValueOf(was).Elem(), reflect.ValueOf(is).Elem(), Difference{}, &all)
	order := map[string]int{}
	for i, f := range Fields {
		order[f.Path] = i
	}
	slices.SortStableFunc(all, func(a, b Difference) int { return cmp.Compare(order[a.Path], order[b.Path]) })
	return all
}

// differ compares two values of one type at a place.
func differ(was, is reflect.Value, at Difference, all *[]Difference) {
	switch was.Kind() {
	case reflect.Struct:
		for i := range was.NumField() {
			below := at
			below.Path = join(at.Path, key(was.Type().Field(i)))
			differ(was.Field(i), is.Field(i), below, all)
		}
		return
	case reflect.Pointer:
		if !was.IsNil() && !is.IsNil() {
			differ(was.Elem(), is.Elem(), at, all)
			return
		}
	case reflect.Map:
		for _, k := range keysOf(was, is) {
			below := at
			below.Key = k
			below.Was, below.Is = said(was.MapIndex(reflect.ValueOf(k))), said(is.MapIndex(reflect.ValueOf(k)))
			below.add(all)
		}
		return
	case reflect.Slice:
		if was.Type().Elem().Kind() == reflect.Struct {
			differItems(was, is, at, all)
			return
		}
	}
	at.Was, at.Is = said(was), said(is)
	at.add(all)
}

func (d Difference) add(all *[]Difference) {
	if d.Was != d.Is {
		*all = append(*all, d)
	}
}

// differItems compares lists of what has a name. Its order says nothing.
func differItems(was, is reflect.Value, at Difference, all *[]Difference) {
	named := func(v reflect.Value) (m map[string]reflect.Value, names []string) {
		m = map[string]reflect.Value{}
		for i := range v.Len() {
			name := v.Index(i).FieldByName("Name").String()
			m[name], names = v.Index(i), append(names, name)
		}
		return m, names
	}
	at.Path += "[]"
	before, names := named(was)
	now, more := named(is)
	for _, name := range more {
		if _, both := before[name]; !both {
			names = append(names, name)
		}
	}
	for _, name := range names {
		at.Item, at.Was, at.Is = name, "", ""
		a, had := before[name]
		b, has := now[name]
		if had && has {
			differ(a, b, at, all)
			continue
		}
		if had {
			at.Was = name
		} else {
			at.Is = name
		}
		at.add(all)
	}
}

func keysOf(maps ...reflect.Value) (keys []string) {
	for _, m := range maps {
		for _, k := range m.MapKeys() {
			keys = append(keys, k.String())
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// said is a value as one writes it; "" for none.
func said(v reflect.Value) string {
	switch {
	case !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil():
		return ""
	case v.Kind() == reflect.Pointer:
		return "{}"
	case v.Kind() == reflect.Slice:
		var items []string
		for i := range v.Len() {
			items = append(items, said(v.Index(i)))
		}
		return strings.Join(items, ", ")
	}
	return fmt.Sprint(v.Interface())
}
