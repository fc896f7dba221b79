package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sluice.dev/sluice/internal/azure/catalog"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/render"
)

// write makes the file.
func (e *estate) write() Imported {
	body := &page{}
	name := e.name()
	server := thing{}
	if len(e.servers) > 0 {
		server = e.servers[0]
	}
	body.line("apiVersion: %s", clusterfile.APIVersion)
	body.line("kind: %s", clusterfile.Kind)
	body.put("", "name", scalar(name), "begins the names of what up makes")
	body.put("", "region", scalar(regionName(e.at())), "")
	body.put("", "resourceGroup", scalar(e.group), "")
	image := e.image(server)
	for _, p := range e.pools {
		image = cmp.Or(image, e.image(p))
	}
	body.put("", "image", scalar(image), "")
	e.writeDistribution(body, image)
	e.writeNetwork(body, server)
	e.writeServer(body, server)
	e.writePools(body, image)
	body.line("")
	body.line("sluice:")
	body.blank("sluice.image", "  ", "image", "registry.example/sluice:v0.1.0", "image of sluice, as your registry has it")

	out := Imported{Lost: slices.Clone(e.unread)}
	for _, l := range e.lost {
		out.Lost = append(out.Lost, l.String())
	}
	out.Lost = append(out.Lost, e.known.Odd...)
	head := e.head(name, out.Lost, len(body.blanks))
	out.Text = strings.Join(append(head, body.lines...), "\n") + "\n"
	for _, b := range body.blanks {
		out.Absent = append(out.Absent, fmt.Sprintf("line %d: %s: %s", len(head)+b.line+1, b.path, oneLine(b.note)))
	}
	_, problems := clusterfile.Parse([]byte(out.Text))
	for _, one := range problems {
		if !slices.ContainsFunc(body.blanks, func(b blank) bool { return strings.HasPrefix(b.path+".", one.Field+".") }) {
			out.Wrong = append(out.Wrong, one.String())
		}
	}
	return out
}

// at is the region of the server, or else of the group.
func (e *estate) at() string {
	if len(e.servers) > 0 {
		return cmp.Or(e.servers[0].text("location"), e.region)
	}
	return e.region
}

// regionName is the short name of a region: Azure writes "West Europe" as well.
func regionName(text string) string { return strings.ToLower(strings.ReplaceAll(text, " ", "")) }

// head is what the file says of itself.
func (e *estate) head(name string, lost []string, blanks int) (all []string) {
	say := func(format string, args ...any) {
		all = append(all, strings.TrimSpace("# "+oneLine(fmt.Sprintf(format, args...))))
	}
	say("yaml-language-server: $schema=%s", clusterfile.SchemaFile)
	by := "which sluice did not make"
	if slices.ContainsFunc(e.all, func(r listed) bool { return r.Tags[render.ClusterTag] != "" }) {
		by = "which has no record of what sluice made there"
	}
	say("sluice cluster import wrote this from resource group %s, %s.", e.group, by)
	var names []string
	count := 0
	for _, s := range e.servers {
		names = append(names, s.String())
		if s.isSet() {
			n, _ := strconv.Atoi(number(s.body, "sku.capacity"))
			count += n
			continue
		}
		count++
	}
	switch {
	case count > 1:
		say("It has %d servers: %s; known by %s.", count, strings.Join(names, ", "), e.why)
		say("sluice makes one server. So this file is for reading and for its pools: it is no way to make this cluster again.")
	case len(names) == 1:
		say("Its server is %s, known by %s.", names[0], e.why)
	default:
		say("No machine of it can be told to be the server: section server shows defaults.")
	}
	say("")
	say("sluice cluster up takes nothing of it over: it makes another cluster beside, with server %s-server and scale sets %s-POOL.", name, name)
	if taken := e.taken(name); len(taken) > 0 {
		say("So it is refused while name is %s: %s there already.", name, areThere(taken))
	}
	say("To have sluice scale the machines that are there, see docs/how-to/install.md.")
	if blanks > 0 {
		say("")
		say("Azure does not know %d values: their lines say %s. Remove the # and write what is right.", blanks, fillIn)
	}
	if len(lost) > 0 {
		say("")
		say("What is there and this file cannot say, so that up would not make it:")
		for _, one := range lost {
			say("- %s", one)
		}
	}
	return append(all, "")
}

