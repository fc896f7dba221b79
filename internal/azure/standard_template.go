package azure

import (
	"fmt"
	"slices"
	"strings"
)

// The types of resources that a replayed template must not write again: others have put rules and routes into them meanwhile.
const (
	securityGroups = "Microsoft.Network/networkSecurityGroups"
	routeTables    = "Microsoft.Network/routeTables"
)

// masterName is what templates of self-managed clusters call their control-plane machines by.
const masterName = "variables('masterVMNamePrefix')"

// replay makes of a deployment's template and parameters those that add so many machines to a pool, numbered from first on, and nothing
// else. Its one security group and route table are left out, with what depends on them; control-plane machines keep their size, image and
// start data, which Azure does not let anybody change, and their extensions are not run again; the other pools are asked for no machine,
// so that one that sluice has removed does not come back. Both arguments are changed.
func replay(template, parameters map[string]any, pool string, first, add int) (_, _ map[string]any, err error) {
	declared, _ := template["parameters"].(map[string]any)
	for _, suffix := range []string{"Count", "Offset"} {
		if _, ok := declared[pool+suffix]; !ok {
			return nil, nil, fmt.Errorf("its template has no parameter %s%s: name the pool as the template does", pool, suffix)
		}
	}
	if template["resources"], err = trim(template["resources"]); err != nil {
		return nil, nil, err
	}
	for name := range parameters {
		if _, ok := declared[name]; !ok {
			delete(parameters, name) // Azure refuses what the template does not declare
		}
	}
	for name := range declared {
		other, ok := strings.CutSuffix(name, "Offset")
		if _, counted := declared[other+"Count"]; !ok || !counted || other == pool || other == "master" {
			continue
		}
		if count := valueOf(parameters[other+"Count"], declared[other+"Count"]); count != nil {
			parameters[name] = map[string]any{"value": count}
		}
	}
	parameters[pool+"Count"] = map[string]any{"value": first + add}
	parameters[pool+"Offset"] = map[string]any{"value": first}
	return template, parameters, nil
}

// valueOf is a parameter's value, or else its default; nil when it has neither.
func valueOf(given, declared any) any {
	if g, ok := given.(map[string]any); ok && g["value"] != nil {
		return g["value"]
	}
	d, _ := declared.(map[string]any)
	return d["defaultValue"]
}

// trim leaves out the resources that must not be written again.
func trim(resources any) ([]any, error) {
	list, _ := resources.([]any)
	count := map[string]int{}
	var kept []any
	for _, item := range list {
		r, ok := item.(map[string]any)
		if !ok {
			continue
		}
		kind, _ := r["type"].(string)
		name, _ := r["name"].(string)
		master := strings.Contains(name, masterName)
		switch {
		case strings.EqualFold(kind, securityGroups):
			count[securityGroups]++
			continue
		case strings.EqualFold(kind, routeTables):
			count[routeTables]++
			continue
		case master && strings.EqualFold(kind, "Microsoft.Compute/virtualMachines/extensions"):
			continue
		case master && strings.EqualFold(kind, "Microsoft.Compute/virtualMachines"):
			p, _ := r["properties"].(map[string]any)
			for _, field := range [][2]string{{"hardwareProfile", "vmSize"}, {"osProfile", "customData"}, {"storageProfile", "imageReference"}} {
				if part, ok := p[field[0]].(map[string]any); ok {
					delete(part, field[1])
				}
			}
		}
		if deps, ok := r["dependsOn"].([]any); ok {
			r["dependsOn"] = slices.DeleteFunc(deps, dropped)
		}
		kept = append(kept, r)
	}
	for kind, n := range count {
		if n > 1 {
			return nil, fmt.Errorf("its template has %d resources of type %s, and which of them a new machine needs can't be told: leave one", n, kind)
		}
	}
	return kept, nil
}

// dropped says whether a dependency is on what has been left out.
func dropped(dependency any) bool {
	text, _ := dependency.(string)
	lower := strings.ToLower(text)
	return strings.Contains(lower, strings.ToLower(securityGroups)) || strings.Contains(lower, strings.ToLower(routeTables)) ||
		strings.Contains(lower, "extensions") && strings.Contains(text, masterName)
}
