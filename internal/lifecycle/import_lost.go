package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// loses says that the file does not have something, in one sentence.
func (e *estate) loses(format string, args ...any) {
	e.lost = append(e.lost, loss{said: oneLine(fmt.Sprintf(format, args...))})
}

// loss is something that is there and not in the file. Of several things the same is said once.
type loss struct {
	of   []string // whom it is said of; nil: a sentence by itself
	said string
}

// has says that a thing has something that the file does not.
func (e *estate) has(t thing, format string, args ...any) {
	said := oneLine(fmt.Sprintf(format, args...))
	for i := range e.lost {
		if l := &e.lost[i]; l.said == said && l.of != nil {
			if !slices.Contains(l.of, t.String()) {
				l.of = append(l.of, t.String())
			}
			return
		}
	}
	e.lost = append(e.lost, loss{[]string{t.String()}, said})
}

func (l loss) String() string {
	switch last := len(l.of) - 1; last {
	case -1:
		return l.said
	case 0:
		return l.of[0] + " " + l.said
	default:
		return strings.Join(l.of[:last], ", ") + " and " + l.of[last] + ": each " + l.said
	}
}

// trait is something that a machine or a scale set may have, and a cluster file cannot say.
type trait struct {
	path string
	says func(v any) string // "" where what stands there is no loss
}

func always(sentence string) func(any) string {
	return func(any) string { return sentence }
}

// isTrue is for switches.
func isTrue(sentence string) func(any) string {
	return func(v any) string {
		if on, _ := v.(bool); on {
			return sentence
		}
		return ""
	}
}

// named puts the name of what an id is about into a sentence.
func named(sentence string) func(any) string {
	return func(v any) string {
		id, _ := v.(string)
		if id == "" {
			return ""
		}
		return fmt.Sprintf(sentence, id[strings.LastIndexByte(id, '/')+1:])
	}
}

// counted is for lists.
func counted(sentence string) func(any) string {
	return func(v any) string {
		if all, _ := v.([]any); len(all) > 0 {
			return fmt.Sprintf(sentence, len(all))
		}
		return ""
	}
}

func unless(usual, sentence string) func(any) string {
	return func(v any) string {
		if s := fmt.Sprint(v); !strings.EqualFold(s, usual) && s != "" {
			return fmt.Sprintf(sentence, s)
		}
		return ""
	}
}

// ofBoth are traits of a machine, and of a set's profile.
var ofBoth = []trait{
	{"storageProfile.osDisk.diffDiskSettings", always("has its OS disk on the host (ephemeral)")},
	{"storageProfile.osDisk.managedDisk.diskEncryptionSet.id", named("encrypts its disks with %s")},
	{"storageProfile.osDisk.vhd", always("has its OS disk in a storage account (unmanaged)")},
	{"storageProfile.diskControllerType", unless("SCSI", "has disk controllers of type %s")},
	{"securityProfile.securityType", unless("Standard", "is a machine of security type %s")},
	{"securityProfile.encryptionAtHost", isTrue("encrypts its disks on the host")},
	{"osProfile.secrets", counted("gets %d groups of certificates from a Key Vault")},
	{"osProfile.linuxConfiguration.ssh.publicKeys", func(v any) string {
		if all, _ := v.([]any); len(all) > 1 {
			return fmt.Sprintf("lets %d SSH keys in, and the file has one", len(all))
		}
		return ""
	}},
	{"osProfile.linuxConfiguration.disablePasswordAuthentication", func(v any) string {
		if off, _ := v.(bool); off {
			return ""
		}
		return "lets passwords in over SSH"
	}},
	{"userData", always("has user data")},
	{"hardwareProfile.vmSizeProperties", always("has the CPUs of its size changed")},
	{"capacityReservation.capacityReservationGroup.id", named("is in capacity reservation %s")},
	{"applicationProfile", always("gets applications of a gallery")},
	{"licenseType", unless("None", "has a license of type %s")},
	{"scheduledEventsProfile.terminateNotificationProfile.enable", isTrue("is told before it is deleted (terminate notification)")},
}

var ofMachine = []trait{
	{"proximityPlacementGroup.id", named("is in proximity placement group %s")},
	{"availabilitySet.id", named("is in availability set %s")},
	{"hostGroup.id", named("is on dedicated hosts %s")},
	{"host.id", named("is on dedicated host %s")},
	{"virtualMachineScaleSet.id", named("is a machine of scale set %s; the file's server stands alone")},
	{"additionalCapabilities.ultraSSDEnabled", isTrue("can have ultra disks")},
	{"priority", unless("Regular", "is a machine of priority %s; the file's server is a regular one")},
}

