package template

import (
	"maps"
	"slices"
	"strings"
)

// secure reports whether a type's values are never shown.
func secure(kind string) bool {
	return strings.EqualFold(kind, "secureString") || strings.EqualFold(kind, "secureObject")
}

// kinds are the types of parameters, and the kind of value each takes.
var kinds = map[string]string{
	"string": "String", "securestring": "String", "int": "Integer", "bool": "Boolean",
	"array": "Array", "object": "Object", "secureobject": "Object",
}

// readParameters checks the values given against the template's parameters.
func (e *evaluator) readParameters(given map[string]any) *Error {
	declared, p := object(e.template, "parameters")
	if p != nil {
		return p
	}
	if len(declared) > maxParameters {
		return wrong("parameters", "the template has %d parameters, more than %d", len(declared), maxParameters)
	}
	e.parameters = map[string]*lazy{}
	for _, name := range sorted(declared) {
		d, ok := declared[name].(map[string]any)
		if !ok {
			return wrong("parameters."+name, "a parameter is an object with a type")
		}
		if p := e.declare(name, d, given); p != nil {
			return p
		}
	}
	var stray []string
	for _, name := range sorted(given) {
		if e.parameters[strings.ToLower(name)] == nil {
			stray = append(stray, name)
		}
	}
	if len(stray) > 0 {
		return wrong("", "the following parameters were supplied, but do not correspond to any parameters defined in the template: '%s'. The parameters defined in the template are: '%s'",
			strings.Join(stray, ", "), strings.Join(sorted(declared), ", "))
	}
	for _, name := range sorted(declared) { // defaults may use other parameters: look only when all are there
		l := e.parameters[strings.ToLower(name)]
		v, p := l.get("parameter")
		if p == nil {
			p = bounded(declared[name].(map[string]any), v)
		}
		if p != nil {
			return (&env{spot: "parameters." + name}).spotted(p)
		}
	}
	return nil
}

func (e *evaluator) declare(name string, d, given map[string]any) *Error {
	spot := "parameters." + name
	kind, _ := lookup(d, "type").(string)
	takes, known := kinds[strings.ToLower(kind)]
	switch {
	case !known:
		return wrong(spot+".type", "'%s' is not a parameter type; one of String, SecureString, Int, Bool, Object, SecureObject, Array is expected", short(kind))
	case e.parameters[strings.ToLower(name)] != nil:
		return wrong(spot, "the parameter is defined twice")
	}
	l := &lazy{name: name, kind: kind}
	e.parameters[strings.ToLower(name)] = l
	check := func(v any) (any, *Error) {
		if kindOf(v) != takes {
			return nil, wrong(spot, "the provided value for the template parameter '%s' is not valid: expected a value of type '%s', but received a value of type '%s'", name, takes, kindOf(v))
		}
		return v, nil
	}
	if key, ok := find(given, name); ok {
		g, isObject := given[key].(map[string]any)
		switch {
		case !isObject || !has(g, "value") && !has(g, "reference"):
			return wrong(spot, "the parameter's value must stand in an object under 'value'")
		case has(g, "reference"):
			return wrong(spot, "references to a key vault are not simulated")
		}
		if lookup(g, "value") != nil {
			l.compute = func() (any, *Error) { return check(lookup(g, "value")) }
			return nil
		}
	}
	if !has(d, "defaultValue") {
		return wrong(spot, "the value for the template parameter '%s' is not provided", name)
	}
	at := &env{evaluator: e, spot: spot + ".defaultValue"}
	l.compute = func() (any, *Error) {
		v, p := at.value(lookup(d, "defaultValue"))
		if p != nil {
			return nil, at.spotted(p)
		}
		return check(v)
	}
	return nil
}

// bounded holds a value against allowedValues, minValue, maxValue, minLength and
// maxLength.
func bounded(d map[string]any, v any) *Error {
	if allowed, ok := lookup(d, "allowedValues").([]any); ok {
		fits := func(v any) bool {
			return slices.ContainsFunc(allowed, func(a any) bool {
				s, isText := a.(string)
				t, also := v.(string)
				return same(a, v) || isText && also && strings.EqualFold(s, t)
			})
		}
		list, isList := v.([]any) // of an array every item may be one of them
		if !fits(v) && (!isList || slices.ContainsFunc(list, func(item any) bool { return !fits(item) })) {
			shown, _ := toText(allowed)
			return wrong("", "the provided value is not valid: it is not part of the allowed values '%s'", short(shown))
		}
	}
	size, what := int64(0), ""
	switch v := v.(type) {
	case int64:
		size, what = v, "Value"
	case string, []any, map[string]any:
		n, _ := length(nil, []any{v})
		size, what = n.(int64), "Length"
	}
	if least, ok := lookup(d, "min"+what).(int64); ok && size < least {
		return wrong("", "the provided value is not valid: %d is less than min%s %d", size, what, least)
	}
	if most, ok := lookup(d, "max"+what).(int64); ok && size > most {
		return wrong("", "the provided value is not valid: %d is greater than max%s %d", size, what, most)
	}
	return nil
}

func (e *evaluator) openParameters() map[string]Parameter {
	out := map[string]Parameter{}
	for _, l := range e.parameters {
		if !secure(l.kind) {
			out[l.name] = Parameter{Type: l.kind, Value: l.value}
		}
	}
	return out
}

// readVariables takes down the template's variables. They are evaluated when
// they are used, and those that nobody uses for their mistakes.
func (e *evaluator) readVariables() *Error {
	section, p := object(e.template, "variables")
	if p != nil {
		return p
	}
	e.variables = map[string]*lazy{}
	at := &env{evaluator: e, spot: "variables"}
	for _, name := range sorted(section) {
		if list, ok := section[name].([]any); ok && strings.EqualFold(name, "copy") && propertyCopy(list) {
			for _, item := range list { // each loop is a variable of its own
				m := item.(map[string]any)
				loopName, p := at.at("copy").word(lookup(m, "name"))
				if p != nil {
					return p
				}
				if p := e.variable(loopName, func() (any, *Error) {
					out := map[string]any{}
					p := at.at("copy").copies([]any{m}, out)
					return out[loopName], p
				}); p != nil {
					return p
				}
			}
			continue
		}
		if p := e.variable(name, func() (any, *Error) { return at.at(name).value(section[name]) }); p != nil {
			return p
		}
	}
	if len(e.variables) > maxVariables {
		return wrong("variables", "the template has %d variables, more than %d", len(e.variables), maxVariables)
	}
	for _, name := range slices.Sorted(maps.Keys(e.variables)) {
		if v, p := e.variables[name].get("variable"); p != nil {
			return at.spotted(p)
		} else if _, ok := v.(unknown); ok {
			return wrong("variables."+name, "reference() is not allowed in variables")
		}
	}
	return nil
}

func (e *evaluator) variable(name string, compute func() (any, *Error)) *Error {
	if e.variables[strings.ToLower(name)] != nil {
		return wrong("variables."+name, "the variable is defined twice")
	}
	e.variables[strings.ToLower(name)] = &lazy{name: name, compute: compute}
	return nil
}
