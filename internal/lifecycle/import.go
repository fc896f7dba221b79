package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/render"
)

// Import reads a resource group and returns the cluster file of the newest deployment in it that came from one. Azure keeps the last 800 deployments
// of a group. What was changed by hand since stands in [Cluster.Diff].
func Import(ctx context.Context, cloud Cloud, group string) (string, error) {
	at := "/subscriptions/" + url.PathEscape(cloud.Subscription()) + "/resourceGroups/" + url.PathEscape(group)
	if found, err := cloud.Get(ctx, at, groupsVersion, &struct{}{}); err != nil {
		return "", err
	} else if !found {
		return "", fmt.Errorf("resource group %s is not there: name the group of a cluster", group)
	}
	at += "/providers/Microsoft.Resources/deployments"
	raw, err := cloud.List(ctx, at, deploymentsVersion, nil)
	if err != nil {
		return "", err
	}
	type named struct {
		Name       string `json:"name"`
		Properties struct {
			Time       string                     `json:"timestamp"`
			Parameters map[string]json.RawMessage `json:"parameters"`
		} `json:"properties"`
	}
	var all []named
	for _, one := range raw {
		var d named
		if json.Unmarshal(one, &d) != nil {
			continue
		}
		if _, ours := d.Properties.Parameters[render.ParameterFingerprint]; ours {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(b.Properties.Time, a.Properties.Time) })
	for _, d := range all {
		var said struct {
			Template struct {
				Metadata map[string]any `json:"metadata"`
			} `json:"template"`
		}
		if err := cloud.Post(ctx, at+"/"+url.PathEscape(d.Name)+"/exportTemplate", deploymentsVersion, nil, &said); err != nil {
			return "", err
		}
		if text, ok := said.Template.Metadata[render.MetadataFile].(string); ok && text != "" {
			return text, nil
		}
	}
	return "", fmt.Errorf("resource group %s has no deployment of a cluster file: \"sluice cluster init\" writes a file to fill in", group)
}