// taken are machines and scale sets whose names up would want for a cluster of this name.
func (e *estate) taken(name string) (all []string) {
	for _, t := range slices.Concat(e.machines, e.sets) {
		if low := strings.ToLower(t.Name()); !t.isSet() && low == name+"-server" || t.isSet() && e.isPool(t) && strings.HasPrefix(low, name+"-") {
			all = append(all, t.String())
		}
	}
	return all
}

func (e *estate) isPool(set thing) bool {
	return slices.ContainsFunc(e.pools, func(p thing) bool { return p.ID == set.ID })
}

func areThere(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names, ", ") + " are"
}

// name is that which a person has chosen; else what the names of the scale sets begin with, so that pools have the rest of theirs; else what a tool's
// tag says, or the group's name.
func (e *estate) name() string {
	if prefix, _ := e.prefix(); prefix != "" && !e.chosen {
		return prefix
	}
	return plainName(cmp.Or(e.of, e.group), mostName)
}

const (
	mostName = 30 // characters of a cluster's name
	mostPool = 20 // and of a pool's
)

var (
	clusterNames = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$`)
	poolNames    = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$`)
	notPlain     = regexp.MustCompile(`[^a-z0-9]+`)
)

// prefix is the longest beginning that all pools' scale sets have before a dash, where the rest of each is the name of a pool.
func (e *estate) prefix() (string, bool) {
	if len(e.pools) == 0 {
		return "", false
	}
	first := e.pools[0].Name()
	for at := strings.LastIndexByte(first, '-'); at > 0; at = strings.LastIndexByte(first[:at], '-') {
		fits := clusterNames.MatchString(first[:at])
		for _, p := range e.pools {
			rest, ok := strings.CutPrefix(p.Name(), first[:at+1])
			fits = fits && ok && poolNames.MatchString(rest) && rest != "server" && rest != "network"
		}
		if fits {
			return first[:at], true
		}
	}
	return "", false
}

// plainName makes a name that the file allows of any.
func plainName(text string, most int) string {
	out := strings.Trim(notPlain.ReplaceAllString(strings.ToLower(text), "-"), "-")
	if out == "" || out[0] < 'a' {
		out = "c" + out
	}
	return strings.TrimRight(out[:min(len(out), most)], "-")
}

func (e *estate) writeDistribution(p *page, image string) {
	k := e.known
	p.line("")
	p.line("distribution:")
	guess, why := e.guess()
	if k.Kind != "" {
		p.put("  ", "kind", k.Kind, "")
	} else {
		p.blank("distribution.kind", "  ", "kind", cmp.Or(guess, clusterfile.K3s), cmp.Or(why, "k3s or kubeadm; Azure does not know it"))
	}
	such := clusterfile.K3sRelease
	if cmp.Or(k.Kind, guess) == clusterfile.Kubeadm {
		such = clusterfile.KubeadmRelease
	}
	if k.Version != "" && k.Kind != "" {
		p.put("  ", "version", scalar(k.Version), "")
	} else {
		p.blank("distribution.version", "  ", "version", such, "the release that runs, or the one that you want; kubectl get nodes shows it")
	}
	if strings.HasPrefix(image, "/") {
		p.maybe("  ", "install", clusterfile.FromImage, "if the image has the binaries; without it machines download them")
	}
	p.put("  ", "cni", k.CNI, "")
}

