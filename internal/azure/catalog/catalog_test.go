package catalog_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice.dev/sluice/internal/azure/catalog"
)

func TestTheTableOfSizesTellsWhatAMachineHas(t *testing.T) {
	for what, want := range map[string]catalog.Size{
		"a common size": {
			Name: "Standard_D4s_v5", Family: "standardDSv5Family", VCPUs: 4, QuotaVCPUs: 4, MemoryMiB: 16384, MaxDataDisks: 8, Arch: "amd64", Spot: true,
		},
		"constrained cores count in full": {
			Name: "Standard_E16-4s_v5", Family: "standardESv5Family", VCPUs: 4, QuotaVCPUs: 16, MemoryMiB: 131072, MaxDataDisks: 32, Arch: "amd64", Spot: true,
		},
		"an ARM size with a temporary disk": {
			Name: "Standard_D16plds_v5", Family: "standardDPLDSv5Family", VCPUs: 16, QuotaVCPUs: 16, MemoryMiB: 32768, MaxDataDisks: 32,
			ResourceDiskMiB: 614400, Arch: "arm64", Spot: true,
		},
		"a GPU size": {
			Name: "Standard_NC16as_T4_v3", Family: "Standard NCASv3_T4 Family", VCPUs: 16, QuotaVCPUs: 16, MemoryMiB: 112640, GPUs: 1,
			MaxDataDisks: 32, ResourceDiskMiB: 360448, Arch: "amd64", Spot: true,
		},
		"a quarter of a GiB": {
			Name: "Standard_M8-2ms", Family: "standardMSFamily", VCPUs: 2, QuotaVCPUs: 8, MemoryMiB: 224000, MaxDataDisks: 8,
			ResourceDiskMiB: 256000, Arch: "amd64", Spot: true,
		},
		"a burstable size is not sold as spot": {
			Name: "Standard_B1s", Family: "standardBSFamily", VCPUs: 1, QuotaVCPUs: 1, MemoryMiB: 1024, MaxDataDisks: 2, ResourceDiskMiB: 4096, Arch: "amd64",
		},
	} {
		t.Run(what, func(t *testing.T) {
			got, ok := catalog.Find(strings.ToUpper(want.Name))
			if diff := cmp.Diff(want, got); !ok || diff != "" {
				t.Errorf("%v (-want +got):\n%s", ok, diff)
			}
		})
	}
	if _, ok := catalog.Find("Standard_D3s_v5"); ok {
		t.Error("a size that Azure does not have was made up")
	}
}

func TestTheTableOfSizesIsSound(t *testing.T) {
	all := catalog.Sizes()
	if len(all) < 900 {
		t.Errorf("it has %d sizes only", len(all))
	}
	arm := regexp.MustCompile(`^Standard_[A-Z]+[0-9]+p[a-z]*_v[0-9]+$`)
	for _, s := range all {
		switch ratio := float64(s.MemoryMiB) / 1024 / float64(s.QuotaVCPUs); {
		case s.VCPUs < 1 || s.VCPUs > s.QuotaVCPUs || s.QuotaVCPUs > 1000:
			t.Errorf("%s has %d vCPUs of %d", s.Name, s.VCPUs, s.QuotaVCPUs)
		case ratio < 0.5 || ratio > 32:
			t.Errorf("%s has %d MiB for %d vCPUs", s.Name, s.MemoryMiB, s.QuotaVCPUs)
		case s.MaxDataDisks < 1 || s.MaxDataDisks > 64:
			t.Errorf("%s attaches %d disks", s.Name, s.MaxDataDisks)
		case (s.Arch == "arm64") != arm.MatchString(s.Name):
			t.Errorf("%s is said to be %s", s.Name, s.Arch)
		case (s.GPUs > 0) != (strings.HasPrefix(s.Name, "Standard_N") && !strings.HasPrefix(s.Name, "Standard_NP")):
			t.Errorf("%s has %d GPUs", s.Name, s.GPUs)
		}
	}
	if made := catalog.Generated(); made.Before(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("it was made on %s", made)
	}
}

func TestAGPUIsCountedUnderItsMakersName(t *testing.T) {
	for size, want := range map[string]string{
		"Standard_NC4as_T4_v3": "nvidia.com/gpu", "Standard_ND96isr_H100_v5": "nvidia.com/gpu", "Standard_NV6ads_A10_v5": "nvidia.com/gpu",
		"Standard_NV4as_v4": "amd.com/gpu", "Standard_ND96isr_MI300X_v5": "amd.com/gpu", "Standard_D4s_v5": "",
	} {
		s, ok := catalog.Find(size)
		if got := s.GPUResource(); !ok || got != want {
			t.Errorf("%s: %q, want %q", size, got, want)
		}
	}
}

func TestCapabilitiesTellASize(t *testing.T) {
	told := map[string]string{
		"vCPUs": "8", "vCPUsAvailable": "2", "MemoryGB": "218.75", "MaxDataDiskCount": "8", "MaxResourceVolumeMB": "256000",
		"CpuArchitectureType": "x64", "LowPriorityCapable": "True",
	}
	got, err := catalog.FromCapabilities("Standard_M8-2ms", "standardMSFamily", told)
	want, _ := catalog.Find("Standard_M8-2ms")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for broken, value := range map[string]string{"vCPUs": "", "MemoryGB": "much", "MaxDataDiskCount": "-1", "GPUs": "NaN", "vCPUsAvailable": "x"} {
		was, had := told[broken]
		told[broken] = value
		if _, err := catalog.FromCapabilities("Standard_X", "", told); err == nil || !strings.Contains(err.Error(), broken) {
			t.Errorf("%s %q: %v", broken, value, err)
		}
		if told[broken] = was; !had {
			delete(told, broken)
		}
	}
}

func TestTablesAreReadAsTheyWereWritten(t *testing.T) {
	made := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var text bytes.Buffer
	if err := catalog.WriteSizes(&text, made, "a test", catalog.Sizes()); err != nil {
		t.Fatal(err)
	}
	day, back, err := catalog.ReadSizes(&text)
	if diff := cmp.Diff(catalog.Sizes(), back); err != nil || !day.Equal(made) || diff != "" {
		t.Errorf("%v %v (-want +got):\n%s", day, err, diff)
	}
	for what, c := range map[string]struct{ table, want string }{
		"no day":          {"name\n", "line 1"},
		"nothing":         {"", "line 1"},
		"no columns":      {"# generated: 2026-11-21.\n", "no line with the columns"},
		"a column is new": {"# generated: 2026-11-21.\nname,colour\n", `line 2: column "colour"`},
		"a bad number": {
			"# generated: 2026-11-21.\nname,family,vcpus,quota_vcpus,memory_mib,gpus,max_data_disks,resource_disk_mib,arch,spot\nStandard_X,f,two,2,1,0,1,0,amd64,no\n",
			`line 3: vcpus "two"`,
		},
		"a short line": {
			"# generated: 2026-11-21.\nname,family,vcpus,quota_vcpus,memory_mib,gpus,max_data_disks,resource_disk_mib,arch,spot\nStandard_X,f\n",
			"line 3: it has 2 fields and the columns are 10",
		},
	} {
		t.Run(what, func(t *testing.T) {
			if _, _, err := catalog.ReadSizes(strings.NewReader(c.table)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
