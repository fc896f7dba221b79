package lifecycle

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"sluice.dev/sluice/cloud"
)

// What a resource that stays may keep of the cluster's: Azure refuses to delete it as long as it is in use.
//
//	what stays                                  keeps
//	an interface, a scale set, a load balancer  the network of its subnet, its security group, its address
//	a network                                   security group, route table and NAT gateway of its subnets
//	a NAT gateway                               its addresses
const (
	kindNetwork  = "microsoft.network/virtualnetworks"
	kindGateway  = "microsoft.network/natgateways"
	kindSecurity = "microsoft.network/networksecuritygroups"
	kindRoutes   = "microsoft.network/routetables"
	kindAddress  = "microsoft.network/publicipaddresses"
)

var keepsOf = map[string][]string{
	"microsoft.network/networkinterfaces":       {kindNetwork, kindSecurity, kindAddress},
	"microsoft.network/loadbalancers":           {kindNetwork, kindAddress},
	"microsoft.network/privateendpoints":        {kindNetwork},
	"microsoft.compute/virtualmachinescalesets": {kindNetwork, kindSecurity},
	kindNetwork: {kindSecurity, kindRoutes, kindGateway},
	kindGateway: {kindAddress},
}

// leaveUsed takes from what goes what others use, by what they say of themselves, and adds it to what stays.
func (c *Cluster) leaveUsed(ctx context.Context, d *Demolition) error {
	d.Used = map[Resource]string{}
	for _, r := range slices.Clone(d.Goes) {
		if by, err := usedFromAfar(ctx, c.Cloud, c.group(c.File.ResourceGroup), r); err != nil {
			return err
		} else if by != "" {
			d.leave(r, by)
		}
	}
	for n := 0; n < len(d.Stays); n++ {
		user := d.Stays[n]
		kinds := keepsOf[strings.ToLower(user.Kind())]
		if len(kinds) == 0 {
			continue
		}
		var raw json.RawMessage
		found, err := c.Cloud.Get(ctx, user.ID, user.version(), &raw)
		if cloud.KindOf(err) == cloud.Unauthorized || err == nil && !found {
			continue
		}
		if err != nil {
			return err
		}
		said := strings.ToLower(string(raw))
		for _, r := range slices.Clone(d.Goes) {
			id := `"` + strings.ToLower(r.ID)
			if slices.Contains(kinds, strings.ToLower(r.Kind())) && (strings.Contains(said, id+`"`) || strings.Contains(said, id+"/")) {
				d.leave(r, user.String())
			}
		}
	}
	return nil
}

// leave has a resource stay for what uses it.
func (d *Demolition) leave(r Resource, by string) {
	if _, known := d.Used[r]; known {
		return
	}
	d.Used[r] = by
	d.Stays = append(d.Stays, r)
	d.Goes = slices.DeleteFunc(d.Goes, func(other Resource) bool { return other == r })
}

// usedFromAfar is what uses a subnet of a network from another resource group than its own, whose resources are not listed; "" for nothing.
func usedFromAfar(ctx context.Context, from Cloud, own string, network Resource) (string, error) {
	if !strings.EqualFold(network.Kind(), kindNetwork) {
		return "", nil
	}
	var body map[string]any
	if _, err := from.Get(ctx, network.ID, network.version(), &body); err != nil {
		return "", err
	}
	for _, subnet := range objects(body, "properties.subnets") {
		for _, one := range objects(subnet, "properties.ipConfigurations") {
			user, _, _ := strings.Cut(text(one, "id"), "/ipConfigurations/")
			if by := (Resource{user}); by.Group() != "" && !by.in(own) {
				return by.String() + " in resource group " + by.Group(), nil
			}
		}
	}
	return "", nil
}
