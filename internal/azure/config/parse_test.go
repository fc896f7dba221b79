package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const file = "azure.json"

func environment(pairs ...string) func(string) string {
	m := map[string]string{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		m[k] = v
	}
	return func(k string) string { return m[k] }
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// plain is a Config with its secrets to be seen.
func plain(c Config) (Config, [2]string) {
	secrets := [2]string{string(c.Identity.Secret), string(c.Identity.CertificatePassword)}
	c.Identity.Secret, c.Identity.CertificatePassword = "", ""
	return c, secrets
}

func TestLaterSourcesWin(t *testing.T) {
	for name, tc := range map[string]struct {
		file string
		env  []string
		want Config
	}{
		"nothing says nothing":                       {"", nil, Config{}},
		"an empty file says nothing":                 {"{}", nil, Config{}},
		"the file":                                   {`{"location":"westeurope"}`, nil, Config{Location: "westeurope"}},
		"a key in another letter case":               {`{"LOCATION":"westeurope"}`, nil, Config{Location: "westeurope"}},
		"the environment beats the file":             {`{"resourceGroup":"a"}`, []string{"ARM_RESOURCE_GROUP=b"}, Config{ResourceGroup: "b"}},
		"a blank variable is absent":                 {`{"resourceGroup":"a"}`, []string{"ARM_RESOURCE_GROUP=  "}, Config{ResourceGroup: "a"}},
		"values are trimmed":                         {`{"resourceGroup":" a\n"}`, []string{"LOCATION= b "}, Config{ResourceGroup: "a", Location: "b"}},
		"a blank string and null are absent":         {`{"resourceGroup":"","location":null}`, nil, Config{}},
		"an older key beats the newer":               {`{"vmssCacheTTL":30,"vmssCacheTTLInSeconds":90}`, nil, Config{CacheTTL: 30 * time.Second}},
		"the right variable beats the left":          {"", []string{"AZURE_VMSS_CACHE_TTL=20", "AZURE_VMSS_CACHE_TTL_IN_SECONDS=90"}, Config{CacheTTL: 20 * time.Second}},
		"the environment beats an older key":         {`{"vmssCacheTTL":30}`, []string{"AZURE_VMSS_CACHE_TTL_IN_SECONDS=90"}, Config{CacheTTL: 90 * time.Second}},
		"AZURE_TENANT_ID beats ARM_TENANT_ID":        {"", []string{"AZURE_TENANT_ID=t2", "ARM_TENANT_ID=t1", "ARM_CLIENT_ID=c", "ARM_CLIENT_CERT_PATH=p"}, Config{Identity: Identity{Tenant: "t2", Client: "c", CertificateFile: "p"}}},
		"numbers and truths may be quoted":           {`{"vmssCacheTTLInSeconds":"45","enableForceDelete":"true"}`, nil, Config{CacheTTL: 45 * time.Second, ForceDelete: true}},
		"the environment may switch off":             {`{"enableForceDelete":true}`, []string{"AZURE_ENABLE_FORCE_DELETE=false"}, Config{}},
		"keys of the cloud controller mean nothing":  {`{"vnetName":"v","securityGroupName":"n","loadBalancerSku":"standard","routeRateLimit":{"x":1},"tags":["a"]}`, nil, Config{}},
		"a cloud by its alias":                       {`{"cloud":"AZUREUSGOVERNMENT"}`, nil, Config{Cloud: "AzureUSGovernmentCloud"}},
		"a cloud in any letter case":                 {"", []string{"ARM_CLOUD=azurechinacloud"}, Config{Cloud: "AzureChinaCloud"}},
		"another cloud keeps its name":               {`{"cloud":"Contoso","resourceManagerEndpoint":"https://arm.contoso"}`, nil, Config{Cloud: "Contoso", EndpointsFrom: "https://arm.contoso"}},
		"labels are not predicted":                   {`{"enableLabelPredictionsOnTemplate":false}`, nil, Config{NoLabelPredictions: true}},
		"labels are predicted":                       {`{"enableLabelPredictionsOnTemplate":true}`, nil, Config{}},
		"flexible scale sets are managed":            {`{"enableVmssFlexNodes":true}`, nil, Config{AdmitFlexible: true}},
		"unless told not to":                         {"", []string{"AZURE_ENABLE_VMSS_FLEX=false"}, Config{RefuseFlexible: true}},
		"vmType of the cloud controller's third way": {`{"vmType":"vmssflex"}`, nil, Config{VMType: "vmssflex"}},
		"availability sets": {
			`{"vmType":"Standard","deployment":"d","deploymentParameters":{"n":{"value":1}},"maxDeploymentsCount":4}`, nil,
			Config{VMType: "standard", Kind: Standard, Deployment: "d", DeploymentParameters: map[string]any{"n": map[string]any{"value": 1.0}}, MaxDeployments: 4},
		},
		"caches": {
			`{"vmssVmsCacheTTL":200,"vmssVmsCacheJitter":30,"getVmssSizeRefreshPeriod":15}`, nil,
			Config{InstanceCacheTTL: 200 * time.Second, InstanceCacheJitter: 30 * time.Second, SizeRefresh: 15 * time.Second},
		},
		"back-off": {
			`{"cloudProviderBackoff":true,"cloudProviderBackoffRetries":3,"cloudProviderBackoffDuration":2}`, []string{"BACKOFF_EXPONENT=2", "BACKOFF_JITTER=0.5"},
			Config{
				Backoff: Backoff{Enabled: true, Retries: 3, Exponent: 2, Duration: 2 * time.Second, Jitter: 0.5},
				Notes:   []string{"azure.json: cloudProviderBackoff=true has no effect: no request is repeated by itself: what failed is asked again in a later cycle, each kind of failure after its own rest"},
			},
		},
		"rate limits": {
			`{"cloudProviderRateLimit":true,"cloudProviderRateLimitQPS":3.5,"cloudProviderRateLimitBucket":10,
			  "virtualMachineScaleSetRateLimit":{"CloudProviderRateLimit":true,"cloudProviderRateLimitQPSWrite":7,"cloudProviderRateLimitBucketWrite":70}}`,
			[]string{"RATE_LIMIT_WRITE_QPS=2", "RATE_LIMIT_WRITE_BUCKETS=20"},
			Config{RateLimit: RateLimit{
				Enabled: true, ReadQPS: 3.5, ReadBurst: 10, WriteQPS: 2, WriteBurst: 20,
				Clients: map[string]RateLimit{"virtualMachineScaleSet": {Enabled: true, WriteQPS: 7, WriteBurst: 70}},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var data []byte
			if tc.file != "" {
				data = []byte(tc.file)
			}
			got, err := Parse(data, file, environment(tc.env...))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestTheFirstCredentialThatIsGivenCounts(t *testing.T) {
	const all = `"tenantId":"t","aadClientId":"c","aadClientSecret":"s","aadClientCertPath":"p","aadClientCertPassword":"w","userAssignedIdentityID":"u"`
	for name, tc := range map[string]struct {
		file string
		want Identity
	}{
		"a token file before all":                {`{` + all + `,"aadFederatedTokenFile":"f"}`, Identity{Tenant: "t", Client: "c", TokenFile: "f"}},
		"even before managed identity":           {`{` + all + `,"aadFederatedTokenFile":"f","useManagedIdentityExtension":true}`, Identity{Tenant: "t", Client: "c", TokenFile: "f"}},
		"workload identity by its older key":     {`{` + all + `,"aadFederatedTokenFile":"f","useWorkloadIdentityExtension":true}`, Identity{Tenant: "t", Client: "c", TokenFile: "f"}},
		"managed identity before a secret":       {`{` + all + `,"useManagedIdentityExtension":true}`, Identity{UserAssigned: "u"}},
		"a secret before a certificate":          {`{` + all + `}`, Identity{Tenant: "t", Client: "c", Secret: "s"}},
		"a certificate with its password":        {`{"tenantId":"t","aadClientId":"c","aadClientCertPath":"p","aadClientCertPassword":"w"}`, Identity{Tenant: "t", Client: "c", CertificateFile: "p", CertificatePassword: "w"}},
		"AD FS needs no tenant":                  {`{"identitySystem":"ADFS","tenantId":"t","aadClientId":"c","aadClientSecret":"s"}`, Identity{Tenant: "adfs", Client: "c", Secret: "s"}},
		"nothing: the machine's own":             {`{}`, Identity{}},
		"a tenant alone is no application":       {`{"tenantId":"t"}`, Identity{}},
		"a managed identity needs no switch":     {`{"userAssignedIdentityID":"u"}`, Identity{UserAssigned: "u"}},
		"aks-engine's msi as client and secret":  {`{"useManagedIdentityExtension":true,"aadClientId":"msi","aadClientSecret":"msi"}`, Identity{}},
		"principal is the only method by name":   {`{"authMethod":"Principal"}`, Identity{}},
		"a resource id stays in its letter case": {`{"userAssignedIdentityID":"/Subscriptions/S/x"}`, Identity{UserAssigned: "/Subscriptions/S/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(tc.file), file, environment())
			if err != nil {
				t.Fatal(err)
			}
			if got.Identity != tc.want {
				t.Errorf("identity %s %q %q, want %s %q %q", got.Identity, string(got.Identity.Secret), got.Identity.CertificateFile, tc.want, string(tc.want.Secret), tc.want.CertificateFile)
			}
		})
	}
}

func TestRefusalsNameTheKeyTheValueAndWhatIsAllowed(t *testing.T) {
	const needs = " needs tenantId (ARM_TENANT_ID or AZURE_TENANT_ID), aadClientId (ARM_CLIENT_ID or AZURE_CLIENT_ID) and "
	const principal = "a service principal" + needs + "aadClientSecret (ARM_CLIENT_SECRET) or aadClientCertPath (ARM_CLIENT_CERT_PATH); for a managed identity set useManagedIdentityExtension (ARM_USE_MANAGED_IDENTITY_EXTENSION) to true"
	const workload = "workload identity" + needs + "aadFederatedTokenFile (AZURE_FEDERATED_TOKEN_FILE); for a managed identity set useManagedIdentityExtension (ARM_USE_MANAGED_IDENTITY_EXTENSION) to true"
	for name, tc := range map[string]struct {
		file string
		env  []string
		want string
	}{
		"no JSON":                      {"cloud: x", nil, `azure.json: it is not JSON from line 1 on; it must be an azure.json: one object of keys and values`},
		"a comma too many":             {"{\n\"cloud\":\"x\",\n}", nil, `azure.json: it is not JSON from line 3 on; it must be an azure.json: one object of keys and values`},
		"a file cut short":             {`{"cloud":`, nil, `azure.json: it is not a whole JSON object; it must be an azure.json: one object of keys and values`},
		"an empty file":                {" ", nil, `azure.json: it is not a whole JSON object; it must be an azure.json: one object of keys and values`},
		"a list":                       {`[1]`, nil, `azure.json: it is not a whole JSON object; it must be an azure.json: one object of keys and values`},
		"a word for a truth":           {`{"enableForceDelete":"yes please"}`, nil, `azure.json: enableForceDelete=yes please: it must be true or false`},
		"a variable's word":            {"", []string{"ARM_USE_MANAGED_IDENTITY_EXTENSION=yes"}, `ARM_USE_MANAGED_IDENTITY_EXTENSION=yes: it must be true or false`},
		"seconds with a unit":          {`{"vmssCacheTTLInSeconds":"60s"}`, nil, `azure.json: vmssCacheTTLInSeconds=60s: it must be a whole number of seconds from 0 to 2147483647`},
		"seconds below nothing":        {"", []string{"AZURE_VMSS_VMS_CACHE_TTL=-1"}, `AZURE_VMSS_VMS_CACHE_TTL=-1: it must be a whole number of seconds from 0 to 2147483647`},
		"a number that is none":        {"", []string{"BACKOFF_EXPONENT=NaN"}, `BACKOFF_EXPONENT=NaN: it must be a number from 0 to 2147483647`},
		"half a retry":                 {`{"cloudProviderBackoffRetries":1.5}`, nil, `azure.json: cloudProviderBackoffRetries=1.5: it must be a whole number from 0 to 2147483647`},
		"an overridden value is read":  {`{"vmssCacheTTLInSeconds":"x"}`, []string{"AZURE_VMSS_CACHE_TTL=1"}, `azure.json: vmssCacheTTLInSeconds=x: it must be a whole number of seconds from 0 to 2147483647`},
		"an object for a text":         {`{"cloud":{"a":1}}`, nil, `azure.json: cloud={...}: it must not be an object`},
		"a list for a text":            {`{"cloud":["a"]}`, nil, `azure.json: cloud=[...]: it must not be a list`},
		"a text for an object":         {`{"deploymentParameters":"x"}`, nil, `azure.json: deploymentParameters=x: it must be an object`},
		"a block with a foreign key":   {`{"diskRateLimit":{"qps":1}}`, nil, `azure.json: diskRateLimit={...}: its key "qps" is none of the five cloudProviderRateLimit keys`},
		"a block with a wrong value":   {`{"diskRateLimit":{"cloudProviderRateLimit":7}}`, nil, `azure.json: diskRateLimit={...}: cloudProviderRateLimit=7: it must be true or false`},
		"both identities":              {`{"useManagedIdentityExtension":true}`, []string{"ARM_USE_WORKLOAD_IDENTITY_EXTENSION=true"}, `azure.json: useManagedIdentityExtension=true and ARM_USE_WORKLOAD_IDENTITY_EXTENSION=true exclude each other: choose managed identity or workload identity`},
		"the command line's login":     {`{"authMethod":"cli"}`, nil, `azure.json: authMethod=cli is refused: it signs in as the person at an az command line, and a pod has none; use a managed identity, workload identity or a service principal`},
		"another method":               {`{"authMethod":"x"}`, nil, `azure.json: authMethod=x: it must be principal`},
		"another identity system":      {`{"identitySystem":"ldap"}`, nil, `azure.json: identitySystem=ldap: it must be azure_ad or adfs`},
		"data-plane identities":        {`{"aadMSIDataPlaneIdentityPath":"/p"}`, nil, `azure.json: aadMSIDataPlaneIdentityPath=/p is refused: the file of data-plane identities is internal to Microsoft's own services; use a managed identity or workload identity`},
		"pools of AKS":                 {"", []string{"AZURE_ENABLE_VMS_AGENT_POOLS=true"}, `AZURE_ENABLE_VMS_AGENT_POOLS=true is refused: pools of single machines belong to AKS, which scales them itself; sluice is for clusters that are not AKS`},
		"a proxy of AKS":               {`{"hostedResourceProxyURL":"https://p"}`, nil, `azure.json: hostedResourceProxyURL=https://p is refused: requests go to Resource Manager itself and to no proxy of AKS`},
		"AKS as a kind":                {"", []string{"ARM_VM_TYPE=AKS"}, `ARM_VM_TYPE=AKS is refused: AKS scales its own pools; it must be vmss, vmssflex or standard`},
		"another kind":                 {`{"vmType":"bare"}`, nil, `azure.json: vmType=bare: it must be vmss, vmssflex or standard`},
		"standard without deployment":  {`{"vmType":"standard"}`, nil, `azure.json: vmType=standard needs deployment (ARM_DEPLOYMENT), the name of the deployment that made the machines`},
		"no tenant":                    {"", []string{"ARM_CLIENT_ID=c", "ARM_CLIENT_SECRET=x"}, "tenantId (ARM_TENANT_ID or AZURE_TENANT_ID) is not given: " + principal},
		"no client":                    {"", []string{"ARM_TENANT_ID=t", "ARM_CLIENT_SECRET=x"}, "aadClientId (ARM_CLIENT_ID or AZURE_CLIENT_ID) is not given: " + principal},
		"no secret":                    {"", []string{"ARM_TENANT_ID=t", "ARM_CLIENT_ID=c"}, "aadClientSecret (ARM_CLIENT_SECRET) or aadClientCertPath (ARM_CLIENT_CERT_PATH) is not given: " + principal},
		"workload identity, no token":  {`{"useFederatedWorkloadIdentityExtension":true,"tenantId":"t","aadClientId":"c"}`, nil, "aadFederatedTokenFile (AZURE_FEDERATED_TOKEN_FILE) is not given: " + workload},
		"workload identity, no tenant": {"", []string{"AZURE_FEDERATED_TOKEN_FILE=/f", "AZURE_CLIENT_ID=c"}, "tenantId (ARM_TENANT_ID or AZURE_TENANT_ID) is not given: " + workload},
	} {
		t.Run(name, func(t *testing.T) {
			var data []byte
			if tc.file != "" {
				data = []byte(tc.file)
			}
			_, err := Parse(data, file, environment(tc.env...))
			if d := cmp.Diff(tc.want, said(err)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestWhatHasNoEffectIsNoted(t *testing.T) {
	c, err := Parse([]byte(`{"vnetName":"v","enableVMSSEtag":false,"strictCacheUpdates":true,
		"enableVMsAgentPool":false,"hostedResourceGroup":"","vmssVmsCacheJitter":400,"colour":"red","location":"a","location":"b","clusterResourceGroup":"",
		"enableMinimumRetryAfter":true,"listVmssVirtualMachinesWithoutInstanceView":true,"loadBalancerBackendPoolUpdateIntervalInSeconds":30,"enableIPTagMutationForExistingPublicIP":true}`),
		file, environment("CLUSTER_NAME=prod", "ARM_CLUSTER_RESOURCE_GROUP=", "ARM_BASE_URL_FOR_AP_CLIENT=https://aks.example", "AZURE_ENVIRONMENT_FILEPATH=/e", "ARM_CLOUD=AzurePublicCloud"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"azure.json: enableVMSSEtag=false has no effect: a resize is sent on condition that the scale set is still as it was read",
		"CLUSTER_NAME=prod has no effect: it names the AKS cluster whose pools enableVMsAgentPool would switch on; node groups are found by --nodes or their tags",
		"ARM_BASE_URL_FOR_AP_CLIENT=https://aks.example has no effect: it is where the pools of an AKS cluster would be asked for; Resource Manager is that of the cloud",
		"AZURE_ENVIRONMENT_FILEPATH=/e has no effect: it is read for AzureStackCloud, and the cloud is AzurePublicCloud",
		"azure.json: vmssVmsCacheJitter=400 is more than the lists are kept: it counts as 60",
		"azure.json has the key location twice: the last one counts",
		`azure.json has the key "colour", which is none that sluice or cloud-provider-azure knows: it has no effect`,
	}
	if d := cmp.Diff(want, c.Notes); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
	if c.Location != "b" || c.EnvironmentFile != "" {
		t.Errorf("location %q, environment file %q: want the last location and no file", c.Location, c.EnvironmentFile)
	}
}

// planted is in no text that anybody may read.
const planted = "Pl4nted~S3cret"

func TestSecretsAreNeverShown(t *testing.T) {
	for name, data := range map[string]string{
		"given":              `{"tenantId":"t","aadClientId":"c","aadClientSecret":"` + planted + `"}`,
		"a password":         `{"tenantId":"t","aadClientId":"c","aadClientCertPath":"p","aadClientCertPassword":"` + planted + `"}`,
		"half given":         `{"aadClientSecret":"` + planted + `"}`,
		"in an object":       `{"aadClientSecret":{"value":"` + planted + `"}}`,
		"in a list":          `{"aadClientSecret":["` + planted + `"]}`,
		"twice":              `{"aadClientSecret":"x","aadClientSecret":"` + planted + `","tenantId":"t","aadClientId":"c"}`,
		"in a broken file":   `{"aadClientSecret":"` + planted + `"`,
		"in a broken string": `{"aadClientSecret":"\x` + planted + `"}`,
		"without quotes":     `{"aadClientSecret":` + planted + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(data), file, environment())
			marshalled, merr := json.Marshal(c)
			if merr != nil {
				t.Fatal(merr)
			}
			for _, text := range []string{
				said(err), fmt.Sprint(c), fmt.Sprintf("%+v %#v %q %x", c, c, c.Identity, c.Identity), c.Identity.String(), string(marshalled), strings.Join(c.Notes, "\n"),
			} {
				if strings.Contains(text, planted) || strings.Contains(text, fmt.Sprintf("%x", planted)) {
					t.Errorf("the secret is shown: %s", text)
				}
			}
		})
	}
	if _, secrets := plain(Config{Identity: Identity{Secret: planted}}); secrets[0] != planted {
		t.Errorf("the secret is lost")
	}
}

func FuzzFile(f *testing.F) {
	for _, seed := range []string{
		`{"cloud":"AzurePublicCloud","vmssCacheTTL":60,"useManagedIdentityExtension":true}`, `{"diskRateLimit":{"cloudProviderRateLimitQPS":1}}`,
		`{"vmType":"standard","deployment":"d","deploymentParameters":{"a":{"value":[1,null]}}}`, `[]`, `{"a":`, `{"":null}`, "{}{}", `{"aadClientSecret":"` + planted + `"}`,
	} {
		f.Add([]byte(seed), "")
	}
	f.Add([]byte(`{"aadClientSecret":"x"}`), "1e3")
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		c, err := Parse(data, file, func(name string) string {
			if name == "ARM_CLIENT_SECRET" {
				return planted
			}
			return value
		})
		if text := said(err) + fmt.Sprintf("%+v", c); strings.Contains(text, planted) && !strings.Contains(string(data)+value, planted) {
			t.Errorf("the secret is shown: %s", text)
		}
		if text := said(err); strings.Contains(text, "\n") {
			t.Errorf("the error is not one line: %q", text)
		}
		if c.CacheTTL < 0 || c.InstanceCacheTTL < 0 || c.InstanceCacheJitter < 0 || c.MaxDeployments < 0 {
			t.Errorf("something is below nothing: %+v", c)
		}
		again, err2 := Parse(data, file, func(name string) string {
			if name == "ARM_CLIENT_SECRET" {
				return planted
			}
			return value
		})
		if d := cmp.Diff(c, again); d != "" || said(err) != said(err2) {
			t.Errorf("the same file read twice is not the same: %s", d)
		}
	})
}

func TestTheDocumentationIsTheTable(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "azure-config.md")
	want := Markdown()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Errorf("run go test ./internal/azure/config -update (-table +page):\n%s", d)
	}
}

func TestEveryNameStandsOnce(t *testing.T) {
	seen := map[string]bool{}
	claim := func(name string) {
		if k := strings.ToLower(name); name != "" && seen[k] {
			t.Errorf("%s stands twice", name)
		} else {
			seen[k] = true
		}
	}
	for _, s := range Settings {
		for _, name := range append(append([]string{s.Key}, s.Older...), s.Variables...) {
			if name != "location" { // LOCATION is its variable
				claim(name)
			}
		}
		if s.About == "" || strings.HasSuffix(s.About, ".") {
			t.Errorf("%s: about is %q, want a sentence without its full stop", s.name(), s.About)
		}
	}
	for _, name := range foreign {
		claim(name)
	}
}

// TestNoApplicationIsLeftOfAnEnvironment gives every variable, one by one and all that are of identity at once.
func TestNoApplicationIsLeftOfAnEnvironment(t *testing.T) {
	var all []string
	for _, s := range Settings {
		for _, v := range s.Variables {
			all = append(all, v+"=true")
			c, err := Parse(nil, "", WithoutApplication(environment(v+"=true")))
			if c.Identity.Application() || err != nil && strings.Contains(err.Error(), "aadClient") {
				t.Errorf("%s leaves %s, %v", v, c.Identity, err)
			}
		}
	}
	getenv, hidden := environment(all...), 0
	for _, pair := range all {
		name, _, _ := strings.Cut(pair, "=")
		if WithoutApplication(getenv)(name) == "" {
			hidden++
			if !strings.Contains(name, "TENANT") && !strings.Contains(name, "CLIENT") && !strings.Contains(name, "FEDERATED") && !strings.Contains(name, "WORKLOAD") {
				t.Errorf("%s is hidden", name)
			}
		}
	}
	if hidden != 10 {
		t.Errorf("%d variables are hidden, want 10", hidden)
	}
}
