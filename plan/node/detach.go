package node

import "sluice.dev/sluice/cluster"

// Attachments are the volumes that are attached, by node.
// They are found once a cycle, when somebody first asks.
func (d *View) Attachments() map[string][]cluster.Attachment {
	if d.attached == nil {
		d.attached = d.Snapshot.Attachments()
	}
	return d.attached
}
