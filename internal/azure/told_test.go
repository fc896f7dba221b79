package azure

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v7"
	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/cluster"
)

// TestWhatIsToldOfAGroup says which changes of a scale set are words about its next machines: others would have an older node doubted, and a machine bought.
func TestWhatIsToldOfAGroup(t *testing.T) {
	type set = armcompute.VirtualMachineScaleSet
	type profile = armcompute.VirtualMachineScaleSetVMProfile
	reported := func(change func(*set, *profile)) map[string]string {
		m := (&scaleSets{}).translate(scaleSet("Standard_D4s_v5", func(s *set, p *profile) {
			p.StorageProfile.ImageReference = &armcompute.ImageReference{Publisher: new("Canonical"), Version: new("latest"), ExactVersion: new("24.04.1")}
			p.ExtensionProfile = &armcompute.VirtualMachineScaleSetExtensionProfile{Extensions: []*armcompute.VirtualMachineScaleSetExtension{{
				Name: new("join"), Properties: &armcompute.VirtualMachineScaleSetExtensionProperties{Settings: map[string]any{"a": "1", "b": "2"}},
			}}}
			s.Tags[labelTag+"pool"], s.Tags["costs"] = new("batch"), new("render")
			change(s, p)
		}))
		var g cluster.Group
		(*facts)(nil).describe(&g, m)
		return g.Reported
	}
	before := reported(func(*set, *profile) {})
	if diff := cmp.Diff(map[string]string{"model": before["model"], "label pool": "batch"}, before); diff != "" || before["model"] == "" {
		t.Fatalf("what is told (-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		change func(*set, *profile)
		about  string // what is said anew, "" for nothing
	}{
		"another capacity":                     {func(s *set, _ *profile) { s.SKU.Capacity = new(int64(7)) }, ""},
		"another entity tag":                   {func(s *set, _ *profile) { s.Etag = new("2") }, ""},
		"a tag that is none of the autoscaler": {func(s *set, _ *profile) { s.Tags["costs"] = new("batch") }, ""},
		"another limit":                        {func(s *set, _ *profile) { s.Tags["max"] = new("9") }, ""},
		"a newer version of the same image":    {func(_ *set, p *profile) { p.StorageProfile.ImageReference.ExactVersion = new("24.04.2") }, ""},
		"a label":                              {func(s *set, _ *profile) { s.Tags[labelTag+"disk"] = new("fast") }, "label disk"},
		"a taint":                              {func(s *set, _ *profile) { s.Tags[taintTag+"team"] = new("a:NoSchedule") }, "taint team:NoSchedule"},
		"a resource":                           {func(s *set, _ *profile) { s.Tags[resourceTag+"nvidia.com_gpu"] = new("1") }, "nvidia.com/gpu"},
		"another image":                        {func(_ *set, p *profile) { p.StorageProfile.ImageReference.Version = new("24.04.2") }, "model"},
		"another setting of an extension": {func(_ *set, p *profile) {
			p.ExtensionProfile.Extensions[0].Properties.Settings = map[string]any{"a": "1", "b": "3"}
		}, "model"},
		"the operator's word for what Azure does not show": {func(s *set, _ *profile) { s.Tags["sluice.dev_model"] = new("2") }, "model"},
	} {
		t.Run(name, func(t *testing.T) {
			var anew string
			for about, said := range reported(tc.change) {
				if before[about] != said {
					anew += about
				}
			}
			if anew != tc.about {
				t.Errorf("said anew is %q, want %q", anew, tc.about)
			}
		})
	}
	if none := reported(func(s *set, _ *profile) { s.Properties.VirtualMachineProfile = nil }); none["model"] != "" {
		t.Errorf("a set without a profile is told to be made of %q", none["model"])
	}
}
