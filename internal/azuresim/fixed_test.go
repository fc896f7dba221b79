package azuresim_test

import (
	"net/http"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azuresim"
)

// TestWhatAzureChangesOfNothingThatExists writes each property again, as it is and as Azure refuses it.
func TestWhatAzureChangesOfNothingThatExists(t *testing.T) {
	a := newAzure(t)
	a.group()
	a.network("10.10.0.0/24")
	a.nic("one", "10.10.0.9", 201, "")
	a.agents(1, func(ss *azuresim.ScaleSet) { ss.Zones = []string{"1"} })
	disk := a.disk("assets") + diskVersion
	const own = `{"location":"westeurope","sku":{"name":"StandardSSD_LRS"},"properties":{"creationData":{"createOption":"Empty"},"diskSizeGB":8}}`
	network := networkProvider + "virtualNetworks/farm" + networkVersion
	ranges := func(space, subnet string) string {
		return `{"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["` + space + `"]},"subnets":[{"name":"machines","properties":{"addressPrefix":"` + subnet + `"}}]}}`
	}
	profile := func(text string) string { return `{"properties":{"virtualMachineProfile":{` + text + `}}}` }
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code                     string
	}{
		{"the disk as it is", "PUT", disk, own, 200, ""},
		{"a larger disk", "PATCH", disk, `{"properties":{"diskSizeGB":9}}`, 200, ""},
		{"another type of a free disk", "PATCH", disk, `{"sku":{"name":"StandardSSD_LRS"}}`, 200, ""},
		{"a smaller disk", "PUT", disk, strings.Replace(own, ":8}", ":4}", 1), 400, "BadRequest"},
		{"a smaller disk by PATCH", "PATCH", disk, `{"properties":{"diskSizeGB":4}}`, 400, "BadRequest"},
		{"a zone for the disk", "PUT", disk, `{"zones":["1"],` + own[1:], 400, "BadRequest"},
		{"the network as it is", "PUT", network, ranges("10.10.0.0/16", "10.10.0.0/24"), 200, ""},
		{"a larger network", "PUT", network, ranges("10.10.0.0/15", "10.10.0.0/24"), 200, ""},
		{"another range of the subnet", "PUT", network, ranges("10.10.0.0/16", "10.10.0.0/25"), 400, "InUsePrefixCannotBeDeleted"},
		{"a network without the subnet", "PUT", network, ranges("10.9.0.0/16", "10.10.0.0/24"), 400, "NetcfgSubnetRangeOutsideVnet"},
		{"the zone as it is", "PATCH", setPath + version, `{"zones":["1"]}`, 200, ""},
		{"a zone more", "PATCH", setPath + version, `{"zones":["2","1"]}`, 200, ""},
		{"a zone less", "PATCH", setPath + version, `{"zones":["3"]}`, 409, "PropertyChangeNotAllowed"},
		{"the other mode", "PATCH", setPath + version, `{"properties":{"orchestrationMode":"Flexible"}}`, 409, "PropertyChangeNotAllowed"},
		{"the mode as it is", "PATCH", setPath + version, `{"properties":{"orchestrationMode":"Uniform"}}`, 200, ""},
		{"the priority as it is", "PATCH", setPath + version, profile(`"priority":"Regular"`), 200, ""},
		{"spot machines", "PATCH", setPath + version, profile(`"priority":"Spot"`), 409, "PropertyChangeNotAllowed"},
		{"another publisher", "PATCH", setPath + version, profile(`"storageProfile":{"imageReference":{"publisher":"Debian"}}`), 409, "PropertyChangeNotAllowed"},
		{"another SKU of the image", "PATCH", setPath + version, profile(`"storageProfile":{"imageReference":{"sku":"minimal"}}`), 200, ""},
		{"another user of new machines", "PATCH", setPath + version, profile(`"osProfile":{"adminUsername":"ops"}`), 200, ""},
		{"the priority of none, by PUT", "PUT", setPath + version, `{"location":"westeurope","properties":{"virtualMachineProfile":{}}}`, 200, ""},
		{"the zones of none mentioned", "PUT", setPath + version, `{"location":"westeurope"}`, 200, ""},
		{"another location, as it was", "PUT", setPath + version, `{"location":"northeurope"}`, 409, "InvalidResourceLocation"},
	} {
		resp, body := a.wire(c.method, c.path, c.body)
		code := ""
		if resp.StatusCode >= http.StatusBadRequest {
			code, _ = field(t, body, "error", "code").(string)
		}
		if resp.StatusCode != c.status || code != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, resp.StatusCode, body, c.status, c.code)
		}
	}
}
