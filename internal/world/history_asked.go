package world

import (
	"fmt"
	"math/rand/v2"
)

// asked is what an operator asks for in some histories beyond what all of them have: room that no pod needs yet, hours with other limits, drains and
// pauses by hand, other rules for what leaves. It has luck of its own, so that the histories without it stay what they are.
type asked struct {
	*rand.Rand
	buffers, requests bool
	count             int
}

func (h *history) operator(seed uint64) {
	a := &asked{Rand: rand.New(rand.NewPCG(seed, 0x55))}
	h.asked = a
	if a.buffers = a.half(); a.buffers {
		h.say("policy capacity-buffer-controller-enabled=true capacity-buffer-pod-injection-enabled=true")
	}
	if a.requests = a.half(); a.requests {
		h.say("policy enable-provisioning-requests=true")
	}
	if a.half() {
		h.say(`policy schedule="agents: daily 00:%02d-00:%02d UTC min=%d max=6"`, a.IntN(11), 15+a.IntN(41), 1+a.IntN(3))
	}
	if a.half() {
		h.say(`policy drain-priority-config="0:60,1000:30"`)
	}
	if a.half() {
		h.say("policy after-drain-time=%s", a.one("force", "wait"))
	}
	if a.half() {
		h.say("policy evict-work=agents=%s", a.one("now", "2m", "never"))
	}
	if a.half() {
		h.say("policy max-drain-parallelism=3 max-emptied-percentage=50")
	}
}

func (a *asked) half() bool { return a.IntN(2) == 0 }

func (a *asked) one(words ...string) string { return words[a.IntN(len(words))] }

// asks is one such wish, now and then. What would keep sluice from coming to rest is taken back in the end.
func (h *history) asks() {
	a := h.asked
	if a == nil || a.IntN(3) > 0 {
		return
	}
	m := fmt.Sprintf("%s_%d", a.one(h.groups...), a.IntN(5))
	switch what := a.IntN(8); {
	case what < 2 && a.buffers:
		a.count++
		h.say("buffer b%d %s", a.count, a.one("replicas=1 cpu=1", "replicas=3 cpu=1", "replicas=2 cpu=3", "percentage=50 of=web"))
		h.undo = append(h.undo, fmt.Sprintf("delete buffer b%d", a.count))
	case what == 2 && a.buffers:
		h.say("try delete buffer b%d", 1+a.IntN(a.count+1))
	case what < 5 && a.requests:
		a.count++
		pods, cpu := 1+a.IntN(4), a.one("1", "3")
		h.say("provisioningrequest r%d class=%s pods=%d cpu=%s", a.count, a.one("best-effort-atomic-scale-up", "check-capacity"), pods, cpu)
		h.undo = append(h.undo, fmt.Sprintf("delete provisioningrequest r%d", a.count))
		if a.half() {
			h.say("advance %ds", 10+a.IntN(100))
			h.say("job q%d pods=%d cpu=%s annotation=autoscaling.x-k8s.io/consume-provisioning-request=r%d runs=5m", a.count, pods, cpu, a.count)
		}
	case what == 5:
		h.say("try drain %s", m)
		h.undo = append(h.undo, "undrain "+m)
	case what == 6:
		h.say("try undrain %s", m)
	case what == 7:
		h.say("try pause %s for=%s", a.one(append([]string{"all"}, h.groups...)...), a.one("1m", "5m"))
	}
}
