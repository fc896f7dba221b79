package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/render"
)

// Change is what the file would change of one resource.
type Change struct {
	Resource
	Verb   string   // create, change; unknown where Azure does not say; stays: no deployment changes it; refused: a deployment fails with it
	Fields []string // that change, each with both values; of what stays or is refused, why
	Gone   bool     // the file has it no more, and up leaves it

	role string // of a right
}

func (ch Change) String() string { return says(ch.Resource, ch.role) }

// Changes says whether up would write the resource.
func (ch Change) Changes() bool {
	return ch.Verb == verbCreate || ch.Verb == verbChange || ch.Verb == verbUnknown && !strings.EqualFold(ch.Kind(), "Microsoft.Resources/deployments")
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
	all, err := comparison{c}.wrong(ctx)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{} // by others: up refuses, and writes nothing
	for _, one := range all {
		taken[strings.ToLower(one.ID)] = true
	}
	more, m, err := comparison{c}.differences(ctx)
	if err != nil {
		return nil, err
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
	for _, ch := range said.Properties.Changes {
		one := Change{Resource: Resource{ch.ID}}
		if one.isRight() {
			one.role = ch.After.role()
		}
		switch ch.Type {
		case "Create":
			one.Verb = verbCreate
		case "Modify":
			one.Verb, one.Fields = verbChange, fields("", ch.Delta)
			for n, f := range one.Fields {
				if strings.HasPrefix(f, "tags."+render.ModelTag+":") {
					one.Fields[n] = comparison{c}.toldAtBoot(one.Resource, m)
				}
			}
		case "NoChange", "Ignore":
			continue
		default: // Deploy, Unsupported: Azure deploys it and does not say what changes
			one.Verb = verbUnknown
		}
		nested := strings.EqualFold(one.Kind(), "Microsoft.Resources/deployments") // what-if looks into none that waits for the server's identity
		if !taken[strings.ToLower(ch.ID)] && !(nested && one.Verb == verbUnknown) {
			all = append(all, one)
		}
	}
	staying, err := comparison{c}.staying(ctx, m)
	if err != nil {
		return nil, err
	}
	for n, d := range append(more, staying...) {
		one := Change{Resource: d.of, Verb: d.verb, Gone: n >= len(more) && d.verb == verbStays}
		for _, line := range []string{d.says, d.remedy} {
			if line != "" {
				one.Fields = append(one.Fields, line)
			}
		}
		all = append(all, one)
	}
	return gathered(all), nil
}

// gathered has what is said of a resource with one verb in one place.
func gathered(all []Change) (out []Change) {
	slices.SortStableFunc(all, func(a, b Change) int {
		return cmp.Or(strings.Compare(strings.ToLower(a.ID), strings.ToLower(b.ID)), strings.Compare(a.Verb, b.Verb))
	})
	for _, one := range all {
		if n := len(out) - 1; n >= 0 && strings.EqualFold(out[n].ID, one.ID) && out[n].Verb == one.Verb {
			out[n].Fields = append(out[n].Fields, one.Fields...)
			continue
		}
		out = append(out, one)
	}
	return out
}

// wrong is what up refuses before it asks Azure: names that others have, and another region.
func (c comparison) wrong(ctx context.Context) (all []Change, err error) {
	resources, err := checker(c).wanted()
	if err != nil {
		return nil, err
	}
	say := func(f Finding) {
		if f.Wrong != "" {
			if f.of.ID == "" {
				f.of.ID = c.group(c.File.ResourceGroup)
			}
			all = append(all, Change{Resource: f.of, Verb: verbRefused, Fields: []string{f.Wrong, f.Remedy}})
		}
	}
	for _, check := range []func(context.Context, []wanted, func(Finding)) error{checker(c).checkNames, checker(c).checkPlace} {
		if err := check(ctx, resources, say); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// staying is what the file has no more and no deployment deletes, and an up that has not ended well.
func (c comparison) staying(ctx context.Context, m memory) (all []difference, err error) {
	if m.state != "" && m.state != "Succeeded" {
		says := "the last up is " + m.state + ": fields that it changed are not known; run sluice cluster up"
		all = append(all, difference{of: Resource{c.deployment()}, verb: verbUnknown, says: says})
	}
	resources, err := c.listing(ctx)
	if err != nil {
		return nil, err
	}
	wants, err := checker(c).wanted()
	if err != nil {
		return nil, err
	}
	made := map[string]bool{}
	for _, w := range wants {
		made[nameKey(w.Kind, w.Name)] = true
	}
	for _, r := range resources {
		about := Resource{r.ID}
		name, is := strings.CutPrefix(about.Name(), c.File.Name+"-")
		switch {
		case !c.ours(r) || made[nameKey(about.Kind(), about.Name())]:
		case is && strings.EqualFold(about.Kind(), "Microsoft.Compute/virtualMachineScaleSets"):
			says := "the file has no pool " + name + ": sluice cluster pool remove " + name + " --yes empties and deletes it"
			all = append(all, difference{of: about, verb: verbStays, says: says})
		case slices.Contains([]string{c.File.Name, c.File.ServerName(), c.File.Name + "-out"}, about.Name()) &&
			slices.Contains(unasked, strings.ToLower(about.Kind())):
			says := "the file asks for it no more: up leaves it, and sluice cluster down deletes it"
			all = append(all, difference{of: about, verb: verbStays, says: says})
		}
	}
	return all, nil
}

// unasked are kinds of which a changed file may ask for none any more.
var unasked = []string{
	"microsoft.network/publicipaddresses", "microsoft.network/natgateways", "microsoft.network/virtualnetworks",
	"microsoft.managedidentity/userassignedidentities",
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
