package render

import (
	"sluice.dev/sluice/internal/clusterfile"
)

// The versions of Azure's interfaces that the template is written in.
const (
	computeVersion  = "2024-07-01"
	diskVersion     = "2024-03-02"
	networkVersion  = "2024-05-01"
	identityVersion = "2023-01-31"
	rolesVersion    = "2022-04-01"
	vaultVersion    = "2023-07-01"
	storageVersion  = "2023-05-01"
	nestedVersion   = "2024-03-01"
)

// The kinds of resources.
const (
	kindMachine     = "Microsoft.Compute/virtualMachines"
	kindScaleSet    = "Microsoft.Compute/virtualMachineScaleSets"
	kindDisk        = "Microsoft.Compute/disks"
	kindNetwork     = "Microsoft.Network/virtualNetworks"
	kindSubnet      = "Microsoft.Network/virtualNetworks/subnets"
	kindInterface   = "Microsoft.Network/networkInterfaces"
	kindSecurity    = "Microsoft.Network/networkSecurityGroups"
	kindPublic      = "Microsoft.Network/publicIPAddresses"
	kindNAT         = "Microsoft.Network/natGateways"
	kindIdentity    = "Microsoft.ManagedIdentity/userAssignedIdentities"
	kindRole        = "Microsoft.Authorization/roleDefinitions"
	kindAssignment  = "Microsoft.Authorization/roleAssignments"
	kindVault       = "Microsoft.KeyVault/vaults"
	kindSecret      = "Microsoft.KeyVault/vaults/secrets"
	kindAccount     = "Microsoft.Storage/storageAccounts"
	kindShare       = "Microsoft.Storage/storageAccounts/fileServices/shares"
	kindDeployment  = "Microsoft.Resources/deployments"
	templateSchema  = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
	contentVersion  = "1.0.0.0"
	ClusterTag      = "sluice-cluster" // on every resource: its value is the cluster's name
	resourceGroupID = "resourceGroup().id"
)

// MetadataFile is the key in the template's metadata that has the cluster file: Azure's record of a deployment keeps it.
const MetadataFile = "clusterFile"

// maker makes the template of one file.
type maker struct {
	f         *clusterfile.File
	r         *Rendering
	variables object
	resources []resource
	outputs   object
}

func (m *maker) add(r resource) resource {
	m.resources = append(m.resources, r)
	return r
}

// name is the cluster's with more behind it.
func (m *maker) name(suffix string) string { return m.f.Name + "-" + suffix }

func (m *maker) tags(more ...pair) object {
	return append(object{{ClusterTag, m.f.Name}}, more...)
}

// located is how the bodies of resources begin.
func (m *maker) located(more ...pair) object {
	return append(object{{"location", m.f.Region}, {"tags", m.tags()}}, more...)
}

// template is the whole of it.
func template(f *clusterfile.File, r *Rendering) object {
	m := &maker{f: f, r: r}
	m.variables = object{{"suffix", expr(call("uniqueString", resourceGroupID))}}
	identity := m.identity()
	network := m.network()
	vault := m.vault()
	network.waits = append(network.waits, m.server(network, identity, vault)) // else a pool's machine may get the server's address
	m.roles(identity, network)
	for i := range f.Pools {
		m.pool(&f.Pools[i], network)
	}
	m.storage(identity)
	var resources list
	for _, one := range m.resources {
		resources = append(resources, one.object())
	}
	return object{
		{"$schema", templateSchema},
		{"contentVersion", contentVersion},
		{"metadata", object{
			{"description", "Cluster " + f.Name + ". sluice cluster render makes this file from cluster.yaml; change that."},
			{MetadataFile, string(clusterfile.Write(*f))},
		}},
		{"parameters", object{
			{ParameterFingerprint, object{
				{"type", "string"}, {"minLength", 64}, {"maxLength", 64},
				{"metadata", object{{"description", "SHA-256 of the certificate of the door by which machines join, in hex. It is no secret."}}},
			}},
			{ParameterKey, object{
				{"type", "securestring"}, {"defaultValue", ""},
				{"metadata", object{{"description", "Certificate and key of this door in PEM; empty where the secret is there already."}}},
			}},
			{ParameterNew, object{
				{"type", "array"}, {"defaultValue", []string{}},
				{"metadata", object{{"description", "What is not there yet: network, server, and names of pools. New pools begin with min machines; others keep theirs."}}},
			}},
		}},
		{"variables", m.variables},
		{"resources", resources},
		{"outputs", m.outputs},
	}
}

func (m *maker) output(name, value string) {
	m.outputs = append(m.outputs, pair{name, object{{"type", "string"}, {"value", value}}})
}
