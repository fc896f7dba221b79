package certify

// Whys of several facts.
const (
	needsAzure  = "it comes when Azure wants, and nobody can ask for it"
	needsRights = "it needs an identity without some right, and rights of whoever runs it to make one"
	needsMany   = "it needs many machines, and a run makes two"
)

// NotProbedFacts are what sluice believes of Azure beside the probes, and why a run does not try it.
func NotProbedFacts() []NotProbed {
	return []NotProbed{
		{"A zone, a region or the spot market without room answers AllocationFailed, ZonalAllocationFailed or SkuNotAvailable.", restErrors, needsAzure},
		{"A deallocated machine may not start again for want of room.", useSpot, needsAzure},
		{"Maintenance is announced as Freeze, Reboot or Redeploy, minutes before; a failing host at once.", events, needsAzure},
		{"All machines of a placement group or availability set see each event, and one answer counts for all.", events, needsAzure},
		{
			"Terminate is announced 5 to 15 minutes before a delete, where the set's model says so.",
			"https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-terminate-notification",
			"Azure announces it to no spot machine, and a run makes spot ones",
		},
		{
			"A machine of an availability set is a virtual machine that names it, made by a deployment of its own, and deleted alone.", modes,
			"Azure takes no spot machine into one (AzureSpotVMNotSupportedInAvailabilitySet), and a run makes spot ones",
		},
		{
			"Azure takes an agreement to an event as often as it comes.", unread,
			"the machine would go before its boot log has told of the event",
		},
		{"A spot set with spotRestorePolicy makes evicted machines again on its own.", useSpot, needsAzure},
		{"Automatic upgrades, repairs and rebalancing restart, replace or delete machines on their own.", unread, needsAzure},
		{
			"The metadata service refuses more than five requests a second with 429, and answers 410 while it is being updated.", unread,
			"a refused machine would not hear of its eviction",
		},
		{"A run command gives back at most 4,096 bytes of what its script prints.", unread, "a run asks its machines nothing but their boot log"},
		{"A disk names its machine in managedBy for a while after it was detached.", unseen, "it needs a second disk and minutes of its own"},
		{
			"A resource group holds 800 deployments.", "https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/deployment-quota-exceeded",
			"it needs 800 of them",
		},
		{"A scale set holds 1,000 machines, or 100 in one placement group.", useSpot, needsMany},
		{"A delete may name 100 machines.", unseen, needsMany},
		{"A list comes in pages, each with the address of the next in nextLink.", unread, needsMany},
		{"Azure balances zones before it chooses the highest id.", scaleIn, needsMany},
		{"A deallocation, a stop or a restart that names no machine means all of them.", sdk + "VirtualMachineScaleSetVMInstanceIDs", "sluice never sends one"},
		{"A machine of the eviction policy Deallocate stays listed as deallocated, and counts.", useSpot, "an eviction takes minutes, and a run has time for one"},
		{
			"The front door refuses with SubscriptionRequestsThrottled, which shuts all reads, writes or deletes.",
			"https://learn.microsoft.com/troubleshoot/azure/azure-kubernetes/create-upgrade-delete/error-code-subscriptionrequeststhrottled",
			"the whole subscription would be refused",
		},
		{"A scale set takes four writes a minute, and a burst of twelve.", vmLimits, "it would refuse what a run needs to remove its machines"},
		{
			"A missing right answers 403 AuthorizationFailed or LinkedAuthorizationFailed, and names action and scope.",
			"https://github.com/Azure/azure-rest-api-specs/issues/9549", needsRights,
		},
		{"A new role assignment takes minutes to act.", unread, needsRights},
		{"A management lock answers 409 ScopeLocked.", "https://github.com/Azure/azure-sdk-for-java/issues/2560", needsRights},
		{"A policy answers 403 RequestDisallowedByPolicy.", restErrors, needsRights},
		{
			"A size that the subscription may not have shows a restriction by location or zone.",
			"https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-sku-not-available",
			"it needs a subscription with one; a run takes a size without",
		},
		{"A resource provider that is not registered answers 409 MissingSubscriptionRegistration.", restErrors, "others in the subscription need it"},
		{
			"A machine that does not boot fails with OSProvisioningTimedOut.", "https://github.com/wbuchwalter/Kubernetes-acs-engine-autoscaler/issues/76",
			"it takes longer than all else",
		},
		{"A full subnet answers SubnetIsFull.", restErrors, needsMany},
		{
			"The metadata service gives a token to the machine's identity, and refuses to choose among several.",
			"https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token",
			"a run gives its machines no identity, so that nothing on them may ask Azure",
		},
		{"A flexible set names its identities without their client ids.", modes, "a run gives its machines no identity"},
		{
			"A chain of certificates leads from who signs an attested document to a root that everybody knows.", metadata + "#attested-data",
			"the document would leave the machine, and it proves who the machine is",
		},
		{
			"The public price list names a spot price by the suffix Spot of its meter.", unread,
			"it is public: sluice reads it itself, and has a table for when it cannot",
		},
	}
}
