package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/render"
)

// checkNames looks whether a name of the template is that of something without the cluster's tag: a deployment would write over it, since to Azure it is
// the same resource. So it is with the deployment itself, and with the server's address in a subnet that is given. Names with a hash of the group in them
// cannot be anybody else's: a group that has another cluster is refused.
func (c checker) checkNames(ctx context.Context, resources []wanted, say func(Finding)) error {
	wrong := 0
	refuse := func(of Resource, what string, tags map[string]string, remedy string) {
		wrong++
		owner := "was not made by this file"
		if other := tags[render.ClusterTag]; other != "" {
			owner = "is of cluster " + other
		}
		say(Finding{of: of, Check: "names", Wrong: what + " is there already and " + owner, Remedy: remedy})
	}
	held := map[string]map[string]listed{} // by group, what is there by kind and name
	for _, w := range resources {
		if strings.HasPrefix(w.Name, "[") || strings.Count(w.Kind, "/") > 1 {
			continue
		}
		group := w.group
		if group == "" {
			group = c.File.ResourceGroup
		}
		if held[group] == nil {
			all, err := c.listingOf(ctx, group)
			if err != nil {
				return err
			}
			held[group] = map[string]listed{}
			for _, r := range all {
				held[group][nameKey(Resource{r.ID}.Kind(), Resource{r.ID}.Name())] = r
			}
		}
		if r, there := held[group][nameKey(w.Kind, w.Name)]; there && !c.ours(r) {
			refuse(Resource{r.ID}, Resource{r.ID}.String()+" in resource group "+group, r.Tags,
				"choose another name; only if up may overwrite it, tag it "+render.ClusterTag+"="+c.File.Name)
		}
	}
	if err := c.checkAddress(ctx, refuse); err != nil {
		return err
	}
	var r record
	if found, err := c.Cloud.Get(ctx, c.deployment(), deploymentsVersion, &r); err != nil {
		return err
	} else if found && !r.ours() {
		refuse(Resource{c.deployment()}, "deployment "+c.File.Name+" in resource group "+c.File.ResourceGroup, nil, "choose another name for the cluster")
	}
	all, err := c.listingOf(ctx, c.File.ResourceGroup)
	if err != nil {
		return err
	}
	if other := c.neighbor(all); other != "" {
		wrong++
		say(Finding{
			Check: "names", Wrong: "resource group " + c.File.ResourceGroup + " has cluster " + other + " already",
			Remedy: "give resourceGroup another one: two clusters in a group share a role, and may delete each other's machines",
		})
	}
	if wrong == 0 {
		say(Finding{Check: "names"})
	}
	return nil
}

// neighbor is the name of another cluster that has machines or networks among the resources of a group; "" for none. Disks and shares
// outlive clusters.
func (c checker) neighbor(all []listed) string {
	for _, r := range all {
		kind := (Resource{r.ID}).Kind()
		if strings.EqualFold(kind, kindDisk) || strings.EqualFold(kind, "Microsoft.Storage/storageAccounts") {
			continue
		}
		if other := r.Tags[render.ClusterTag]; other != "" && other != c.File.Name {
			return other
		}
	}
	return ""
}

func nameKey(kind, name string) string { return strings.ToLower(kind + " " + name) }

// checkAddress looks whether another interface has the server's address in the given subnet: of the cluster's group, and of others as far as
// they may be read.
func (c checker) checkAddress(ctx context.Context, refuse func(of Resource, what string, tags map[string]string, remedy string)) error {
	if c.File.Network.SubnetID == "" {
		return nil
	}
	const interfaces = "/providers/Microsoft.Network/networkInterfaces"
	group := c.group(c.File.ResourceGroup)
	whole, _, _ := strings.Cut(c.File.Network.SubnetID, "/resourceGroups/")
	all, err := c.Cloud.List(ctx, whole+interfaces, networkVersion, nil)
	if cloud.KindOf(err) == cloud.Unauthorized {
		all, err = c.listOrNone(ctx, group, group+interfaces, networkVersion)
	}
	if err != nil {
		return err
	}
	for _, raw := range all {
		nic, err := readThing(raw)
		if err != nil || nic.tags[render.ClusterTag] == c.File.Name && nic.in(group) {
			continue
		}
		for _, ip := range objects(nic.body, "properties.ipConfigurations") {
			if strings.EqualFold(text(ip, "properties.subnet.id"), c.File.Network.SubnetID) && text(ip, "properties.privateIPAddress") == c.File.Server.Address {
				refuse(nic.Resource, fmt.Sprintf("server.address %s of %s", c.File.Server.Address, nic), nic.tags, "give server.address another one")
			}
		}
	}
	return nil
}

// listingOf are all resources of a group; none where there is no such group.
func (c *Cluster) listingOf(ctx context.Context, group string) ([]listed, error) {
	raw, err := checker{c}.listOrNone(ctx, c.group(group), c.group(group)+"/resources", groupsVersion)
	all := make([]listed, len(raw))
	for i, one := range raw {
		if err := json.Unmarshal(one, &all[i]); err != nil {
			return nil, fmt.Errorf("read the resources of group %s: %w", group, err)
		}
	}
	return all, err
}

// listOrNone lists a collection in a group that may not be there.
func (c checker) listOrNone(ctx context.Context, group, path, version string) ([]json.RawMessage, error) {
	found, err := c.Cloud.Get(ctx, group, groupsVersion, &struct{}{})
	if err != nil || !found {
		return nil, err
	}
	return c.Cloud.List(ctx, path, version, nil)
}
