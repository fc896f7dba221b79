package certify

// Whys of several facts.
const (
	needsAzure   = "it comes when Azure wants, and nobody can ask for it"
	needsRegular = "it needs machines of the regular price, and a run makes spot ones"
	needsRights  = "it needs an identity without some right, and rights of whoever runs it to make one"
	needsMany    = "it needs many machines, and a run makes two"
)

// NotProbedFacts are what sluice believes of Azure beside the probes, and why a run does not try it.
func NotProbedFacts() []NotProbed {
	return []NotProbed{
		{"A zone, a region or the spot market without room answers AllocationFailed, ZonalAllocationFailed or SkuNotAvailable.", "https://learn.microsoft.com/azure/virtual-machines/allocation-failure", needsAzure},
		{"A deallocated machine may not start again for want of room.", "https://learn.microsoft.com/azure/virtual-machines/allocation-failure", needsAzure},
		{"Maintenance is announced as Freeze, Reboot or Redeploy, minutes before; a failing host at once.", "https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events", needsAzure},
		{"All machines of a placement group see each event, and one answer counts for all.", "https://learn.microsoft.com/azure/virtual-machines/linux/scheduled-events", needsAzure},
		{"Terminate is announced 5 to 15 minutes before a delete, to machines that are not spot.", "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-terminate-notification", needsRegular},
		{"Machines of availability sets have no capacity and no entity tag; each is made by a deployment of its own.", "https://learn.microsoft.com/azure/virtual-machines/availability-set-overview", needsRegular},
		{"A disk names its machine in managedBy for a while after it was detached.", unseen, "it needs a second disk and minutes of its own"},
		{"A resource group holds 800 deployments.", "https://learn.microsoft.com/azure/azure-resource-manager/templates/deployment-quota-exceeded", "it needs 800 of them"},
		{"A scale set holds 1,000 machines, or 100 in one placement group.", "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-placement-groups", needsMany},
		{"A delete may name 100 machines.", unseen, needsMany},
		{"Azure balances zones before it chooses the highest id.", "https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-scale-in-policy", needsMany},
		{"A deallocation, a stop or a restart that names no machine means all of them.", setAPI, "sluice never sends one"},
		{"A machine of the eviction policy Deallocate stays listed as deallocated, and counts.", "https://learn.microsoft.com/azure/virtual-machine-scale-sets/use-spot", "an eviction takes minutes, and a run has time for one"},
		{"The front door refuses with SubscriptionRequestsThrottled, which shuts all reads, writes or deletes.", armLimits, "the whole subscription would be refused"},
		{"A scale set takes four writes a minute, and a burst of twelve.", vmLimits, "it would refuse what a run needs to remove its machines"},
		{"A missing right answers 403 AuthorizationFailed or LinkedAuthorizationFailed, and names action and scope.", restErrors, needsRights},
		{"A new role assignment takes minutes to act.", "https://learn.microsoft.com/azure/role-based-access-control/troubleshooting", needsRights},
		{"A management lock answers 409 ScopeLocked.", "https://learn.microsoft.com/azure/azure-resource-manager/management/lock-resources", needsRights},
		{"A policy answers 403 RequestDisallowedByPolicy.", "https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/error-policy-requestdisallowedbypolicy", needsRights},
		{"A size that the subscription may not have shows a restriction by location or zone.", "https://learn.microsoft.com/rest/api/compute/resource-skus/list", "it needs a subscription with one; a run takes a size without"},
		{"A resource provider that is not registered answers 409 MissingSubscriptionRegistration.", restErrors, "others in the subscription need it"},
		{"A machine that does not boot fails with OSProvisioningTimedOut after 20 minutes or more.", "https://learn.microsoft.com/troubleshoot/azure/virtual-machines/linux/provisioning-time-outs", "it takes longer than all else"},
		{"A full subnet answers SubnetIsFull.", restErrors, needsMany},
		{"The metadata service gives a token to the machine's identity, and refuses to choose among several.", "https://learn.microsoft.com/entra/identity/managed-identities-azure-resources/how-to-use-vm-token", "a run gives its machines no identity, so that nothing on them may ask Azure"},
		{"The attested document is signed by Azure, and names the vmId and the caller's nonce.", "https://learn.microsoft.com/azure/virtual-machines/instance-metadata-service#attested-data", "it would leave the machine by its boot log, and it proves who the machine is"},
		{"A flexible set names its identities without their client ids.", unseen, "a run gives its machines no identity"},
		{"The public price list names a spot price by the suffix Spot of its meter.", "https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices", "it is public: sluice reads it itself, and has a table for when it cannot"},
	}
}
