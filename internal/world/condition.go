package world

import (
	"bufio"
	"bytes"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/kubesim"
)

func newLines(text []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(text)) }

// condition is what an until waits for.
func (w *world) condition(s *statement) (func() bool, error) {
	kind, said, want := s.names[0], s.names[1], s.names[2]
	var known map[string]func() bool
	switch kind {
	case "pod":
		pod := func() (*corev1.Pod, bool) {
			namespace, name := w.out.names.apart(said) // every time: its name may come to be known
			return kubesim.Find[*corev1.Pod](w.cluster, namespace, name)
		}
		known = map[string]func() bool{
			"pending":  func() bool { p, ok := pod(); return ok && p.Spec.NodeName == "" },
			"running":  func() bool { p, ok := pod(); return ok && p.Status.Phase == corev1.PodRunning },
			"finished": func() bool { p, ok := pod(); return ok && record(p).Finished() },
			"gone":     func() bool { _, ok := pod(); return !ok },
		}
	case "node":
		node := func() (*corev1.Node, bool) {
			return kubesim.Find[*corev1.Node](w.cluster, "", w.out.names.of(said))
		}
		known = map[string]func() bool{
			"ready":    func() bool { n, ok := node(); return ok && cluster.Ready(n) },
			"cordoned": func() bool { n, ok := node(); return ok && n.Spec.Unschedulable },
			"parked": func() bool {
				n, ok := node()
				if !ok {
					return false
				}
				removal, _ := cluster.RemovalOf(n)
				return removal.Why == cluster.Parked
			},
			"gone": func() bool { _, ok := node(); return !ok },
		}
	case "machine":
		known = map[string]func() bool{
			"created":  func() bool { return w.machines.named(said) != nil },
			"deleting": func() bool { m := w.machines.named(said); return m != nil && m.ProvisioningState == "Deleting" },
			"gone":     func() bool { return w.machines.named(said) == nil },
		}
	case "group":
		n, err := strconv.Atoi(want)
		if err != nil {
			return nil, fmt.Errorf("until group %s: %q is not a number of machines", said, want)
		}
		return func() bool { return w.machines.live[said] == n }, nil
	default:
		return nil, fmt.Errorf("until: %q is nothing to wait for; there are pod, node, machine, group", kind)
	}
	reached := known[want]
	if reached == nil {
		return nil, fmt.Errorf("until %s %s: %q is no state of it; there are %v", kind, said, want, sortedKeys(known))
	}
	return reached, nil
}
