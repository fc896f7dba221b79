package render

import (
	"bytes"
	"encoding/json"
	"strings"
)

// pair is a member of an object, and object one whose members keep their order, so that people find them where Azure's own templates have them.
type (
	pair struct {
		name  string
		value any
	}
	object []pair
	list   []any
)

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := marshal(p.name)
		if err != nil {
			return nil, err
		}
		value, err := marshal(p.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal is JSON that keeps <, > and & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// bytes is the object as a file.
func (o object) bytes() []byte {
	raw, err := marshal(o)
	if err != nil {
		panic("render: " + err.Error()) // texts, numbers and lists of them can be written
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		panic("render: " + err.Error())
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// with is the object and more members, those without a value left out.
func (o object) with(more ...pair) object {
	for _, p := range more {
		if p.value != nil {
			o = append(o, p)
		}
	}
	return o
}

// The template language. An expression is written without its brackets until it stands in the template: see expr.

// expr is an expression as the value of a member.
func expr(expression string) string { return "[" + expression + "]" }

// quote is a text in an expression.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// call is a function with its arguments, which are expressions.
func call(function string, arguments ...string) string {
	return function + "(" + strings.Join(arguments, ", ") + ")"
}

// literal is a text as the value of a member: one that begins with a bracket would be an expression.
func literal(text string) string {
	if strings.HasPrefix(text, "[") {
		return "[" + text
	}
	return text
}

// resourceID is the id of a resource in the resource group of the deployment.
func resourceID(kind string, names ...string) string {
	arguments := []string{quote(kind)}
	for _, name := range names {
		arguments = append(arguments, named(name))
	}
	return call("resourceId", arguments...)
}

// named is a name, or the expression of one.
func named(name string) string {
	for _, function := range []string{"variables(", "guid(", "concat("} {
		if strings.HasPrefix(name, function) {
			return name
		}
	}
	return quote(name)
}

// value is a name, or an expression in brackets, as the value of a member.
func value(name string) string {
	if e := named(name); e == name {
		return expr(e)
	}
	return name
}

func variable(name string) string  { return call("variables", quote(name)) }
func parameter(name string) string { return call("parameters", quote(name)) }

// isNew is whether the parameter says that something is not there yet.
func isNew(name string) string { return call("contains", parameter(ParameterNew), quote(name)) }

// null is no value: Azure leaves what it has.
const null = "json('null')"

// A resource as it stands in the template.
type resource struct {
	kind, version, name string
	condition           string   // an expression; "" for none
	scope               string   // an expression; "" for the resource group
	dependsOn           []string // expressions of ids
	body                object   // what follows
}

func (r resource) object() object {
	o := object{}
	if r.condition != "" {
		o = append(o, pair{"condition", expr(r.condition)})
	}
	o = append(o, pair{"type", r.kind}, pair{"apiVersion", r.version}, pair{"name", value(r.name)})
	if r.scope != "" {
		o = append(o, pair{"scope", expr(r.scope)})
	}
	if len(r.dependsOn) > 0 {
		var ids []string
		for _, id := range r.dependsOn {
			ids = append(ids, expr(id))
		}
		o = append(o, pair{"dependsOn", ids})
	}
	return append(o, r.body...)
}

// id is the expression of the resource's id. NB: none of a resource with a scope is needed.
func (r resource) id() string { return resourceID(r.kind, r.name) }
