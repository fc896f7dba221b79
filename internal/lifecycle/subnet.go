package lifecycle

import (
	"context"
	"fmt"
	"net/netip"
)

// SubnetRange is the first IPv4 range of a subnet that is there.
func SubnetRange(ctx context.Context, in Cloud, id string) (string, error) {
	var s struct {
		Properties struct {
			One string   `json:"addressPrefix"`
			All []string `json:"addressPrefixes"`
		} `json:"properties"`
	}
	found, err := in.Get(ctx, id, versionOf["microsoft.network"], &s)
	if err != nil {
		return "", fmt.Errorf("network.subnetId: %w", err)
	}
	if !found {
		return "", fmt.Errorf("network.subnetId: there is no subnet %s: correct the id, or leave it out to have a network made", id)
	}
	for _, text := range append([]string{s.Properties.One}, s.Properties.All...) {
		if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Is4() {
			return text, nil
		}
	}
	return "", fmt.Errorf("network.subnetId: subnet %s has no IPv4 range: choose one that has", id)
}
