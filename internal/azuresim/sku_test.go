package azuresim_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"sluice.dev/sluice/internal/azuresim"
)

type listedSKU struct {
	Name, Family string
	Capabilities []struct{ Name, Value string }
	Restrictions []struct {
		Type, ReasonCode string
		RestrictionInfo  struct{ Zones []string }
	}
}

// skus lists the sizes of a location, all pages of them.
func (a *azure) skus(location string) (all []listedSKU, pages int) {
	a.t.Helper()
	next := "/subscriptions/" + subscription + "/providers/Microsoft.Compute/skus?api-version=2021-07-01&$filter=" + url.QueryEscape("location eq '"+location+"'")
	for ; next != ""; pages++ {
		_, body := a.wire("GET", next, "")
		var page struct {
			Value    []listedSKU
			NextLink string
		}
		a.must(json.Unmarshal([]byte(body), &page))
		all = append(all, page.Value...)
		next = strings.TrimPrefix(page.NextLink, "https://management.azure.test")
	}
	return all, pages
}

func TestTheSKUListSaysWhatASizeIs(t *testing.T) {
	a := newAzure(t, func(s *azuresim.Server) { s.PageSize = 20 })
	a.agents(0)
	a.must(a.AddSKU(azuresim.SKU{Name: "Standard_X2", Family: "standardXFamily", VCPUs: 2, MemoryGB: 3.5, Locations: []string{"northeurope"}}))
	a.must(a.AddSKU(azuresim.SKU{Name: "Standard_D4s_v5", Family: "standardDSv5Family", VCPUs: 4, MemoryGB: 16, MaxDataDisks: 8,
		Restrictions: []azuresim.Restriction{{Reason: "QuotaId", Location: "WestEurope", Zones: []string{"2"}}}}))
	all, pages := a.skus("westeurope")
	if pages < 3 || len(all) < 40 {
		t.Errorf("%d sizes on %d pages", len(all), pages)
	}
	seen := map[string]listedSKU{}
	for _, k := range all {
		if _, twice := seen[k.Name]; twice {
			t.Errorf("%s stands there twice", k.Name)
		}
		seen[k.Name] = k
	}
	if _, there := seen["Standard_X2"]; there {
		t.Error("a size of another location is listed")
	}
	for size, want := range map[string]map[string]string{
		"Standard_D4s_v5":      {"vCPUs": "4", "MemoryGB": "16", "MaxDataDiskCount": "8", "CpuArchitectureType": "x64", "GPUs": ""},
		"Standard_NC4as_T4_v3": {"GPUs": "1", "MemoryGB": "28"},
		"Standard_D2ps_v5":     {"CpuArchitectureType": "Arm64"},
		"Standard_B1ls":        {"LowPriorityCapable": "False", "MemoryGB": "0.5"},
	} {
		got := map[string]string{}
		for _, c := range seen[size].Capabilities {
			got[c.Name] = c.Value
		}
		for name, value := range want {
			if got[name] != value {
				t.Errorf("%s: %s is %q, want %q", size, name, got[name], value)
			}
		}
	}
	r := seen["Standard_D4s_v5"].Restrictions
	if len(r) != 1 || r[0].Type != "Zone" || r[0].ReasonCode != "QuotaId" || len(r[0].RestrictionInfo.Zones) != 1 {
		t.Errorf("the restriction reads %v", r)
	}
}

func TestARestrictedSizeIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		sku     azuresim.SKU
		zones   []string
		refusal string
	}{
		"in another location":    {azuresim.SKU{Restrictions: []azuresim.Restriction{{Location: "eastus"}}}, nil, ""},
		"in the whole location":  {azuresim.SKU{Restrictions: []azuresim.Restriction{{Location: "westeurope"}}}, nil, "location 'westeurope' zones ''"},
		"in one of its zones":    {azuresim.SKU{Restrictions: []azuresim.Restriction{{Zones: []string{"2"}}}}, []string{"1", "2"}, "zones '2'"},
		"in a zone it has not":   {azuresim.SKU{Restrictions: []azuresim.Restriction{{Zones: []string{"3"}}}}, []string{"1", "2"}, ""},
		"where it is not sold":   {azuresim.SKU{Locations: []string{"eastus"}}, nil, "not available in location 'westeurope'"},
		"in a zone without it":   {azuresim.SKU{Zones: []string{"1"}}, []string{"1", "3"}, "zones '3'"},
		"without zones asked of": {azuresim.SKU{Restrictions: []azuresim.Restriction{{Zones: []string{"2"}}}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAzure(t)
			a.agents(1, func(ss *azuresim.ScaleSet) { ss.Zones = tc.zones })
			tc.sku.Name, tc.sku.VCPUs = "Standard_D4s_v5", 4
			a.must(a.AddSKU(tc.sku))
			resp, body := a.wire("PATCH", setPath+version, `{"sku":{"capacity":2}}`)
			if refused := resp.Header.Get("X-Ms-Error-Code") == "SkuNotAvailable"; refused != (tc.refusal != "") || !strings.Contains(body, tc.refusal) {
				t.Errorf("got %d %s, want %q", resp.StatusCode, body, tc.refusal)
			}
			if resp, body := a.wire("PATCH", setPath+version, `{"sku":{"capacity":1}}`); resp.StatusCode != http.StatusOK {
				t.Errorf("what does not grow is refused: %s", body)
			}
		})
	}
}