var ofSet = []trait{
	{"proximityPlacementGroup.id", named("is in proximity placement group %s")},
	{"hostGroup.id", named("is on dedicated hosts %s")},
	{"additionalCapabilities.ultraSSDEnabled", isTrue("can have ultra disks")},
	{"automaticRepairsPolicy.enabled", isTrue("has Azure repair its machines, which goes without drain")},
	{"upgradePolicy.mode", unless("Manual", "has upgrade mode %s; pools of the file have Manual, so that nobody but sluice replaces machines")},
	{"zoneBalance", isTrue("keeps its zones strictly balanced")},
	{"priorityMixPolicy", always("mixes spot and regular machines")},
	{"skuProfile", always("mixes sizes (instance mix)")},
	{"spotRestorePolicy.enabled", isTrue("has Azure restore evicted machines")},
	{"virtualMachineProfile.storageProfile.dataDisks", counted("gives each machine %d data disks")},
	{"virtualMachineProfile.evictionPolicy", unless("Delete", "stops evicted machines (%s); pools of the file delete them")},
	{"virtualMachineProfile.networkProfile.healthProbe.id", named("has health probe %s")},
}

// ofInterface are traits of an interface and of a set's.
var ofInterface = []trait{
	{"properties.enableAcceleratedNetworking", isTrue("has accelerated networking")},
	{"properties.enableIPForwarding", isTrue("forwards packets of others (IP forwarding)")},
	{"properties.dnsSettings.dnsServers", counted("asks %d name servers of its own")},
}

var ofConfiguration = []trait{
	{"properties.applicationGatewayBackendAddressPools", counted("is behind %d pools of an application gateway")},
	{"properties.applicationSecurityGroups", counted("is in %d application security groups")},
}

// losesOf says what of a machine, or of a set, the file does not have.
func (e *estate) losesOf(t thing) {
	look := func(in any, all []trait) {
		for _, x := range all {
			if v := dig(in, x.path); v != nil {
				if s := x.says(v); s != "" {
					e.has(t, "%s", s)
				}
			}
		}
	}
	look(t.profile(), ofBoth)
	if t.isSet() {
		look(dig(t.body, "properties"), ofSet)
		if n := number(t.body, "properties.platformFaultDomainCount"); n != "" && n != "1" && e.flexible(t) {
			e.has(t, "spreads over %s fault domains", n)
		}
	} else {
		look(dig(t.body, "properties"), ofMachine)
		if n := len(objects(t.body, "properties.storageProfile.dataDisks")); n > 1 {
			e.has(t, "has %d data disks, and the file has one", n)
		}
	}
	e.losesStrange(t)
	if region := t.text("location"); regionName(region) != regionName(e.at()) {
		e.has(t, "is in region %s, and the file has one region", region)
	}
	if dig(t.body, "plan") != nil {
		e.has(t, "has an image with a purchase plan")
	}
	if dig(t.body, "extendedLocation") != nil {
		e.has(t, "is in an edge zone")
	}
	if image := object(t.profile(), "storageProfile.imageReference"); image != nil && e.image(t) == "" {
		e.has(t, "has an image that the file cannot name: %s", cmp.Or(text(image, "communityGalleryImageId"), text(image, "sharedGalleryImageId"), text(image, "id"), "unknown"))
	}
	if names := e.extensionsOf(t); len(names) > 0 {
		e.has(t, "has extensions: %s", strings.Join(names, ", "))
	}
	nics := e.interfacesOf(t)
	if len(nics) > 1 {
		e.has(t, "has %d network interfaces, and the file has one", len(nics))
	}
	for _, nic := range nics {
		look(nic, ofInterface)
		configurations := objects(nic, "properties.ipConfigurations")
		if len(configurations) > 1 {
			e.has(t, "has %d addresses on an interface, as networks of pods in Azure's own network do", len(configurations))
		}
		for _, ip := range configurations {
			look(ip, ofConfiguration)
			for _, pool := range objects(ip, "properties.loadBalancerBackendAddressPools") {
				e.has(t, "is behind load balancer %s", balancerOf(text(pool, "id")))
			}
		}
	}
}

// familiar are properties of machines, sets and profiles of sets that the file has, that sentences are about, or that Azure counts by itself.
var familiar = strings.Fields(`
	additionalCapabilities applicationProfile automaticRepairsPolicy availabilitySet billingProfile capacityReservation constrainedMaximumCapacity diagnosticsProfile
	doNotRunExtensionsOnOverprovisionedVMs etag evictionPolicy extensionProfile extensionsTimeBudget hardwareProfile host hostGroup instanceView licenseType
	networkProfile orchestrationMode osProfile overprovision platformFaultDomain platformFaultDomainCount priority priorityMixPolicy provisioningState
	proximityPlacementGroup scaleInPolicy scheduledEventsProfile securityProfile singlePlacementGroup skuProfile spotRestorePolicy storageProfile timeCreated
	uniqueId upgradePolicy userData virtualMachineProfile virtualMachineScaleSet vmId zonalPlatformFaultDomainAlignMode zoneBalance`)