// guess is the distribution that names and tags speak of, and the sentence about it.
func (e *estate) guess() (kind, why string) {
	for _, t := range slices.Concat(e.servers, e.pools) {
		if said := t.tags["orchestrator"]; said != "" {
			return clusterfile.Kubeadm, "tag orchestrator says " + said + ", which is neither k3s nor kubeadm"
		}
		for tag := range t.tags {
			if strings.HasPrefix(tag, "sigs.k8s.io_cluster-api-provider-azure_") {
				return clusterfile.Kubeadm, "Cluster API makes clusters by kubeadm unless it is told otherwise"
			}
		}
		if t.tags["roles"] != "" {
			return clusterfile.Kubeadm, "Kubespray runs kubeadm"
		}
		if strings.Contains(strings.ToLower(t.Name()), "k3s") {
			return clusterfile.K3s, t.String() + " has k3s in its name"
		}
	}
	return "", ""
}

func (e *estate) writeNetwork(p *page, server thing) {
	p.line("")
	p.line("network:")
	subnet := e.subnetOf(server)
	for _, pool := range e.pools {
		subnet = cmp.Or(subnet, e.subnetOf(pool))
	}
	if subnet == "" {
		p.maybe("  ", "subnetId", "/subscriptions/.../subnets/machines", "no subnet is known: up makes a network")
	} else {
		p.put("  ", "subnetId", scalar(subnet), "")
		prefixes := e.prefixes(subnet)
		if len(prefixes) > 0 {
			p.put("  ", "subnet", prefixes[0], "")
		} else {
			p.blank("network.subnet", "  ", "subnet", "10.10.0.0/20", "the range that the subnet has")
		}
		if len(prefixes) > 1 {
			e.loses("subnet %s has the ranges %s, and the file has one", Resource{subnet}.Name(), strings.Join(prefixes, ", "))
		}
	}
	for _, of := range []struct{ key, is, such string }{{"pods", e.known.Pods, k3sPods}, {"services", e.known.Services, k3sServices}} {
		switch hint := e.routes(subnet); {
		case of.is != "":
			p.put("  ", of.key, of.is, "")
		case of.key == "pods" && hint != "":
			p.blank("network."+of.key, "  ", of.key, of.such, "Azure does not know it; "+hint)
		default:
			p.blank("network."+of.key, "  ", of.key, of.such, "Azure does not know it; without it "+of.such)
		}
	}
	for _, pool := range e.pools {
		if other := e.subnetOf(pool); other != "" && !strings.EqualFold(other, subnet) {
			e.has(pool, "is in subnet %s, and the file has one subnet", Resource{other}.Name())
		}
	}
}

// subnetOf is the subnet of a machine's, or a set's, first interface.
func (e *estate) subnetOf(t thing) string {
	for _, nic := range e.interfacesOf(t) {
		for _, ip := range objects(nic, "properties.ipConfigurations") {
			if id := text(ip, "properties.subnet.id"); id != "" {
				return spelled(id)
			}
		}
	}
	return ""
}

// spelled writes the fixed words of an id as the file wants them; Azure compares them in any letter case.
func spelled(id string) string {
	for _, word := range []string{
		"subscriptions", "resourceGroups", "providers", "Microsoft.Network", "Microsoft.Compute", "Microsoft.ManagedIdentity", "virtualNetworks", "subnets",
		"images", "galleries", "versions", "userAssignedIdentities",
	} {
		id = regexp.MustCompile(`(?i)/`+regexp.QuoteMeta(word)+`/`).ReplaceAllString(id, "/"+word+"/")
	}
	return id
}