func TestThePlatformsAutoscalerMovesTheCapacity(t *testing.T) {
	a := newAzure(t)
	a.agents(2)
	rules := []azuresim.AutoscaleRule{
		{Metric: "Percentage CPU", Operator: "GreaterThan", Threshold: 80, Change: 1},
		{Metric: "Percentage CPU", Operator: "LessThan", Threshold: 10, Change: -1},
	}
	a.must(a.AddAutoscaleSetting(azuresim.AutoscaleSetting{Name: "cpu", Target: "agents", Enabled: true, Min: 1, Max: 3, Rules: rules}))
	for _, step := range []struct {
		cpu  float64
		want int
	}{{50, 2}, {81, 3}, {99, 3}, {5, 2}, {5, 1}, {5, 1}} {
		if got, err := a.AutoscaleStep("agents", "Percentage CPU", step.cpu); err != nil || got != step.want || a.capacity() != int64(step.want) {
			t.Errorf("at %v %% the capacity is %d (%v), want %d", step.cpu, got, err, step.want)
		}
	}
	const v = "?api-version=2022-10-01"
	at := groupScope + "/providers/Microsoft.Insights/autoscaleSettings"
	_, body := a.wire("GET", "/subscriptions/"+subscription+"/providers/microsoft.insights/autoscalesettings"+v, "")
	if !strings.Contains(body, `"targetResourceUri":"`+setPath+`"`) || !strings.Contains(body, `"enabled":true`) {
		t.Errorf("listed: %s", body)
	}
	_, body = a.wire("GET", at+"/CPU"+v, "")
	disabled := strings.Replace(body, `"enabled":true`, `"enabled":false`, 1)
	if resp, body := a.wire("PUT", at+"/cpu"+v, disabled); resp.StatusCode != http.StatusOK {
		t.Error(body)
	}
	if got, err := a.AutoscaleStep("agents", "Percentage CPU", 99); got != 1 || err != nil {
		t.Errorf("a disabled setting moved the capacity to %d (%v)", got, err)
	}
	for _, want := range []int{http.StatusOK, http.StatusNoContent} {
		if resp, _ := a.wire("DELETE", at+"/cpu"+v, ""); resp.StatusCode != want {
			t.Errorf("deleted with %d, want %d", resp.StatusCode, want)
		}
	}
	if n := a.Counters()["LIST autoscalesettings"]; n != 1 {
		t.Errorf("%d lists were counted", n)
	}
}

// TestARegionThatDoesNotExistIsRefused asks about one in the words of Azure, and about those of the list.
func TestARegionThatDoesNotExistIsRefused(t *testing.T) {
	a := newAzure(t)
	a.agents(0)
	whole := "/subscriptions/" + subscription
	usages := func(region string) string {
		return whole + "/providers/Microsoft.Compute/locations/" + region + "/usages?api-version=2024-07-01"
	}
	inGroup := func(region string) string { return `{"location":"` + region + `"}` }
	anyGroup := whole + "/resourcegroups/g?api-version=2021-04-01"
	for name, tc := range map[string]struct{ method, path, body, want string }{
		"its quota":        {"GET", usages("atlantis"), "", "NoRegisteredProviderFound"},
		"a group in it":    {"PUT", anyGroup, inGroup("atlantis"), "LocationNotAvailableForResourceGroup"},
		"a logical region": {"PUT", anyGroup, inGroup("europe"), "LocationNotAvailableForResourceGroup"},
		"another's quota":  {"GET", usages("swedencentral"), "", ""},
		"another's name":   {"PUT", anyGroup, inGroup("West Europe"), ""},
	} {
		resp, body := a.wire(tc.method, tc.path, tc.body)
		if got := resp.StatusCode; tc.want == "" && got >= 300 || tc.want != "" && (got != 400 || field(t, body, "error", "code") != tc.want) {
			t.Errorf("%s: %d %s, want %q", name, got, body, tc.want)
		}
	}
	if all, _ := a.skus("atlantis"); len(all) != 0 {
		t.Errorf("it offers %d sizes", len(all))
	}
	_, body := a.wire("GET", whole+"/locations?api-version=2022-12-01", "")
	if !strings.Contains(body, `"name":"westeurope"`) || strings.Contains(body, "atlantis") {
		t.Errorf("the list of regions is %s", body)
	}
}
