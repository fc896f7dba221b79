package kubesim

import (
	"container/heap"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// occasion is what a timer is for.
type occasion int

const (
	podStarts       occasion = iota // name is the pod's key
	podStops                        // name is the pod's key
	podFinishes                     // name is the pod's key
	podExpelled                     // name is the pod's key: it has tolerated its node's taints for long enough
	machineReady                    // name is the node's
	machineMissed                   // name is the node's: its machine left a while ago
	podsOrphaned                    // name is that of a node that is gone
	jobExpires                      // name is the Job's key
	claimProvisions                 // name is the claim's key
	volumeDetaches                  // name is that of a volume attachment
)

// timer is something due at a time.
type timer struct {
	at   time.Time
	seq  uint64 // breaks ties: first set, first fired
	what occasion
	name string
	uid  types.UID // of the object it was set for, but for nodes
}

// timerHeap is a heap, earliest first.
type timerHeap []timer

func (t timerHeap) Len() int      { return len(t) }
func (t timerHeap) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *timerHeap) Push(x any)   { *t = append(*t, x.(timer)) }
func (t timerHeap) Less(i, j int) bool {
	if !t[i].at.Equal(t[j].at) {
		return t[i].at.Before(t[j].at)
	}
	return t[i].seq < t[j].seq
}
func (t *timerHeap) Pop() any {
	last := (*t)[len(*t)-1]
	*t = (*t)[:len(*t)-1]
	return last
}

// timers are what is due later.
type timers struct {
	due timerHeap
	seq uint64 // of the timer that was set last
}

// remind sets a timer.
func (t *timers) remind(at time.Time, what occasion, name string, uid types.UID) {
	t.seq++
	heap.Push(&t.due, timer{at: at, seq: t.seq, what: what, name: name, uid: uid})
}

// stale reports whether what a timer was set for no longer stands.
func (c *Cluster) stale(t timer) bool {
	switch t.what {
	case machineReady:
		m := c.kubelets.machines[t.name]
		return m == nil || !m.readyAt.Equal(t.at)
	case machineMissed:
		at, ok := c.controllers.lifecycle.lostAt[t.name]
		return !ok || !at.Equal(t.at) || c.store.entryOf("nodes", t.name) == nil
	case podsOrphaned:
		return c.store.entryOf("nodes", t.name) != nil || len(c.pods.onNode[t.name]) == 0
	case jobExpires:
		e := c.store.entryOf("jobs", t.name)
		return e == nil || e.obj.GetUID() != t.uid
	case claimProvisions:
		e := c.store.entryOf("persistentvolumeclaims", t.name)
		return e == nil || e.obj.GetUID() != t.uid || !c.controllers.volumes.provisionAt[t.name].Equal(t.at)
	case volumeDetaches:
		e := c.store.entryOf("volumeattachments", t.name)
		return e == nil || e.obj.GetUID() != t.uid
	}
	st := c.pods.byKey[t.name]
	if st == nil || st.uid != t.uid {
		return true
	}
	switch t.what {
	case podStarts:
		return !st.startAt.Equal(t.at)
	case podStops:
		return !st.stopAt.Equal(t.at)
	case podExpelled:
		return !st.expelAt.Equal(t.at)
	default:
		return !st.finishAt.Equal(t.at)
	}
}

// fireTimers does everything that is due, in the order it was due.
func (c *Cluster) fireTimers() {
	for now := c.store.now(); len(c.timers.due) > 0 && !c.timers.due[0].at.After(now); {
		t := heap.Pop(&c.timers.due).(timer)
		if c.stale(t) {
			continue
		}
		switch t.what {
		case podStarts:
			c.kubelets.startPod(t.name)
		case podStops:
			c.kubelets.stopPod(t.name)
		case podFinishes:
			c.kubelets.finishPod(t.name)
		case podExpelled:
			c.controllers.lifecycle.expelPod(t.name)
		case machineReady:
			c.kubelets.machineBecomesReady(t.name)
		case machineMissed:
			c.controllers.lifecycle.missMachine(t.name)
		case podsOrphaned:
			c.controllers.lifecycle.deleteOrphans(t.name)
		case jobExpires:
			c.store.remove(c.store.entryOf("jobs", t.name))
		case claimProvisions:
			c.controllers.volumes.provision(t.name)
		case volumeDetaches:
			c.controllers.volumes.detach(t.name)
		}
	}
}

// NextChange returns when the next timed thing is due: a pod starts, stops or
// finishes, is expelled, a node's condition turns, an orphan or a finished Job is collected,
// a volume is made or detached.
// It is now when something changed since the last Step, and false when nothing
// would ever happen without a request. (Old Events go without notice.)
func (c *Cluster) NextChange() (time.Time, bool) {
	c.lock()
	defer c.mu.Unlock()
	if c.stepped != c.store.rv {
		return c.store.now(), true
	}
	for len(c.timers.due) > 0 && c.stale(c.timers.due[0]) {
		heap.Pop(&c.timers.due)
	}
	if len(c.timers.due) == 0 {
		return time.Time{}, false
	}
	return c.timers.due[0].at, true
}
