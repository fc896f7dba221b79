package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sluice.dev/sluice/cloud"
	"sluice.dev/sluice/internal/clusterfile"
	"sluice.dev/sluice/internal/render"
)

// fate is what becomes of a field that the file has changed, beside what Azure's what-if shows of it.
type fate struct {
	verb   string // stays or refused: of the server; goes: what-if shows what comes, not what goes; "": what-if shows it, or it is read
	pools  bool   // new machines of pools are made by it
	boot   bool   // they are told it at boot: Azure shows a short word of it all
	reason string // of what is refused, why
	last   bool   // compared with the file of the last up, not with the one that the server is made of
}

const (
	keeps   = "a running cluster keeps it"
	oneWay  = "machines of one cluster have the same"
	nothing = "nothing"
)

// fates has a row for every field with a value.
//
// Read from Azure are sizes, zones and disks of the server (see [fixed]), storage, and zones, orchestration and spot of pools.
var fates = map[string]fate{
	"apiVersion": {}, "kind": {}, "name": {}, "resourceGroup": {}, // others are another cluster
	"region": {}, // checkPlace
	"image":  {verb: verbStays, pools: true},

	"distribution.kind":    {verb: verbRefused, boot: true, reason: oneWay},
	"distribution.version": {verb: verbStays, pools: true, boot: true},
	"distribution.install": {verb: verbStays, pools: true, boot: true},
	"distribution.cni":     {verb: verbRefused, boot: true, reason: oneWay},

	"network.subnetId":  {verb: verbRefused, last: true, reason: "its machines are there"},
	"network.addresses": {verb: verbRefused, last: true, reason: "Azure takes no range away that machines are in"},
	"network.subnet":    {verb: verbRefused, last: true, reason: "Azure changes no subnet that machines are in"},
	"network.pods":      {verb: verbRefused, boot: true, reason: keeps},
	"network.services":  {verb: verbRefused, boot: true, reason: keeps},

	"server.size": {}, "server.zone": {}, "server.dataDiskGiB": {}, "server.dataDiskType": {}, "server.osDiskGiB": {},
	"server.address":       {verb: verbRefused, boot: true, reason: "nodes and certificates know the server by it"},
	"server.publicAddress": {verb: verbGoes, last: true},
	"server.allowFrom":     {},

	"identity.kind": {verb: verbRefused, reason: "the server keeps its identity"},
	"identity.id":   {verb: verbRefused, reason: "the server keeps its identity"},
	"secrets":       {verb: verbStays},
	"ssh.user":      {verb: verbStays, pools: true},
	"ssh.publicKey": {verb: verbStays, pools: true},

	"storage.resourceGroup": {},
	"storage.disks[].name":  {}, "storage.disks[].sizeGiB": {}, "storage.disks[].type": {}, "storage.disks[].zone": {},
	"storage.shares[].name": {}, "storage.shares[].sizeGiB": {},

	"addons.cloudProvider": {verb: verbRefused, boot: true, reason: oneWay},
	"addons.azureDisk":     {verb: verbStays},
	"addons.azureFile":     {verb: verbStays},
	"mirror":               {verb: verbStays, pools: true, boot: true},
	"images":               {verb: verbStays},

	"pools[].name": {}, "pools[].size": {}, "pools[].min": {}, "pools[].max": {}, "pools[].zones": {}, "pools[].orchestration": {},
	"pools[].image": {}, "pools[].osDiskGiB": {}, "pools[].osDiskType": {}, "pools[].spot": {}, "pools[].spot.maxPrice": {},
	"pools[].labels":        {boot: true},
	"pools[].taints":        {boot: true},
	"pools[].publicAddress": {verb: verbGoes, last: true},

	"sluice.image":    {verb: verbStays},
	"sluice.settings": {verb: verbStays},
}

// The verbs of a [Change]. Only within this package, goes is a change that what-if does not show.
const (
	verbCreate  = "create"
	verbChange  = "change"
	verbUnknown = "unknown"
	verbStays   = "stays"
	verbRefused = "refused"
	verbGoes    = "goes"
)

// difference is one field in which file and Azure differ.
type difference struct {
	of     Resource
	verb   string
	says   string // one sentence
	remedy string // of what is refused
}

// memory are the files by which the cluster was made: Azure keeps them. nil is one that is not known.
type memory struct {
	server *clusterfile.File // that the server is made of; nil without a server
	last   *clusterfile.File // that of the last up
	state  string            // how that one ended; "" without a record
}

// comparison holds the file to what Azure has, field by field.
type comparison struct{ *Cluster }