// prefixes are the IPv4 ranges of a subnet.
func (e *estate) prefixes(subnet string) (all []string) {
	s := e.others[strings.ToLower(subnet)]
	for _, one := range append(texts(s.body, "properties.addressPrefixes"), s.text("properties.addressPrefix")) {
		if p, err := netip.ParsePrefix(one); err == nil && p.Addr().Is4() && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// routes is what the subnet's route table says of pods: a range for each node.
func (e *estate) routes(subnet string) string {
	table := e.others[strings.ToLower(e.others[strings.ToLower(subnet)].text("properties.routeTable.id"))]
	var ranges []string
	for _, r := range objects(table.body, "properties.routes") {
		if text(r, "properties.nextHopType") == "VirtualAppliance" {
			ranges = append(ranges, text(r, "properties.addressPrefix"))
		}
	}
	if len(ranges) == 0 {
		return ""
	}
	slices.SortFunc(ranges, func(a, b string) int { return cmp.Compare(naturally(a), naturally(b)) })
	return fmt.Sprintf("route table %s leads %s to %s to machines", table.Name(), ranges[0], ranges[len(ranges)-1])
}

func (e *estate) writeServer(p *page, server thing) {
	p.line("")
	p.line("server:")
	if server.ID == "" {
		p.maybe("  ", "size", "Standard_D2s_v5", "")
	}
	p.put("  ", "size", scalar(sizeName(server.size())), e.noteOf(server))
	if zones := texts(server.body, "zones"); len(zones) > 0 {
		p.put("  ", "zone", strconv.Quote(zones[0]), "")
	}
	nics := e.interfacesOf(server)
	public := false
	for i, nic := range nics {
		for _, ip := range objects(nic, "properties.ipConfigurations") {
			public = public || dig(ip, "properties.publicIPAddress") != nil || dig(ip, "properties.publicIPAddressConfiguration") != nil
			if at := text(ip, "properties.privateIPAddress"); at != "" && i == 0 && !server.isSet() {
				p.put("  ", "address", at, "of the server that is there: another one needs another address")
				break
			}
		}
	}
	e.writeServerDisks(p, server)
	from := e.allowed(server)
	p.put("  ", "publicAddress", strconv.FormatBool(public), "")
	if public && len(from) == 0 {
		p.blank("server.allowFrom", "  ", "allowFrom", "[203.0.113.0/24]", "the ranges that you come from; no rule for ports 22 and 6443 is known")
	}
	note := ""
	if slices.Contains(from, "0.0.0.0/0") {
		note = "open to everybody, as it is now"
	}
	p.put("  ", "allowFrom", flow(from), note)

	p.line("")
	p.line("identity:")
	e.writeIdentity(p, server)
	p.line("")
	p.line("secrets: keyVault                 # up makes a vault; or file: you put the key on the server")
	e.writeSSH(p, server)
	p.line("")
	p.line("addons:")
	for _, addon := range []struct{ key, driver, usual string }{
		{"cloudProvider", "", "true"}, {"azureDisk", "disk.csi.azure.com", "true"}, {"azureFile", "file.csi.azure.com", "false"},
	} {
		is := slices.Contains(e.known.Drivers, addon.driver)
		if addon.driver == "" {
			is = slices.ContainsFunc(e.known.Nodes, func(n Member) bool { return strings.HasPrefix(n.ProviderID, "azure://") })
		}
		if len(e.known.Nodes) > 0 {
			p.put("  ", addon.key, strconv.FormatBool(is), "")
		} else {
			p.maybe("  ", addon.key, addon.usual, "Azure does not know it; this is the default")
		}
	}
}

// noteOf says of which machine or set a section is.
func (e *estate) noteOf(t thing) string {
	if t.ID == "" {
		return ""
	}
	return t.String()
}

// sizeName is a size as the catalog spells it.
func sizeName(size string) string {
	if known, ok := catalog.Find(size); ok {
		return known.Name
	}
	return size
}

func (e *estate) writeServerDisks(p *page, server thing) {
	disks := objects(server.profile(), "storageProfile.dataDisks")
	if server.ID != "" && len(disks) == 0 {
		p.maybe("  ", "dataDiskGiB", "64", "the server has no data disk; up makes one for the cluster's data")
	}
	if len(disks) > 0 {
		d := disks[0]
		of := e.others[strings.ToLower(text(d, "managedDisk.id"))]
		p.put("  ", "dataDiskGiB", cmp.Or(number(d, "diskSizeGB"), number(of.body, "properties.diskSizeGB")), "")
		kind := cmp.Or(of.text("sku.name"), text(d, "managedDisk.storageAccountType"))
		if slices.Contains([]string{"Standard_LRS", "StandardSSD_LRS", "Premium_LRS", "PremiumV2_LRS"}, kind) {
			p.put("  ", "dataDiskType", kind, "")
		} else if kind != "" {
			e.loses("%s has a data disk of type %s, which the file does not have", server, kind)
		}
	}
	p.put("  ", "osDiskGiB", e.osDisk(server), "")
}

// osDisk is the size of a machine's, or a set's, OS disk where the file can say it.
func (e *estate) osDisk(t thing) string {
	disk := object(t.profile(), "storageProfile.osDisk")
	of := e.others[strings.ToLower(text(disk, "managedDisk.id"))]
	size := cmp.Or(number(disk, "diskSizeGB"), number(of.body, "properties.diskSizeGB"))
	if n, err := strconv.Atoi(size); err != nil || n < 30 || n > 4095 {
		return ""
	}
	return size
}

// allowed are the ranges from which the server's security groups let SSH or the API server be reached.
func (e *estate) allowed(server thing) (all []string) {
	groups := []string{e.others[strings.ToLower(e.subnetOf(server))].text("properties.networkSecurityGroup.id")}
	for _, nic := range e.interfacesOf(server) {
		groups = append(groups, text(nic, "properties.networkSecurityGroup.id"))
	}
	for _, id := range groups {
		for _, rule := range objects(e.others[strings.ToLower(id)].body, "properties.securityRules") {
			from := reach(rule)
			all = append(all, from...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// reach are the IPv4 ranges from which a rule lets SSH or the API server be reached; none of a rule that says something else.
func reach(rule map[string]any) (from []string) {
	ports := portsOf(rule)
	if !allows(rule) || !slices.Contains(ports, "22") && !slices.Contains(ports, apiPort) {
		return nil
	}
	sources := texts(rule, "properties.sourceAddressPrefixes")
	if one := text(rule, "properties.sourceAddressPrefix"); one != "" {
		sources = append(sources, one)
	}
	for _, one := range sources {
		if one == "*" || strings.EqualFold(one, "Internet") {
			one = "0.0.0.0/0"
		}
		if at, err := netip.ParseAddr(one); err == nil && at.Is4() {
			one += "/32"
		}
		if p, err := netip.ParsePrefix(one); err == nil && p.Addr().Is4() {
			from = append(from, p.Masked().String())
		}
	}
	return from
}

func (e *estate) writeIdentity(p *page, server thing) {
	ids := slices.Sorted(maps.Keys(object(server.body, "identity.userAssignedIdentities")))
	kind := server.text("identity.type")
	switch {
	case len(ids) > 0:
		p.put("  ", "kind", clusterfile.UserAssigned, "")
		p.put("  ", "id", scalar(spelled(ids[0])), "")
		if len(ids) > 1 {
			e.loses("%s has %d identities of its own choice, and the file has one", server, len(ids))
		}
		if strings.Contains(strings.ToLower(kind), "systemassigned") {
			e.loses("%s has an identity of its own beside, and the file has one of both", server)
		}
	case strings.EqualFold(kind, "SystemAssigned"):
		p.put("  ", "kind", clusterfile.SystemAssigned, "the server's own")
	default:
		p.put("  ", "kind", clusterfile.SystemAssigned, "the server that is there has none; sluice needs one")
	}
}

func (e *estate) writeSSH(p *page, server thing) {
	p.line("")
	p.line("ssh:")
	for _, t := range append([]thing{server}, e.pools...) {
		profile := object(t.profile(), "osProfile")
		keys := objects(profile, "linuxConfiguration.ssh.publicKeys")
		if len(keys) == 0 {
			continue
		}
		p.put("  ", "user", scalar(text(profile, "adminUsername")), "")
		p.put("  ", "publicKey", scalar(strings.TrimSpace(text(keys[0], "keyData"))), "its private half is with whoever made the machines")
		return
	}
	p.put("  ", "user", scalar(text(server.profile(), "osProfile.adminUsername")), "")
	p.blank("ssh.publicKey", "  ", "publicKey", "ssh-ed25519 AAAA... you@example", "no machine has a public key; give yours")
}