// losesStrange names the properties that are in no table here: those that Azure has learnt since.
func (e *estate) losesStrange(t thing) {
	for _, of := range []map[string]any{object(t.body, "properties"), t.profile()} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			if of[name] != nil && !slices.Contains(familiar, name) {
				e.has(t, "has %s, which the file does not know", name)
			}
		}
	}
}

// balancerOf is the name of the load balancer that a pool of addresses is part of.
func balancerOf(pool string) string {
	before, _, _ := strings.Cut(pool, "/backendAddressPools/")
	return before[strings.LastIndexByte(before, '/')+1:]
}

// extensionsOf are the names of a machine's or a set's extensions.
func (e *estate) extensionsOf(t thing) (names []string) {
	for _, x := range slices.Concat(objects(t.profile(), "extensionProfile.extensions"), objects(t.body, "resources")) {
		names = append(names, cmp.Or(text(x, "name"), Resource{text(x, "id")}.Name()))
	}
	for _, r := range e.all {
		if strings.HasPrefix(strings.ToLower(r.ID), strings.ToLower(t.ID)+"/extensions/") {
			names = append(names, r.ID[strings.LastIndexByte(r.ID, '/')+1:])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// losesAround says what else is in the group and not in the file.
func (e *estate) losesAround(ctx context.Context) error {
	e.losesMachines()
	if err := e.losesRights(ctx); err != nil {
		return err
	}
	e.losesDisks()
	e.losesOthers()
	return nil
}

// losesMachines names the machines that are no server and in no pool.
func (e *estate) losesMachines() {
	var names []string
	for _, m := range e.machines {
		if !slices.ContainsFunc(e.servers, func(s thing) bool { return s.ID == m.ID }) {
			names = append(names, m.Name())
		}
	}
	if len(names) > 0 {
		e.loses("%s: pools of the file are scale sets, so machines that stand alone are not in it", few("machine", names))
	}
}

// few is a short list of names with what they are.
func few(of string, names []string) string {
	const most = 5
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(naturally(a), naturally(b)) })
	n := len(names)
	if n == 1 {
		return of + " " + names[0]
	}
	more := ""
	if n > most {
		names, more = names[:most], ", ..."
	}
	return fmt.Sprintf("%d %ss (%s%s)", n, of, strings.Join(names, ", "), more)
}

// losesRights names the roles of the server's identities, which up does not give to another one.
func (e *estate) losesRights(ctx context.Context) error {
	if len(e.servers) == 0 {
		return nil
	}
	server := e.servers[0]
	scope := "/subscriptions/" + url.PathEscape(e.cloud.Subscription()) + "/resourceGroups/" + url.PathEscape(e.group)
	whom := map[string]string{} // by object id
	if id := server.text("identity.principalId"); id != "" {
		whom[id] = "the server's own identity"
	}
	for id, v := range object(server.body, "identity.userAssignedIdentities") {
		if principal := text(v, "principalId"); principal != "" {
			whom[principal] = "identity " + id[strings.LastIndexByte(id, '/')+1:]
		}
	}
	for _, principal := range slices.Sorted(maps.Keys(whom)) {
		raw, err := e.cloud.List(ctx, scope+"/providers/Microsoft.Authorization/roleAssignments", rightsVersion, url.Values{"$filter": {"principalId eq '" + principal + "'"}})
		if unauthorized(err) {
			e.unread = append(e.unread, "the roles of "+whom[principal]+" may not be read by you")
			continue
		}
		if err != nil {
			return err
		}
		for _, one := range raw {
			a, err := readThing(one)
			if err != nil {
				return fmt.Errorf("read the roles at %s: %w", scope, err)
			}
			var role struct {
				Properties struct {
					Name string `json:"roleName"`
				} `json:"properties"`
			}
			at := a.text("properties.roleDefinitionId")
			if _, err := e.cloud.Get(ctx, at, rightsVersion, &role); err != nil && !unauthorized(err) {
				return err
			}
			e.loses("%s has the role %s at %s: up gives the roles that sluice and the add-ons need, and not this one",
				whom[principal], cmp.Or(role.Properties.Name, at), cmp.Or(a.text("properties.scope"), scope))
		}
	}
	return nil
}

// losesDisks names disks that no machine started from: those of volumes stay where they are, and the file has disks in a group of their own alone.
func (e *estate) losesDisks() {
	used := map[string]bool{}
	for _, t := range slices.Concat(e.machines, slices.Collect(maps.Values(e.members))) {
		used[strings.ToLower(t.text("properties.storageProfile.osDisk.managedDisk.id"))] = true
	}
	for _, t := range e.servers {
		for _, disk := range objects(t.body, "properties.storageProfile.dataDisks") {
			used[strings.ToLower(text(disk, "managedDisk.id"))] = true
		}
	}
	var volumes, others []string
	for _, d := range e.kind(kindDisk) {
		switch {
		case used[strings.ToLower(d.ID)], text(d.body, "properties.osType") != "":
		case d.tags["kubernetes.io-created-for-pvc-name"] != "" || strings.HasPrefix(d.Resource.Name(), "kubernetes-dynamic-") || strings.HasPrefix(d.Resource.Name(), "pvc-"):
			volumes = append(volumes, d.Name())
		case text(d.body, "managedBy") == "": // else it is a data disk of a machine, of which other sentences are
			others = append(others, d.Name())
		}
	}
	if len(volumes) > 0 {
		e.loses("%s: another cluster does not know these volumes by itself", few("disk", volumes)+" of persistent volumes")
	}
	if len(others) > 0 {
		e.loses("%s: the file keeps disks in a resource group of their own (storage)", few("disk", others))
	}
}

// explained are kinds that the file has, or that other sentences are about.
var explained = []string{
	kindVM, kindSet, kindNIC, kindDisk, "Microsoft.Compute/virtualMachines/extensions", "Microsoft.Network/publicIPAddresses", "Microsoft.Compute/availabilitySets",
	"Microsoft.Compute/proximityPlacementGroups", "Microsoft.ManagedIdentity/userAssignedIdentities", "Microsoft.Network/networkSecurityGroups",
	"Microsoft.Network/virtualNetworks", "Microsoft.Network/routeTables", "Microsoft.Network/natGateways", // they stay: the file takes the subnet as given
}

// kindSays are sentences about kinds, by their lower-case names.
var kindSays = map[string]string{
	"microsoft.network/loadbalancers":        "is not in the file; the cloud controller makes balancers for Services",
	"microsoft.keyvault/vaults":              "is not in the file, which makes a vault of its own for the key by which machines join",
	"microsoft.insights/autoscalesettings":   "grows or shrinks a scale set by Azure's rules, which nothing beside sluice may do",
	"microsoft.storage/storageaccounts":      "is not in the file; shares of the file are in an account that up makes",
	"microsoft.compute/galleries":            "is not in the file, which can name images of it",
	"microsoft.containerregistry/registries": "is not in the file",
}

// losesOthers names the rest.
func (e *estate) losesOthers() {
	tags := map[string]bool{}
	for _, r := range e.all {
		kind := Resource{r.ID}.Kind()
		for name := range r.Tags {
			if !known(name) {
				tags[name] = true
			}
		}
		if strings.Count(kind, "/") > 1 || slices.ContainsFunc(explained, func(k string) bool { return strings.EqualFold(k, kind) }) {
			continue
		}
		if strings.EqualFold(kind, "Microsoft.Network/loadBalancers") && slices.ContainsFunc(e.lost, func(l loss) bool { return strings.HasSuffix(l.said, " load balancer "+(Resource{r.ID}).Name()) }) {
			continue
		}
		e.loses("%s %s", Resource{r.ID}, cmp.Or(kindSays[strings.ToLower(kind)], "is not in the file"))
	}
	if len(tags) > 0 {
		e.loses("tags of resources: the file has none (%s)", strings.Join(slices.Sorted(maps.Keys(tags)), ", "))
	}
	e.losesRules()
}

// known says whether a tag is one of those that the file speaks of, or that a tool writes for itself.
func known(tag string) bool {
	if tag == "min" || tag == "max" || tag == "roles" || tag == "Name" {
		return true
	}
	for _, prefix := range []string{
		"k8s.io_cluster-autoscaler_", "cluster-autoscaler-", "sluice", "sigs.k8s.io_", "kubernetes.io", "k8s.io_", "k8s-azure", "aksEngineVersion",
		"creationSource", "orchestrator", "poolName", "resourceNameSuffix", "KubernetesCluster",
	} {
		if strings.HasPrefix(tag, prefix) {
			return true
		}
	}
	return false
}

// losesRules names the rules of security groups that the file does not have.
func (e *estate) losesRules() {
	for _, group := range e.kind("Microsoft.Network/networkSecurityGroups") {
		var names []string
		for _, rule := range objects(group.body, "properties.securityRules") {
			if len(reach(rule)) == 0 && !strings.HasPrefix(text(rule, "name"), "k8s-azure-lb_") {
				names = append(names, text(rule, "name"))
			}
		}
		if len(names) > 0 {
			e.loses("security group %s has rules that the file does not have: %s", group.Name(), strings.Join(names, ", "))
		}
	}
}
