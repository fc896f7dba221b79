package azuresim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// embody makes a new instance of a flexible scale set a virtual machine of its
// own: with a name, an interface and an OS disk, which go when it goes.
func (c compute) embody(i *instance, key string) {
	ss := i.set
	random := guid(c.seed, "member", key)
	i.resource.name = ss.name + "_" + random[:8]
	i.number = ss.born - 1
	i.called = ss.computerNamePrefix() + strings.ReplaceAll(random[9:16], "-", "") // six characters; their case is assumed

	profile := asMap(dig(ss.model, "properties", "virtualMachineProfile"))
	properties := map[string]any{"virtualMachineScaleSet": map[string]any{"id": ss.id()}}
	for _, k := range []string{"priority", "evictionPolicy", "billingProfile", "securityProfile", "scheduledEventsProfile", "diagnosticsProfile", "licenseType", "userData"} {
		if profile[k] != nil {
			properties[k] = profile[k]
		}
	}
	properties["osProfile"] = maps.Clone(asMap(profile["osProfile"]))
	delete(asMap(properties["osProfile"]), "computerNamePrefix")
	if image := dig(profile, "storageProfile", "imageReference"); image != nil {
		properties["storageProfile"] = map[string]any{"imageReference": image}
	}
	i.model = map[string]any{"properties": properties}
	for _, k := range []string{"tags", "identity"} {
		if ss.model[k] != nil {
			i.model[k] = ss.model[k]
		}
	}
	if c.network.freeAddresses(ss.subnet(), i.created) > 0 {
		nic := asMap(first(dig(profile, "networkProfile", "networkInterfaceConfigurations")))
		name := either(text(nic, "name"), "nic") + "-" + random[len(random)-8:]
		c.network.plugNew(i, name, ss.subnet(), "Delete")
	}
	c.disks.addOS(i, diskWrite{CreateOption: "FromImage", DeleteOption: "Delete"}, i.created)
}

// plugNew gives a machine a new interface with the machine's address.
func (nw network) plugNew(i *instance, name, subnet, deleteOption string) {
	n := nw.addInterface(resource{i.subscription, i.group, name, i.location}, map[string]any{
		"properties": map[string]any{"ipConfigurations": []any{ipConfiguration(subnet)}},
	}, i.created, i.ip)
	i.plug(n, deleteOption)
}

// plug puts an interface into a machine. The first one gives it its address.
func (i *instance) plug(n *networkInterface, deleteOption string) {
	n.host = i
	i.nics = append(i.nics, &plug{n, either(deleteOption, "Detach")})
	i.ip = i.nics[0].nic.ip()
}

// addOS gives a machine its OS disk: a new one, or one to attach.
func (ds disks) addOS(i *instance, w diskWrite, now time.Time) {
	d := find(ds.store.disks, w.ManagedDisk.ID)
	if d == nil {
		name := either(w.Name, i.name()+"_OsDisk_1_"+strings.ReplaceAll(guid(ds.seed, "os disk", i.vmID), "-", ""))
		m := diskModel(either(w.ManagedDisk.SKUName, "Premium_LRS"), "FromImage", max(w.DiskSizeGB, 30), i.placement.zone)
		asMap(m["properties"])["osType"] = "Linux"
		d = ds.add(resource{i.subscription, i.group, name, i.location}, m, now)
	}
	i.attach(&drive{
		disk: d, os: true, createOption: either(w.CreateOption, "FromImage"),
		caching: either(w.Caching, "ReadWrite"), deleteOption: either(w.DeleteOption, "Detach"),
	})
}

// osDrive is the machine's OS disk, nil for a uniform instance, whose disk is not
// simulated.
func (i *instance) osDrive() *drive {
	if n := slices.IndexFunc(i.drives, func(v *drive) bool { return v.os }); n >= 0 {
		return i.drives[n]
	}
	return nil
}

// machineWire is a virtual machine as a read shows it.
func (i *instance) machineWire(now time.Time, expand bool) map[string]any {
	out := withoutSecrets(i.model).(map[string]any)
	p := asMap(out["properties"])
	hardware := maps.Clone(asMap(p["hardwareProfile"]))
	hardware["vmSize"] = i.placement.size
	os := maps.Clone(asMap(p["osProfile"]))
	os["computerName"] = i.called
	nics := []any{}
	for n, v := range i.nics {
		nics = append(nics, map[string]any{
			"id":         v.nic.id(),
			"properties": map[string]any{"primary": n == 0, "deleteOption": v.deleteOption},
		})
	}
	p["hardwareProfile"], p["osProfile"] = hardware, os
	p["networkProfile"] = map[string]any{"networkInterfaces": nics}
	p["storageProfile"] = i.storageWire(dig(p, "storageProfile", "imageReference"))
	p["vmId"], p["provisioningState"], p["timeCreated"] = i.vmID, i.provisioningState(now), timestamp(i.created)
	if expand {
		p["instanceView"] = i.view(now)
	}
	if i.placement.zone != "" {
		out["zones"] = []any{i.placement.zone}
	}
	out["properties"], out["location"], out["etag"] = p, i.location, i.etagText()
	out["id"], out["name"], out["type"] = i.id(), i.name(), machineKind
	return out
}
