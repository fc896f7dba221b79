package config

// foreign are the keys of azure.json that belong to cloud-provider-azure, to or to the CSI drivers. They are
// accepted in silence, and their values are not looked at.
var foreign = []string{
	// networks, load balancers and routes
	"vnetName", "vnetResourceGroup", "subnetName", "securityGroupName", "securityGroupResourceGroup", "routeTableName", "routeTableResourceGroup",
	"primaryAvailabilitySetName", "primaryScaleSetName", "loadBalancerSku", "loadBalancerName", "loadBalancerResourceGroup",
	"loadBalancerBackendPoolConfigurationType", "preConfiguredBackendPoolLoadBalancerTypes", "maximumLoadBalancerRuleCount",
	"excludeMasterFromStandardLB", "disableOutboundSNAT", "nodePoolsWithoutDedicatedSNAT", "enableMultipleStandardLoadBalancers",
	"multipleStandardLoadBalancerConfigurations", "enableMigrateToIPBasedBackendPoolAPI", "putVMSSVMBatchSize",
	"privateLinkServiceResourceGroup", "clusterServiceLoadBalancerHealthProbeMode", "clusterServiceSharedLoadBalancerHealthProbePort",
	"clusterServiceSharedLoadBalancerHealthProbePath", "useStandardV2LoadBalancer", "routeUpdateIntervalInSeconds", "routeUpdateWaitingInSeconds",
	"networkResourceTenantID", "networkResourceSubscriptionID",
	"loadBalancerBackendPoolUpdateIntervalInSeconds", "enableIPTagMutationForExistingPublicIP",

	// what the cloud controller reads, and how long it keeps it
	"useInstanceMetadata", "disableAvailabilitySetNodes", "disableAPICallCache", "availabilitySetNodesCacheTTLInSeconds",
	"nonVmssUniformNodesCacheTTLInSeconds", "vmssFlexCacheTTLInSeconds", "vmssFlexVMCacheTTLInSeconds", "vmCacheTTLInSeconds",
	"availabilitySetsCacheTTLInSeconds", "loadBalancerCacheTTLInSeconds", "nsgCacheTTLInSeconds", "routeTableCacheTTLInSeconds",
	"publicIPCacheTTLInSeconds", "plsCacheTTLInSeconds", "vmMetadataCacheTTLInSeconds", "cloudConfigType", "userAgent", "tags", "tagsMap",
	"systemTags", "extendedLocationName", "extendedLocationType", "cloudProviderBackoffMode", "unmanagedNodes",
	"auxiliaryTokenProvider", "disableUpdateCache", "disableAKSCredential", "enableMinimumRetryAfter", "listVmssVirtualMachinesWithoutInstanceView",

	// limits for requests that sluice does not send
	"routeRateLimit", "subnetsRateLimit", "routeTableRateLimit", "loadBalancerRateLimit", "publicIPAddressRateLimit", "securityGroupRateLimit",
	"storageAccountRateLimit", "snapshotRateLimit", "availabilitySetRateLimit", "attachDetachDiskRateLimit", "containerServiceRateLimit",
	"privateDNSRateLimit", "privateDNSZoneGroupRateLimit", "privateEndpointRateLimit", "privateLinkServiceRateLimit", "virtualNetworkRateLimit",
	"fileSharesRateLimit",
}
