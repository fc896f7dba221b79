package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"sluice.dev/sluice/internal/render"
)

// A fixed field is one of the server that the file and Azure have different values of, and that a deployment does not bring to the file's.
//
//	field                 what becomes of it
//	server.size           stays: the template writes the machine only where it is new
//	server.osDiskGiB      stays, as the disk is a part of the machine
//	server.zone           Azure refuses: machine, disk and address are in their zone for life
//	server.dataDiskGiB    Azure refuses to make the disk smaller
//	server.dataDiskType   Azure refuses while a machine that runs has the disk
//
// A larger dataDiskGiB changes in place.
func fixed(of Resource, says, remedy string) difference {
	verb := verbStays
	if remedy != "" {
		verb = verbRefused
	}
	return difference{of, verb, says, remedy}
}

// diskState is a managed disk as far as a file says something of it.
type diskState struct {
	Tags  map[string]string `json:"tags"`
	Zones []string          `json:"zones"`
	SKU   struct {
		Name string `json:"name"`
	} `json:"sku"`
	Properties struct {
		GiB   int    `json:"diskSizeGB"`
		State string `json:"diskState"`
	} `json:"properties"`
}

// fixedFields reads the server and its data disk, as far as they are there and are this cluster's.
func (c comparison) fixedFields(ctx context.Context) (all []difference, err error) {
	var machine struct {
		Tags       map[string]string `json:"tags"`
		Zones      []string          `json:"zones"`
		Properties struct {
			Hardware struct {
				Size string `json:"vmSize"`
			} `json:"hardwareProfile"`
			Storage struct {
				OS struct {
					GiB int `json:"diskSizeGB"`
				} `json:"osDisk"`
			} `json:"storageProfile"`
		} `json:"properties"`
	}
	s := &c.File.Server
	there, err := c.Cloud.Get(ctx, c.serverID(), computeVersion, &machine)
	if err != nil {
		return nil, err
	}
	if there && machine.Tags[render.ClusterTag] == c.File.Name {
		const stays = ": up leaves the server's machine as it is"
		of := Resource{c.serverID()}
		if has := machine.Properties.Hardware.Size; has != "" && !strings.EqualFold(has, s.Size) {
			all = append(all, fixed(of, fmt.Sprintf("server.size is %s, and the machine has %s%s", s.Size, has, stays), ""))
		}
		if has := machine.Properties.Storage.OS.GiB; has != 0 && has != s.OSDiskGiB { // 0: Azure does not say it of a machine that is deallocated
			all = append(all, fixed(of, fmt.Sprintf("server.osDiskGiB is %d, and the machine has %d%s", s.OSDiskGiB, has, stays), ""))
		}
		if one, differs := c.zoneOf(of, "machine", machine.Zones); differs {
			all = append(all, one)
		}
	}
	var disk diskState
	at := c.group(c.File.ResourceGroup) + "/providers/Microsoft.Compute/disks/" + c.File.ServerName() + "-data"
	found, err := c.Cloud.Get(ctx, at, diskVersion, &disk)
	if err != nil || !found || disk.Tags[render.ClusterTag] != c.File.Name {
		return all, err
	}
	if one, differs := c.zoneOf(Resource{at}, "disk", disk.Zones); differs && !there { // beside its machine it is said once
		all = append(all, one)
	}
	if has := disk.Properties.GiB; has > s.DataDiskGiB {
		all = append(all, fixed(
			Resource{at}, fmt.Sprintf("server.dataDiskGiB is %d, and the disk has %d; Azure makes no disk smaller", s.DataDiskGiB, has),
			fmt.Sprintf("set it to %d or more", has),
		))
	}
	if has := disk.SKU.Name; has != "" && !strings.EqualFold(has, s.DataDiskType) && disk.Properties.State == "Attached" {
		all = append(all, fixed(
			Resource{at},
			fmt.Sprintf("server.dataDiskType is %s, and the disk has %s; Azure changes it only while the server is deallocated",
				s.DataDiskType, has),
			"set it to "+has+", or deallocate the server first",
		))
	}
	return all, nil
}

// zoneOf compares where something of the server is with the file.
func (c comparison) zoneOf(of Resource, what string, zones []string) (f difference, differs bool) {
	says, has := c.File.Server.Zone, strings.Join(zones, ", ")
	remedy := "leave it out, or make another cluster"
	if has != "" {
		remedy = "set it to " + has + ", or make another cluster"
	}
	text := fmt.Sprintf("server.zone is %s, and the %s is in %s; Azure moves no %[2]s between zones", cmp.Or(says, "none"), what, cmp.Or(has, "none"))
	return fixed(of, text, remedy), has != says
}

// checkFields says which fields a deployment leaves as they are, and which it fails with.
func (c checker) checkFields(ctx context.Context, _ []wanted, say func(Finding)) error {
	all, _, err := comparison(c).differences(ctx)
	if err != nil {
		return err
	}
	const check = "what is there"
	told := false
	for _, f := range all {
		switch f.verb {
		case verbStays:
			say(Finding{Check: check, Stays: f.says})
		case verbRefused:
			say(Finding{Check: check, Wrong: f.says, Remedy: f.remedy})
		case verbCreate:
			if f.says == "" {
				continue
			}
			say(Finding{Check: check, Missing: f.says})
		default:
			continue
		}
		told = true
	}
	if !told {
		say(Finding{Check: check})
	}
	return nil
}
