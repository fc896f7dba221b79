package azuresim

// builtInRoles are Azure's own roles that have to do with machines, with their
// published GUIDs and, of their actions, those of resources that exist here.
// Source: the built-in roles' reference, 2026-05. NB: Virtual Machine Contributor
// neither reads SKUs nor assigns identities.
var builtInRoles = []*Role{
	{
		ID: "8e3af657-a8ff-443c-a75c-2fe8c4bcb635", Name: "Owner",
		Description: "Grants full access to manage all resources, including the ability to assign roles in Azure RBAC.",
		Actions:     []string{"*"},
	},
	{
		ID: "b24988ac-6180-42a0-ab88-20f7382dd24c", Name: "Contributor",
		Description: "Grants full access to manage all resources, but does not allow you to assign roles in Azure RBAC.",
		Actions:     []string{"*"},
		NotActions:  []string{"Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write", "Microsoft.Authorization/elevateAccess/Action"},
	},
	{
		ID: "acdd72a7-3385-48ef-bd42-f606fba81ae7", Name: "Reader",
		Description: "View all resources, but does not allow you to make any changes.",
		Actions:     []string{"*/read"},
	},
	{
		ID: "9980e02c-c2be-4d73-94e8-173b1dc7cf3c", Name: "Virtual Machine Contributor",
		Description: "Lets you manage virtual machines, but not access to them, and not the virtual network or storage account they're connected to.",
		Actions: []string{
			"Microsoft.Authorization/*/read",
			"Microsoft.Compute/availabilitySets/*",
			"Microsoft.Compute/locations/*",
			"Microsoft.Compute/virtualMachines/*",
			"Microsoft.Compute/virtualMachineScaleSets/*",
			"Microsoft.Compute/disks/write",
			"Microsoft.Compute/disks/read",
			"Microsoft.Compute/disks/delete",
			"Microsoft.Insights/alertRules/*",
			"Microsoft.Network/applicationGateways/backendAddressPools/join/action",
			"Microsoft.Network/loadBalancers/backendAddressPools/join/action",
			"Microsoft.Network/loadBalancers/inboundNatPools/join/action",
			"Microsoft.Network/loadBalancers/inboundNatRules/join/action",
			"Microsoft.Network/loadBalancers/probes/join/action",
			"Microsoft.Network/loadBalancers/read",
			"Microsoft.Network/locations/*",
			"Microsoft.Network/networkInterfaces/*",
			"Microsoft.Network/networkSecurityGroups/join/action",
			"Microsoft.Network/networkSecurityGroups/read",
			"Microsoft.Network/publicIPAddresses/join/action",
			"Microsoft.Network/publicIPAddresses/read",
			"Microsoft.Network/virtualNetworks/read",
			"Microsoft.Network/virtualNetworks/subnets/join/action",
			"Microsoft.ResourceHealth/availabilityStatuses/read",
			"Microsoft.Resources/deployments/*",
			"Microsoft.Resources/subscriptions/resourceGroups/read",
		},
	},
	{
		ID: "4d97b98b-1d4f-4787-a291-c67834d212e7", Name: "Network Contributor",
		Description: "Lets you manage networks, but not access to them.",
		Actions: []string{
			"Microsoft.Authorization/*/read",
			"Microsoft.Insights/alertRules/*",
			"Microsoft.Network/*",
			"Microsoft.ResourceHealth/availabilityStatuses/read",
			"Microsoft.Resources/deployments/*",
			"Microsoft.Resources/subscriptions/resourceGroups/read",
		},
	},
	{
		ID: "f1a07417-d97a-45cb-824c-7a7467783830", Name: "Managed Identity Operator",
		Description: "Read and Assign User Assigned Identity",
		Actions: []string{
			"Microsoft.ManagedIdentity/userAssignedIdentities/*/read",
			"Microsoft.ManagedIdentity/userAssignedIdentities/*/assign/action",
			"Microsoft.ManagedIdentity/userAssignedIdentities/read",
			"Microsoft.ManagedIdentity/userAssignedIdentities/assign/action",
			"Microsoft.Authorization/*/read",
			"Microsoft.Insights/alertRules/*",
			"Microsoft.Resources/subscriptions/resourceGroups/read",
			"Microsoft.Resources/deployments/*",
		},
	},
	{
		ID: "4633458b-17de-408a-b874-0445c86b69e6", Name: "Key Vault Secrets User",
		Description: "Read secret contents.",
		DataActions: []string{"Microsoft.KeyVault/vaults/secrets/getSecret/action", "Microsoft.KeyVault/vaults/secrets/readMetadata/action"},
	},
	{
		ID: "b86a8fe4-44ce-4948-aee5-eccb2c155cd7", Name: "Key Vault Secrets Officer",
		Description: "Perform any action on the secrets of a key vault, except manage permissions.",
		DataActions: []string{"Microsoft.KeyVault/vaults/secrets/*"},
	},
	{
		ID: "17d1049b-9a84-46fb-8f53-869881c3d3ab", Name: "Storage Account Contributor",
		Description: "Permits management of storage accounts.",
		Actions: []string{
			"Microsoft.Authorization/*/read",
			"Microsoft.Insights/alertRules/*",
			"Microsoft.Insights/diagnosticSettings/*",
			"Microsoft.Network/virtualNetworks/subnets/joinViaServiceEndpoint/action",
			"Microsoft.ResourceHealth/availabilityStatuses/read",
			"Microsoft.Resources/deployments/*",
			"Microsoft.Resources/subscriptions/resourceGroups/read",
			"Microsoft.Storage/storageAccounts/*",
		},
	},
}
