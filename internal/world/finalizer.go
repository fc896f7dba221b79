package world

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// nodeFinalizer is that by which a server of K3s holds each Node object, until its controllers have removed the password that belongs to it.
const nodeFinalizer = "wrangler.cattle.io/node"

// finalizers are those of new nodes, by what they call their machines.
var finalizers = map[string][]string{k3s: {nodeFinalizer}}

// finalizing is what the controllers of a K3s server do about Node objects that are deleted.
type finalizing struct {
	down  bool
	after time.Duration // from the deletion to the end of the Node object

	version uint64               // of the nodes that were looked at last
	dying   map[string]time.Time // when nodes were deleted that are held, by name
}

// doControllers has a server's controllers run or not.
func doControllers(w *world, s *statement) (err error) {
	switch s.names[0] {
	case "up", "down":
		w.finalizing.down = s.names[0] == "down"
	default:
		return fmt.Errorf("k3s-controllers %s: give up or down", s.names[0])
	}
	w.finalizing.after, err = s.duration("after", w.finalizing.after)
	return err
}

// turn has the server's controllers let go of Node objects that were deleted, and forget their passwords.
func (f *finalizing) turn(c *kubesim.Cluster, now time.Time) error {
	if version := c.ResourceVersion("nodes"); version != f.version {
		f.version, f.dying = version, map[string]time.Time{}
		for _, n := range kubesim.All[*corev1.Node](c, "") {
			if n.DeletionTimestamp != nil && slices.Contains(n.Finalizers, nodeFinalizer) {
				f.dying[n.Name] = n.DeletionTimestamp.Time
			}
		}
	}
	for _, name := range sortedKeys(f.dying) {
		if f.down || now.Before(f.dying[name].Add(f.after)) {
			continue
		}
		forgetPassword(c, name)
		drop := func(n *corev1.Node) {
			n.Finalizers = slices.DeleteFunc(n.Finalizers, func(held string) bool { return held == nodeFinalizer })
		}
		if err := kubesim.Edit(c, "", name, drop); err != nil {
			return err
		}
	}
	return nil
}

// next is when the server's controllers let go of the next Node object; zero when they will not.
func (f *finalizing) next() (next time.Time) {
	for _, at := range f.dying {
		if due := at.Add(f.after); !f.down && (next.IsZero() || due.Before(next)) {
			next = due
		}
	}
	return next
}
