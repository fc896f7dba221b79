package azure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGroup(t *testing.T) {
	for name, tc := range map[string]struct {
		in   string
		want GroupSpec
		err  string
	}{
		"min, max and name":          {"1:10:agents", GroupSpec{"agents", 1, 10}, ""},
		"nothing to everything":      {"0:1000:k8s-pool_1.vmss", GroupSpec{"k8s-pool_1.vmss", 0, 1000}, ""},
		"letter case is kept":        {"0:1:Agents", GroupSpec{"Agents", 0, 1}, ""},
		"max equals min":             {"3:3:agents", GroupSpec{"agents", 3, 3}, ""},
		"only a name":                {"agents", GroupSpec{}, `--nodes=agents: it has no two colons; it must be min:max:name, such as 1:10:agents`},
		"min is no number":           {"a:10:agents", GroupSpec{}, `--nodes=a:10:agents: min "a" is not a number of machines; it must be min:max:name, such as 1:10:agents`},
		"min is negative":            {"-1:10:agents", GroupSpec{}, `--nodes=-1:10:agents: min "-1" is not a number of machines; it must be min:max:name, such as 1:10:agents`},
		"max is missing":             {"1::agents", GroupSpec{}, `--nodes=1::agents: max "" is not a number of machines; it must be min:max:name, such as 1:10:agents`},
		"max is below min":           {"5:2:agents", GroupSpec{}, `--nodes=5:2:agents: max 2 is below min 5; it must be min:max:name, such as 1:10:agents`},
		"the name is missing":        {"1:2:", GroupSpec{}, `--nodes=1:2:: "" is not a scale set's name; it must be min:max:name, such as 1:10:agents`},
		"the name is a resource id":  {"1:2:/subscriptions/x", GroupSpec{}, `--nodes=1:2:/subscriptions/x: "/subscriptions/x" is not a scale set's name; it must be min:max:name, such as 1:10:agents`},
		"max is more than a machine": {"1:99999999999999999999:a", GroupSpec{}, `--nodes=1:99999999999999999999:a: max "99999999999999999999" is not a number of machines; it must be min:max:name, such as 1:10:agents`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseGroup(tc.in)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.err, text(err)); d != "" {
				t.Errorf("error (-want +got):\n%s", d)
			}
		})
	}
}

func TestParseDiscovery(t *testing.T) {
	const allowed = "; it must be label:tag=value[,tag=value][,min=N][,max=N]"
	for name, tc := range map[string]struct {
		in   string
		want Discovery
		err  string
	}{
		"one tag":               {"label:a=b", Discovery{Tags: map[string]string{"a": "b"}}, ""},
		"tags and sizes":        {"label:a=b,min=1,c=d,max=5", Discovery{Tags: map[string]string{"a": "b", "c": "d"}, Min: new(1), Max: new(5)}, ""},
		"another kind":          {"asg:tag=x", Discovery{}, `--node-group-auto-discovery=asg:tag=x: it does not begin with label:` + allowed},
		"a tag without value":   {"label:a", Discovery{}, `--node-group-auto-discovery=label:a: "a" is not key=value` + allowed},
		"an empty value":        {"label:a=", Discovery{}, `--node-group-auto-discovery=label:a=: "a=" is not key=value` + allowed},
		"only sizes":            {"label:min=1,max=2", Discovery{}, `--node-group-auto-discovery=label:min=1,max=2: it names no tag, so that it would match nothing` + allowed},
		"a size that is a word": {"label:a=b,max=many", Discovery{}, `--node-group-auto-discovery=label:a=b,max=many: max "many" is not a number of machines` + allowed},
		"max below min":         {"label:a=b,min=3,max=2", Discovery{}, `--node-group-auto-discovery=label:a=b,min=3,max=2: max 2 is below min 3` + allowed},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseDiscovery(tc.in)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.err, text(err)); d != "" {
				t.Errorf("error (-want +got):\n%s", d)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestProviderIDIsSpelledAsTheCloudControllerSpellsIt(t *testing.T) {
	got := providerID("/subscriptions/S/resourcegroups/FARM/providers/Microsoft.Compute/virtualMachineScaleSets/Agents/virtualMachines/7")
	want := "azure:///subscriptions/S/resourceGroups/farm/providers/Microsoft.Compute/virtualMachineScaleSets/Agents/virtualMachines/7"
	if got != want {
		t.Errorf("provider id %s, want %s", got, want)
	}
}

func TestArchitectureIsReadOffTheSize(t *testing.T) {
	for size, want := range map[string]string{
		"Standard_D4s_v5": "amd64", "Standard_D4ps_v5": "arm64", "Standard_E8pds_v5": "arm64", "Standard_NP10s": "amd64",
		"Standard_D4pls_v6": "arm64", "Standard_NC4as_T4_v3": "amd64", "Standard_E64-16s_v5": "amd64", "": "amd64",
	} {
		if got := architecture(size); got != want {
			t.Errorf("%s: %s, want %s", size, got, want)
		}
	}
}
