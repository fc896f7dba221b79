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
	Verb   string   // create, change, none; unknown where Azure does not say
	Fields []string // that change, each with both values
}

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
	slices.SortFunc(all, func(a, b Change) int { return strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)) })
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
