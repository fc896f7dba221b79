package template

import "strings"

var scopeFunctions = map[string]function{
	"parameters":             {1, 1, func(v *env, a []any) (any, *Error) { return v.named(a, "parameter") }, nil},
	"variables":              {1, 1, func(v *env, a []any) (any, *Error) { return v.named(a, "variable") }, nil},
	"copyindex":              {0, 2, copyIndex, nil},
	"resourceid":             {2, -1, resourceID, nil},
	"subscriptionresourceid": {2, -1, subscriptionResourceID, nil},
	"extensionresourceid":    {3, -1, extensionResourceID, nil},
	"environment":            {0, 0, environment, nil},
	"resourcegroup":          {0, 0, resourceGroup, nil},
	"subscription":           {0, 0, subscription, nil},
	"tenant":                 {0, 0, tenant, nil},
	"deployment":             {0, 0, deployment, nil},
	"providers":              {2, 2, providers, nil},
	"reference":              {1, 3, nil, reference},
}

// providers is what Azure knows of a type of resources; az asks it for a version. Any would do here: every version gets the same form.
func providers(_ *env, args []any) (any, *Error) {
	s, p := texts(args)
	if p != nil {
		return nil, p
	}
	return map[string]any{"resourceType": s[1], "locations": []any{}, "apiVersions": []any{"2024-07-01"}}, nil
}

func (v *env) named(args []any, what string) (any, *Error) {
	name, p := text(args, 0)
	if p != nil {
		return nil, p
	}
	from := v.parameters
	if what == "variable" {
		from = v.variables
	}
	l := from[strings.ToLower(name)]
	if l == nil {
		return nil, v.fail("the template %s '%s' is not found", what, short(name))
	}
	return l.get(what)
}

// copyIndex takes a loop's name, an offset, both, or neither.
func copyIndex(v *env, args []any) (any, *Error) {
	name, offset := "", int64(0)
	for n, a := range args {
		switch a := a.(type) {
		case string:
			if n > 0 {
				return nil, wrong("", "the loop's name must come first")
			}
			name = a
		case int64:
			offset = a
		default:
			return nil, wrong("", "argument %d must be of type 'String' or 'Integer', not of type '%s'", n+1, kindOf(a))
		}
	}
	for n := len(v.loops) - 1; n >= 0; n-- {
		if name == "" || strings.EqualFold(v.loops[n].name, name) {
			return v.loops[n].at + offset, nil
		}
	}
	if name != "" {
		return nil, v.fail("copyIndex('%s') stands in no copy loop of that name", short(name))
	}
	return nil, v.fail("copyIndex() stands in no copy loop")
}

// resourceID is resourceId([subscription], [group], type, name...).
func resourceID(v *env, args []any) (any, *Error) {
	s, p := texts(args)
	if p != nil {
		return nil, p
	}
	sub, group := v.scope.SubscriptionID, v.scope.ResourceGroup
	switch {
	case strings.Contains(s[0], "/"):
	case strings.Contains(s[1], "/"):
		group, s = s[0], s[1:]
	default:
		sub, group, s = s[0], s[1], s[2:]
	}
	path, p := typePath(s)
	return "/subscriptions/" + sub + "/resourceGroups/" + group + "/providers/" + path, p
}

func subscriptionResourceID(v *env, args []any) (any, *Error) {
	s, p := texts(args)
	if p != nil {
		return nil, p
	}
	sub := v.scope.SubscriptionID
	if !strings.Contains(s[0], "/") {
		sub, s = s[0], s[1:]
	}
	path, p := typePath(s)
	return "/subscriptions/" + sub + "/providers/" + path, p
}

// extensionResourceID is the id of a resource that is attached to another.
func extensionResourceID(_ *env, args []any) (any, *Error) {
	s, p := texts(args)
	if p != nil {
		return nil, p
	}
	path, p := typePath(s[1:])
	return strings.TrimRight(s[0], "/") + "/providers/" + path, p
}

// environment is the cloud: of what it says, the suffixes of names.
func environment(*env, []any) (any, *Error) {
	return map[string]any{"name": "AzureCloud", "suffixes": map[string]any{
		"keyvaultDns": ".vault.azure.net", "storage": "core.windows.net", "acrLoginServer": ".azurecr.io",
	}}, nil
}

// typePath weaves a type and its names: "A.B/c/d", "x", "y" is "A.B/c/x/d/y".
func typePath(s []string) (string, *Error) {
	if len(s) == 0 || !strings.Contains(s[0], "/") {
		return "", wrong("", "a resource type such as 'Microsoft.Compute/virtualMachines' is missing")
	}
	steps := strings.Split(s[0], "/")
	if len(steps)-1 != len(s)-1 {
		return "", wrong("", "the resource type '%s' needs %d names, and there are %d", short(s[0]), len(steps)-1, len(s)-1)
	}
	var b strings.Builder
	b.WriteString(steps[0])
	for n, step := range steps[1:] {
		b.WriteString("/" + step + "/" + s[n+1])
	}
	return b.String(), nil
}

func resourceGroup(v *env, _ []any) (any, *Error) {
	tags := map[string]any{}
	for k, t := range v.scope.Tags {
		tags[k] = t
	}
	return map[string]any{
		"id":   "/subscriptions/" + v.scope.SubscriptionID + "/resourceGroups/" + v.scope.ResourceGroup,
		"name": v.scope.ResourceGroup, "type": "Microsoft.Resources/resourceGroups",
		"location": v.scope.Location, "tags": tags,
		"properties": map[string]any{"provisioningState": "Succeeded"},
	}, nil
}

func subscription(v *env, _ []any) (any, *Error) {
	return map[string]any{
		"id":             "/subscriptions/" + v.scope.SubscriptionID,
		"subscriptionId": v.scope.SubscriptionID, "tenantId": v.scope.TenantID, "displayName": v.scope.SubscriptionID,
	}, nil
}

func tenant(v *env, _ []any) (any, *Error) {
	return map[string]any{"tenantId": v.scope.TenantID}, nil
}

func deployment(v *env, _ []any) (any, *Error) {
	return map[string]any{"name": v.scope.Deployment}, nil
}

// reference is what a resource looks like once it exists: unknown until then.
// What it names, the resource it stands in depends on.
func reference(v *env, args []expr) (any, *Error) {
	var known []any
	for _, a := range args {
		got, p := v.run(a)
		if p != nil {
			return nil, p
		}
		if _, ok := got.(unknown); ok {
			return got, nil
		}
		known = append(known, got)
	}
	s, p := texts(known)
	if p != nil {
		return nil, p
	}
	if v.refers != nil {
		*v.refers = append(*v.refers, s[0])
	}
	if v.reference == nil {
		return unknown{}, nil
	}
	id := s[0]
	if found := v.directory.find(id); len(found) == 1 {
		id = found[0].ID
	}
	full := len(s) == 3 && strings.EqualFold(s[2], "full")
	got, err := v.reference(id, full)
	if err != nil {
		return nil, v.fail("reference('%s'): %v", short(s[0]), err)
	}
	return got, nil
}
