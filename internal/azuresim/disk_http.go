package azuresim

import (
	"net/http"
	"slices"
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
	for _, d := range q.server.disks {
		if d.in(q.route.subscription, q.route.group) {
			list = append(list, d.wire(q.now))
		}
	}
	return page(q, list, wireID)
}

// disk is the disk in the path.
func (q *request) disk() (*disk, *problem) {
	if d := find(q.server.disks, q.named().path(diskKind)); d != nil {
		return d, nil
	}
	return nil, resourceNotFound(diskKind, q.route.name, q.route.group)
}

func getDisk(q *request) answer {
	d, p := q.disk()
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
	d := find(q.server.disks, q.named().path(diskKind))
	switch {
	case location == "":
		return bad("LocationRequired", "The location property is required for this definition.").answer()
	case d == nil && text(w, "properties", "creationData", "createOption") == "":
		return bad("InvalidParameter", "Required parameter 'disk.creationData.createOption' is missing (null).").target("disk.creationData.createOption").answer()
	case d == nil:
		r := q.named()
		r.location = location
		d = q.server.addDisk(r, diskModel("Premium_LRS", "Empty", 0, ""), q.now)
	}
	d.rewrite(w)
	return q.async(answer{status: http.StatusOK, body: d.wire(q.now)}, q.server.launch(diskKind, d.location, q.now, operation{single: true}))
}

// patchDisk merges.
func patchDisk(q *request) answer {
	d, p := q.disk()
	if p != nil {
		return p.answer()
	}
	var w map[string]any
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	d.rewrite(w)
	return q.async(answer{status: http.StatusOK, body: d.wire(q.now)}, q.server.launch(diskKind, d.location, q.now, operation{single: true}))
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
	d := find(q.server.disks, q.named().path(diskKind))
	if d == nil {
		return answer{status: http.StatusNoContent}
	}
	if by := d.holds(q.now); by != "" {
		return fail(http.StatusConflict, "OperationNotAllowed", "Disk %s is attached to VM %s.", d.resource.name, by).answer()
	}
	q.server.disks = slices.DeleteFunc(q.server.disks, func(other *disk) bool { return other == d })
	return q.async(answer{status: http.StatusAccepted}, q.server.launch(diskKind, d.location, q.now, operation{single: true}))
}
