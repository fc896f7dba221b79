package azuresim

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

const disksType = "disks"

var diskPatterns = []pattern{
	{"LIST", wholePath + "/disks", disksType, listDisks},
	{"LIST", groupPath + "/disks", disksType, listDisks},
	{"GET", groupPath + "/disks/{name}", disksType, getDisk},
	{"PUT", groupPath + "/disks/{name}", disksType, putDisk},
	{"PATCH", groupPath + "/disks/{name}", disksType, patchDisk},
	{"DELETE", groupPath + "/disks/{name}", disksType, deleteDisk},
}

func listDisks(q *request) answer {
	list := []map[string]any{}
	for _, d := range q.store.disks {
		if d.in(q.route.subscription, q.route.group) {
			list = append(list, d.wire(q.now))
		}
	}
	return page(q, list, wireID)
}

// diskAt is the disk in the path.
func (st *store) diskAt(at route) (*disk, *problem) {
	if d := find(st.disks, at.named().path(diskKind)); d != nil {
		return d, nil
	}
	return nil, resourceNotFound(diskKind, at.name, at.group)
}

func getDisk(q *request) answer {
	d, p := q.store.diskAt(q.route)
	if p != nil {
		return p.answer()
	}
	return answer{status: http.StatusOK, body: d.wire(q.now)}
}

// putDisk creates a disk, or replaces what is mentioned of one.
func putDisk(q *request) answer {
	var w map[string]any
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	location := text(w, "location")
	d := find(q.store.disks, q.route.named().path(diskKind))
	switch {
	case location == "":
		return bad("LocationRequired", "The location property is required for this definition.").answer()
	case d == nil && text(w, "properties", "creationData", "createOption") == "":
		return bad("InvalidParameter", "Required parameter 'disk.creationData.createOption' is missing (null).").target("disk.creationData.createOption").answer()
	case d == nil:
		r := q.route.named()
		r.location = location
		d = q.server.compute().disks.add(r, diskModel("Premium_LRS", "Empty", 0, ""), q.now)
		d.rewrite(w)
	}
	if p := d.refuse(w, true, q.now); p != nil {
		return p.answer()
	}
	d.rewrite(w)
	return q.async(answer{status: http.StatusOK, body: d.wire(q.now)}, q.store.operations.launch(q.server.Seed, diskKind, d.location, q.now, operation{single: true}))
}

// patchDisk merges.
func patchDisk(q *request) answer {
	d, p := q.store.diskAt(q.route)
	if p != nil {
		return p.answer()
	}
	var w map[string]any
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	if p := d.refuse(w, false, q.now); p != nil {
		return p.answer()
	}
	d.rewrite(w)
	return q.async(answer{status: http.StatusOK, body: d.wire(q.now)}, q.store.operations.launch(q.server.Seed, diskKind, d.location, q.now, operation{single: true}))
}

// refuse is what Azure changes of no disk: it gets no smaller (MicrosoftDocs/azure-docs, pull request 57951), and leaves no zone
// (hashicorp/terraform-provider-azurerm, issue 16059). Its type is changed while no machine that runs has it; that answer's words are assumed.
func (d *disk) refuse(w map[string]any, whole bool, now time.Time) *problem {
	size := func(model map[string]any) float64 {
		n, _ := plainJSON(dig(model, "properties", "diskSizeGB")).(float64)
		return n
	}
	is, has := text(w, "sku", "name"), text(d.model, "sku", "name")
	switch zones := texts(w["zones"]); {
	case size(w) > 0 && size(w) < size(d.model):
		return bad("BadRequest",
			"The disk/snapshot resource with id %s cannot be resized down. Reducing disk/snapshot size is not supported in Azure to prevent data loss. If you do need to reduce the size of the disk, please create new snapshot/disks with the appropriate size. More information is available at https://aka.ms/AzureDisksFAQ",
			d.id())
	case (whole || w["zones"] != nil) && !slices.Equal(zones, d.zones()):
		return bad("BadRequest", "Availability zone must not be changed on existing resource '%s'. Existing zone is '%s', requested zone is '%s'.",
			d.resource.name, strings.Join(d.zones(), ","), strings.Join(zones, ","))
	case is != "" && has != "" && !strings.EqualFold(is, has) && d.holder != nil && d.holder.powerState(now) != "deallocated":
		return fail(http.StatusConflict, "OperationNotAllowed",
			"Cannot change the sku of disk %s from %s to %s while it is attached to running VM %s.", d.resource.name, has, is, d.holder.id())
	}
	return nil
}

// rewrite takes over what a write says of what a writer may say.
func (d *disk) rewrite(w map[string]any) {
	for _, k := range []string{"sku", "zones", "tags"} {
		if w[k] != nil {
			d.model[k] = w[k]
		}
	}
	properties := asMap(w["properties"])
	for _, k := range []string{"provisioningState", "timeCreated", "uniqueId", "diskState"} {
		delete(properties, k)
	}
	d.model["properties"] = merge(asMap(d.model["properties"]), properties)
}

// deleteDisk refuses while a machine holds the disk.
func deleteDisk(q *request) answer {
	d := find(q.store.disks, q.route.named().path(diskKind))
	if d == nil {
		return answer{status: http.StatusNoContent}
	}
	if by := d.holds(q.now); by != "" {
		return fail(http.StatusConflict, "OperationNotAllowed", "Disk %s is attached to VM %s.", d.resource.name, by).answer()
	}
	q.store.disks = slices.DeleteFunc(q.store.disks, func(other *disk) bool { return other == d })
	return q.async(answer{status: http.StatusAccepted}, q.store.operations.launch(q.server.Seed, diskKind, d.location, q.now, operation{single: true}))
}