// remember reads both files.
func (c comparison) remember(ctx context.Context, server bool) (m memory, err error) {
	was, found, err := c.recorded(ctx)
	if err != nil || !found {
		return m, err
	}
	m.state = was.Properties.State
	if m.last, err = c.fileOf(ctx, c.deployment()); err != nil || !server {
		return m, err
	}
	at := c.group(c.File.ResourceGroup) + "/providers/Microsoft.Resources/deployments/" + c.File.ServerName()
	if m.server, err = c.fileOf(ctx, at); m.server == nil {
		m.server = m.last
	}
	return m, err
}

// fileOf is the cluster file in the record of a deployment; nil where there is none that this sluice reads, or it may not be read.
func (c comparison) fileOf(ctx context.Context, at string) (*clusterfile.File, error) {
	var said struct {
		Template struct {
			Metadata map[string]any `json:"metadata"`
		} `json:"template"`
	}
	err := c.Cloud.Post(ctx, at+"/exportTemplate", deploymentsVersion, nil, &said)
	text, _ := said.Template.Metadata[render.MetadataFile].(string)
	if kind := cloud.KindOf(err); kind == cloud.NotFound || kind == cloud.Unauthorized {
		return nil, nil //nolint:nilnil // it is not known
	} else if err != nil || text == "" {
		return nil, err
	}
	f, problems := clusterfile.Parse([]byte(text))
	if len(problems) > 0 {
		return nil, nil //nolint:nilnil // another sluice wrote it
	}
	return &f, nil
}

// differences are the fields that differ, as far as what-if does not show them.
func (c comparison) differences(ctx context.Context) (all []difference, m memory, err error) {
	now, err := c.look(ctx)
	if err != nil || !now.group {
		return nil, m, err
	}
	if m, err = c.remember(ctx, !slices.Contains(now.missing, render.NewServer)); err != nil {
		return nil, m, err
	}
	if all, err = c.differencesOfDoor(ctx, &now, m); err != nil {
		return nil, m, err
	}
	for _, read := range []func(context.Context) ([]difference, error){c.fixedFields, c.fieldsOfPools, c.fieldsOfStorage} {
		more, err := read(ctx)
		if err != nil {
			return nil, m, err
		}
		all = append(all, more...)
	}
	return append(append(all, c.sinceServer(m.server)...), c.sinceLast(m.last)...), m, nil
}

// sinceServer are the fields that the server was told once, and is not told anew.
func (c comparison) sinceServer(was *clusterfile.File) (all []difference) {
	if was == nil {
		return nil
	}
	server := Resource{c.serverID()}
	for _, d := range clusterfile.Differ(was, c.File) {
		of := fates[d.Path]
		switch {
		case of.last || of.verb == "":
		case of.verb == verbRefused:
			all = append(all, refuses(server, &d, "the server was made with", of.reason))
		case of.verb == verbStays:
			tail := ": up leaves the server's machine as it is"
			if of.pools {
				tail += "; new machines of pools get it"
			}
			all = append(all, difference{of: server, verb: verbStays, says: contrast(&d, "the server was made with") + tail})
		}
	}
	return all
}

// sinceLast are the fields that the last up had otherwise, and of which what-if shows nothing.
func (c comparison) sinceLast(was *clusterfile.File) (all []difference) {
	if was == nil {
		return nil
	}
	for _, d := range clusterfile.Differ(was, c.File) {
		of := fates[d.Path]
		about := Resource{c.about(&d)}
		switch {
		case of.verb == verbGoes && (d.Is == "" || d.Is == "false"):
			says := fmt.Sprintf("%s: %s -> %s", d.Where(), cut(d.Was), cmp.Or(d.Is, nothing))
			all = append(all, difference{of: about, verb: verbChange, says: says})
		case of.verb == verbRefused && of.last && !(d.Path == "network.addresses" && holds(d.Is, was.Network.Subnet)):
			all = append(all, refuses(about, &d, "the cluster has", of.reason))
		case d.Path == "storage.resourceGroup" && d.Was != "":
			says := contrast(&d, "the last up had") + ": up leaves what is there"
			all = append(all, difference{of: Resource{c.group(d.Was)}, verb: verbStays, says: says})
		case (d.Path == "storage.disks[]" || d.Path == "storage.shares[]") && d.Is == "":
			says := "the file has no " + d.Where() + " any more: up deletes no storage"
			all = append(all, difference{of: Resource{c.group(was.Storage.ResourceGroup)}, verb: verbStays, says: says})
		}
	}
	return all
}

