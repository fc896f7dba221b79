package template

import (
	"maps"
	"strconv"
	"strings"
)

// Resource is one resource of an evaluated template.
type Resource struct {
	ID         string // where it is PUT
	Type       string // "Microsoft.Compute/virtualMachines"
	Name       string // with the parents' names: "vm-0/agent"
	APIVersion string

	// DependsOn are resources of the same template that must exist before.
	DependsOn []*Resource

	env    *env
	spot   string
	loop   string // the copy loop it came from, "" for none
	raw    map[string]any
	wanted []string // what dependsOn and reference() name, evaluated
	strict int      // so many of wanted must be in the template; the rest may exist already
}

// notBody are the members of a template resource that Resource Manager keeps to
// itself, and nestedNotBody those of a nested deployment besides.
var (
	notBody       = []string{"type", "name", "apiVersion", "dependsOn", "copy", "condition", "comments", "resources", "scope"}
	nestedNotBody = []string{"resourceGroup", "subscriptionId"}
)

// Body is what is PUT: the resource without what only the template needs. The
// reference function may be nil, and then what it would say is null. Errors are
// of type [*Error].
func (r *Resource) Body(reference Reference) (map[string]any, error) {
	out, p := r.body(reference, nil)
	if p != nil {
		return nil, p
	}
	return out, nil
}

func (r *Resource) body(reference Reference, refers *[]string) (map[string]any, *Error) {
	bare := maps.Clone(r.raw)
	for _, name := range notBody {
		if k, ok := find(bare, name); ok {
			delete(bare, k)
		}
	}
	var inner any
	if r.nested() {
		for _, name := range nestedNotBody {
			if k, ok := find(bare, name); ok {
				delete(bare, k)
			}
		}
		inner = takeTemplate(bare)
	}
	at := r.env.at("")
	at.spot, at.reference, at.refers = r.spot, reference, refers
	v, p := at.object(bare)
	if p != nil {
		return nil, p
	}
	body := v.(map[string]any)
	if inner != nil {
		lookup(body, "properties").(map[string]any)["template"] = inner
	}
	return body, nil
}

const deploymentKind = "Microsoft.Resources/deployments"

// nested says whether the resource is a deployment of a template of its own.
func (r *Resource) nested() bool { return strings.EqualFold(r.Type, deploymentKind) }

// takeTemplate takes the template out of a nested deployment that nobody else
// holds, so that nothing in it is evaluated here.
func takeTemplate(bare map[string]any) any {
	key, _ := find(bare, "properties")
	properties, _ := bare[key].(map[string]any)
	properties = maps.Clone(properties)
	name, _ := find(properties, "template")
	inner := properties[name]
	delete(properties, name)
	bare[key] = properties
	return inner
}

// place is the id below which the resource is: its scope, or the resource group
// of the deployment, or that which a nested deployment names.
func (e *evaluator) place(at *env, raw map[string]any, nested bool) (string, *Error) {
	group := func(subscription, name string) string {
		return "/subscriptions/" + subscription + "/resourceGroups/" + name
	}
	if has(raw, "scope") {
		return at.at("scope").word(lookup(raw, "scope"))
	}
	if !nested {
		return group(e.scope.SubscriptionID, e.scope.ResourceGroup), nil
	}
	properties, _ := lookup(raw, "properties").(map[string]any)
	options, _ := lookup(properties, "expressionEvaluationOptions").(map[string]any)
	if how, _ := lookup(options, "scope").(string); !strings.EqualFold(how, "inner") {
		return "", at.fail("nested deployments are simulated with the 'expressionEvaluationOptions' scope 'inner' alone")
	}
	if _, ok := lookup(properties, "template").(map[string]any); !ok {
		return "", at.fail("a nested deployment has a 'template': links to templates are not simulated")
	}
	names := []string{e.scope.SubscriptionID, e.scope.ResourceGroup}
	for n, member := range []string{"subscriptionId", "resourceGroup"} {
		if !has(raw, member) {
			continue
		}
		given, p := at.at(member).word(lookup(raw, member))
		if p != nil {
			return "", p
		}
		names[n] = given
	}
	return group(names[0], names[1]), nil
}

// parent is what a nested resource's type and name begin with.
type parent struct{ kind, name string }

