package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/clusterfile"
)

// SubnetRange is the first IPv4 range of a subnet that is there.
func SubnetRange(ctx context.Context, in Cloud, id string) (string, error) {
	all, found, err := subnetRanges(ctx, in, id)
	switch {
	case err != nil:
		return "", err
	case !found:
		return "", fmt.Errorf("network.subnetId: there is no subnet %s: correct the id, or leave it out to have a network made", id)
	case len(all) == 0:
		return "", fmt.Errorf("network.subnetId: subnet %s has no IPv4 range: choose one that has", id)
	}
	return all[0], nil
}

// subnetRanges are the IPv4 ranges of a subnet; false where there is no such subnet.
func subnetRanges(ctx context.Context, in Cloud, id string) (all []string, found bool, err error) {
	var s struct {
		Properties struct {
			One string   `json:"addressPrefix"`
			All []string `json:"addressPrefixes"`
		} `json:"properties"`
	}
	found, err = in.Get(ctx, id, versionOf["microsoft.network"], &s)
	if err != nil {
		return nil, false, fmt.Errorf("network.subnetId: %w", err)
	}
	for _, text := range append([]string{s.Properties.One}, s.Properties.All...) {
		if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Is4() {
			all = append(all, text)
		}
	}
	return all, found, nil
}

// checkSubnet looks whether the subnet that the file names is there, and has the range that the file says.
func (c checker) checkSubnet(ctx context.Context, _ []wanted, say func(Finding)) error {
	id := c.File.Network.SubnetID
	if id == "" {
		return nil
	}
	all, found, err := subnetRanges(ctx, c.Cloud, id)
	if err != nil {
		return err
	}
	f := Finding{Check: "subnet"}
	switch {
	case !found:
		f.Wrong, f.Remedy = "network.subnetId: there is no subnet "+id, "correct the id, or leave it out to have a network made"
	case len(all) == 0:
		f.Wrong, f.Remedy = "network.subnetId: subnet "+id+" has no IPv4 range", "choose one that has"
	case !slices.Contains(all, c.File.Network.Subnet):
		f.Wrong = fmt.Sprintf("network.subnet is %s, and the subnet of network.subnetId has %s", c.File.Network.Subnet, strings.Join(all, ", "))
		f.Remedy = "leave network.subnet out, or set it to " + all[0]
	}
	say(f)
	return nil
}

// checkRegion looks whether Azure has the file's region. Where it has not, nothing can be asked about sizes and quota there.
func (c checker) checkRegion(ctx context.Context, say func(Finding)) (there bool, err error) {
	raw, err := c.Cloud.List(ctx, c.subscription()+"/locations", subscriptionsVersion, nil)
	if cloud.KindOf(err) == cloud.Unauthorized {
		return true, nil // for all that is known: each later check says so where it is not
	}
	if err != nil {
		return false, err
	}
	var names []string
	for _, one := range raw {
		var l struct {
			Name string `json:"name"`
			Is   struct {
				Kind string `json:"regionType"`
			} `json:"metadata"`
		}
		if json.Unmarshal(one, &l) == nil && l.Is.Kind != "Logical" { // such as europe, in which nothing can be made
			names = append(names, l.Name)
		}
	}
	if slices.Contains(names, c.File.Region) {
		return true, nil
	}
	f := Finding{Check: "region", Wrong: "Azure has no region " + c.File.Region + " for this subscription"}
	f.Remedy = "az account list-locations --output table lists those that there are"
	if near := clusterfile.Nearest(c.File.Region, names); near != "" {
		f.Remedy = "did you mean " + near + "?"
	}
	say(f)
	return false, nil
}

// checkPlace looks whether what is there of the cluster is in the file's region: nothing moves, and a deployment would fail halfway.
func (c checker) checkPlace(ctx context.Context, resources []wanted, say func(Finding)) error {
	all, err := c.listingOf(ctx, c.File.ResourceGroup)
	if err != nil {
		return err
	}
	made := map[string]bool{}
	for _, w := range resources {
		made[nameKey(w.Kind, w.Name)] = true
	}
	for _, r := range all {
		about, at := Resource{r.ID}, strings.ToLower(strings.ReplaceAll(r.Location, " ", ""))
		if at == "" || at == "global" || at == c.File.Region || !c.ours(r) || !made[nameKey(about.Kind(), about.Name())] {
			continue
		}
		say(Finding{
			of: about, Check: "region", Wrong: fmt.Sprintf("%s is in %s, and the file says %s", about, at, c.File.Region),
			Remedy: "a cluster does not move: set region to " + at + ", or take another name for a new cluster",
		})
		return nil
	}
	say(Finding{Check: "region"})
	return nil
}
