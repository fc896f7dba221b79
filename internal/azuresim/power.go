package azuresim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// powerActions are the actions that stop and start machines. On a scale set,
// without ids, they mean every instance. Machines here have no host to move to and
// no disk to make anew: what redeploys or reimages them restarts them.
var powerActions = map[string]struct {
	power  power
	starts bool // takes a boot; otherwise a shutdown
}{
	"deallocate": {power: power{during: "deallocating", after: "deallocated"}},
	"poweroff":   {power: power{during: "stopping", after: "stopped"}},
	"start":      {power: power{during: "starting", after: "running"}, starts: true},
	"restart":    {power: power{during: "starting", after: "running"}, starts: true},
	"redeploy":   {power: power{during: "starting", after: "running"}, starts: true},
	"reimage":    {power: power{during: "starting", after: "running"}, starts: true},
	"reimageall": {power: power{during: "starting", after: "running"}, starts: true},
}

// actOn runs a power action.
func (q *request) actOn(ss *scaleSet, chosen []*instance) answer {
	if p := q.server.compute().capacity.checkStart(chosen, q.route.verb, q.now); p != nil {
		return p.answer()
	}
	var o operation
	for _, i := range chosen {
		q.server.compute().turn(&o, i, q.route.verb, q.route.kind, q.now)
	}
	return q.async(answer{status: http.StatusAccepted}, q.store.operations.begin(q.server.Seed, ss, q.now, o))
}

// upgradeTime is how long instances take the latest model on (assumed).
const upgradeTime = 30 * time.Second

// upgrade brings instances to the latest model, which Azure leaves to a person when
// the set's upgrade policy is Manual.
func (q *request) upgrade(ss *scaleSet, chosen []*instance) answer {
	for _, i := range chosen {
		i.taken.version, i.taken.network = ss.version, ss.networkProfile()
		i.etag++
	}
	return q.async(answer{status: http.StatusAccepted}, q.store.operations.begin(q.server.Seed, ss, q.now, operation{until: q.now.Add(upgradeTime)}))
}

// checkStart holds the cores that a start takes back against the quotas. Of a
// deallocated machine Azure keeps only the disks.
func (cp capacity) checkStart(chosen []*instance, verb string, now time.Time) *problem {
	if !powerActions[verb].starts {
		return nil
	}
	var taken demand
	for _, i := range chosen {
		if i.powerState(now) == "deallocated" {
			taken = i.demand(taken.count + 1)
			taken.machines = 0
		}
	}
	return cp.checkQuota(taken, now)
}

// turn stops or starts an instance as part of an operation. Starting a machine
// that runs does nothing; starting a deallocated one allocates it anew, which may
// fail and leaves it deallocated.
func (c compute) turn(o *operation, i *instance, verb, kind string, now time.Time) {
	action := powerActions[verb]
	state := i.powerState(now)
	if verb == "start" && state == "running" {
		return
	}
	p := action.power
	p.since, p.until = now, now.Add(i.deletion.takes)
	if action.starts {
		p.until = now.Add(c.delays.ofBoot(i.vmID + "@" + strconv.FormatInt(now.UnixNano(), 10)))
	}
	if action.starts && state == "deallocated" {
		f := c.strike(i, kind, false, now)
		failure := c.capacity.spotShortage(i, now)
		if f.MachineError != "" {
			detail := f.detail(i)
			failure = &detail
		}
		if failure != nil {
			p.after, p.until, p.failure = state, now.Add(f.delay()), failure
			o.errors = append(o.errors, *failure)
		}
	}
	if i.uniform() && strings.HasPrefix(verb, "reimage") {
		i.taken.version, i.taken.network = i.set.version, i.set.networkProfile()
	}
	if i.uniform() && action.starts {
		i.taken.tags = i.set.tags()
	}
	i.power = p
	i.etag++
	o.until = later(o.until, p.until)
}

// evictionNotice is how long a spot machine hears of its eviction beforehand.
const evictionNotice = 30 * time.Second

// evict takes a spot machine away after a notice, by the scale set's policy:
// Delete removes it and lowers capacity, Deallocate leaves it in the list.
func (es events) evict(i *instance, notice time.Duration, now time.Time) {
	es.announce(i, Preempt, "Platform", notice, now)
}
