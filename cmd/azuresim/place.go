package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sluice.dev/sluice/internal/azuresim"
)

// place is where a server can be found, and what it holds.
type place struct {
	dir, scheme, address string
	metadata             []string // "URL = machine"
	identity             []string // "the two variables = machine"
	control              string
	world                *azuresim.World
}

// url is the server's address as the certificate names it.
func (p place) url() string {
	host, port, err := net.SplitHostPort(p.address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return p.scheme + "://" + net.JoinHostPort("127.0.0.1", port)
	}
	return p.scheme + "://" + p.address
}

func (p place) file(name string) string {
	path, err := filepath.Abs(filepath.Join(p.dir, name))
	if err != nil {
		return filepath.Join(p.dir, name)
	}
	return path
}

// principal is the application that the files sign in as: the first that has a secret.
func (p place) principal() azuresim.ServicePrincipal {
	for _, s := range p.world.ServicePrincipals {
		if s.Secret != "" {
			return s
		}
	}
	return azuresim.ServicePrincipal{TenantID: p.world.Tenant}
}

// writeFiles writes what clients read: the environment of AZURE_ENVIRONMENT_FILEPATH, and an azure.json. Clients in Go ask no public host whether they
// may trust an authority whose tenant is adfs, and read sizes and zones as in Azure where the cloud is a stack in name alone.
func (p place) writeFiles() error {
	login := p.url() + "/"
	if p.world.ADFS {
		login += "adfs/"
	}
	audience := p.url()
	if len(p.world.Audiences) > 0 {
		audience = p.world.Audiences[0]
	}
	cloud := map[string]any{
		"name": "AzureStackCloud", "resourceManagerEndpoint": p.url(), "activeDirectoryEndpoint": login, "tokenAudience": audience,
		"serviceManagementEndpoint": p.url(), "resourceManagerVMDNSSuffix": "cloudapp.azure.test", "storageEndpointSuffix": "core.azure.test",
	}
	app := p.principal()
	flexible := slices.ContainsFunc(p.world.ScaleSets, func(s azuresim.ScaleSet) bool { return strings.EqualFold(s.OrchestrationMode, "Flexible") })
	config := map[string]any{
		"cloud": "AzureStackCloud", "tenantId": "adfs", "subscriptionId": p.world.Subscription, "resourceGroup": p.world.ResourceGroup,
		"location": p.world.Location, "vmType": "vmss", "aadClientId": app.ClientID, "aadClientSecret": app.Secret,
		"useInstanceMetadata": false, "disableAzureStackCloud": true, "enableVmssFlexNodes": flexible,
	}
	for name, v := range map[string]any{cloudFile: cloud, configFile: config} {
		raw, err := json.MarshalIndent(v, "", "  ")
		if err == nil {
			err = os.WriteFile(filepath.Join(p.dir, name), append(raw, '\n'), 0o600)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// describe says what runs and what to paste for each client.
func (p place) describe(out io.Writer) {
	url, app, ca := p.url(), p.principal(), p.file(caFile)
	if p.scheme == "http" {
		ca = "(none: plain HTTP)"
	}
	var machines []string
	for _, s := range p.world.ScaleSets {
		machines = append(machines, fmt.Sprintf("%s (%d)", s.Name, s.Capacity))
	}
	fmt.Fprintf(out, `azuresim is up
  Resource Manager and sign-in   %s
  CA certificate                 %s
  of attested documents          %s
  control                        %s
  subscription, group            %s  %s
  scale sets (machines)          %s
`, url, ca, p.file(attestFile), p.control, p.world.Subscription, p.world.ResourceGroup, strings.Join(machines, ", "))
	for _, m := range p.metadata {
		fmt.Fprintf(out, "  instance metadata              %s\n", m)
	}
	for _, m := range p.identity {
		fmt.Fprintf(out, "  App Service identity           %s\n", m)
	}
	fmt.Fprintf(out, `
az, in a shell of its own:
  export AZURE_CONFIG_DIR=$(mktemp -d) REQUESTS_CA_BUNDLE=%[2]s AZURE_CORE_INSTANCE_DISCOVERY=false AZURE_CORE_COLLECT_TELEMETRY=no
  az cloud register -n azuresim --profile 2020-09-01-hybrid --endpoint-resource-manager %[1]s --endpoint-active-directory %[1]s/adfs --endpoint-active-directory-resource-id %[1]s --endpoint-active-directory-graph-resource-id %[1]s --endpoint-management %[1]s --endpoint-gallery %[1]s --endpoint-vm-image-alias-doc %[1]s/aliases.json --suffix-keyvault-dns .vault.azure.net
  az cloud set -n azuresim && az login --service-principal -u %[3]s -p %[4]s --tenant %[5]s
  az vmss list -o table

azure-sdk-for-go (trust the CA with SSL_CERT_FILE=%[2]s):
  cloud.Configuration{ActiveDirectoryAuthorityHost: "%[1]s/", Services: map[cloud.ServiceName]cloud.ServiceConfiguration{
    cloud.ResourceManager: {Endpoint: "%[1]s", Audience: "%[1]s"}}}
  and DisableInstanceDiscovery: true in the credential's options, tenant %[5]s, client %[3]s, secret %[4]s

sluice cluster and sluice certify:
  export SSL_CERT_FILE=%[2]s AZURE_ENVIRONMENT_FILEPATH=%[6]s ARM_SUBSCRIPTION_ID=%[9]s ARM_TENANT_ID=%[5]s ARM_CLIENT_ID=%[3]s ARM_CLIENT_SECRET=%[4]s
  sluice certify --plan --region=%[10]s

cloud-provider-azure, cluster-autoscaler and the CSI drivers:
  export SSL_CERT_FILE=%[2]s AZURE_ENVIRONMENT_FILEPATH=%[6]s
  --cloud-config=%[7]s

Look and meddle (azuresim --help lists the verbs):
  azuresim requests --control=%[8]s
  azuresim inject --control=%[8]s kind='PATCH *' status=429 retryAfter=20m times=3

Ctrl-C stops it; nothing is kept but the files in --dir.
`, url, ca, app.ClientID, app.Secret, app.TenantID, p.file(cloudFile), p.file(configFile), p.control, p.world.Subscription, p.world.Location)
}
