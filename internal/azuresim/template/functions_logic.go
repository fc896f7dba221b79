package template

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

var logicFunctions = map[string]function{
	"true": constant(true), "false": constant(false), "null": constant(nil),
	"if":       {3, 3, nil, choose},
	"and":      {2, -1, nil, func(v *env, args []expr) (any, *Error) { return until(v, args, false) }},
	"or":       {2, -1, nil, func(v *env, args []expr) (any, *Error) { return until(v, args, true) }},
	"coalesce": {1, -1, nil, coalesce},
	"not": {1, 1, func(_ *env, args []any) (any, *Error) {
		b, p := boolean(args[0], 0)
		return !b, p
	}, nil},
	"equals":          {2, 2, func(_ *env, args []any) (any, *Error) { return same(args[0], args[1]), nil }, nil},
	"less":            {2, 2, compare(func(c int) bool { return c < 0 }), nil},
	"lessorequals":    {2, 2, compare(func(c int) bool { return c <= 0 }), nil},
	"greater":         {2, 2, compare(func(c int) bool { return c > 0 }), nil},
	"greaterorequals": {2, 2, compare(func(c int) bool { return c >= 0 }), nil},
	"bool":            {1, 1, toBool, nil},
}

// choose evaluates only the branch that is taken.
func choose(v *env, args []expr) (any, *Error) {
	c, p := v.run(args[0])
	if p != nil {
		return nil, p
	}
	if _, ok := c.(unknown); ok {
		return c, nil
	}
	b, p := boolean(c, 0)
	if p != nil {
		return nil, p
	}
	if b {
		return v.run(args[1])
	}
	return v.run(args[2])
}

// until evaluates booleans up to the first that is stop.
func until(v *env, args []expr, stop bool) (any, *Error) {
	for n, a := range args {
		got, p := v.run(a)
		if p != nil {
			return nil, p
		}
		if _, ok := got.(unknown); ok {
			return got, nil
		}
		b, p := boolean(got, n)
		if p != nil {
			return nil, p
		}
		if b == stop {
			return stop, nil
		}
	}
	return !stop, nil
}

func coalesce(v *env, args []expr) (any, *Error) {
	for _, a := range args {
		got, p := v.run(a)
		if p != nil || got != nil {
			return got, p
		}
	}
	return nil, nil
}

func compare(holds func(int) bool) func(*env, []any) (any, *Error) {
	return func(_ *env, args []any) (any, *Error) {
		if a, ok := args[0].(string); ok {
			b, p := text(args, 1)
			return holds(strings.Compare(a, b)), p
		}
		a, p := number(args, 0)
		if p != nil {
			return nil, p
		}
		b, p := number(args, 1)
		switch {
		case p != nil:
			return nil, p
		case a < b:
			return holds(-1), nil
		case a > b:
			return holds(1), nil
		}
		return holds(0), nil
	}
}

func toBool(_ *env, args []any) (any, *Error) {
	switch a := args[0].(type) {
	case bool:
		return a, nil
	case int64:
		return a != 0, nil
	case string:
		switch strings.ToLower(a) {
		case "true", "1":
			return true, nil
		case "false", "0":
			return false, nil
		}
	}
	return nil, wrong("", "the value can't be converted to a Boolean")
}

var numberFunctions = map[string]function{
	"add": {2, 2, arithmetic("add"), nil}, "sub": {2, 2, arithmetic("sub"), nil},
	"mul": {2, 2, arithmetic("mul"), nil}, "div": {2, 2, arithmetic("div"), nil},
	"mod": {2, 2, arithmetic("mod"), nil},
	"min": {1, -1, extreme(func(a, b int64) bool { return a < b }), nil},
	"max": {1, -1, extreme(func(a, b int64) bool { return a > b }), nil},
	"int": {1, 1, toInt, nil},
}

// arithmetic is 64-bit arithmetic that refuses to overflow.
func arithmetic(op string) func(*env, []any) (any, *Error) {
	return func(_ *env, args []any) (any, *Error) {
		a, p := number(args, 0)
		if p != nil {
			return nil, p
		}
		b, p := number(args, 1)
		if p != nil {
			return nil, p
		}
		overflow := wrong("", "the result does not fit into 64 bits")
		switch op {
		case "add":
			if c := a + b; (c > a) == (b > 0) {
				return c, nil
			}
		case "sub":
			if c := a - b; (c < a) == (b > 0) {
				return c, nil
			}
		case "mul":
			if c := a * b; a == 0 || c/a == b && (a != -1 || b != math.MinInt64) {
				return c, nil
			}
		default:
			if b == 0 {
				return nil, wrong("", "division by zero")
			}
			if b == -1 && a == math.MinInt64 {
				return nil, overflow
			}
			if op == "div" {
				return a / b, nil
			}
			return a % b, nil
		}
		return nil, overflow
	}
}

// extreme takes numbers, or one array of them.
func extreme(better func(a, b int64) bool) func(*env, []any) (any, *Error) {
	return func(_ *env, args []any) (any, *Error) {
		if list, ok := args[0].([]any); ok && len(args) == 1 {
			args = list
		}
		if len(args) == 0 {
			return nil, wrong("", "the array is empty")
		}
		best, p := number(args, 0)
		for n := 1; n < len(args) && p == nil; n++ {
			var x int64
			if x, p = number(args, n); better(x, best) {
				best = x
			}
		}
		return best, p
	}
}

func toInt(_ *env, args []any) (any, *Error) {
	switch a := args[0].(type) {
	case int64:
		return a, nil
	case string:
		if n, err := strconv.ParseInt(strings.TrimSpace(a), 10, 64); err == nil {
			return n, nil
		}
	}
	return nil, wrong("", "the value can't be converted to an Integer")
}

// toText renders a value as string() does: texts as they are, objects and arrays
// as JSON.
func toText(v any) (string, *Error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case bool:
		if v {
			return "True", nil
		}
		return "False", nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "", wrong("", "the value can't be converted to a String")
	}
	return string(raw), nil
}
