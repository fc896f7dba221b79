package azuresim

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// instanceDocument answers /metadata/instance and every path below it. All
// primitives are strings, and absent ones are empty.
func (q *request) instanceDocument(c computer, path []string) answer {
	var node any = c.document()
	for _, step := range path {
		if node = child(node, step); node == nil {
			return metadataFailed(http.StatusNotFound, "Not found", "")
		}
	}
	if !strings.EqualFold(q.query.Get("format"), "text") {
		if text, ok := node.(string); ok { // JSON is for trees only
			return metadataFailed(http.StatusBadRequest, "Bad request. The requested leaf "+strconv.Quote(text)+" has no JSON format: use format=text", "")
		}
		return answer{status: http.StatusOK, body: node}
	}
	return answer{status: http.StatusOK, body: []byte(listing(node))}.with("Content-Type", "text/plain; charset=utf-8")
}

// child is one step down a document; nil when there is nothing.
func child(node any, step string) any {
	switch node := node.(type) {
	case map[string]any:
		for k, v := range node {
			if strings.EqualFold(k, step) {
				return v
			}
		}
	case []any:
		if n, err := strconv.Atoi(step); err == nil && n >= 0 && n < len(node) {
			return node[n]
		}
	}
	return nil
}

// listing is the text format: a leaf's value, or the names below a node.
func listing(node any) string {
	var names []string
	switch node := node.(type) {
	case string:
		return node
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(node)) {
			if _, leaf := node[k].(string); !leaf {
				k += "/"
			}
			names = append(names, k)
		}
	case []any:
		for n := range node {
			names = append(names, fmt.Sprintf("%d/", n))
		}
	}
	return strings.Join(names, "\n")
}

func (c computer) document() map[string]any {
	tags := slices.Sorted(maps.Keys(c.tags))
	pairs, list := make([]string, 0, len(tags)), make([]any, 0, len(tags))
	for _, k := range tags {
		pairs = append(pairs, k+":"+c.tags[k])
		list = append(list, map[string]any{"name": k, "value": c.tags[k]})
	}
	compute := map[string]any{
		"azEnvironment":              "AzurePublicCloud",
		"computerName":               c.computerName,
		"evictionPolicy":             c.evictionPolicy,
		"extendedLocation":           map[string]any{"name": "", "type": ""},
		"isHostCompatibilityLayerVm": "false",
		"location":                   c.location,
		"name":                       c.name,
		"offer":                      "",
		"osProfile":                  map[string]any{"adminUsername": "azureuser", "computerName": c.computerName, "disablePasswordAuthentication": "true"},
		"osType":                     "Linux",
		"placementGroupId":           "",
		"platformFaultDomain":        "0",
		"platformUpdateDomain":       "0",
		"priority":                   c.priority,
		"provider":                   "Microsoft.Compute",
		"publisher":                  "",
		"resourceGroupName":          c.group,
		"resourceId":                 c.id,
		"sku":                        "",
		"storageProfile":             map[string]any{"dataDisks": []any{}, "resourceDisk": map[string]any{"size": "0"}},
		"subscriptionId":             c.subscription,
		"tags":                       strings.Join(pairs, ";"),
		"tagsList":                   list,
		"userData":                   "",
		"version":                    "",
		"virtualMachineScaleSet":     map[string]any{"id": c.setID},
		"vmId":                       c.vmID,
		"vmScaleSetName":             c.set,
		"vmSize":                     c.size,
		"zone":                       c.zone,
	}
	network := map[string]any{"interface": []any{map[string]any{
		"ipv4": map[string]any{
			"ipAddress": []any{map[string]any{"privateIpAddress": c.ip, "publicIpAddress": ""}},
			"subnet":    []any{map[string]any{"address": "10.0.0.0", "prefix": "8"}},
		},
		"ipv6":       map[string]any{"ipAddress": []any{}},
		"macAddress": mac(c.ip),
	}}}
	return map[string]any{"compute": compute, "network": network}
}

// mac is a hardware address that goes with a private address.
func mac(ip string) string {
	var b [4]byte
	_, _ = fmt.Sscanf(ip, "%d.%d.%d.%d", &b[0], &b[1], &b[2], &b[3]) // addresses are ours
	return fmt.Sprintf("000D%02X%02X%02X%02X", b[0], b[1], b[2], b[3])
}
