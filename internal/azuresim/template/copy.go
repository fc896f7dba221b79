package template

import "strconv"

// loop is a copy loop that an expression stands in.
type loop struct {
	name string
	at   int64
}

// propertyCopy tells a list of property copy loops from a property that happens
// to be called "copy".
func propertyCopy(list []any) bool {
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok || !has(m, "name") || !has(m, "count") || !has(m, "input") {
			return false
		}
	}
	return len(list) > 0
}

// copies evaluates {name, count, input} loops into properties of out.
func (v *env) copies(list []any, out map[string]any) *Error {
	for i, item := range list {
		at := v.at("[" + strconv.Itoa(i) + "]")
		m := item.(map[string]any)
		name, p := at.at("name").word(lookup(m, "name"))
		if p != nil {
			return p
		}
		count, p := at.count(lookup(m, "count"), 0)
		if p != nil {
			return p
		}
		items := make([]any, 0, count)
		for n := range count {
			inner := at.at("input")
			inner.loops = append(inner.loops[:len(inner.loops):len(inner.loops)], loop{name, n})
			got, p := inner.value(lookup(m, "input"))
			if p != nil {
				return p
			}
			items = append(items, got)
		}
		out[name] = items
	}
	return nil
}

// count evaluates the number of rounds of a copy loop.
func (v *env) count(raw any, least int64) (int64, *Error) {
	at := v.at("count")
	got, p := at.value(raw)
	if p != nil {
		return 0, p
	}
	n, ok := got.(int64)
	if !ok {
		return 0, at.fail("the copy count must be of type 'Integer', not of type '%s'", kindOf(got))
	}
	if n < least || n > maxResources {
		return 0, at.fail("the copy count must be in the range '%d'..'%d', and is '%d'", least, maxResources, n)
	}
	return n, nil
}
