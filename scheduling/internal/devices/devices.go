// Package devices asks kube-scheduler's DynamicResources, node by node, about the devices that pods claim, and gives them away.
//
//	file       what it owns
//	claims     what pods of a class claim, and how that is given and taken back
//	served     extended resources that device classes serve
//	hardware   the snapshot's slices, claims and classes, and which devices are taken, as the plugin looks them up
//	devices    all of it, for one snapshot after the other
package devices

import (
	resourcev1 "k8s.io/api/resource/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/scheduling/internal/nodes"
)

// Devices answers for the devices of one snapshot after the other. Nothing is kept between two: claims and slices change with every pod
// that claims devices.
type Devices struct {
	table    *nodes.Table
	snapshot *cluster.Snapshot
	hardware *hardware               // of this snapshot, nil until somebody claims devices
	claims   map[cluster.Key]*Claims // of its classes
}

// New asks nobody yet.
func New(t *nodes.Table, s *cluster.Snapshot) *Devices {
	d := &Devices{table: t}
	d.Follow(s)
	return d
}

// Follow goes on with a later snapshot. What was given must have been taken back.
func (d *Devices) Follow(s *cluster.Snapshot) {
	d.snapshot, d.hardware = s, nil
}

// Of is what pods of the class claim, nil for nothing. Served says whether they ask for an extended resource that device classes serve.
func (d *Devices) Of(of *cluster.Class, served bool) *Claims {
	if len(of.Spec.ResourceClaims) == 0 && !served {
		return nil
	}
	if d.hardware == nil {
		d.hardware, d.claims = newHardware(d.snapshot), map[cluster.Key]*Claims{}
	}
	c, ok := d.claims[of.Key]
	if !ok {
		c = newClaims(d.hardware, of)
		d.claims[of.Key] = c
	}
	return c
}

// Refusal is why the node cannot give the pods' claims what they ask for, "" when it can.
func (d *Devices) Refusal(c *Claims, h nodes.Handle) string {
	_, why := c.serve(d.published(h), d.table.Object(h))
	return why
}

// Give gives n pods with these claims their devices on the node, as far as it has them. It returns what takes that back, nil for nothing.
// Whoever is placed where there are none stays there without: a what-if is not refused.
func (d *Devices) Give(c *Claims, h nodes.Handle, n int32) []Given {
	var all []Given
	for range n {
		given := c.give(d.published(h), d.table.Object(h))
		if given == nil {
			break
		}
		all = append(all, given...)
	}
	return all
}

// Withdraw takes devices back.
func (d *Devices) Withdraw(all []Given) {
	for i := len(all) - 1; i >= 0; i-- {
		d.hardware.release(all[i])
	}
}

// published are the slices with the devices of the node alone. A machine that is not there yet has copies of its template's, each of a pool
// of its own: devices are told apart by driver, pool and name, and those of two machines must not be one.
func (d *Devices) published(h nodes.Handle) []*resourcev1.ResourceSlice {
	like, name := d.table.Like(h), d.table.Name(h)
	if like == nil {
		return d.hardware.slices[name]
	}
	all := make([]*resourcev1.ResourceSlice, len(like.Slices()))
	for i, of := range like.Slices() {
		own := *of
		own.Name = name + "-" + of.Name
		own.Spec.NodeName, own.Spec.Pool.Name = &name, name+"-"+of.Spec.Pool.Name
		all[i] = &own
	}
	return all
}

// Slices are the device slices of that node alone, as its driver publishes them. They are read off the snapshot, so that templates can be
// made of them before anybody claims a device.
func (d *Devices) Slices(node string) []*resourcev1.ResourceSlice {
	var all []*resourcev1.ResourceSlice
	for _, s := range d.snapshot.Objects.ResourceSlices {
		if s.Spec.NodeName != nil && *s.Spec.NodeName == node {
			all = append(all, s)
		}
	}
	return all
}
