package template

import "strings"

// directory finds resources by the ways in which a template may name them.
type directory struct {
	byID   map[string]*Resource   // by lower-case resource id
	byName map[string][]*Resource // by name, by "type/name", and by the name of a copy loop
	absent map[string]bool        // names of any kind that a condition or an empty loop has left out
	prefix string                 // of ids in the template's resource group
}

func newDirectory(scope Scope) *directory {
	return &directory{
		byID: map[string]*Resource{}, byName: map[string][]*Resource{}, absent: map[string]bool{},
		prefix: strings.ToLower("/subscriptions/" + scope.SubscriptionID + "/resourceGroups/" + scope.ResourceGroup + "/providers/"),
	}
}

// names are the lower-case names by which dependsOn may call a resource, beside
// its id.
func (r *Resource) names() []string {
	names := []string{strings.ToLower(r.Name), strings.ToLower(r.Type + "/" + r.Name)}
	if r.loop != "" {
		names = append(names, strings.ToLower(r.loop))
	}
	return names
}

// add takes up a resource; false when its id is taken.
func (d *directory) add(r *Resource) bool {
	id := strings.ToLower(r.ID)
	if d.byID[id] != nil {
		return false
	}
	d.byID[id] = r
	for _, name := range r.names() {
		d.byName[name] = append(d.byName[name], r)
	}
	return true
}

// leaveOut remembers what the template has and this deployment does not.
func (d *directory) leaveOut(r *Resource) {
	d.absent[strings.ToLower(r.ID)] = true
	for _, name := range r.names() {
		d.absent[name] = true
	}
}

// find is what a name stands for: one resource, or all of a copy loop.
func (d *directory) find(name string) []*Resource {
	name = strings.ToLower(name)
	for _, id := range []string{name, d.prefix + name} {
		if r := d.byID[id]; r != nil {
			return []*Resource{r}
		}
	}
	return d.byName[name]
}

func (d *directory) leftOut(name string) bool {
	name = strings.ToLower(name)
	return d.absent[name] || d.absent[d.prefix+name]
}

// resolve finds the resources that each resource waits for. What a condition has
// left out is nothing to wait for.
func (d *directory) resolve(all []*Resource) *Error {
	for _, r := range all {
		waits := map[*Resource]bool{}
		for n, want := range r.wanted {
			found := d.find(want)
			loop := len(found) > 0 && strings.EqualFold(found[0].loop, want)
			switch {
			case len(found) > 1 && !loop:
				return wrong(r.spot, "the name '%s' in dependsOn is that of several resources: use resourceId()", want)
			case len(found) == 0 && n < r.strict && !d.leftOut(want):
				return wrong(r.spot, "the resource '%s' is not defined in the template, and '%s' depends on it", want, r.Name)
			}
			for _, f := range found {
				if f == r {
					return wrong(r.spot, "the resource '%s' depends on itself", r.ID)
				}
				if !waits[f] {
					waits[f] = true
					r.DependsOn = append(r.DependsOn, f)
				}
			}
		}
	}
	return nil
}

// order sorts resources so that each comes after those it waits for, and those
// that could go together stay as they are written.
func order(all []*Resource) ([]*Resource, *Error) {
	const (
		busy = 1
		done = 2
	)
	state := map[*Resource]int{}
	sorted := make([]*Resource, 0, len(all))
	var visit func(r *Resource) *Error
	visit = func(r *Resource) *Error {
		switch state[r] {
		case done:
			return nil
		case busy:
			return wrong(r.spot, "circular dependency detected on resource '%s'", r.ID)
		}
		state[r] = busy
		for _, d := range r.DependsOn {
			if p := visit(d); p != nil {
				return p
			}
		}
		state[r] = done
		sorted = append(sorted, r)
		return nil
	}
	for _, r := range all {
		if p := visit(r); p != nil {
			return nil, p
		}
	}
	return sorted, nil
}
