package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Loses is what a demolition takes, for the question to a person: which cluster, where, how many machines, and whether its data goes.
func (c *Cluster) Loses(ctx context.Context, d *Demolition) string {
	machines := 0
	for _, r := range d.Goes {
		switch strings.ToLower(r.Kind()) {
		case "microsoft.compute/virtualmachines":
			if strings.EqualFold(r.ID, c.serverID()) { // those of flexible sets are counted with their set
				machines++
			}
		case "microsoft.compute/virtualmachinescalesets":
			var set struct {
				SKU struct {
					Capacity int `json:"capacity"`
				} `json:"sku"`
			}
			if found, err := c.Cloud.Get(ctx, r.ID, computeVersion, &set); err == nil && found {
				machines += set.SKU.Capacity
			}
		}
	}
	text := fmt.Sprintf("cluster %s in resource group %s of subscription %s: %d resources, %s",
		c.File.Name, c.File.ResourceGroup, c.Cloud.Subscription(), len(d.Goes), Machines(machines))
	if slices.ContainsFunc(d.Goes, func(r Resource) bool { return strings.EqualFold(r.Name(), c.File.ServerName()+"-data") }) {
		text += ", and the disk with the cluster's data"
	}
	return text
}
