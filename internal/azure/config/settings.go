package config

// Standing is what sluice makes of a setting.
type Standing string

// The standings.
const (
	Honoured Standing = "honoured"
	Always   Standing = "always"         // done whatever the value says; a note tells one who switches it off
	Idle     Standing = "without effect" // read and checked; a note tells one who switches it on
	Refused  Standing = "refused"        // a value other than the default ends the start; About says why
	Foreign  Standing = "not sluice's"   // of another program that reads the same file: accepted in silence
)

// Setting is one row of the table: a key of azure.json, a variable of the environment, or both.
type Setting struct {
	Key       string   // in the file, in any letter case; "" when only the environment has it
	Older     []string // earlier names of the key, which win over it
	Variables []string // the right one wins
	Default   string   // as the documentation shows it; "" is empty, or false for a truth
	Standing  Standing
	About     string // one sentence, without a full stop; of a refused one, the reason

	application bool             // part of an application's credential, or what chooses it
	into        func(*draft) any // where its value goes; the type of the pointer is the type of the setting
}

// Settings is every setting that is known, in the order of the documentation. Those of cloud-provider-azure and the CSI drivers alone
// are [foreign].
var Settings = []Setting{
	{
		Key: "cloud", Variables: []string{"ARM_CLOUD"}, Default: "instance metadata, else AzurePublicCloud", Standing: Honoured,
		About: "the cloud: AzurePublicCloud, AzureUSGovernmentCloud, AzureChinaCloud, AzureStackCloud, or a name that resourceManagerEndpoint knows",
		into:  func(d *draft) any { return &d.Cloud },
	},
	{
		Variables: []string{"AZURE_ENVIRONMENT_FILEPATH"}, Standing: Honoured,
		About: "path of the endpoints of AzureStackCloud or another custom cloud, as JSON",
		into:  func(d *draft) any { return &d.EnvironmentFile },
	},
	{
		Key: "resourceManagerEndpoint", Standing: Honoured,
		About: "Resource Manager of a custom cloud, which is asked for the cloud's other endpoints at start",
		into:  func(d *draft) any { return &d.EndpointsFrom },
	},
	{
		Key: "identitySystem", Default: "azure_ad", Standing: Honoured,
		About: "whose authority it is: azure_ad, or adfs, which needs no tenant",
		into:  func(d *draft) any { return &d.identitySystem },
	},
	{
		Key: "location", Variables: []string{"LOCATION"}, Default: "instance metadata", Standing: Honoured,
		About: "the region",
		into:  func(d *draft) any { return &d.Location },
	},
	{
		Key: "resourceGroup", Variables: []string{"ARM_RESOURCE_GROUP"}, Default: "instance metadata", Standing: Honoured,
		About: "the resource group of the nodes; one only",
		into:  func(d *draft) any { return &d.ResourceGroup },
	},
	{
		Key: "subscriptionId", Variables: []string{"ARM_SUBSCRIPTION_ID"}, Default: "instance metadata", Standing: Honoured,
		About: "the subscription",
		into:  func(d *draft) any { return &d.Subscription },
	},
	{
		Key: "tenantId", Variables: []string{"ARM_TENANT_ID", "AZURE_TENANT_ID"}, Standing: Honoured, application: true,
		About: "the tenant; needed for anything but a managed identity and AD FS",
		into:  func(d *draft) any { return &d.tenant },
	},
	{
		Key: "aadClientId", Variables: []string{"ARM_CLIENT_ID", "AZURE_CLIENT_ID"}, Standing: Honoured, application: true,
		About: "the application; needed for anything but a managed identity",
		into:  func(d *draft) any { return &d.client },
	},
	{
		Key: "aadClientSecret", Variables: []string{"ARM_CLIENT_SECRET"}, Standing: Honoured, application: true,
		About: "the application's secret; wins over a certificate",
		into:  func(d *draft) any { return &d.secret },
	},
	{
		Key: "aadClientCertPath", Variables: []string{"ARM_CLIENT_CERT_PATH"}, Standing: Honoured, application: true,
		About: "path of the application's certificate with chain and key, PKCS#12 or PEM",
		into:  func(d *draft) any { return &d.certificate },
	},
	{
		Key: "aadClientCertPassword", Variables: []string{"ARM_CLIENT_CERT_PASSWORD"}, Standing: Honoured, application: true,
		About: "the certificate's password",
		into:  func(d *draft) any { return &d.certificatePassword },
	},
	{
		Key: "useManagedIdentityExtension", Variables: []string{"ARM_USE_MANAGED_IDENTITY_EXTENSION"}, Standing: Honoured,
		About: "a managed identity of the machine; it is also what sluice uses when no other credential is given",
		into:  func(d *draft) any { return &d.managed },
	},
	{
		Key: "userAssignedIdentityID", Variables: []string{"ARM_USER_ASSIGNED_IDENTITY_ID"}, Default: "the system-assigned one", Standing: Honoured,
		About: "which managed identity: a resource id (it contains /subscriptions/) or a client id",
		into:  func(d *draft) any { return &d.userAssigned },
	},
	{
		Key: "useFederatedWorkloadIdentityExtension", Older: []string{"useWorkloadIdentityExtension"},
		Variables: []string{"ARM_USE_FEDERATED_WORKLOAD_IDENTITY_EXTENSION", "ARM_USE_WORKLOAD_IDENTITY_EXTENSION"}, Standing: Honoured, application: true,
		About: "workload identity; not together with useManagedIdentityExtension",
		into:  func(d *draft) any { return &d.workload },
	},
	{
		Key: "aadFederatedTokenFile", Variables: []string{"AZURE_FEDERATED_TOKEN_FILE"}, Standing: Honoured, application: true,
		About: "path of the federated token, read again for each sign-in; given, it wins over all other credentials",
		into:  func(d *draft) any { return &d.tokenFile },
	},
	{
		Variables: []string{"IDENTITY_ENDPOINT"}, Default: "instance metadata", Standing: Honoured,
		About: "where managed identities get their tokens, together with IDENTITY_HEADER; platforms such as App Service set both",
		into:  func(d *draft) any { return &d.IdentityEndpoint },
	},
	{
		Variables: []string{"IDENTITY_HEADER"}, Standing: Honoured,
		About: "what requests to IDENTITY_ENDPOINT carry",
		into:  func(d *draft) any { return &d.IdentityHeader },
	},
	{
		Key: "authMethod", Default: "principal", Standing: Honoured,
		About: "how to sign in: principal; cli is refused, because it signs in as the person at an az command line, and a pod has none",
		into:  func(d *draft) any { return &d.authMethod },
	},
	{
		Key: "aadMSIDataPlaneIdentityPath", Standing: Refused,
		About: "the file of data-plane identities is internal to Microsoft's own services; use a managed identity or workload identity",
		into:  text,
	},
	{
		Key: "vmType", Variables: []string{"ARM_VM_TYPE"}, Default: "vmss", Standing: Honoured,
		About: "what node groups are: vmss or vmssflex for scale sets, standard for availability sets, in any letter case; with standard --node-group-auto-discovery is refused, where cluster-autoscaler starts and finds no group",
		into:  func(d *draft) any { return &d.vmType },
	},
	{
		Key: "deployment", Variables: []string{"ARM_DEPLOYMENT"}, Standing: Honoured,
		About: "of vmType standard, where it is required: the deployment that is replayed to grow",
		into:  func(d *draft) any { return &d.Deployment },
	},
	{
		Key: "deploymentParameters", Default: "key parameters of " + ParametersFile, Standing: Honoured,
		About: "of vmType standard: the deployment's parameters",
		into:  func(d *draft) any { return &d.DeploymentParameters },
	},
	{
		Key: "maxDeploymentsCount", Variables: []string{"AZURE_MAX_DEPLOYMENT_COUNT"}, Default: "10", Standing: Honoured,
		About: "of vmType standard: how many finished deployments of sluice's own are kept",
		into:  func(d *draft) any { return &d.MaxDeployments },
	},
	{
		Key: "vmssCacheTTLInSeconds", Older: []string{"vmssCacheTTL"},
		Variables: []string{"AZURE_VMSS_CACHE_TTL_IN_SECONDS", "AZURE_VMSS_CACHE_TTL"}, Default: "60", Standing: Honoured,
		About: "how old a served model of a scale set may be; nothing is written from one that was served",
		into:  func(d *draft) any { return &d.CacheTTL },
	},
	{
		Key: "vmssVirtualMachinesCacheTTLInSeconds", Older: []string{"vmssVmsCacheTTL"},
		Variables: []string{"AZURE_VMSS_VMS_CACHE_TTL_IN_SECONDS", "AZURE_VMSS_VMS_CACHE_TTL"}, Default: "vmssCacheTTLInSeconds, and 20 minutes for a steady group", Standing: Honoured,
		About: "how old a served list of machines may be; a group is steady while its machines are all Ready nodes and its scale set does not change",
		into:  func(d *draft) any { return &d.InstanceCacheTTL },
	},
	{
		Key: "vmssVmsCacheJitter", Variables: []string{"AZURE_VMSS_VMS_CACHE_JITTER"}, Default: "0", Standing: Honoured,
		About: "lists of machines are renewed up to this much earlier, so that not all are asked for at once",
		into:  func(d *draft) any { return &d.InstanceCacheJitter },
	},
	{
		Key: "getVmssSizeRefreshPeriod", Variables: []string{"AZURE_GET_VMSS_SIZE_REFRESH_PERIOD"}, Default: "vmssCacheTTLInSeconds", Standing: Honoured,
		About: "how old a served capacity of a spot scale set may be",
		into:  func(d *draft) any { return &d.SizeRefresh },
	},
	{
		Key: "enableForceDelete", Variables: []string{"AZURE_ENABLE_FORCE_DELETE"}, Standing: Honoured,
		About: "machines are deleted by force",
		into:  func(d *draft) any { return &d.ForceDelete },
	},
	{
		Key: "enableDynamicInstanceList", Variables: []string{"AZURE_ENABLE_DYNAMIC_INSTANCE_LIST"}, Standing: Honoured,
		About: "sizes are asked of the SKU API, with the built-in table behind it",
		into:  func(d *draft) any { return &d.DynamicInstanceList },
	},
	{
		Key: "enableVmssFlexNodes", Older: []string{"enableVmssFlex"},
		Variables: []string{"AZURE_ENABLE_VMSS_FLEX_NODES", "AZURE_ENABLE_VMSS_FLEX"}, Default: "true", Standing: Honoured,
		About: "scale sets with flexible orchestration are managed; false refuses them (cluster-autoscaler's default is false)",
		into:  func(d *draft) any { return &d.flexible },
	},
	{
		Key: "enableFastDeleteOnFailedProvisioning", Variables: []string{"AZURE_ENABLE_FAST_DELETE_ON_FAILED_PROVISIONING"}, Default: "true", Standing: Always,
		About: "a machine that failed is removed by its id as soon as that is known",
		into:  truth,
	},
	{
		Key: "enableDetailedCSEMessage", Variables: []string{"AZURE_ENABLE_DETAILED_CSE_MESSAGE"}, Default: "true", Standing: Always,
		About: "a failure is shown with what Azure says about it",
		into:  truth,
	},
	{
		Key: "enableLabelPredictionsOnTemplate", Variables: []string{"AZURE_ENABLE_LABEL_PREDICTIONS_ON_TEMPLATE"}, Default: "true", Standing: Honoured,
		About: "labels that AKS would set are predicted for the nodes of an empty group",
		into:  func(d *draft) any { return &d.predictions },
	},
	{
		Key: "enableVMSSEtag", Variables: []string{"AZURE_ENABLE_VMSS_ETAG"}, Default: "true", Standing: Always,
		About: "a resize is sent on condition that the scale set is still as it was read",
		into:  truth,
	},
	{
		Key: "strictCacheUpdates", Variables: []string{"AZURE_STRICT_CACHE_UPDATES"}, Default: "true", Standing: Always,
		About: "a size changes in sluice's eyes only when Azure says so",
		into:  truth,
	},
	{
		Key: "enableVMsAgentPool", Variables: []string{"AZURE_ENABLE_VMS_AGENT_POOLS"}, Standing: Refused,
		About: "pools of single machines belong to AKS, which scales them itself; sluice is for clusters that are not AKS",
		into:  truth,
	},
	{
		Key: "clusterName", Variables: []string{"CLUSTER_NAME"}, Standing: Idle,
		About: "it names the AKS cluster whose pools enableVMsAgentPool would switch on; node groups are found by --nodes or their tags",
		into:  text,
	},
	{
		Key: "clusterResourceGroup", Variables: []string{"ARM_CLUSTER_RESOURCE_GROUP"}, Standing: Idle,
		About: "it is the resource group of that AKS cluster; resourceGroup is that of the machines",
		into:  text,
	},
	{
		Key: "armBaseURLForAPClient", Variables: []string{"ARM_BASE_URL_FOR_AP_CLIENT"}, Standing: Idle,
		About: "it is where the pools of an AKS cluster would be asked for; Resource Manager is that of the cloud",
		into:  text,
	},
	{
		Key: "hostedResourceProxyURL", Variables: []string{"HOSTED_RESOURCE_PROXY_URL"}, Standing: Refused,
		About: "requests go to Resource Manager itself and to no proxy of AKS",
		into:  text,
	},
	{
		Key: "hostedSubscriptionID", Variables: []string{"HOSTED_SUBSCRIPTION_ID"}, Standing: Refused,
		About: "hosted control planes are internal to AKS; give subscriptionId",
		into:  text,
	},
	{
		Key: "hostedResourceGroup", Variables: []string{"HOSTED_RESOURCE_GROUP"}, Standing: Refused,
		About: "hosted control planes are internal to AKS; give resourceGroup",
		into:  text,
	},
	{
		Key: "cloudProviderBackoff", Variables: []string{"ENABLE_BACKOFF"}, Standing: Idle,
		About: "no request is repeated by itself: what failed is asked again in a later cycle, each kind of failure after its own rest",
		into:  func(d *draft) any { return &d.Backoff.Enabled },
	},
	{
		Key: "cloudProviderBackoffRetries", Variables: []string{"BACKOFF_RETRIES"}, Default: "6", Standing: Idle,
		About: "how often",
		into:  func(d *draft) any { return &d.Backoff.Retries },
	},
	{
		Key: "cloudProviderBackoffExponent", Variables: []string{"BACKOFF_EXPONENT"}, Default: "1.5", Standing: Idle,
		About: "the factor from one pause to the next",
		into:  func(d *draft) any { return &d.Backoff.Exponent },
	},
	{
		Key: "cloudProviderBackoffDuration", Variables: []string{"BACKOFF_DURATION"}, Default: "5", Standing: Idle,
		About: "the first pause",
		into:  func(d *draft) any { return &d.Backoff.Duration },
	},
	{
		Key: "cloudProviderBackoffJitter", Variables: []string{"BACKOFF_JITTER"}, Default: "1.0", Standing: Idle,
		About: "the share of a pause that chance may add",
		into:  func(d *draft) any { return &d.Backoff.Jitter },
	},
	{
		Key: "cloudProviderRateLimit", Variables: []string{"CLOUD_PROVIDER_RATE_LIMIT"}, Standing: Honoured,
		About: "the limits below hold, beside the share of Azure's published limits (--azure-api-share) that always does; lists of the machines of a scale set are not counted",
		into:  func(d *draft) any { return &d.RateLimit.Enabled },
	},
	{
		Key: "cloudProviderRateLimitQPS", Variables: []string{"RATE_LIMIT_READ_QPS"}, Default: "1", Standing: Honoured,
		About: "reads a second",
		into:  func(d *draft) any { return &d.RateLimit.ReadQPS },
	},
	{
		Key: "cloudProviderRateLimitBucket", Variables: []string{"RATE_LIMIT_READ_BUCKETS"}, Default: "5", Standing: Honoured,
		About: "reads at once, at least 2",
		into:  func(d *draft) any { return &d.RateLimit.ReadBurst },
	},
	{
		Key: "cloudProviderRateLimitQPSWrite", Variables: []string{"RATE_LIMIT_WRITE_QPS"}, Default: "1", Standing: Honoured,
		About: "writes a second",
		into:  func(d *draft) any { return &d.RateLimit.WriteQPS },
	},
	{
		Key: "cloudProviderRateLimitBucketWrite", Variables: []string{"RATE_LIMIT_WRITE_BUCKETS"}, Default: "5", Standing: Honoured,
		About: "writes at once, at least 2",
		into:  func(d *draft) any { return &d.RateLimit.WriteBurst },
	},
	client("virtualMachineScaleSet"), client("virtualMachine"), client("virtualMachineSizes"), client("disk"), client("interface"), client("deployment"),
	{
		Key: "disableAzureStackCloud", Standing: Honoured,
		About: "AzureStackCloud is asked with the newest api-versions instead of those of Azure Stack Hub",
		into:  func(d *draft) any { return &d.NewestVersions },
	},
	{
		Variables: []string{"AZURE_CLUSTER_AUTOSCALER_USER_AGENT_SUFFIX"}, Standing: Honoured,
		About: "added to the name by which Azure's logs know the client, as far as 24 characters go",
		into:  func(d *draft) any { return &d.UserAgentSuffix },
	},
}

// client is the block of limits for one kind of resource.
func client(resource string) Setting {
	return Setting{
		Key: resource + rateLimit, Standing: Honoured,
		About: "as cloudProviderRateLimit, for these requests in its place: an object with its five keys",
		into:  func(d *draft) any { return block{d, resource} },
	}
}

// rateLimit ends the key of such a block.
const rateLimit = "RateLimit"

// text and truth are the types of settings whose value goes nowhere.
func text(*draft) any  { return new(string) }
func truth(*draft) any { return new(bool) }
