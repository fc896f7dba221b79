package azure

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
)

// idle makes errands that never run: their context has ended.
func idle() *backgroundTask {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return &backgroundTask{ctx: ctx, running: &sync.WaitGroup{}}
}

// sku is an entry of Azure's list.
func sku(name, cpus, memory string, change func(*armcompute.ResourceSKU)) *armcompute.ResourceSKU {
	capability := func(name, value string) *armcompute.ResourceSKUCapabilities {
		return &armcompute.ResourceSKUCapabilities{Name: &name, Value: &value}
	}
	s := &armcompute.ResourceSKU{
		ResourceType: new("virtualMachines"), Name: &name, Family: new("standardXFamily"),
		Capabilities: []*armcompute.ResourceSKUCapabilities{capability("vCPUs", cpus), capability("MemoryGB", memory), capability("MaxDataDiskCount", "4"), nil},
		LocationInfo: []*armcompute.ResourceSKULocationInfo{{Location: new("WestEurope"), Zones: []*string{new("1"), new("2"), new("3")}}, nil},
	}
	if change != nil {
		change(s)
	}
	return s
}

// bar restricts a size in zones, or in the whole region when none is named.
func bar(reason armcompute.ResourceSKURestrictionsReasonCode, location string, zones ...string) func(*armcompute.ResourceSKU) {
	return func(s *armcompute.ResourceSKU) {
		kind := armcompute.ResourceSKURestrictionsTypeLocation
		info := &armcompute.ResourceSKURestrictionInfo{Locations: []*string{&location}}
		if len(zones) > 0 {
			kind, info.Zones = armcompute.ResourceSKURestrictionsTypeZone, pointers(zones)
		}
		s.Restrictions = append(s.Restrictions, &armcompute.ResourceSKURestrictions{Type: &kind, ReasonCode: &reason, Values: []*string{&location}, RestrictionInfo: info}, nil)
	}
}

// asker is a list of sizes on a clock of its own that counts what it is asked.
type asker struct {
	*sizeList
	running sync.WaitGroup
	now     time.Time
	log     strings.Builder
	asked   []string
	answer  []*armcompute.ResourceSKU
	err     error
}

func newAsker(answer ...*armcompute.ResourceSKU) *asker {
	a := &asker{now: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), answer: answer}
	a.sizeList = &sizeList{
		now: func() time.Time { return a.now }, log: slog.New(slog.NewTextHandler(&a.log, nil)),
		start: func() *backgroundTask { return &backgroundTask{ctx: context.Background(), running: &a.running} },
		list: func(_ context.Context, location string) ([]*armcompute.ResourceSKU, error) {
			a.asked = append(a.asked, location)
			return a.answer, a.err
		},
	}
	return a
}

// describe is a group as its reads at this time show it, the second one after the errands have ended.
func (a *asker) describe(m *model) (before, after *cluster.Group, f *facts) {
	f = &facts{sizes: a.sizeList, prices: &priceList{}, log: slog.New(slog.DiscardHandler)}
	before, after = &cluster.Group{ID: "pool"}, &cluster.Group{ID: "pool"}
	f.describe(before, m)
	a.running.Wait()
	f.describe(after, m)
	a.running.Wait()
	return before, after, f
}

func TestAzureIsAskedForASizeThatNoTableKnows(t *testing.T) {
	a := newAsker(nil, sku("Standard_New8_v9", "8", "20.5", nil), sku("Standard_Broken", "", "1", nil), &armcompute.ResourceSKU{ResourceType: new("disks"), Name: new("Premium_LRS")})
	m := &model{size: "standard_new8_V9", location: "westeurope"}
	before, after, _ := a.describe(m)
	if before.Template != nil || before.Remedy == "" {
		t.Errorf("template %v and remedy %q before Azure has answered", before.Template, before.Remedy)
	}
	if after.Template == nil || after.Template.Status.Capacity.Cpu().Value() != 8 || after.Template.Status.Capacity.Memory().Value() != 20992<<20 || after.VolumeLimit != 4 {
		t.Errorf("after Azure has answered: %+v", after)
	}
	a.describe(&model{size: "Standard_Other_v9", location: "WestEurope"})
	if d := cmp.Diff([]string{"westeurope"}, a.asked); d != "" {
		t.Errorf("questions, with another unknown size in the same region soon after (-want +got):\n%s", d)
	}
	a.now = a.now.Add(sizesServe)
	a.describe(&model{size: "Standard_Other_v9", location: "WestEurope"})
	if len(a.asked) != 2 {
		t.Errorf("%d questions after the answer has served its time, want 2", len(a.asked))
	}
}

