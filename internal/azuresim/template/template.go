// Package template evaluates Azure Resource Manager templates: a restricted
// reading of the template language, enough for what deploys machines, networks
// and identities.
//
// It knows parameters, variables, resources with conditions, copy loops and
// dependencies, scopes of extension resources, outputs, and the functions listed
// in functions.go. A nested template is handed over as it is: who deploys it
// evaluates it then, in its own scope. What the package does not know (linked
// templates, nested ones of outer scope, user functions, key vault references,
// symbolic names) is refused by name rather than ignored. Evaluation is a pure
// function of its arguments, ends for every input, and never panics.
//
// Source of the language: the template reference of Azure Resource Manager,
// schema 2019-04-01. Property, parameter and function names are compared
// ignoring case.
package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Limits of Resource Manager (documented), and of this evaluator.
const (
	maxParameters = 256
	maxVariables  = 256
	maxOutputs    = 64
	maxResources  = 800
	maxExpression = 24_576  // characters of one expression
	maxDepth      = 64      // of nested calls, and of variables that use variables
	maxFuel       = 8 << 20 // values and characters that one template may amount to
)

// Scope is where a template is deployed.
type Scope struct {
	SubscriptionID string
	TenantID       string
	ResourceGroup  string
	Location       string            // of the resource group
	Tags           map[string]string // of the resource group
	Deployment     string            // the deployment's name
}

// Reference answers reference(): the properties of a resource that exists, or
// with full the whole resource. The id is a resource id as the template wrote it.
type Reference func(id string, full bool) (map[string]any, error)

// Error is what is wrong with a template, and where.
type Error struct {
	Spot    string // a path such as "resources[2].properties.count"; "" for the template as a whole
	Message string
}

func (e *Error) Error() string {
	if e.Spot == "" {
		return "Deployment template validation failed: '" + e.Message + "'."
	}
	return "Deployment template validation failed: 'at " + e.Spot + ": " + e.Message + "'."
}

func wrong(spot, format string, args ...any) *Error {
	return &Error{Spot: spot, Message: fmt.Sprintf(format, args...)}
}

// Deployment is a template that was evaluated with parameters.
type Deployment struct {
	// Resources stand in an order in which each comes after all that it depends
	// on. Those whose condition is false are left out.
	Resources []*Resource

	// Parameters are the values in force, by name as the template spells it,
	// without secure ones.
	Parameters map[string]Parameter

	e *evaluator
}

// Parameter is the value of a parameter, with its type as the template spells it.
type Parameter struct {
	Type  string `json:"type"`
	Value any    `json:"value,omitempty"`
}

// Evaluate reads a template and the "parameters" object of a deployment, both
// JSON. Errors are of type [*Error].
func Evaluate(source, parameters []byte, scope Scope) (*Deployment, error) {
	root, err := decode(source)
	if err != nil {
		return nil, wrong("", "the template is not a JSON object: %v", err)
	}
	given := map[string]any{}
	if len(bytes.TrimSpace(parameters)) > 0 && string(bytes.TrimSpace(parameters)) != "null" {
		if given, err = decode(parameters); err != nil {
			return nil, wrong("parameters", "the parameters are not a JSON object: %v", err)
		}
	}
	e := &evaluator{scope: scope, template: root, directory: newDirectory(scope), fuel: maxFuel}
	if p := e.refuse(); p != nil {
		return nil, p
	}
	if p := e.readParameters(given); p != nil {
		return nil, p
	}
	if p := e.readVariables(); p != nil {
		return nil, p
	}
	resources, p := e.readResources()
	if p != nil {
		return nil, p
	}
	if resources, p = order(resources); p != nil {
		return nil, p
	}
	d := &Deployment{Resources: resources, Parameters: e.openParameters(), e: e}
	if _, err := d.outputs(nil); err != nil {
		return nil, err
	}
	return d, nil
}

// Outputs are the template's outputs once all resources exist, without secure
// ones. Errors are of type [*Error].
func (d *Deployment) Outputs(reference Reference) (map[string]Parameter, error) {
	out, p := d.outputs(reference)
	if p != nil {
		return nil, p
	}
	return out, nil
}

func (d *Deployment) outputs(reference Reference) (map[string]Parameter, error) {
	section, p := object(d.e.template, "outputs")
	if p != nil {
		return nil, p
	}
	if len(section) > maxOutputs {
		return nil, wrong("outputs", "the template has %d outputs, more than %d", len(section), maxOutputs)
	}
	out := map[string]Parameter{}
	for _, name := range sorted(section) {
		spot := "outputs." + name
		o, ok := section[name].(map[string]any)
		if !ok {
			return nil, wrong(spot, "an output is an object with 'type' and 'value'")
		}
		kind, _ := lookup(o, "type").(string)
		if kind == "" {
			return nil, wrong(spot, "the output has no type")
		}
		env := &env{evaluator: d.e, spot: spot, reference: reference}
		if has(o, "condition") {
			if yes, p := env.condition(lookup(o, "condition")); p != nil {
				return nil, p
			} else if !yes {
				continue
			}
		}
		v, p := env.at("value").value(lookup(o, "value"))
		if p != nil {
			return nil, p
		}
		if !secure(kind) {
			out[name] = Parameter{Type: kind, Value: v}
		}
	}
	return out, nil
}

// refuse names what the evaluator does not know.
func (e *evaluator) refuse() *Error {
	for _, section := range []string{"functions", "imports", "extensions", "definitions"} {
		if has(e.template, section) {
			if m, ok := lookup(e.template, section).(map[string]any); ok && len(m) == 0 {
				continue
			}
			if l, ok := lookup(e.template, section).([]any); ok && len(l) == 0 {
				continue
			}
			return wrong(section, "templates with '%s' are not simulated", section)
		}
	}
	if v, _ := lookup(e.template, "languageVersion").(string); strings.HasPrefix(v, "2") {
		return wrong("languageVersion", "language version '%s' (symbolic names) is not simulated", v)
	}
	return nil
}

// decode reads a JSON object. Whole numbers become int64, others float64.
func decode(raw []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, fmt.Errorf("something follows the object")
	}
	m, ok := numbers(v).(map[string]any)
	if !ok {
		return nil, fmt.Errorf("it is %s", kindOf(v))
	}
	return m, nil
}

// numbers replaces JSON numbers in a value that nobody else holds.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, err := v.Float64()
		if err != nil {
			return string(v)
		}
		return f
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	}
	return v
}
