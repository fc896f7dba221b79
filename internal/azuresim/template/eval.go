package template

import (
	"strconv"
	"strings"
)

// evaluator is one template with its parameters.
type evaluator struct {
	scope    Scope
	template map[string]any

	parameters map[string]*lazy // by lower-case name
	variables  map[string]*lazy
	directory  *directory
	fuel       int // what is left of maxFuel
}

// lazy is a parameter or variable: evaluated when it is first asked for.
type lazy struct {
	name    string // as the template spells it
	kind    string // of a parameter
	done    bool
	busy    bool // being evaluated: asking again is a cycle
	value   any
	problem *Error
	compute func() (any, *Error)
}

func (l *lazy) get(what string) (any, *Error) {
	if l.busy {
		return nil, wrong("", "the %s '%s' depends on itself", what, l.name)
	}
	if !l.done {
		l.busy = true
		l.value, l.problem = l.compute()
		l.done, l.busy = true, false
	}
	return l.value, l.problem
}

// env is where an expression stands.
type env struct {
	*evaluator
	spot      string
	loops     []loop // innermost last
	reference Reference
	refers    *[]string // collects the ids that reference() names; nil: nobody asks
}

func (v *env) at(step string) *env {
	out := *v
	switch {
	case out.spot == "" || strings.HasPrefix(step, "["):
		out.spot += step
	default:
		out.spot += "." + step
	}
	return &out
}

func (v *env) fail(format string, args ...any) *Error { return wrong(v.spot, format, args...) }

// spotted gives an error from below the spot it happened at.
func (v *env) spotted(p *Error) *Error {
	if p != nil && p.Spot == "" {
		return &Error{v.spot, p.Message}
	}
	return p
}

// burn pays for a value. What cannot be paid for is refused, so that a template
// cannot grow without bound.
func (v *env) burn(value any) *Error {
	v.fuel -= weight(value, v.fuel)
	if v.fuel <= 0 {
		return v.fail("the template amounts to more than %d values and characters", maxFuel)
	}
	return nil
}

// value evaluates a JSON value: texts that are expressions, and objects and
// arrays that hold such, with their property copy loops.
func (v *env) value(raw any) (any, *Error) {
	switch raw := raw.(type) {
	case string:
		return v.text(raw)
	case []any:
		out := make([]any, 0, len(raw))
		for i, item := range raw {
			got, p := v.at("[" + strconv.Itoa(i) + "]").value(item)
			if p != nil {
				return nil, p
			}
			out = append(out, got)
		}
		return out, v.burn(nil)
	case map[string]any:
		return v.object(raw)
	}
	return raw, v.burn(nil)
}

func (v *env) object(raw map[string]any) (any, *Error) {
	out := make(map[string]any, len(raw))
	for _, k := range sorted(raw) {
		if loops, ok := raw[k].([]any); ok && strings.EqualFold(k, "copy") && propertyCopy(loops) {
			if p := v.at(k).copies(loops, out); p != nil {
				return nil, p
			}
			continue
		}
		inner, name, ok := expression(k)
		if ok {
			x, p := v.at(k).evaluate(inner)
			if p != nil {
				return nil, p
			}
			text, ok := x.(string)
			if !ok {
				return nil, v.at(k).fail("a property name must be a String, not of type '%s'", kindOf(x))
			}
			name = text
		}
		got, p := v.at(k).value(raw[k])
		if p != nil {
			return nil, p
		}
		out[name] = got
	}
	return out, v.burn(nil)
}

// word evaluates what must be a text that is known beforehand.
func (v *env) word(raw any) (string, *Error) {
	got, p := v.value(raw)
	if p != nil {
		return "", p
	}
	switch got := got.(type) {
	case string:
		return got, nil
	case unknown:
		return "", v.fail("reference() is not allowed here: the value must be known before the deployment begins")
	}
	return "", v.fail("a value of type 'String' is expected, not of type '%s'", kindOf(got))
}

// condition evaluates what must be a known boolean.
func (v *env) condition(raw any) (bool, *Error) {
	at := v.at("condition")
	got, p := at.value(raw)
	if p != nil {
		return false, p
	}
	b, ok := got.(bool)
	if !ok {
		return false, at.fail("a condition must be of type 'Boolean', not of type '%s'", kindOf(got))
	}
	return b, nil
}

func (v *env) text(raw string) (any, *Error) {
	inner, plain, ok := expression(raw)
	if !ok {
		return plain, v.burn(plain)
	}
	return v.evaluate(inner)
}

func (v *env) evaluate(source string) (any, *Error) {
	x, p := parse(source)
	if p != nil {
		return nil, v.spotted(p)
	}
	return v.run(x)
}

func (v *env) run(x expr) (any, *Error) {
	switch x := x.(type) {
	case literal:
		return x.value, v.burn(nil)
	case call:
		return v.call(x)
	case member:
		of, p := v.run(x.of)
		if p != nil {
			return nil, p
		}
		return v.member(of, x.name)
	case index:
		of, p := v.run(x.of)
		if p != nil {
			return nil, p
		}
		at, p := v.run(x.at)
		if p != nil {
			return nil, p
		}
		return v.index(of, at)
	}
	return nil, v.fail("the expression cannot be evaluated")
}

func (v *env) member(of any, name string) (any, *Error) {
	switch of := of.(type) {
	case unknown:
		return of, nil
	case map[string]any:
		if k, ok := find(of, name); ok {
			return of[k], nil
		}
		return nil, v.fail("the language expression property '%s' doesn't exist, available properties are '%s'", name, short(strings.Join(sorted(of), ", ")))
	}
	return nil, v.fail("the property '%s' can't be selected: a value of type '%s' has none", name, kindOf(of))
}

func (v *env) index(of, at any) (any, *Error) {
	if name, ok := at.(string); ok {
		return v.member(of, name)
	}
	if _, ok := of.(unknown); ok {
		return of, nil
	}
	list, isList := of.([]any)
	n, isNumber := at.(int64)
	switch {
	case at == unknown{}:
		return at, nil
	case !isList || !isNumber:
		return nil, v.fail("a value of type '%s' can't be indexed by one of type '%s'", kindOf(of), kindOf(at))
	case n < 0 || n >= int64(len(list)):
		return nil, v.fail("the array index '%d' is out of bounds: the array has %d items", n, len(list))
	}
	return list[n], nil
}

func (v *env) call(c call) (any, *Error) {
	f, ok := functions[strings.ToLower(c.name)]
	if !ok {
		return nil, v.fail("the template function '%s' is not valid or not simulated", short(c.name))
	}
	if len(c.args) < f.least || f.most >= 0 && len(c.args) > f.most {
		return nil, v.fail("the template function '%s' does not take %d arguments", c.name, len(c.args))
	}
	var got any
	var p *Error
	if f.lazy != nil {
		got, p = f.lazy(v, c.args)
	} else {
		args := make([]any, 0, len(c.args))
		for _, a := range c.args {
			arg, p := v.run(a)
			if p != nil {
				return nil, p
			}
			if arg == (unknown{}) {
				return arg, nil
			}
			args = append(args, arg)
		}
		got, p = f.do(v, args)
	}
	if p != nil {
		if p.Spot == "" {
			return nil, v.fail("the template function '%s': %s", c.name, p.Message)
		}
		return nil, p
	}
	return got, v.burn(got)
}
