package azuresim

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Linked is a permission that a write needs at another resource, which its body
// or the model it changes refers to.
type Linked struct {
	Action string
	Scope  string // the resource's id
}

// links are the permissions at other resources that a write needs, each once,
// sorted. The compute provider checks the whole model again, whatever the write
// changes: a new capacity makes machines join the subnet too.
func (q *request) links() []Linked {
	if m := q.http.Method; m != http.MethodPut && m != http.MethodPatch || strings.HasSuffix(q.route.kind, " deployments") {
		return nil // what a template refers to is linked to its resources
	}
	var body map[string]any
	if json.Unmarshal(q.body, &body) != nil {
		body = nil // an empty or a broken body names nothing
	}
	found := map[Linked]bool{}
	follow(body, "", found)
	switch i, _ := q.store.machineAt(q.route, q.now); {
	case q.route.name != "":
		if i != nil && strings.HasPrefix(q.route.kind, q.http.Method+" "+machinesType) {
			follow(i.machineWire(q.now, false), "", found)
		}
	case q.route.set != "":
		if ss, p := q.store.scaleSetAt(q.route); p == nil {
			follow(merge(ss.model, body), "", found)
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b Linked) int {
		return strings.Compare(a.Action+a.Scope, b.Action+b.Scope)
	})
}

// linkedActions say what a reference needs: by the name of the property that holds it.
var linkedActions = map[string]string{
	"subnet":                                "Microsoft.Network/virtualNetworks/subnets/join/action",
	"networkSecurityGroup":                  "Microsoft.Network/networkSecurityGroups/join/action",
	"networkInterfaces":                     "Microsoft.Network/networkInterfaces/join/action",
	"publicIPAddress":                       "Microsoft.Network/publicIPAddresses/join/action",
	"publicIPPrefix":                        "Microsoft.Network/publicIPPrefixes/join/action",
	"applicationSecurityGroups":             "Microsoft.Network/applicationSecurityGroups/join/action",
	"loadBalancerBackendAddressPools":       "Microsoft.Network/loadBalancers/backendAddressPools/join/action",
	"loadBalancerInboundNatPools":           "Microsoft.Network/loadBalancers/inboundNatPools/join/action",
	"loadBalancerInboundNatRules":           "Microsoft.Network/loadBalancers/inboundNatRules/join/action",
	"applicationGatewayBackendAddressPools": "Microsoft.Network/applicationGateways/backendAddressPools/join/action",
	"healthProbe":                           "Microsoft.Network/loadBalancers/probes/join/action",
	"diskEncryptionSet":                     "Microsoft.Compute/diskEncryptionSets/read",
}

const assignIdentity = "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action"

// follow collects the references in a JSON value, which stands under a key.
func follow(v any, key string, found map[Linked]bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			follow(item, key, found)
		}
	case map[string]any:
		if id, _ := v["id"].(string); strings.HasPrefix(id, "/") {
			if action := linkedActions[key]; action != "" {
				found[Linked{action, id}] = true
			}
			if key == "imageReference" {
				found[Linked{imageAction(id), id}] = true
			}
		}
		for k, item := range v {
			if k == "userAssignedIdentities" {
				for id := range asMap(item) {
					found[Linked{assignIdentity, id}] = true
				}
				continue
			}
			follow(item, k, found)
		}
	}
}

// imageAction is the read of an image: a managed one, or a gallery's.
func imageAction(id string) string {
	switch lower := strings.ToLower(id); {
	case strings.Contains(lower, "/versions/"):
		return "Microsoft.Compute/galleries/images/versions/read"
	case strings.Contains(lower, "/galleries/"):
		return "Microsoft.Compute/galleries/images/read"
	}
	return "Microsoft.Compute/images/read"
}
