package config

// foreign are the keys of azure.json that belong to cloud-provider-azure, to the CSI drivers, or to cluster-autoscaler on AKS. They are
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

	// what the cloud controller reads, and how long it keeps it
	"useInstanceMetadata", "disableAvailabilitySetNodes", "disableAPICallCache", "availabilitySetNodesCacheTTLInSeconds",
	"nonVmssUniformNodesCacheTTLInSeconds", "vmssFlexCacheTTLInSeconds", "vmssFlexVMCacheTTLInSeconds", "vmCacheTTLInSeconds",
	"availabilitySetsCacheTTLInSeconds", "loadBalancerCacheTTLInSeconds", "nsgCacheTTLInSeconds", "routeTableCacheTTLInSeconds",
	"publicIPCacheTTLInSeconds", "plsCacheTTLInSeconds", "vmMetadataCacheTTLInSeconds", "cloudConfigType", "userAgent", "tags", "tagsMap",
	"systemTags", "extendedLocationName", "extendedLocationType", "cloudProviderBackoffMode", "unmanagedNodes",
	"auxiliaryTokenProvider", "disableUpdateCache", "disableAKSCredential",

	// limits for requests that sluice does not send
	"routeRateLimit", "subnetsRateLimit", "routeTableRateLimit", "loadBalancerRateLimit", "publicIPAddressRateLimit", "securityGroupRateLimit",
	"storageAccountRateLimit", "snapshotRateLimit", "availabilitySetRateLimit", "attachDetachDiskRateLimit", "containerServiceRateLimit",
	"privateDNSRateLimit", "privateDNSZoneGroupRateLimit", "privateEndpointRateLimit", "privateLinkServiceRateLimit", "virtualNetworkRateLimit",
	"fileSharesRateLimit",

	// the pools of AKS, which enableVMsAgentPool would switch on
	"clusterName", "clusterResourceGroup", "armBaseURLForAPClient",
}
