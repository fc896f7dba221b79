package resident

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"sluice.dev/sluice/internal/bench/workload"
)

// churn is the hour of rolling updates in a minute: each new pod is pending first, and runs a tenth of a second later on a node where a pod
// that went before it ran, or on its service's first node.
type churn struct {
	pods   *wardrobe
	events []happening

	once  *sync.Once
	began *time.Time
}

type happening struct {
	at      time.Duration
	kind    watch.EventType
	pod     *corev1.Pod
	version int
}

// faster is how many times as fast as the trace's the clock of the updates runs.
const faster = 60

func newChurn(s *workload.Steady, pods *wardrobe) churn {
	c := churn{pods: pods, once: &sync.Once{}, began: &time.Time{}}
	loads := s.Loads()
	alive := map[string]*corev1.Pod{}
	for _, t := range s.Steps[s.Initial():] {
		at := time.Duration(t.Millis) * time.Millisecond / faster
		fresh := loads[t.Service].Pending(t.Replica)
		if t.Gone {
			p := alive[fresh.Name]
			if p == nil {
				p = loads[t.Service].Running(t.Replica, pods.nodes[loads[t.Service].App])
			}
			c.say(at, watch.Deleted, p)
			continue
		}
		fresh.Status.Conditions = nil // the scheduler has not looked yet
		c.say(at, watch.Added, fresh)
		p := workload.Bound(fresh, pods.nodes[loads[t.Service].App], workload.At)
		p.Status.Phase = corev1.PodRunning
		alive[p.Name] = p
		c.say(at+100*time.Millisecond, watch.Modified, p)
	}
	return c
}

func (c *churn) say(at time.Duration, kind watch.EventType, p *corev1.Pod) {
	c.events = append(c.events, happening{at, kind, p, beginning + 1 + len(c.events)})
}

// since are the events after a version that have happened by now. The clock begins with the first call.
func (c *churn) since(version int) []happening {
	c.once.Do(func() { *c.began = time.Now() })
	passed := time.Since(*c.began)
	from := version - beginning
	to := from
	for to < len(c.events) && c.events[to].at <= passed {
		to++
	}
	return c.events[from:to]
}
