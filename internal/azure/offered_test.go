package azure

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azure/catalog"
)

// nameSizes are the first few sizes of a group's offers, with their prices.
func nameSizes(s *cluster.Sizes, of func(cluster.Size) bool) []string {
	var names []string
	for _, one := range s.All {
		if of(one) && len(names) < 3 {
			names = append(names, one.Name)
		}
	}
	return names
}

func TestAGroupIsOfferedSizesThatItCouldHave(t *testing.T) {
	family := func(f string) func(cluster.Size) bool { return func(s cluster.Size) bool { return s.Family == f } }
	named := func(prefix string) func(cluster.Size) bool {
		return func(s cluster.Size) bool { return strings.HasPrefix(s.Name, prefix) }
	}
	for name, tc := range map[string]struct {
		m    model
		of   func(cluster.Size) bool
		want []string
	}{
		"the cheapest first": {
			model{size: "Standard_D4s_v5", location: "EastUS"}, family("standardDSv5Family"), []string{"Standard_D2s_v5", "Standard_D4s_v5", "Standard_D8s_v5"},
		},
		"none of another processor architecture": {model{size: "Standard_D4s_v5", location: "eastus"}, named("Standard_D4ps_v5"), nil},
		"those of the group's own":               {model{size: "Standard_D2ps_v5", location: "eastus"}, named("Standard_D4ps_v5"), []string{"Standard_D4ps_v5"}},
		"no confidential ones":                   {model{size: "Standard_D4s_v5", location: "eastus"}, named("Standard_DC"), nil},
		"confidential ones to groups of such":    {model{size: "Standard_DC2as_v5", location: "eastus"}, named("Standard_DC4as_v5"), []string{"Standard_DC4as_v5"}},
		"none without a price where others have one": {
			model{size: "Standard_D4s_v5", location: "eastus"}, func(s cluster.Size) bool { return s.USDPerHour == 0 }, nil,
		},
		"all where no price is known, the smaller first": {
			model{size: "Standard_D4s_v5", location: "nowhere"}, family("standardDSv5Family"), []string{"Standard_D2s_v5", "Standard_D4s_v5", "Standard_D8s_v5"},
		},
		"no burstable ones as spot, which are not sold so": {model{size: "Standard_D4s_v5", location: "eastus", spot: true}, named("Standard_B2ms"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := &facts{sizes: newAsker().sizeList, prices: &priceList{}, log: slog.New(slog.DiscardHandler)}
			if d := cmp.Diff(tc.want, nameSizes(f.offers(&tc.m), tc.of)); d != "" {
				t.Errorf("offered sizes (-want +got):\n%s", d)
			}
		})
	}
}

func TestSizesThatTheSubscriptionMayNotHaveAreNotOffered(t *testing.T) {
	small := sku("Standard_New2_v9", "2", "8", nil)
	for name, tc := range map[string]struct {
		change func(*armcompute.ResourceSKU)
		zones  []string
		want   []string
	}{
		"may":                 {nil, []string{"1", "2"}, []string{"Standard_New2_v9", "Standard_New8_v9"}},
		"not in the region":   {bar(armcompute.ResourceSKURestrictionsReasonCodeQuotaID, "westeurope"), nil, []string{"Standard_New2_v9"}},
		"not in a zone of it": {bar(armcompute.ResourceSKURestrictionsReasonCodeQuotaID, "westeurope", "2"), []string{"1", "2"}, []string{"Standard_New2_v9"}},
		"not in another zone": {bar(armcompute.ResourceSKURestrictionsReasonCodeQuotaID, "westeurope", "3"), []string{"1", "2"}, []string{"Standard_New2_v9", "Standard_New8_v9"}},
		"not sold in a zone":  {func(s *armcompute.ResourceSKU) { s.LocationInfo[0].Zones = []*string{new("2")} }, []string{"1", "2"}, []string{"Standard_New2_v9"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsker(small, sku("Standard_New8_v9", "8", "32", tc.change))
			a.always = true
			_, g, _ := a.describe(&model{size: "Standard_New2_v9", location: "westeurope", zones: tc.zones})
			if d := cmp.Diff(tc.want, nameSizes(g.Sizes, func(cluster.Size) bool { return true })); d != "" {
				t.Errorf("offered sizes (-want +got):\n%s", d)
			}
		})
	}
}

func TestOfferedSizesAreSharedUntilTheyChange(t *testing.T) {
	a := newAsker(sku("Standard_D4s_v5", "4", "16", nil))
	f := &facts{sizes: a.sizeList, prices: &priceList{own: &catalog.Prices{}}, log: slog.New(slog.DiscardHandler)}
	here := &model{size: "Standard_D4s_v5", location: "westeurope", zones: []string{"1"}}
	first := f.offers(here)
	if other := f.offers(&model{size: "Standard_D8s_v5", location: "WestEurope", zones: []string{"1"}}); other != first {
		t.Error("a group on the same terms has a table of its own")
	}
	if spot := f.offers(&model{size: "Standard_D8s_v5", location: "westeurope", zones: []string{"1"}, spot: true}); spot == first {
		t.Error("a spot group has the table of a regular one")
	}
	f.sizes.want("westeurope", "Standard_D4s_v5")
	a.running.Wait()
	answered := f.offers(here)
	if len(answered.All) != 1 {
		t.Errorf("%d sizes after Azure has told of one", len(answered.All))
	}
	a.now = a.now.Add(sizesServe)
	f.sizes.want("westeurope", "Standard_D4s_v5")
	a.running.Wait()
	if again := f.offers(here); again != answered {
		t.Error("the table is another one although Azure has said the same again")
	}
}
