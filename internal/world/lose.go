package world

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sluice.dev/sluice/internal/kubesim"
)

// What strikes many machines at once.

// struck are the machines that a statement is about, in the order of their names: those of a group or of all, in a zone or in all, and of these a share.
func (ms *machines) struck(s *statement, group string, such func(*machine) bool) ([]*machine, error) {
	share, err := s.number("share", 100)
	if err != nil {
		return nil, err
	}
	zone := s.value("zone", "")
	var all []*machine
	for _, m := range ms.listed {
		if m.ProvisioningState != "Deleting" && (group == "all" || strings.EqualFold(m.ScaleSet, group)) && (zone == "" || m.Zone == zone) && such(m) {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *machine) int { return natural(a.said, b.said) })
	return all[:len(all)*min(share, 100)/100], nil
}

// hasNode says whether the machine's kubelet reports and there is a Node object for it.
func (ms *machines) hasNode(m *machine) bool {
	n, there := kubesim.Find[*corev1.Node](ms.cluster, "", m.ComputerName)
	return m.joined && there && n.Status.NodeInfo.SystemUUID == m.VMID
}

func doLose(w *world, s *statement) error {
	all, err := w.machines.struck(s, s.names[1], w.machines.hasNode)
	if err != nil {
		return err
	}
	for _, m := range all {
		switch s.names[0] {
		case "nodes":
			err = w.cluster.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: m.ComputerName}}, nil)
		case "kubelets":
			m.silent = true
		default:
			return fmt.Errorf("lose %s: give nodes or kubelets", s.names[0])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// doRevive has kubelets that were stopped, or whose Node objects are gone, begin anew.
func doRevive(w *world, s *statement) error {
	all, err := w.machines.struck(s, s.names[0], func(m *machine) bool { return m.silent || m.joined && !w.machines.hasNode(m) })
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.joined {
			w.cluster.Leave(m.ComputerName)
		}
		m.silent, m.joined, m.joins = false, false, w.now()
	}
	return w.machines.moveKubelets()
}

// backup is what the cluster's store held at a time.
type backup struct {
	nodes []*corev1.Node
	pods  []*corev1.Pod
}

func doBackup(w *world, _ *statement) error {
	w.api.backup = &backup{kubesim.All[*corev1.Node](w.cluster, ""), kubesim.All[*corev1.Pod](w.cluster, "")}
	return nil
}

// doRestore has the store hold the nodes and pods that it held at the backup, and no others. Kubelets go on with what they find.
func doRestore(w *world, _ *statement) error {
	if w.api.backup == nil {
		return fmt.Errorf("restore: there is no backup")
	}
	w.api.restored = w.now()
	now := &metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	old := map[string]bool{}
	for _, n := range w.api.backup.nodes {
		old["node "+n.Name] = true
	}
	for _, p := range w.api.backup.pods {
		old["pod "+nameOf(p)] = true
	}
	for _, p := range kubesim.All[*corev1.Pod](w.cluster, "") {
		if !old["pod "+nameOf(p)] {
			if err := w.cluster.Delete(p, now); err != nil {
				return err
			}
		}
	}
	for _, n := range kubesim.All[*corev1.Node](w.cluster, "") {
		if !old["node "+n.Name] {
			if err := w.cluster.Delete(n, now); err != nil {
				return err
			}
		}
	}
	for _, n := range w.api.backup.nodes {
		if _, there := kubesim.Find[*corev1.Node](w.cluster, "", n.Name); there {
			continue
		}
		if err := putBack(w.cluster, n.DeepCopy()); err != nil {
			return err
		}
		if m := w.machines.of(n); m != nil && m.joined { // its kubelet finds the object again
			if err := w.machines.register(m, w.groups.sizes[m.ScaleSet].gpus); err != nil {
				return err
			}
			continue
		}
		if err := w.cluster.Join(kubesim.Machine{Name: n.Name, SystemUUID: n.Status.NodeInfo.SystemUUID, Capacity: n.Status.Capacity}); err != nil {
			return err
		}
		w.cluster.Leave(n.Name) // nobody reports for it any more
	}
	for _, p := range w.api.backup.pods {
		if _, there := kubesim.Find[*corev1.Pod](w.cluster, p.Namespace, p.Name); !there && p.DeletionTimestamp == nil {
			if err := putBack(w.cluster, p.DeepCopy()); err != nil {
				return err
			}
		}
	}
	return nil
}

// putBack has an object in the store that was there once.
func putBack(c *kubesim.Cluster, o kubesim.Object) error {
	o.SetResourceVersion("")
	o.SetUID("")
	o.SetCreationTimestamp(metav1.Time{})
	_, err := c.Create(o)
	return err
}

// of is the machine that a node is; nil when it is gone.
func (ms *machines) of(n *corev1.Node) *machine { return ms.all[n.Status.NodeInfo.SystemUUID] }

func nameOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

func doCalm(w *world, s *statement) error {
	within, err := s.duration("within", 0)
	if err != nil {
		return err
	}
	if within == 0 {
		return fmt.Errorf("calm: give within what time, such as within=20m")
	}
	w.judges.observer.Calm(s.names[0], within)
	return nil
}
