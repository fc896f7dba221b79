package plan

import (
	"maps"
	"sort"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/reason"
)

// attachments are the volumes that are attached, by node.
func (d *view) attachments() map[string][]cluster.Attachment {
	if d.attached == nil {
		d.attached = d.s.Attachments()
	}
	return d.attached
}

// detaches says which volumes an empty node still waits for, nil when there are none or the time for it is over: a machine that is deleted
// with a volume attached keeps the volume from the next node for minutes. Volumes of pods that stay with the node are left out.
func (d *removing) detaches(st *nodeState) *reason.Reason {
	left := len(d.attachments()[st.Name()])
	if left == 0 {
		return nil
	}
	if left -= d.keptAttached(st.Node); left <= 0 {
		return nil
	}
	limit := d.allowed.Removal.MaxDetach
	until := d.emptySince(st).Add(limit)
	if !d.now.Before(until) {
		return nil
	}
	d.wake(until)
	r := reason.New(reason.NodeDetaching, reason.Node(st.Name()), "volumes", left, "limit", limit)
	return &r
}

// keptAttached is how many of the volumes attached to a node are those of pods that stay with it.
func (d *view) keptAttached(n *cluster.Node) int {
	claims := d.s.Objects.PersistentVolumeClaims
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
		for _, a := range d.s.Objects.VolumeAttachments {
			if pv := a.Spec.Source.PersistentVolumeName; a.Spec.NodeName == n.Name() && pv != nil && kept[*pv] {
				held++
			}
		}
	}
	return held
}

// rememberDetaching leaves to the next cycle since when nodes have waited for their volumes.
func (d *removing) rememberDetaching() {
	if !maps.EqualFunc(d.m.Detaching, d.detaching, time.Time.Equal) {
		d.m.Detaching = d.detaching
	}
}
