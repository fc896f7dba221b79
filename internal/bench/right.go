package bench

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"sluice.dev/sluice/internal/bench/workload"
	"sluice.dev/sluice/plan/action"
	"sluice.dev/sluice/reason"
)

// expectation says what is wrong with a decision, nil when nothing is.
type expectation func(Made) error

// both holds every expectation, and that requests keep to the groups' maxima and that every pending pod has one verdict.
func both(all []expectation) func(Made) error {
	return func(m Made) error {
		for _, e := range append([]expectation{complete, bounded}, all...) {
			if err := e(m); err != nil {
				return err
			}
		}
		return nil
	}
}

// outcomes counts the verdicts on pods.
func outcomes(m Made) map[action.Outcome]int {
	n := map[action.Outcome]int{}
	for _, v := range m.Plan.Verdicts {
		if v.Subject.Kind == reason.KindPod {
			n[v.Outcome]++
		}
	}
	return n
}

func complete(m Made) error {
	n := 0
	for _, v := range outcomes(m) {
		n += v
	}
	if n != len(m.Seen.Pending) {
		return fmt.Errorf("%d verdicts on %d pending pods", n, len(m.Seen.Pending))
	}
	return nil
}

func bounded(m Made) error {
	for _, g := range grows(m) {
		if most := m.Seen.Group(g.Group).Max; g.To > most {
			return fmt.Errorf("group %s is to have %d machines, its maximum is %d", g.Group, g.To, most)
		}
	}
	return nil
}

func grows(m Made) []action.SetCapacity {
	var all []action.SetCapacity
	for _, a := range m.Plan.Actions {
		if g, ok := a.(action.SetCapacity); ok {
			all = append(all, g)
		}
	}
	return all
}

// allHoused wants room for every pending pod: on a node that is there, on one that is coming, on a machine to be added.
func allHoused(m Made) error {
	n := outcomes(m)
	if housed := n[action.PodScheduling] + n[action.PodWaiting] + n[action.PodGrows]; housed != len(m.Seen.Pending) {
		return fmt.Errorf("%d of %d pending pods have room: %v", housed, len(m.Seen.Pending), n)
	}
	return nil
}

// noneHoused wants every pending pod to be stuck, or left to a later cycle.
func noneHoused(m Made) error {
	n := outcomes(m)
	if housed := n[action.PodScheduling] + n[action.PodWaiting] + n[action.PodGrows]; housed > 0 {
		return fmt.Errorf("%d of %d pods have room that fit nowhere: %v", housed, len(m.Seen.Pending), n)
	}
	return nil
}

// housedBut wants room for every pending pod but those of apps with a prefix, of which some may be stuck.
func housedBut(prefix string) expectation {
	return func(m Made) error {
		for _, v := range m.Plan.Verdicts {
			_, name, _ := strings.Cut(v.Subject.Name, "/")
			if v.Subject.Kind != reason.KindPod || strings.HasPrefix(name, prefix) {
				continue
			}
			if v.Outcome != action.PodScheduling && v.Outcome != action.PodWaiting && v.Outcome != action.PodGrows {
				return fmt.Errorf("pod %s has no room: %s", v.Subject.Name, v.Outcome)
			}
		}
		return nil
	}
}

// allGrow wants a machine to be added for every pending pod.
func allGrow(m Made) error {
	if n := outcomes(m); n[action.PodGrows] != len(m.Seen.Pending) {
		return fmt.Errorf("groups grow for %d of %d pending pods: %v", n[action.PodGrows], len(m.Seen.Pending), n)
	}
	return nil
}

// still wants nothing to be done.
func still(m Made) error {
	if n := len(m.Plan.Actions); n > 0 {
		return fmt.Errorf("%d actions, the first %#v, where there is nothing to do", n, m.Plan.Actions[0])
	}
	return nil
}

// machines wants exactly so many to be added.
func machines(want int) expectation {
	return func(m Made) error {
		n := 0
		for _, g := range grows(m) {
			n += g.To - g.From
		}
		if n != want {
			return fmt.Errorf("%d machines are added, want %d", n, want)
		}
		return nil
	}
}

// cheap wants the machines that are added for pods of one class to cost at most so many times what they would if every machine of the
// size with the lowest price a pod could be bought in parts, and one machine of that size more.
func cheap(times float64) expectation {
	return func(m Made) error {
		least, machine, paid := 0.0, 0.0, 0.0
		for _, g := range m.Seen.Groups {
			if n := slots(m, g.Template); n > 0 && (least == 0 || g.PriceUSDPerHour/float64(n) < least) {
				least, machine = g.PriceUSDPerHour/float64(n), g.PriceUSDPerHour
			}
		}
		for _, g := range grows(m) {
			paid += float64(g.To-g.From) * m.Seen.Group(g.Group).PriceUSDPerHour
		}
		if bound := least * float64(len(m.Seen.Pending)); paid > bound*times+machine {
			return fmt.Errorf("the machines cost %.2f USD an hour, more than %.2f times %.2f and a machine of %.2f", paid, times, bound, machine)
		}
		return nil
	}
}

// slots is how many pods such as the first pending one fit a machine beside its daemons, by their CPU, memory and number.
func slots(m Made, template *corev1.Node) int {
	ask := m.Seen.Pending[0].Spec.Containers[0].Resources.Requests
	has := template.Status.Allocatable
	n := has.Pods().Value() - 1
	n = min(n, (has.Cpu().MilliValue()-workload.DaemonMilli)/ask.Cpu().MilliValue())
	n = min(n, (has.Memory().Value()-workload.DaemonMiB<<20)/ask.Memory().Value())
	return int(max(0, n))
}