// readResources evaluates what is known of every resource before the first one
// exists, in the order they are written.
func (e *evaluator) readResources() ([]*Resource, *Error) {
	list, ok := lookup(e.template, "resources").([]any)
	if !ok {
		return nil, wrong("resources", "the template has no array of resources")
	}
	var all []*Resource
	if p := e.readList(list, "resources", parent{}, &all); p != nil {
		return nil, p
	}
	for _, r := range all {
		if !e.directory.add(r) {
			return nil, wrong(r.spot, "the resource '%s' is defined multiple times in the template", r.ID)
		}
	}
	return all, e.directory.resolve(all)
}

func (e *evaluator) readList(list []any, spot string, in parent, all *[]*Resource) *Error {
	for i, item := range list {
		at := &env{evaluator: e, spot: spot + "[" + strconv.Itoa(i) + "]"}
		raw, ok := item.(map[string]any)
		if !ok {
			return at.fail("a resource is an object")
		}
		if p := e.readLoop(at, raw, in, all); p != nil {
			return p
		}
	}
	return nil
}

// readLoop reads a resource, once for every round of its copy loop.
func (e *evaluator) readLoop(at *env, raw map[string]any, in parent, all *[]*Resource) *Error {
	c, ok := lookup(raw, "copy").(map[string]any)
	if !ok {
		if has(raw, "copy") {
			return at.at("copy").fail("a copy loop is an object with 'name' and 'count'")
		}
		return e.readOne(at, raw, in, "", all)
	}
	if in != (parent{}) {
		return at.at("copy").fail("a resource nested in another one can't have a copy loop")
	}
	loopAt := at.at("copy")
	name, p := loopAt.at("name").word(lookup(c, "name"))
	if p != nil {
		return p
	}
	count, p := loopAt.count(lookup(c, "count"), 0)
	if p != nil {
		return p
	}
	if count == 0 {
		e.directory.absent[strings.ToLower(name)] = true
	}
	for n := range count {
		round := *at
		round.loops = []loop{{name, n}}
		if p := e.readOne(&round, raw, in, name, all); p != nil {
			return p
		}
	}
	return nil
}

func (e *evaluator) readOne(at *env, raw map[string]any, in parent, loopName string, all *[]*Resource) *Error {
	if len(*all) >= maxResources {
		return at.fail("the template has more than %d resources", maxResources)
	}
	kind, p := at.at("type").word(lookup(raw, "type"))
	if p != nil {
		return p
	}
	name, p := at.at("name").word(lookup(raw, "name"))
	if p != nil {
		return p
	}
	version, p := at.at("apiVersion").word(lookup(raw, "apiVersion"))
	if p != nil {
		return p
	}
	if in != (parent{}) {
		kind, name = in.kind+"/"+kind, in.name+"/"+name
	}
	types, names := strings.Split(kind, "/"), strings.Split(name, "/")
	if name == "" || len(types) < 2 || len(types)-1 != len(names) {
		return at.fail("the type '%s' and the name '%s' do not fit: a name needs one segment less than its type", short(kind), short(name))
	}
	below, p := e.place(at, raw, strings.EqualFold(kind, deploymentKind))
	if p != nil {
		return p
	}
	path, p := typePath(append([]string{kind}, names...))
	if p != nil {
		return at.spotted(p)
	}
	r := &Resource{
		ID:   strings.TrimRight(below, "/") + "/providers/" + path,
		Type: kind, Name: name, APIVersion: version,
		env: at, spot: at.spot, loop: loopName, raw: raw,
	}
	wanted := true
	if has(raw, "condition") {
		if wanted, p = at.condition(lookup(raw, "condition")); p != nil {
			return p
		}
	}
	if wanted {
		if p := r.readDependencies(at); p != nil {
			return p
		}
		*all = append(*all, r)
	} else {
		e.directory.leaveOut(r)
	}
	if children, ok := lookup(raw, "resources").([]any); ok {
		return e.readList(children, at.spot+".resources", parent{kind, name}, all)
	}
	return nil
}

// readDependencies evaluates dependsOn, and the body once for its mistakes and
// for what it refers to.
func (r *Resource) readDependencies(at *env) *Error {
	deps, p := at.at("dependsOn").value(lookup(r.raw, "dependsOn"))
	if p != nil {
		return p
	}
	list, ok := deps.([]any)
	if !ok && deps != nil {
		return at.at("dependsOn").fail("'dependsOn' must be an array, not of type '%s'", kindOf(deps))
	}
	for n := range list {
		s, p := text(list, n)
		if p != nil {
			return at.at("dependsOn").spotted(p)
		}
		r.wanted = append(r.wanted, s)
	}
	r.strict = len(r.wanted)
	_, p = r.body(nil, &r.wanted)
	return p
}
