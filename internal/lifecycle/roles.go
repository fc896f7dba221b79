package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/render"
)

// assignments are the role assignments that the deployment has made, in every resource group: by its operations, those of the deployments
// inside of it, and by whom they are given to. Operations are there for a deployment that failed as well; Azure forgets those of an earlier
// one.
func (c *Cluster) assignments(ctx context.Context) (all []Resource, err error) {
	seen := map[string]bool{}
	if all, err = c.given(ctx); err != nil {
		return nil, err
	}
	for _, r := range all {
		seen[strings.ToLower(r.ID)] = true
	}
	if _, found, err := c.recorded(ctx); err != nil || !found {
		return all, err
	}
	at := []string{c.deployment()}
	for n := 0; n < len(at); n++ {
		steps, err := c.Cloud.List(ctx, at[n]+"/operations", deploymentsVersion, nil)
		switch {
		case n > 0 && cloud.KindOf(err) == cloud.Unauthorized:
			continue // another's group, which may not be read any more
		case err != nil:
			return nil, err
		}
		for _, raw := range steps {
			var s step
			if json.Unmarshal(raw, &s) != nil || s.Properties.Target == nil || seen[strings.ToLower(s.Properties.Target.ID)] {
				continue
			}
			r := Resource{s.Properties.Target.ID}
			seen[strings.ToLower(r.ID)] = true
			switch strings.ToLower(r.Kind()) {
			case "microsoft.authorization/roleassignments":
				all = append(all, r)
			case "microsoft.resources/deployments":
				switch found, err := c.Cloud.Get(ctx, r.ID, deploymentsVersion, &record{}); {
				case cloud.KindOf(err) == cloud.Unauthorized:
				case err != nil:
					return nil, err
				case found:
					at = append(at, r.ID)
				}
			}
		}
	}
	return all, nil
}

// given are the role assignments of the server's identity that are described as the template describes its own. Of an identity that the
// file names, which others may have as well, they are those in the cluster's group.
func (c *Cluster) given(ctx context.Context) (all []Resource, err error) {
	who, _, err := c.principal(ctx)
	if err != nil || who == "" {
		return nil, err
	}
	raw, err := c.Cloud.List(ctx, c.subscription()+"/providers/Microsoft.Authorization/roleAssignments", rightsVersion, url.Values{
		"$filter": {"principalId eq '" + who + "'"},
	})
	if cloud.KindOf(err) == cloud.Unauthorized {
		return nil, nil // those on record have to do
	}
	for _, one := range raw {
		var a right
		var r Resource
		if err := errors.Join(json.Unmarshal(one, &a), json.Unmarshal(one, &r)); err != nil {
			return nil, fmt.Errorf("read the role assignments of identity %s: %w", who, err)
		}
		about, near := a.Properties.About, c.File.Identity.ID == "" || r.in(c.group(c.File.ResourceGroup))
		described := about == render.RoleOfSluice || about != "" && about == render.RoleName(a.Properties.Definition)
		if described && near && strings.EqualFold(a.Properties.Principal, who) {
			all = append(all, r)
		}
	}
	return all, err
}

// ownRole is the template's role, as its assignment names it; none for another assignment. Its path is in the cluster's group, where it may
// be deleted.
func (c *Cluster) ownRole(a *right) Resource {
	if a.Properties.About != render.RoleOfSluice || a.Properties.Definition == "" {
		return Resource{}
	}
	return Resource{c.group(c.File.ResourceGroup) + "/providers/" + kindRoleDefinition + "/" + Resource{a.Properties.Definition}.Name()}
}

