package template

import "maps"

// function is one template function. Arguments are evaluated first unless it is
// lazy; an unknown argument makes the result unknown without asking it.
type function struct {
	least, most int // arguments; most < 0: any number
	do          func(v *env, args []any) (any, *Error)
	lazy        func(v *env, args []expr) (any, *Error)
}

// functions is the table of all functions, by lower-case name.
var functions map[string]function

func init() { // evaluation looks functions up in the table itself
	functions = map[string]function{}
	for _, part := range []map[string]function{scopeFunctions, logicFunctions, numberFunctions, textFunctions, listFunctions} {
		maps.Copy(functions, part)
	}
}

// An argument reads one argument and says what is wrong with it.

func number(args []any, n int) (int64, *Error) {
	i, ok := args[n].(int64)
	if !ok {
		return 0, wrong("", "argument %d must be of type 'Integer', not of type '%s'", n+1, kindOf(args[n]))
	}
	return i, nil
}

func text(args []any, n int) (string, *Error) {
	s, ok := args[n].(string)
	if !ok {
		return "", wrong("", "argument %d must be of type 'String', not of type '%s'", n+1, kindOf(args[n]))
	}
	return s, nil
}

func texts(args []any) ([]string, *Error) {
	out := make([]string, 0, len(args))
	for n := range args {
		s, p := text(args, n)
		if p != nil {
			return nil, p
		}
		out = append(out, s)
	}
	return out, nil
}

func boolean(v any, n int) (bool, *Error) {
	b, ok := v.(bool)
	if !ok {
		return false, wrong("", "argument %d must be of type 'Boolean', not of type '%s'", n+1, kindOf(v))
	}
	return b, nil
}

// constant is a function without arguments.
func constant(v any) function {
	return function{0, 0, func(*env, []any) (any, *Error) { return v, nil }, nil}
}
