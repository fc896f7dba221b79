package render

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sluice.dev/sluice/deploy"
	"sluice.dev/sluice/internal/clusterfile"
)

// role is one of Azure's own roles.
type role struct{ name, id string }

// Azure's own roles that the server's identity is given, with their published ids.
var (
	keyVaultSecretsUser       = role{"Key Vault Secrets User", "4633458b-17de-408a-b874-0445c86b69e6"}
	managedIdentityOperator   = role{"Managed Identity Operator", "f1a07417-d97a-45cb-824c-7a7467783830"}
	networkContributor        = role{"Network Contributor", "4d97b98b-1d4f-4787-a291-c67834d212e7"}
	reader                    = role{"Reader", "acdd72a7-3385-48ef-bd42-f606fba81ae7"}
	virtualMachineContributor = role{"Virtual Machine Contributor", "9980e02c-c2be-4d73-94e8-173b1dc7cf3c"}
	storageAccountContributor = role{"Storage Account Contributor", "17d1049b-9a84-46fb-8f53-869881c3d3ab"}
)

// RoleOfSluice is how the assignment of the template's own role is described. Those of Azure's roles have their names.
const RoleOfSluice = "sluice"

// RoleName is the name of one of Azure's own roles that a template gives, by the id of its definition; "" for any other.
func RoleName(id string) string {
	all := []role{
		keyVaultSecretsUser, managedIdentityOperator, networkContributor, reader, virtualMachineContributor, storageAccountContributor,
	}
	for _, r := range all {
		if strings.EqualFold(r.id, id[strings.LastIndexByte(id, '/')+1:]) {
			return r.name
		}
	}
	return ""
}

// actions are those of deploy/azure-role.json. The right to assign identities goes: no pool of a cluster file has one, and whoever has the right runs code
// under every identity within reach.
func actions() (all []string) {
	var role struct{ Actions []string }
	if err := json.Unmarshal(deploy.AzureRole, &role); err != nil {
		panic("render: deploy/azure-role.json: " + err.Error()) // it is part of the program
	}
	for _, action := range role.Actions {
		if action != "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action" {
			all = append(all, action)
		}
	}
	return all
}

// assignment gives a role to the server's identity. It has no display name, and its scope is no property: Azure refuses both. The type of the principal
// is said, since the directory may not know yet an identity that was just made.
func assignment(cluster, role, roleID, principal, scope, scopeID string, waits []string) resource {
	return resource{
		kind: kindAssignment, version: rolesVersion, name: call("guid", scopeID, quote(cluster), quote(role)), scope: scope, dependsOn: waits,
		body: object{{"properties", object{
			{"roleDefinitionId", expr(roleID)}, {"principalId", expr(principal)}, {"principalType", "ServicePrincipal"},
			{"description", role},
		}}},
	}
}

// of is the assignment of one of Azure's own roles.
func (r role) of(cluster, principal, scope, scopeID string, waits []string) resource {
	return assignment(cluster, r.name, call("subscriptionResourceId", quote(kindRole), quote(r.id)), principal, scope, scopeID, waits)
}

// roles gives the server's identity what sluice, the cloud controller and the drivers need.
func (m *maker) roles(who identity, at place) {
	f := m.f
	own := m.add(resource{
		kind: kindRole, version: rolesVersion, name: call("guid", resourceGroupID, quote("role of sluice")),
		body: object{{"properties", object{
			{"roleName", expr(call("concat", quote("sluice "+f.Name+" "), variable("suffix")))}, // a tenant has each name once
			{"type", "CustomRole"}, {"description", "What sluice does in the resource group of its scale sets."},
			{"permissions", list{object{{"actions", actions()}, {"notActions", list{}}, {"dataActions", list{}}, {"notDataActions", list{}}}}},
			{"assignableScopes", []string{expr(resourceGroupID)}},
		}}},
	})
	ownID, waits := call("subscriptionResourceId", quote(kindRole), own.name), append([]string{own.id()}, who.waits...)
	m.add(assignment(f.Name, RoleOfSluice, ownID, who.principal, "", resourceGroupID, waits))
	if f.Addons.CloudProvider {
		m.add(networkContributor.of(f.Name, who.principal, "", resourceGroupID, who.waits))
	}
	if f.Addons.CloudProvider || f.Addons.AzureDisk {
		m.add(virtualMachineContributor.of(f.Name, who.principal, "", resourceGroupID, who.waits))
	}
	if f.Addons.AzureFile {
		m.add(storageAccountContributor.of(f.Name, who.principal, "", resourceGroupID, who.waits))
	}
	if f.Secrets == clusterfile.KeyVault {
		vault := resourceID(kindVault, variable("vault"))
		m.add(keyVaultSecretsUser.of(f.Name, who.principal, vault, vault, append([]string{vault}, who.waits...)))
	}
	for i, id := range m.images() {
		m.elsewhere(fmt.Sprintf("image-%d", i+1), id, reader, who)
	}
	if at.given {
		m.elsewhere("network", f.Network.SubnetID, networkContributor, who)
	}
	if who.id != "" && (f.Addons.CloudProvider || f.Addons.AzureDisk) { // a change of the server's disks is a change of a machine that has the identity
		if who.made {
			m.add(managedIdentityOperator.of(f.Name, who.principal, who.id, who.id, who.waits))
		} else {
			m.elsewhere("identity", f.Identity.ID, managedIdentityOperator, who)
		}
	}
	m.output("principalId", expr(who.principal))
}

// images are the images that pools have by their id. Who grows a scale set must be able to read them.
func (m *maker) images() (ids []string) {
	for i := range m.f.Pools {
		id, _, _ := strings.Cut(m.f.ImageOf(&m.f.Pools[i]), "/versions/")
		if strings.HasPrefix(id, "/") && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// elsewhere gives a role at a resource that is there already, by a deployment into its resource group.
func (m *maker) elsewhere(what, id string, r role, who identity) {
	parts := strings.Split(id, "/")
	const subscription, group = 2, 4
	m.nested(m.name(what+"-rights"), parts[subscription], parts[group], who, []resource{r.of(m.f.Name, parameter("principalId"), quote(id), quote(id), nil)})
}

// nested is a deployment into another resource group, which must be there.
func (m *maker) nested(name, subscription, group string, who identity, resources []resource) {
	var all list
	for _, one := range resources {
		all = append(all, one.object())
	}
	body := object{}
	if subscription != "" {
		body = append(body, pair{"subscriptionId", subscription})
	}
	m.add(resource{
		kind: kindDeployment, version: nestedVersion, name: name, dependsOn: who.waits,
		body: append(body, pair{"resourceGroup", group}, pair{"properties", object{
			{"mode", "Incremental"},
			{"expressionEvaluationOptions", object{{"scope", "inner"}}},
			{"parameters", object{{"principalId", object{{"value", expr(who.principal)}}}}},
			{"template", object{
				{"$schema", templateSchema}, {"contentVersion", contentVersion},
				{"parameters", object{{"principalId", object{{"type", "string"}}}}},
				{"resources", all},
			}},
		}}),
	})
}