func TestAKnownSizeCostsNoQuestion(t *testing.T) {
	a := newAsker()
	a.describe(&model{size: "Standard_D4s_v5", location: "westeurope"})
	a.describe(&model{size: "", location: "westeurope"})
	a.describe(&model{size: "Standard_X_v99"})
	if len(a.asked) > 0 {
		t.Errorf("it was asked %q", a.asked)
	}
	a.always = true // enableDynamicInstanceList
	for range 3 {
		a.describe(&model{size: "Standard_D4s_v5", location: "westeurope"})
		a.now = a.now.Add(sizesServe / 3)
	}
	a.describe(&model{size: "Standard_D4s_v5", location: "westeurope"})
	a.describe(&model{size: "Standard_D4s_v5", location: "eastus"})
	if d := cmp.Diff([]string{"westeurope", "westeurope", "eastus"}, a.asked); d != "" {
		t.Errorf("questions of 12 hours in two regions (-want +got):\n%s", d)
	}
}

func TestWhileAzureDoesNotAnswerTheTableStandsIn(t *testing.T) {
	a := newAsker()
	a.always, a.err = true, errors.New("AuthorizationFailed: no action Microsoft.Compute/skus/read")
	for range 4 {
		_, g, _ := a.describe(&model{size: "Standard_D4s_v5", location: "westeurope"})
		if g.Template == nil || g.VolumeLimit != 8 {
			t.Fatalf("group %+v, want the table's", g)
		}
		a.now = a.now.Add(sizesAskAgain)
	}
	if len(a.asked) != 4 || strings.Count(a.log.String(), "Microsoft.Compute/skus/read") != 1 {
		t.Errorf("%d questions and this log, want 4 and one warning:\n%s", len(a.asked), a.log.String())
	}
	a.err, a.answer = nil, []*armcompute.ResourceSKU{sku("Standard_D4s_v5", "4", "16", nil)}
	if _, g, _ := a.describe(&model{size: "Standard_D4s_v5", location: "westeurope"}); g.VolumeLimit != 4 {
		t.Errorf("attaches %d when Azure has answered at last, want 4", g.VolumeLimit)
	}
}

func TestZonesWithoutTheSizeAreAvoidedAndNamed(t *testing.T) {
	const remedy = ", ask Azure's support for access, or give the group another size"
	for name, tc := range map[string]struct {
		change func(*armcompute.ResourceSKU)
		zones  []string
		zone   string
		want   []string
	}{
		"every zone has it": {nil, []string{"1", "2"}, "westeurope-1", nil},
		"the subscription may not have it in the first zone": {
			bar(armcompute.ResourceSKURestrictionsReasonCodeNotAvailableForSubscription, "WESTEUROPE", "1"), []string{"1", "2"}, "westeurope-2",
			[]string{"size Standard_New8_v9 is not available to this subscription in zone 1 of westeurope (NotAvailableForSubscription): take the zone from the group" + remedy},
		},
		"in neither": {
			bar(armcompute.ResourceSKURestrictionsReasonCodeQuotaID, "westeurope", "1", "2"), []string{"1", "2"}, "westeurope-1",
			[]string{
				"size Standard_New8_v9 is not available to this subscription in zone 1 of westeurope (QuotaId): take the zone from the group" + remedy,
				"size Standard_New8_v9 is not available to this subscription in zone 2 of westeurope (QuotaId): take the zone from the group" + remedy,
			},
		},
		"in the region": {
			bar(armcompute.ResourceSKURestrictionsReasonCodeQuotaID, "westeurope"), nil, "0",
			[]string{"size Standard_New8_v9 is not available to this subscription in westeurope (QuotaId): ask Azure's support for access, or give the group another size"},
		},
		"in another region":   {bar(armcompute.ResourceSKURestrictionsReasonCodeQuotaID, "eastus"), []string{"2"}, "westeurope-2", nil},
		"in a zone of no use": {bar(armcompute.ResourceSKURestrictionsReasonCodeQuotaID, "westeurope", "3"), []string{"1"}, "westeurope-1", nil},
		"Azure has none of it in the zone": {
			func(s *armcompute.ResourceSKU) { s.LocationInfo[0].Zones = []*string{new("2")} }, []string{"1", "2"}, "westeurope-2",
			[]string{"size Standard_New8_v9 is not sold in zone 1 of westeurope: take the zone from the group, or give the group another size"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsker(sku("Standard_New8_v9", "8", "16", tc.change))
			_, g, f := a.describe(&model{size: "Standard_New8_v9", location: "westeurope", zones: tc.zones})
			if got := g.Template.Labels["topology.kubernetes.io/zone"]; got != tc.zone {
				t.Errorf("the next machine is in %s, want %s", got, tc.zone)
			}
			var got []string
			for _, n := range (&Provider{state: &state{facts: f}}).Notices() {
				got = append(got, n.Sentence)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("notices (-want +got):\n%s", d)
			}
		})
	}
}