// nested are the deployments inside of one, by its operations.
func (c *Cluster) nested(ctx context.Context, deployment string) (all []string, err error) {
	steps, err := c.Cloud.List(ctx, deployment+"/operations", deploymentsVersion, nil)
	if cloud.KindOf(err) == cloud.Unauthorized {
		return nil, nil // another's group, which may not be read any more
	}
	for _, raw := range steps {
		var s step
		if json.Unmarshal(raw, &s) != nil || s.Properties.Target == nil {
			continue
		}
		if r := (Resource{s.Properties.Target.ID}); strings.EqualFold(r.Kind(), "Microsoft.Resources/deployments") {
			all = append(all, r.ID)
		}
	}
	return all, err
}

// right is a role assignment or definition as Azure has it. Its own name is a GUID, which tells nobody anything.
type right struct {
	Properties struct {
		Principal  string `json:"principalId"`
		Definition string `json:"roleDefinitionId"`
		About      string `json:"description"` // of an assignment: the role, as the template says it
		Name       string `json:"roleName"`    // of a definition
	} `json:"properties"`
}

// role is the name of the role; "" where it is not known.
func (r *right) role() string {
	return cmp.Or(r.Properties.Name, render.RoleName(r.Properties.Definition), r.Properties.About)
}

// says is a resource with the name of its role, where it has one.
func says(r Resource, role string) string {
	if role == "" {
		return r.String()
	}
	return r.String() + " (" + role + ")"
}

// named is the same of what was just made. Where Azure does not answer, its id has to do.
func (c *Cluster) named(ctx context.Context, r Resource) string {
	if !r.isRight() {
		return r.String()
	}
	var of right
	_, _ = c.Cloud.Get(ctx, r.ID, rightsVersion, &of)
	return says(r, of.role())
}

const kindRoleDefinition = "Microsoft.Authorization/roleDefinitions"

// same says whether both are one role definition, whose path may begin at any scope.
func (r Resource) same(other Resource) bool {
	return strings.EqualFold(r.Kind(), other.Kind()) && strings.EqualFold(r.Name(), other.Name())
}

func (r Resource) isRight() bool {
	return strings.HasPrefix(strings.ToLower(r.Kind()), "microsoft.authorization/")
}

// principal is who the server is, or will be; "" where that is not known before it is made. Not settled means that the server that is there is somebody
// else than the file says: its rights are left as they are.
func (c *Cluster) principal(ctx context.Context) (id string, settled bool, err error) {
	var server struct {
		Identity struct {
			Principal string `json:"principalId"`
		} `json:"identity"`
	}
	there, err := c.Cloud.Get(ctx, c.serverID(), computeVersion, &server)
	if err != nil {
		return "", false, err
	}
	if c.File.Identity.Kind == clusterfile.SystemAssigned {
		return server.Identity.Principal, !there || server.Identity.Principal != "", nil
	}
	var own struct {
		Properties struct {
			Principal string `json:"principalId"`
		} `json:"properties"`
	}
	at := c.File.Identity.ID
	if at == "" {
		at = c.group(c.File.ResourceGroup) + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/" + c.File.ServerName()
	}
	_, err = c.Cloud.Get(ctx, at, Resource{at}.version(), &own)
	return own.Properties.Principal, !there, err
}

// takeBack deletes the role assignments of a server that is there no more: its identity went with it, and Azure refuses to give an assignment of the same
// name to the next one.
func (c *Cluster) takeBack(ctx context.Context) error {
	all, err := c.assignments(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	now, settled, err := c.principal(ctx)
	if err != nil || !settled {
		return err
	}
	for _, r := range all {
		var a right
		if _, err := c.Cloud.Get(ctx, r.ID, rightsVersion, &a); err != nil {
			return err
		}
		of, what := a.Properties.Principal, says(r, a.role())
		if of == "" || strings.EqualFold(of, now) { // "": it is not there
			continue
		}
		if err := c.Cloud.Delete(ctx, r.ID, r.version()); err != nil {
			return fmt.Errorf("%s of identity %s, which is the server's no more, is not deleted: %w", what, of, err)
		}
		c.Say(fmt.Sprintf("%s of identity %s, which is the server's no more, is deleted", what, of))
	}
	return nil
}
