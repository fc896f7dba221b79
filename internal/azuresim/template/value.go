package template

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// unknown is a value that only exists once other resources do: what reference()
// gives before the deployment has begun. Whatever is computed from it is unknown
// too.
type unknown struct{}

// MarshalJSON shows an unknown value as null.
func (unknown) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// kindOf names a value's type as the template language does.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "Null"
	case string:
		return "String"
	case int64:
		return "Integer"
	case float64, json.Number:
		return "Float"
	case bool:
		return "Boolean"
	case []any:
		return "Array"
	case map[string]any:
		return "Object"
	}
	return "Unknown"
}

// find is the key of a map that equals name, ignoring case; an exact match wins.
func find(m map[string]any, name string) (string, bool) {
	if _, ok := m[name]; ok {
		return name, true
	}
	best, found := "", false
	for k := range m {
		if strings.EqualFold(k, name) && (!found || k < best) {
			best, found = k, true
		}
	}
	return best, found
}

func lookup(m map[string]any, name string) any {
	k, _ := find(m, name)
	return m[k]
}

func has(m map[string]any, name string) bool {
	_, ok := find(m, name)
	return ok
}

// object is a section of the template; empty when it is absent.
func object(m map[string]any, name string) (map[string]any, *Error) {
	switch v := lookup(m, name).(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	default:
		return nil, wrong(name, "'%s' must be an object, not of type '%s'", name, kindOf(v))
	}
}

func sorted(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// same is equality as equals() has it: values of one type, deeply.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	default:
		switch b.(type) {
		case map[string]any, []any:
			return false
		}
		return a == b
	}
}

// weight is the number of values and characters in v; it stops counting above
// most.
func weight(v any, most int) int {
	n := 1
	switch v := v.(type) {
	case string:
		n += len(v)
	case []any:
		for _, item := range v {
			if n > most {
				break
			}
			n += weight(item, most-n)
		}
	case map[string]any:
		for k, item := range v {
			if n > most {
				break
			}
			n += len(k) + weight(item, most-n)
		}
	}
	return n
}
