package azuresim

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// disk is a managed disk.
type disk struct {
	resource
	model   map[string]any // as writers sent it: sku, zones, tags, properties
	created time.Time
	guid    string

	// holder is the machine the disk is attached to. After it was detached,
	// managedBy keeps the id of the former one until clearsAt.
	holder    *instance
	managedBy string
	clearsAt  time.Time
}

// drive is a disk in a machine.
type drive struct {
	disk         *disk
	os           bool
	lun          int    // of a data disk
	createOption string // "Attach", "Empty", "FromImage"
	caching      string // "None", "ReadOnly", "ReadWrite"
	deleteOption string // "Delete" or "Detach": what becomes of it with the machine
}

func (d *disk) id() string { return d.path(diskKind) }

// add puts a disk in the store. Its name must be free.
func (ds disks) add(r resource, model map[string]any, now time.Time) *disk {
	d := &disk{resource: r, model: model, created: now, guid: guid(ds.seed, "disk", r.path(diskKind), now.UnixNano())}
	shelve(&ds.store.disks, d)
	ds.store.openGroup(r)
	return d
}

// attach puts a disk into a machine.
func (i *instance) attach(v *drive) {
	v.disk.holder, v.disk.managedBy, v.disk.clearsAt = i, i.id(), time.Time{}
	i.drives = append(i.drives, v)
}

// disks puts disks into machines and takes them out.
type disks struct {
	store *store
	seed  uint64
	lag   time.Duration // Server.DetachLag
}

// detach takes a disk out of its machine; reads name the machine for as long as
// the server's lag.
func (ds disks) detach(v *drive, at time.Time) {
	d := v.disk
	d.holder.drives = slices.DeleteFunc(d.holder.drives, func(other *drive) bool { return other == v })
	d.holder, d.clearsAt = nil, at.Add(ds.lag)
}

// holds is the id of the machine that reads show as the disk's; "" for none.
func (d *disk) holds(now time.Time) string {
	if d.holder == nil && !now.Before(d.clearsAt) {
		return ""
	}
	return d.managedBy
}

// bury lets go of what a machine that has gone held: its interfaces and disks
// go with it or stay behind, by their delete options.
func (ds disks) bury(i *instance) {
	for _, p := range i.nics {
		if p.deleteOption == "Delete" {
			ds.store.interfaces = slices.DeleteFunc(ds.store.interfaces, func(n *networkInterface) bool { return n == p.nic })
			continue
		}
		p.nic.host = nil
		if reached(i.provisioning.failAt, i.deletion.at) {
			p.nic.reservedFor, p.nic.reservedUntil = i.id(), i.deletion.goneAt.Add(reservation)
		}
	}
	for _, v := range slices.Clone(i.drives) {
		if v.deleteOption == "Delete" {
			ds.store.disks = slices.DeleteFunc(ds.store.disks, func(d *disk) bool { return d == v.disk })
			continue
		}
		ds.detach(v, i.deletion.goneAt)
	}
}

// wire is the disk as a read shows it.
func (d *disk) wire(now time.Time) map[string]any {
	out := maps.Clone(d.model)
	p := maps.Clone(asMap(d.model["properties"]))
	p["provisioningState"], p["timeCreated"], p["uniqueId"] = "Succeeded", timestamp(d.created), d.guid
	p["diskState"] = "Unattached"
	if by := d.holds(now); by != "" {
		out["managedBy"] = by
		p["diskState"] = "Attached"
	}
	if d.holder != nil && d.holder.powerState(now) == "deallocated" {
		p["diskState"] = "Reserved"
	}
	out["id"], out["name"], out["type"], out["location"] = d.id(), d.resource.name, diskKind, d.location
	out["properties"] = p
	return out
}

// zones of the disk; none: it is not bound to one.
func (d *disk) zones() []string { return texts(d.model["zones"]) }

// diskModel is a disk as a writer sends it.
func diskModel(sku, createOption string, sizeGB int, zone string) map[string]any {
	m := map[string]any{
		"sku":        map[string]any{"name": sku},
		"properties": map[string]any{"creationData": map[string]any{"createOption": createOption}, "diskSizeGB": sizeGB},
	}
	if zone != "" {
		m["zones"] = []any{zone}
	}
	return m
}

// storageWire is the storage profile of a machine, image being what its model
// says of its image.
func (i *instance) storageWire(image any) map[string]any {
	data := []any{}
	out := map[string]any{}
	for _, v := range i.drives {
		w := map[string]any{
			"name": v.disk.resource.name, "createOption": v.createOption, "caching": v.caching, "deleteOption": v.deleteOption,
			"diskSizeGB":  dig(v.disk.model, "properties", "diskSizeGB"),
			"managedDisk": map[string]any{"id": v.disk.id(), "storageAccountType": text(v.disk.model, "sku", "name")},
		}
		if v.os {
			w["osType"] = "Linux"
			out["osDisk"] = w
			continue
		}
		w["lun"], w["toBeDetached"] = v.lun, false
		data = append(data, w)
	}
	slices.SortFunc(data, func(a, b any) int { return asMap(a)["lun"].(int) - asMap(b)["lun"].(int) })
	out["dataDisks"] = data
	if image != nil {
		out["imageReference"] = image
	}
	return out
}

// dataDrives are the machine's data disks.
func (i *instance) dataDrives() []*drive {
	return slices.DeleteFunc(slices.Clone(i.drives), func(v *drive) bool { return v.os })
}

// drive finds a data disk of the machine by the disk's id or name.
func (i *instance) drive(ref string) *drive {
	for _, v := range i.dataDrives() {
		if ref != "" && (strings.EqualFold(v.disk.id(), ref) || strings.EqualFold(v.disk.resource.name, ref)) {
			return v
		}
	}
	return nil
}