// about is the resource in Azure that a field is of.
func (c comparison) about(d *clusterfile.Difference) string {
	group := c.group(c.File.ResourceGroup) + "/providers/"
	switch {
	case strings.HasPrefix(d.Path, "pools[]"):
		return c.scaleSet(&clusterfile.Pool{Name: d.Item})
	case strings.HasPrefix(d.Path, "network."):
		return group + "Microsoft.Network/virtualNetworks/" + c.File.Name
	}
	return group + "Microsoft.Network/networkInterfaces/" + c.File.ServerName()
}

// holds says whether a range has another in it.
func holds(outer, inner string) bool {
	out, bad := netip.ParsePrefix(outer)
	in, worse := netip.ParsePrefix(inner)
	return bad == nil && worse == nil && out.Bits() <= in.Bits() && out.Contains(in.Addr())
}

// contrast is both values in half a sentence.
func contrast(d *clusterfile.Difference, whom string) string {
	is, was := cmp.Or(d.Is, nothing), cmp.Or(d.Was, nothing)
	if cut(is) == cut(was) || len(is) > mostShown { // such as keys: their beginnings say nothing
		return d.Where() + " is another than " + whom
	}
	return fmt.Sprintf("%s is %s, and %s %s", d.Where(), is, whom, cut(was))
}

// refuses is a field that no up changes.
func refuses(of Resource, d *clusterfile.Difference, whom, reason string) difference {
	remedy := "leave it out, or make another cluster"
	if d.Was != "" {
		remedy = "set it to " + d.Was + ", or make another cluster"
	}
	return difference{of, verbRefused, contrast(d, whom) + "; " + reason, remedy}
}

// cut is a text as far as it is shown.
func cut(text string) string {
	if all := []rune(text); len(all) > mostShown {
		return string(all[:mostShown]) + "…"
	}
	return text
}

// fieldsOfPools are those of scale sets that are there which Azure does not change.
func (c comparison) fieldsOfPools(ctx context.Context) (all []difference, err error) {
	for i := range c.File.Pools {
		p := &c.File.Pools[i]
		of := Resource{c.scaleSet(p)}
		var set struct {
			Tags       map[string]string `json:"tags"`
			Zones      []string          `json:"zones"`
			Properties struct {
				Mode    string `json:"orchestrationMode"`
				Profile struct {
					Priority string `json:"priority"`
					Storage  struct {
						Image struct {
							Publisher string `json:"publisher"`
							Offer     string `json:"offer"`
						} `json:"imageReference"`
						OS struct {
							Disk struct {
								Type string `json:"storageAccountType"`
							} `json:"managedDisk"`
						} `json:"osDisk"`
					} `json:"storageProfile"`
				} `json:"virtualMachineProfile"`
			} `json:"properties"`
		}
		found, err := c.Cloud.Get(ctx, of.ID, computeVersion, &set)
		if err != nil {
			return nil, err
		}
		if !found || set.Tags[render.ClusterTag] != c.File.Name {
			continue
		}
		refuse := func(field, is, was, reason string) {
			d := clusterfile.Difference{Path: "pools[]." + field, Item: p.Name, Was: was, Is: is}
			if field == "image" && p.Image == "" {
				d.Path, d.Item = "image", ""
			}
			one := refuses(of, &d, "the scale set has", reason)
			one.remedy = strings.Replace(one.remedy, "make another cluster", "make a pool of another name", 1)
			all = append(all, one)
		}
		for _, zone := range set.Zones {
			if !slices.Contains(p.Zones, zone) {
				refuse("zones", strings.Join(p.Zones, ", "), strings.Join(set.Zones, ", "), "Azure takes no zone away")
				break
			}
		}
		if has := strings.ToLower(set.Properties.Mode); has != "" && has != p.Orchestration {
			refuse("orchestration", p.Orchestration, has, "Azure keeps it")
		}
		storage := &set.Properties.Profile.Storage
		if has := storage.OS.Disk.Type; has != "" && !strings.EqualFold(has, p.OSDiskType) {
			refuse("osDiskType", p.OSDiskType, has, "Azure keeps it")
		}
		has := storage.Image.Publisher + ":" + storage.Image.Offer + ":"
		if is := c.File.ImageOf(p); has != "::" && !strings.HasPrefix(is, "/") && !strings.HasPrefix(strings.ToLower(is), strings.ToLower(has)) {
			refuse("image", is, has+"SKU:VERSION", "Azure keeps publisher and offer")
		}
		switch is, was := p.Spot != nil, strings.EqualFold(set.Properties.Profile.Priority, "Spot"); {
		case is && !was:
			refuse("spot", "{}", "", "Azure makes no regular scale set one of spot machines")
		case was && !is:
			says := "pools[" + p.Name + "].spot is left out, and the scale set has it: up leaves it; a pool of another name is regular"
			all = append(all, difference{of: of, verb: verbStays, says: says})
		}
	}
	return all, nil
}

