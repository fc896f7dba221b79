package template

import (
	"maps"
	"strings"
	"unicode/utf8"
)

var listFunctions = map[string]function{
	"concat":       {1, -1, concat, nil},
	"array":        {1, 1, toArray, nil},
	"createarray":  {0, -1, nil, createArray},
	"createobject": {0, -1, nil, createObject},
	"union":        {1, -1, union, nil},
	"first":        {1, 1, end(true), nil},
	"last":         {1, 1, end(false), nil},
	"length":       {1, 1, length, nil},
	"contains":     {2, 2, contains, nil},
	"empty":        {1, 1, empty, nil},
	"range":        {2, 2, countUp, nil},
	"take":         {2, 2, part(true), nil},
	"skip":         {2, 2, part(false), nil},
}

// concat joins arrays when the first argument is one, and texts otherwise.
func concat(_ *env, args []any) (any, *Error) {
	if _, ok := args[0].([]any); !ok {
		for n, a := range args {
			switch a.(type) {
			case map[string]any, []any, nil:
				return nil, wrong("", "argument %d of type '%s' can't be joined to a String", n+1, kindOf(a))
			}
		}
		return concatTexts(args, "")
	}
	out := []any{}
	for n, a := range args {
		list, ok := a.([]any)
		if !ok {
			return nil, wrong("", "argument %d must be of type 'Array', not of type '%s'", n+1, kindOf(a))
		}
		out = append(out, list...)
	}
	return out, nil
}

func toArray(_ *env, args []any) (any, *Error) {
	if list, ok := args[0].([]any); ok {
		return list, nil
	}
	return []any{args[0]}, nil
}

// createArray and createObject hold unknown values without becoming unknown.

func createArray(v *env, args []expr) (any, *Error) {
	out := make([]any, 0, len(args))
	for _, a := range args {
		got, p := v.run(a)
		if p != nil {
			return nil, p
		}
		out = append(out, got)
	}
	return out, nil
}

func createObject(v *env, args []expr) (any, *Error) {
	if len(args)%2 != 0 {
		return nil, wrong("", "names and values must come in pairs")
	}
	out := make(map[string]any, len(args)/2)
	for n := 0; n < len(args); n += 2 {
		name, p := v.run(args[n])
		if p != nil {
			return nil, p
		}
		k, ok := name.(string)
		if !ok {
			return nil, wrong("", "argument %d must be of type 'String', not of type '%s'", n+1, kindOf(name))
		}
		if out[k], p = v.run(args[n+1]); p != nil {
			return nil, p
		}
	}
	return out, nil
}

// union merges objects deeply, the later value winning, and arrays without
// repeating what is in them.
func union(v *env, args []any) (any, *Error) {
	switch first := args[0].(type) {
	case map[string]any:
		out := first
		for n, a := range args[1:] {
			m, ok := a.(map[string]any)
			if !ok {
				return nil, wrong("", "argument %d must be of type 'Object', not of type '%s'", n+2, kindOf(a))
			}
			out = merge(out, m)
		}
		return out, nil
	case []any:
		out := []any{}
		for n, a := range args {
			list, ok := a.([]any)
			if !ok {
				return nil, wrong("", "argument %d must be of type 'Array', not of type '%s'", n+1, kindOf(a))
			}
			for _, item := range list {
				if p := v.burn(nil); p != nil {
					return nil, p
				}
				if v.fuel -= len(out); !holds(out, item) {
					out = append(out, item)
				}
			}
		}
		return out, nil
	}
	return nil, wrong("", "argument 1 must be of type 'Object' or 'Array', not of type '%s'", kindOf(args[0]))
}

func merge(into, from map[string]any) map[string]any {
	out := maps.Clone(into)
	for k, v := range from {
		if a, ok := out[k].(map[string]any); ok {
			if b, ok := v.(map[string]any); ok {
				v = merge(a, b)
			}
		}
		out[k] = v
	}
	return out
}

func holds(list []any, item any) bool {
	for _, other := range list {
		if same(other, item) {
			return true
		}
	}
	return false
}

func end(first bool) func(*env, []any) (any, *Error) {
	return func(_ *env, args []any) (any, *Error) {
		switch a := args[0].(type) {
		case []any:
			if len(a) == 0 {
				return nil, nil
			}
			if first {
				return a[0], nil
			}
			return a[len(a)-1], nil
		case string:
			r := []rune(a)
			if len(r) == 0 {
				return "", nil
			}
			if first {
				return string(r[:1]), nil
			}
			return string(r[len(r)-1:]), nil
		}
		return nil, wrong("", "argument 1 must be of type 'Array' or 'String', not of type '%s'", kindOf(args[0]))
	}
}

func length(_ *env, args []any) (any, *Error) {
	switch a := args[0].(type) {
	case string:
		return int64(utf8.RuneCountInString(a)), nil
	case []any:
		return int64(len(a)), nil
	case map[string]any:
		return int64(len(a)), nil
	}
	return nil, wrong("", "a value of type '%s' has no length", kindOf(args[0]))
}

func contains(_ *env, args []any) (any, *Error) {
	switch a := args[0].(type) {
	case string:
		part, p := toText(args[1])
		return strings.Contains(a, part), p
	case []any:
		return holds(a, args[1]), nil
	case map[string]any:
		name, p := text(args, 1)
		return has(a, name), p
	}
	return nil, wrong("", "a value of type '%s' contains nothing", kindOf(args[0]))
}

func empty(_ *env, args []any) (any, *Error) {
	switch a := args[0].(type) {
	case nil:
		return true, nil
	case string:
		return a == "", nil
	case []any:
		return len(a) == 0, nil
	case map[string]any:
		return len(a) == 0, nil
	}
	return nil, wrong("", "a value of type '%s' is neither empty nor not", kindOf(args[0]))
}

func countUp(_ *env, args []any) (any, *Error) {
	start, p := number(args, 0)
	if p != nil {
		return nil, p
	}
	n, p := number(args, 1)
	if p != nil {
		return nil, p
	}
	if n < 0 || n > 10_000 || start > 2_147_473_647 || start < -2_147_473_647 {
		return nil, wrong("", "start '%d' and count '%d' are out of range", start, n)
	}
	out := make([]any, 0, n)
	for i := range n {
		out = append(out, start+i)
	}
	return out, nil
}

// part takes or skips the first items of an array, or characters of a text.
func part(take bool) func(*env, []any) (any, *Error) {
	return func(_ *env, args []any) (any, *Error) {
		n, p := number(args, 1)
		if p != nil {
			return nil, p
		}
		cut := func(size int) (from, to int) {
			at := int(min(max(n, 0), int64(size)))
			if take {
				return 0, at
			}
			return at, size
		}
		switch a := args[0].(type) {
		case string:
			r := []rune(a)
			from, to := cut(len(r))
			return string(r[from:to]), nil
		case []any:
			from, to := cut(len(a))
			return a[from:to:to], nil
		}
		return nil, wrong("", "argument 1 must be of type 'Array' or 'String', not of type '%s'", kindOf(args[0]))
	}
}
