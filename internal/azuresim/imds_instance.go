package azuresim

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// document answers /metadata/instance and every path below it. All
// primitives are strings, and absent ones are empty.
func (m metadataRequest) document(path []string) answer {
	var node any = m.from.document(m.request)
	for _, step := range path {
		if node = child(node, step); node == nil {
			return metadataFailed(http.StatusNotFound, "Not found", "")
		}
	}
	if !strings.EqualFold(m.query.Get("format"), "text") {
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

// profile is what the machine was made from: its scale set's profile, or its own
// properties.
func (c computer) profile() any {
	if c.instance.uniform() {
		return dig(c.instance.set.model, "properties", "virtualMachineProfile")
	}
	return c.instance.model["properties"]
}

// image reads the machine's image reference.
func (c computer) image(key string) string {
	return text(c.profile(), "storageProfile", "imageReference", key)
}

// storage is the storageProfile of the document: sizes are text, of the
// temporary disk in MB.
func (c computer) storage(q *request) map[string]any {
	image := map[string]any{}
	for _, k := range []string{"id", "offer", "publisher", "sku", "version"} {
		image[k] = c.image(k)
	}
	temporary := 0
	if k := q.store.skus.find(c.size); k != nil {
		temporary = k.ResourceDiskGB * 1024
	}
	data := []any{}
	disks := asList(dig(c.profile(), "storageProfile", "dataDisks"))
	disks = append(slices.Clone(disks), asList(c.instance.storageWire(nil)["dataDisks"])...)
	for _, d := range disks {
		data = append(data, map[string]any{
			"lun": leaf(d, "lun"), "name": leaf(d, "name"), "diskSizeGB": leaf(d, "diskSizeGB"),
			"caching": leaf(d, "caching"), "createOption": leaf(d, "createOption"),
			"managedDisk": map[string]any{"id": leaf(d, "managedDisk", "id"), "storageAccountType": leaf(d, "managedDisk", "storageAccountType")},
		})
	}
	disk := dig(c.profile(), "storageProfile", "osDisk")
	return map[string]any{
		"imageReference": image, "dataDisks": data, "resourceDisk": map[string]any{"size": strconv.Itoa(temporary)},
		"osDisk": map[string]any{
			"caching": leaf(disk, "caching"), "createOption": leaf(disk, "createOption"), "diskSizeGB": leaf(disk, "diskSizeGB"),
			"name": leaf(disk, "name"), "osType": "Linux",
			"managedDisk": map[string]any{"id": leaf(disk, "managedDisk", "id"), "storageAccountType": leaf(disk, "managedDisk", "storageAccountType")},
		},
	}
}

func asList(v any) []any {
	items, _ := v.([]any)
	return items
}

// leaf is a value of a model as the document shows it: text, absent ones empty.
func leaf(v any, path ...string) string {
	if v = dig(v, path...); v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// environments are the names of clouds in the document, by those that they have in
// their endpoints.
var environments = map[string]string{"AzureCloud": "AzurePublicCloud", "AzureUSGovernment": "AzureUSGovernmentCloud"}

func (c computer) document(q *request) map[string]any {
	tags := slices.Sorted(maps.Keys(c.tags))
	pairs, list := make([]string, 0, len(tags)), make([]any, 0, len(tags))
	for _, k := range tags {
		pairs = append(pairs, k+":"+c.tags[k])
		list = append(list, map[string]any{"name": k, "value": c.tags[k]})
	}
	placement, physical := "", ""
	if c.setID != "" {
		placement = guid(q.server.Seed, "placement group", strings.ToLower(c.setID))
	}
	if c.zone != "" {
		physical = c.location + "-az" + c.zone
	}
	compute := map[string]any{
		"additionalCapabilities":     map[string]any{"hibernationEnabled": "false"},
		"customData":                 "", // Azure has it here no more: user data is in its place
		"host":                       map[string]any{"id": ""},
		"hostGroup":                  map[string]any{"id": ""},
		"licenseType":                "",
		"plan":                       map[string]any{"name": "", "product": "", "publisher": ""},
		"publicKeys":                 c.publicKeys(),
		"azEnvironment":              either(environments[cloudName(q.server.CloudName)], cloudName(q.server.CloudName)),
		"computerName":               c.computerName,
		"evictionPolicy":             c.evictionPolicy,
		"extendedLocation":           map[string]any{"name": "", "type": ""},
		"isHostCompatibilityLayerVm": "false",
		"location":                   c.location,
		"name":                       c.name,
		"offer":                      c.image("offer"),
		"osProfile":                  map[string]any{"adminUsername": either(text(c.profile(), "osProfile", "adminUsername"), "azureuser"), "computerName": c.computerName, "disablePasswordAuthentication": strconv.FormatBool(c.keysOnly())},
		"osType":                     "Linux",
		"physicalZone":               physical,
		"placementGroupId":           placement,
		"platformFaultDomain":        strconv.Itoa(c.instance.placement.faultDomain),
		"platformUpdateDomain":       "0",
		"priority":                   c.priority,
		"provider":                   "Microsoft.Compute",
		"publisher":                  c.image("publisher"),
		"resourceGroupName":          c.group,
		"resourceId":                 c.id,
		"sku":                        c.image("sku"),
		"securityProfile":            map[string]any{"secureBootEnabled": "false", "virtualTpmEnabled": "false", "encryptionAtHost": "false"},
		"storageProfile":             c.storage(q),
		"subscriptionId":             c.subscription,
		"tags":                       strings.Join(pairs, ";"),
		"tagsList":                   list,
		"userData":                   c.instance.profile("userData"),
		"version":                    c.image("version"),
		"virtualMachineScaleSet":     map[string]any{"id": c.setID},
		"vmId":                       c.vmID,
		"vmScaleSetName":             c.set,
		"vmSize":                     c.size,
		"zone":                       c.zone,
	}
	prefix, known := q.store.generic.subnetPrefix(q.server.Loopback, c.instance.subnet())
	if !known {
		prefix = netip.MustParsePrefix("10.0.0.0/8")
	}
	network := map[string]any{"interface": []any{map[string]any{
		"ipv4": map[string]any{
			"ipAddress": []any{map[string]any{"privateIpAddress": c.ip, "publicIpAddress": q.store.generic.publicAddressOf(c.instance)}},
			"subnet":    []any{map[string]any{"address": prefix.Addr().String(), "prefix": strconv.Itoa(prefix.Bits())}},
		},
		"ipv6":       map[string]any{"ipAddress": []any{}},
		"macAddress": mac(c.ip),
	}}}
	return map[string]any{"compute": compute, "network": network}
}

// publicKeys are the keys that open the machine's SSH.
func (c computer) publicKeys() []any {
	keys := []any{}
	for _, k := range asList(dig(c.profile(), "osProfile", "linuxConfiguration", "ssh", "publicKeys")) {
		keys = append(keys, map[string]any{"keyData": text(k, "keyData"), "path": text(k, "path")})
	}
	return keys
}

// keysOnly reports whether no password opens it, as the model says; a model that does not say has none.
func (c computer) keysOnly() bool {
	without, said := dig(c.profile(), "osProfile", "linuxConfiguration", "disablePasswordAuthentication").(bool)
	return without || !said
}

// mac is a hardware address that goes with a private address.
func mac(ip string) string {
	var b [4]byte
	_, _ = fmt.Sscanf(ip, "%d.%d.%d.%d", &b[0], &b[1], &b[2], &b[3]) // addresses are ours
	return fmt.Sprintf("000D%02X%02X%02X%02X", b[0], b[1], b[2], b[3])
}
