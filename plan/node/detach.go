package node

import (
	"sort"

	"sluice.dev/sluice/cluster"
)

// Attachments are the volumes that are attached, by node.
func (d *View) Attachments() map[string][]cluster.Attachment {
	if d.attached == nil {
		d.attached = d.Snapshot.Attachments()
	}
	return d.attached
}

// KeptAttached is how many of the volumes attached to a node are those of pods that stay with it.
func (d *View) KeptAttached(n *cluster.Node) int {
	claims := d.Snapshot.Objects.PersistentVolumeClaims
	kept := map[string]bool{} // volumes, by name
	for _, p := range n.Pods {
		if !p.Daemon() {
			continue
		}
		for _, v := range p.Spec.Volumes {
			name := ""
			switch {
			case v.PersistentVolumeClaim != nil:
				name = v.PersistentVolumeClaim.ClaimName
			case v.Ephemeral != nil:
				name = p.Name + "-" + v.Name
			}
			i := sort.Search(len(claims), func(i int) bool {
				c := claims[i]
				return c.Namespace > p.Namespace || c.Namespace == p.Namespace && c.Name >= name
			})
			if name != "" && i < len(claims) && claims[i].Namespace == p.Namespace && claims[i].Name == name {
				kept[claims[i].Spec.VolumeName] = true
			}
		}
	}
	held := 0
	if len(kept) > 0 {
		for _, a := range d.Snapshot.Objects.VolumeAttachments {
			if pv := a.Spec.Source.PersistentVolumeName; a.Spec.NodeName == n.Name() && pv != nil && kept[*pv] {
				held++
			}
		}
	}
	return held
}
