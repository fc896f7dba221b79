package world

import (
	"fmt"
	"math/rand/v2"
)

// workers are DaemonSets in some histories whose pods work: they are marked, or the operator says so. They come and go on the machines of one group,
// so that others are idle. They have luck of their own, so that the histories without them stay what they are.
type workers struct {
	*rand.Rand
	group string // where they run
	count int
	there bool
	small bool // they leave room for any pod
}

// workplace is what a group's line says of it: the first one is where workers run.
func (h *history) workplace(group string) string {
	w := h.workers
	if w == nil || w.group != "" && w.group != group {
		return ""
	}
	if w.group == "" {
		h.say("policy daemon-work=default/role=work")
	}
	w.group = group
	return " label=role=work"
}

// labour has workers come, or go, now and then. What is there in the end stays, or goes before the calm.
func (h *history) labour() {
	w := h.workers
	if w == nil || w.IntN(4) > 0 {
		return
	}
	name := func() string { return fmt.Sprintf("workers%d", w.count) }
	if w.there = !w.there; !w.there {
		h.say("delete daemonset %s", name())
		return
	}
	w.count++
	marks := []string{
		"annotation=cluster-autoscaler.kubernetes.io/safe-to-evict=false", "annotation=karpenter.sh/do-not-disrupt=true", "annotation=karpenter.sh/do-not-disrupt=3m",
		"label=role=work", "label=role=work annotation=cluster-autoscaler.kubernetes.io/safe-to-evict=true", "label=role=idle",
	}
	cpu := []string{"200m", "1", "3"}[w.IntN(3)]
	w.small = cpu == "200m"
	h.say("daemonset %s cpu=%s selector=role=work %s", name(), cpu, marks[w.IntN(len(marks))])
}

// rest has the workers that are there go before the calm, or stay where they leave room for any pod.
func (w *workers) rest(h *history) {
	if w != nil && w.there && !(w.small && w.IntN(2) == 0) {
		h.say("delete daemonset workers%d", w.count)
	}
}