// fieldsOfStorage are all of storage: Azure's what-if does not look into the deployment that makes it, which waits for the server's identity.
func (c comparison) fieldsOfStorage(ctx context.Context) (all []difference, err error) {
	s := &c.File.Storage
	if !c.File.HasStorage() {
		return nil, nil
	}
	for i := range s.Disks {
		more, err := c.fieldsOfDisk(ctx, &s.Disks[i])
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	if len(s.Shares) == 0 {
		return all, nil
	}
	resources, err := c.listingOf(ctx, s.ResourceGroup)
	if err != nil {
		return nil, err
	}
	account := ""
	for _, r := range resources {
		if c.ours(r) && strings.EqualFold(Resource{r.ID}.Kind(), "Microsoft.Storage/storageAccounts") {
			account = r.ID
		}
	}
	for _, share := range s.Shares {
		of := Resource{account + "/fileServices/default/shares/" + share.Name}
		var has struct {
			Properties struct {
				GiB int `json:"shareQuota"`
			} `json:"properties"`
		}
		found := false
		if account == "" {
			of = Resource{c.group(s.ResourceGroup) + "/providers/Microsoft.Storage/storageAccounts/new/fileServices/default/shares/" + share.Name}
		} else if found, err = c.Cloud.Get(ctx, of.ID, of.version(), &has); err != nil {
			return nil, err
		}
		switch was := has.Properties.GiB; {
		case !found:
			all = append(all, difference{of: of, verb: verbCreate})
		case was != share.SizeGiB:
			says := fmt.Sprintf("storage.shares[%s].sizeGiB: %d -> %d", share.Name, was, share.SizeGiB)
			all = append(all, difference{of: of, verb: verbChange, says: says})
		}
	}
	return all, nil
}

func (c comparison) fieldsOfDisk(ctx context.Context, d *clusterfile.Disk) (all []difference, err error) {
	of := Resource{c.group(c.File.Storage.ResourceGroup) + "/providers/Microsoft.Compute/disks/" + d.Name}
	var has diskState
	found, err := c.Cloud.Get(ctx, of.ID, diskVersion, &has)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return []difference{{of: of, verb: verbCreate}}, nil
	case has.Tags[render.ClusterTag] != c.File.Name: // checkNames
		return nil, nil
	}
	at := "storage.disks[" + d.Name + "]."
	if zone := strings.Join(has.Zones, ", "); zone != d.Zone {
		all = append(all, difference{
			of, verbRefused,
			fmt.Sprintf("%szone is %s, and the disk is in %s; Azure moves no disk between zones", at, cmp.Or(d.Zone, "none"), cmp.Or(zone, "none")),
			cmp.Or(strings.TrimSuffix("set it to "+zone, "set it to "), "leave it out") + ", or make a disk of another name",
		})
	}
	switch is, was := d.SizeGiB, has.Properties.GiB; {
	case is < was:
		all = append(all, difference{
			of, verbRefused, fmt.Sprintf("%ssizeGiB is %d, and the disk has %d; Azure makes no disk smaller", at, is, was),
			fmt.Sprintf("set it to %d or more, or make a disk of another name", was),
		})
	case is > was:
		all = append(all, difference{of: of, verb: verbChange, says: fmt.Sprintf("%ssizeGiB: %d -> %d", at, was, is)})
	}
	switch is, was := d.Type, has.SKU.Name; {
	case strings.EqualFold(is, was):
	case has.Properties.State == "Attached":
		all = append(all, difference{
			of, verbRefused, fmt.Sprintf("%stype is %s, and the disk has %s; Azure changes it only while no machine has the disk", at, is, was),
			"set it to " + was + ", or detach the disk first",
		})
	default:
		all = append(all, difference{of: of, verb: verbChange, says: fmt.Sprintf("%stype: %s -> %s", at, was, is)})
	}
	return all, nil
}

// toldAtBoot is what differs of what new machines of a pool are told at boot, of which Azure shows a short word.
func (c comparison) toldAtBoot(set Resource, m memory) string {
	var changed []string
	if m.last != nil {
		for _, d := range clusterfile.Differ(m.last, c.File) {
			if fates[d.Path].boot && (d.Item == "" || strings.EqualFold(c.about(&d), set.ID)) {
				changed = append(changed, fmt.Sprintf("%s: %s -> %s", d.Where(), cmp.Or(d.Was, nothing), cmp.Or(d.Is, nothing)))
			}
		}
	}
	if len(changed) == 0 {
		return "what new machines are told at boot"
	}
	return "what new machines are told at boot, by " + strings.Join(changed, ", ")
}
