package config

import (
	"flag"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/reference/azure-config.md")

func TestACustomCloudIsReadFromItsFile(t *testing.T) {
	hub := Cloud{Name: "AzureStackCloud", ResourceManager: "https://management.local.azurestack.external", Audience: "https://management.hub.onmicrosoft.com/0", Authority: "https://login.example"}
	adfs := hub
	adfs.Authority, adfs.ADFS = "https://adfs.local.azurestack.external", true
	named := hub
	named.Name = "Contoso"
	for name, tc := range map[string]struct {
		file string
		want Cloud
		err  string
	}{
		"all of it":              {`{"name":"Contoso","resourceManagerEndpoint":"https://management.local.azurestack.external/","activeDirectoryEndpoint":"https://login.example/","tokenAudience":"https://management.hub.onmicrosoft.com/0","storageEndpointSuffix":"x"}`, named, ""},
		"the service's audience": {`{"resourceManagerEndpoint":"https://management.local.azurestack.external","activeDirectoryEndpoint":"https://login.example","serviceManagementEndpoint":"https://management.hub.onmicrosoft.com/0"}`, hub, ""},
		"AD FS by its path":      {`{"resourceManagerEndpoint":"https://management.local.azurestack.external","activeDirectoryEndpoint":"https://adfs.local.azurestack.external/adfs/","tokenAudience":"https://management.hub.onmicrosoft.com/0"}`, adfs, ""},
		"no audience":            {`{"resourceManagerEndpoint":"https://a","activeDirectoryEndpoint":"https://b"}`, Cloud{}, "AZURE_ENVIRONMENT_FILEPATH=/e: tokenAudience is empty, so that no token can be asked for: give the audience of the cloud's Resource Manager"},
		"no manager":             {`{"activeDirectoryEndpoint":"https://b","tokenAudience":"c"}`, Cloud{}, `AZURE_ENVIRONMENT_FILEPATH=/e: resourceManagerEndpoint is "" and must be a URL such as https://management.local.azurestack.external`},
		"no URL":                 {`{"resourceManagerEndpoint":"https://a","activeDirectoryEndpoint":"b","tokenAudience":"c"}`, Cloud{}, `AZURE_ENVIRONMENT_FILEPATH=/e: activeDirectoryEndpoint is "b" and must be a URL such as https://management.local.azurestack.external`},
		"no JSON":                {`name: x`, Cloud{}, "AZURE_ENVIRONMENT_FILEPATH=/e: it must be a JSON object with resourceManagerEndpoint, activeDirectoryEndpoint and tokenAudience as strings"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseEnvironment([]byte(tc.file), "/e")
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.err, said(err)); d != "" {
				t.Errorf("error (-want +got):\n%s", d)
			}
		})
	}
}

func TestACustomCloudIsReadFromItsResourceManager(t *testing.T) {
	const at = "https://arm.contoso"
	const contoso = `{"name":"Contoso","resourceManager":"https://arm.contoso/","authentication":{"loginEndpoint":"https://login.contoso/","audiences":["https://management.contoso/"]}}`
	const public = `{"name":"AzureCloud","resourceManager":"https://management.azure.com","authentication":{"loginEndpoint":"https://login.microsoftonline.com","audiences":["https://management.azure.com"]}}`
	want := Cloud{Name: "Contoso", ResourceManager: at, Audience: "https://management.contoso/", Authority: "https://login.contoso"}
	named := func(name string) Cloud { c := want; c.Name = name; return c }
	for name, tc := range map[string]struct {
		cloud, answer string
		want          Cloud
		err           string
	}{
		"the entry of that name":         {"Contoso", "[" + public + "," + contoso + "]", want, ""},
		"the name in another case":       {"CONTOSO", "[" + contoso + "]", want, ""},
		"a public cloud by its alias":    {"AzurePublicCloud", "[" + public + "]", Cloud{"AzurePublicCloud", "https://management.azure.com", "https://management.azure.com", "https://login.microsoftonline.com", false}, ""},
		"the only one":                   {"", "[" + contoso + "]", want, ""},
		"the only one of a Stack Hub":    {"AzureStackCloud", "[" + contoso + "]", want, ""},
		"the object of the old version":  {"Contoso", `{"galleryEndpoint":"x","graphEndpoint":"y","authentication":{"loginEndpoint":"https://login.contoso","audiences":["","https://management.contoso/"]}}`, want, ""},
		"an object for a nameless cloud": {"", `{"authentication":{"loginEndpoint":"https://login.contoso","audiences":["https://management.contoso/"]}}`, named("AzureStackCloud"), ""},
		"AD FS by its provider":          {"", `[{"name":"Contoso","authentication":{"loginEndpoint":"https://login.contoso","audiences":["https://management.contoso/"],"identityProvider":"ADFS"}}]`, Cloud{"Contoso", at, "https://management.contoso/", "https://login.contoso", true}, ""},
		"another name":                   {"Fabrikam", "[" + public + "," + contoso + "]", Cloud{}, `resourceManagerEndpoint=https://arm.contoso: its /metadata/endpoints describes no cloud "Fabrikam": set cloud (ARM_CLOUD) to one of AzureCloud, Contoso`},
		"no name for two":                {"", "[" + public + "," + contoso + "]", Cloud{}, `resourceManagerEndpoint=https://arm.contoso: its /metadata/endpoints describes no cloud "": set cloud (ARM_CLOUD) to one of AzureCloud, Contoso`},
		"no cloud at all":                {"", "[]", Cloud{}, `resourceManagerEndpoint=https://arm.contoso: its /metadata/endpoints describes no cloud: correct the endpoint, or describe the cloud in the file that AZURE_ENVIRONMENT_FILEPATH names`},
		"empty audiences":                {"", `[{"name":"Contoso","authentication":{"loginEndpoint":"https://login.contoso","audiences":[]}}]`, Cloud{}, `resourceManagerEndpoint=https://arm.contoso: its /metadata/endpoints is of no use for cloud Contoso: authentication.audiences is empty, so that no token can be asked for: give the audience of the cloud's Resource Manager`},
		"a page":                         {"", `<html>`, Cloud{}, `resourceManagerEndpoint=https://arm.contoso: its /metadata/endpoints answers neither a list nor an object of endpoints: correct the endpoint, or describe the cloud in the file that AZURE_ENVIRONMENT_FILEPATH names`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseMetadata([]byte(tc.answer), at, tc.cloud)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(tc.err, said(err)); d != "" {
				t.Errorf("error (-want +got):\n%s", d)
			}
		})
	}
}

func TestCloudsAreKnownByTheirAliases(t *testing.T) {
	for alias, want := range map[string]string{
		"AZURECLOUD": "AzurePublicCloud", "azurepubliccloud": "AzurePublicCloud", "AzureUSGovernment": "AzureUSGovernmentCloud",
		"AZUREUSGOVERNMENTCLOUD": "AzureUSGovernmentCloud", "azurechina": "AzureChinaCloud", "AzureStackCloud": "", "AzureGermanCloud": "", "": "",
	} {
		if got, ok := KnownCloud(alias); got.Name != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", alias, got.Name, want)
		}
	}
}
