package azuresim

import (
	"net/http"
	"strconv"
	"time"
)

// powerActions are the actions that stop and start machines. On a scale set,
// without ids, they mean every instance.
var powerActions = map[string]struct {
	power  power
	starts bool // takes a boot; otherwise a shutdown
}{
	"deallocate": {power: power{during: "deallocating", after: "deallocated"}},
	"poweroff":   {power: power{during: "stopping", after: "stopped"}},
	"start":      {power: power{during: "starting", after: "running"}, starts: true},
	"restart":    {power: power{during: "starting", after: "running"}, starts: true},
}

// actOn runs a power action.
func (q *request) actOn(ss *scaleSet, chosen []*instance) answer {
	var o operation
	for _, i := range chosen {
		o.until = later(o.until, q.server.turn(i, q.route.verb, q.now))
	}
	return q.async(answer{status: http.StatusAccepted}, q.server.begin(ss, q.now, o))
}

// turn stops or starts an instance and returns when that is done. Starting a
// machine that runs does nothing.
func (s *Server) turn(i *instance, verb string, now time.Time) time.Time {
	action := powerActions[verb]
	if verb == "start" && i.powerState(now) == "running" {
		return now
	}
	p := action.power
	p.since, p.until = now, now.Add(i.deathTime)
	if action.starts {
		p.until = now.Add(s.bootTime(i.vmID + "@" + strconv.FormatInt(now.UnixNano(), 10)))
	}
	i.power = p
	return p.until
}

// evictionNotice is how long a spot machine hears of its eviction beforehand.
const evictionNotice = 30 * time.Second

// evict takes a spot machine away after a notice, by the scale set's policy:
// Delete removes it and lowers capacity, Deallocate leaves it in the list.
func (s *Server) evict(i *instance, notice time.Duration, now time.Time) {
	at := now.Add(notice)
	i.preempted = &event{
		id: s.guid("event", i.vmID, at.UnixNano()), kind: "Preempt", notBefore: at, announced: now,
		description: "Virtual machine is going to be preempted.",
	}
	s.carryOut(i, at)
}

// carryOut schedules what an eviction does.
func (s *Server) carryOut(i *instance, at time.Time) {
	if i.set.text("properties", "virtualMachineProfile", "evictionPolicy") == "Delete" {
		i.kill(at)
		return
	}
	i.power = power{during: "deallocating", after: "deallocated", since: at, until: at.Add(i.deathTime)}
}
