package azuresim

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// diskWrite is a disk in the storage profile of a write.
type diskWrite struct {
	LUN          *int   `json:"lun"`
	Name         string `json:"name"`
	CreateOption string `json:"createOption"`
	Caching      string `json:"caching"`
	DeleteOption string `json:"deleteOption"`
	DiskSizeGB   int    `json:"diskSizeGB"`
	ToBeDetached bool   `json:"toBeDetached"`
	ManagedDisk  struct {
		ID      string `json:"id"`
		SKUName string `json:"storageAccountType"`
	} `json:"managedDisk"`
}

// ref names the disk.
func (w diskWrite) ref() string { return either(w.ManagedDisk.ID, w.Name) }

// either is a, or b when a is empty.
func either(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// set makes the machine's data disks what a write says: a disk that it
// leaves out, or marks, is detached. A refusal changes nothing.
func (ds disks) set(i *instance, wanted []diskWrite, now time.Time) *problem {
	wanted = slices.DeleteFunc(slices.Clone(wanted), func(w diskWrite) bool { return w.ToBeDetached })
	if p := ds.check(i, wanted, now); p != nil {
		return p
	}
	for _, v := range i.dataDrives() {
		if !slices.ContainsFunc(wanted, func(w diskWrite) bool { return i.drive(w.ref()) == v }) {
			ds.detach(v, now)
		}
	}
	for _, w := range wanted {
		ds.place(i, w, now)
	}
	return nil
}

// check refuses data disks that the machine cannot have. It fills in ids
// and names.
func (ds disks) check(i *instance, wanted []diskWrite, now time.Time) *problem {
	luns := map[int]bool{}
	for n, w := range wanted {
		if w.LUN == nil {
			return bad("InvalidParameter", "Required parameter 'dataDisk.lun' is missing (null).").target("dataDisk.lun")
		}
		switch {
		case *w.LUN < 0 || *w.LUN > maxLUN:
			return bad("InvalidParameter", "The value of parameter dataDisk.lun is invalid: %d is not in the range 0 to %d.", *w.LUN, maxLUN).target("dataDisk.lun")
		case luns[*w.LUN]:
			return bad("InvalidParameter", "A disk at LUN %d already exists.", *w.LUN).target("dataDisk.lun")
		case i.drive(w.ref()) == nil:
			if p := ds.checkAttach(i, &wanted[n], now); p != nil {
				return p
			}
		}
		luns[*w.LUN] = true
	}
	if limit := i.placement.traits.dataDisks; limit > 0 && len(wanted) > limit {
		return fail(http.StatusConflict, "OperationNotAllowed",
			"The maximum number of data disks allowed to be attached to a VM of this size is %d.", limit).target("dataDisks")
	}
	return nil
}

// place attaches a disk that a write names, or changes how it is attached.
func (ds disks) place(i *instance, w diskWrite, now time.Time) {
	v := i.drive(w.ref())
	if v == nil {
		d := find(ds.store.disks, w.ManagedDisk.ID)
		if d == nil {
			sku := either(w.ManagedDisk.SKUName, "Premium_LRS")
			r := resource{i.subscription, i.group, w.Name, i.location}
			d = ds.add(r, diskModel(sku, w.CreateOption, max(w.DiskSizeGB, 1), i.placement.zone), now)
		}
		v = &drive{disk: d, createOption: w.CreateOption, deleteOption: "Detach", caching: "None"}
		i.attach(v)
	}
	v.lun = *w.LUN
	v.caching = either(w.Caching, v.caching)
	v.deleteOption = either(w.DeleteOption, v.deleteOption)
}

// checkAttach refuses a disk that cannot be attached. It fills in the id of a disk
// that is named, and the name of one to be created.
func (ds disks) checkAttach(i *instance, w *diskWrite, now time.Time) *problem {
	if !strings.EqualFold(w.CreateOption, "Attach") {
		r := resource{i.subscription, i.group, w.Name, i.location}
		if r.name == "" {
			r.name = i.name() + "_disk" + guid(ds.seed, "data disk", i.vmID, *w.LUN, now.UnixNano())[:8]
		}
		if find(ds.store.disks, r.path(diskKind)) != nil {
			return diskNameTaken(r)
		}
		w.Name, w.ManagedDisk.ID, w.CreateOption = r.name, "", either(w.CreateOption, "Empty")
		return nil
	}
	if w.ManagedDisk.ID == "" {
		w.ManagedDisk.ID = resource{i.subscription, i.group, w.Name, i.location}.path(diskKind)
	}
	d := find(ds.store.disks, w.ManagedDisk.ID)
	switch {
	case d == nil:
		return fail(http.StatusNotFound, "NotFound", "Disk %s is not found.", w.ManagedDisk.ID)
	case d.holder != nil:
		return fail(http.StatusConflict, "ConflictingUserInput",
			"Cannot attach data disk '%s' to VM '%s' because the disk is already owned by VM '%s'. Please retry once the disk has been detached.", d.resource.name, i.name(), d.holder.id())
	case d.holds(now) != "":
		return fail(http.StatusConflict, "AttachDiskWhileBeingDetached",
			"Cannot attach data disk '%s' to virtual machine '%s' because the disk is currently being detached. Please wait until the disk is completely detached and then try again.", d.resource.name, i.name())
	case len(d.zones()) > 0 && !slices.Contains(d.zones(), i.placement.zone):
		return bad("BadRequest", "Disk %s cannot be attached to the VM because it is not in zone '%s'.", d.resource.name, i.placement.zone)
	}
	return nil
}

func diskNameTaken(r resource) *problem {
	return fail(http.StatusConflict, "ConflictingUserInput", "Disk %s already exists in resource group %s. Only CreateOption.Attach is supported.", r.name, r.group)
}

// attachDetach is the action that attaches and detaches by disk id, without
// saying again what stays.
func (q *request) attachDetach(i *instance) answer {
	var w struct {
		Attach []struct {
			DiskID       string `json:"diskId"`
			LUN          *int   `json:"lun"`
			Caching      string `json:"caching"`
			DeleteOption string `json:"deleteOption"`
		} `json:"dataDisksToAttach"`
		Detach []struct {
			DiskID string `json:"diskId"`
		} `json:"dataDisksToDetach"`
	}
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	var wanted []diskWrite
	luns := map[int]bool{}
	for _, v := range i.dataDrives() {
		keep := diskWrite{LUN: &v.lun, CreateOption: v.createOption}
		keep.ManagedDisk.ID = v.disk.id()
		for _, d := range w.Detach {
			keep.ToBeDetached = keep.ToBeDetached || strings.EqualFold(d.DiskID, v.disk.id())
		}
		luns[v.lun] = !keep.ToBeDetached
		wanted = append(wanted, keep)
	}
	for _, a := range w.Attach {
		if a.LUN == nil { // the lowest that is free
			lun := 0
			for luns[lun] {
				lun++
			}
			a.LUN = &lun
		}
		luns[*a.LUN] = true
		add := diskWrite{LUN: a.LUN, CreateOption: "Attach", Caching: a.Caching, DeleteOption: a.DeleteOption}
		add.ManagedDisk.ID = a.DiskID
		wanted = append(wanted, add)
	}
	if p := q.server.compute().disks.set(i, wanted, q.now); p != nil {
		return p.answer()
	}
	i.etag++
	return answer{status: http.StatusOK, body: i.storageWire(nil)}
}
