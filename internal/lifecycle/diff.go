package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Change is what the file would change of one resource.
type Change struct {
	Resource
	Verb   string   // create, change; unknown where Azure does not say; stays: no deployment changes it; refused: a deployment fails with it
	Fields []string // that change, each with both values; of what stays or is refused, why

	role string // of a right
}

func (ch Change) String() string { return says(ch.Resource, ch.role) }

// Diff asks Azure what a deployment of the file would change now. Nothing is written.
func (c *Cluster) Diff(ctx context.Context) ([]Change, error) {
	now, err := c.look(ctx)
	if err != nil {
		return nil, err
	}
	if !now.group {
		return nil, fmt.Errorf("resource group %s is not there: \"sluice cluster up\" makes it", c.File.ResourceGroup)
	}
	body, err := c.body(parameters(orZero(now.fingerprint), "", now.missing))
	if err != nil {
		return nil, err
	}
	var said struct {
		Properties struct {
			Changes []struct {
				ID    string     `json:"resourceId"`
				Type  string     `json:"changeType"`
				After right      `json:"after"`
				Delta []property `json:"delta"`
			} `json:"changes"`
		} `json:"properties"`
		Error *problem `json:"error"`
	}
	if err := c.Cloud.Post(ctx, c.deployment()+"/whatIf", deploymentsVersion, body, &said); err != nil {
		return nil, err
	}
	if said.Error != nil {
		return nil, said.Error.leaf()
	}
	var all []Change
	for _, ch := range said.Properties.Changes {
		one := Change{Resource: Resource{ch.ID}}
		if one.isRight() {
			one.role = ch.After.role()
		}
		switch ch.Type {
		case "Create":
			one.Verb = "create"
		case "Modify":
			one.Verb, one.Fields = "change", fields("", ch.Delta)
		case "NoChange", "Ignore":
			continue
		default: // Deploy, Unsupported: Azure deploys it and does not say what changes
			one.Verb = "unknown"
		}
		all = append(all, one)
	}
	more, err := c.staying(ctx)
	if err != nil {
		return nil, err
	}
	all = append(all, more...)
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)) })
	return all, nil
}

// staying is what differs and no deployment changes: fields of the server, and scale sets of pools that the file has not.
func (c *Cluster) staying(ctx context.Context) (all []Change, err error) {
	resources, err := c.listing(ctx)
	if err != nil {
		return nil, err
	}
	pools := map[string]bool{}
	for i := range c.File.Pools {
		pools[strings.ToLower(c.File.ScaleSet(&c.File.Pools[i]))] = true
	}
	for _, r := range resources {
		about := Resource{r.ID}
		if !c.ours(r) {
			continue
		}
		if name, is := strings.CutPrefix(about.Name(), c.File.Name+"-"); is && !pools[strings.ToLower(about.Name())] &&
			strings.EqualFold(about.Kind(), "Microsoft.Compute/virtualMachineScaleSets") {
			why := "the file has no pool " + name + ": sluice cluster pool remove " + name + " --yes empties and deletes it"
			all = append(all, Change{Resource: about, Verb: "stays", Fields: []string{why}})
		}
	}
	server, err := c.fixedFields(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range server {
		one := Change{Resource: f.of, Verb: "stays", Fields: []string{f.says}}
		if f.remedy != "" {
			one.Verb, one.Fields = "refused", append(one.Fields, f.remedy)
		}
		all = append(all, one)
	}
	return all, nil
}

// property is a changed property as what-if nests it.
type property struct {
	Path     string     `json:"path"`
	Type     string     `json:"propertyChangeType"`
	Before   any        `json:"before"`
	After    any        `json:"after"`
	Children []property `json:"children"`
}

// fields are the changed properties below a path, each in one line.
func fields(below string, all []property) (out []string) {
	for _, p := range all {
		path := strings.TrimPrefix(below+"."+p.Path, ".")
		if len(p.Children) > 0 {
			out = append(out, fields(path, p.Children)...)
			continue
		}
		if p.Type == "NoEffect" {
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s -> %s", path, short(p.Before), short(p.After)))
	}
	return out
}

// mostShown is how much of a value is shown.
const mostShown = 60

func short(v any) string {
	if v == nil {
		return "nothing"
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	if text := []rune(string(raw)); len(text) > mostShown {
		return string(text[:mostShown]) + "…"
	}
	return string(raw)
}

// orZero is the fingerprint, or the one that stands for none.
func orZero(fingerprint string) string {
	if fingerprint == "" {
		return strings.Repeat("0", 64)
	}
	return fingerprint
}
