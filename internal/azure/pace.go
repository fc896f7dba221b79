package azure

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"
)

// How often groups are read. All calm groups are read together, on a beat: one list of the models for all of them, and then, of each, the
// machines whose time is over or whose model has moved since. That is 1 + n requests for n groups and the cache's time, and hardly more than 1 while all
// are steady (steady.go). A restless group is read by itself in between. Nothing is written from such a read: [Provider.Group] is the evidence for that.

// While operations are in flight reads serve longer, so that a burst of growth keeps within a dozen reads.
const (
	// busyFactor is how many times longer for the operation's own group: its progress is followed more closely than any list could,
	// and the group is read when it has begun and when it ends.
	busyFactor = 6
	// besideFactor is how many times longer for the other groups.
	besideFactor = 2
)

// A group that was seen moving while no operation of ours tells of its end (after a restart, or when another hand did it) is read more
// often than a quiet one: at most four times a minute, and no more than a quiet one once nothing has changed for movingFor, so that a
// machine that is for ever being created costs nothing more.
const (
	movingEvery = 15 * time.Second
	movingFor   = 5 * time.Minute
)

// pacer says when what is known of a group has served its time.
type pacer struct {
	*state
	lists int // how often the models of all groups were listed; state.mu guards it
}

// period is how long a model serves by setting: the shortest of the cache times, since all is read together.
func (o Options) period() time.Duration {
	period := o.CacheTTL
	for _, other := range []time.Duration{o.InstanceCacheTTL, o.SizeRefresh} {
		if other > 0 {
			period = min(period, other)
		}
	}
	return period
}

// fraction is a number from 0 up to 1 that belongs to a name in this resource group, the same in every run.
func (o Options) fraction(name string) float64 {
	sum := sha256.Sum256([]byte(strings.ToLower(o.Subscription + "/" + o.ResourceGroup + "/" + name)))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// ttl is how long a look at the group serves: not long when decisions cannot rest on it, nor when it shows a movement that no
// operation of ours tells the end of. state.mu is held.
func (p *pacer) ttl(g *group) time.Duration {
	switch {
	case g.unknowns > 0:
		return g.pace(p.options.period())
	case p.reported(g.id):
		return busyFactor * p.options.period()
	case g.moving() && g.reads.asked.Sub(g.reads.moved) < movingFor:
		return min(movingEvery, p.options.period())
	case len(p.operations) > 0:
		return besideFactor * p.options.period()
	case p.lists < 2:
		return p.options.period() - p.phase()
	}
	return p.options.period()
}

// phase is how much sooner than usual the second list comes: up to half the time, as the groups' names have it, so that clusters that
// were started together do not ask together for ever. state.mu is held.
func (p *pacer) phase() time.Duration {
	most := 0.
	for k := range p.groups {
		most = max(most, p.options.fraction(k))
	}
	return time.Duration(most * float64(p.options.period()) / 2).Truncate(time.Second)
}

// machinesTTL is how long a list of the group's machines serves while its model stays as it was: the setting, or longer for a steady group, less the
// group's own part of the jitter.
func (p *pacer) machinesTTL(g *group) time.Duration {
	ttl, jitter := max(p.options.InstanceCacheTTL, p.options.period()), p.options.InstanceCacheJitter
	if p.vouched(g) {
		ttl, jitter = max(ttl, steadyTTL), max(jitter, steadyJitter)
	}
	return ttl - min(ttl, time.Duration(p.options.fraction(key(g.name))*float64(jitter)))
}

// looked is when the group was last found to be as it is shown: by a read of its machines, or by a model that had not moved since.
func (g *group) looked() time.Time { return latest(g.reads.asked, g.reads.checked) }

// stale says whether the group's last look has served its time. state.mu is held.
func (p *pacer) stale(g *group, now time.Time) bool {
	return !now.Before(g.reads.resting) && now.Sub(g.looked()) >= p.ttl(g)
}

// again is when the group is read again, if nothing else has it read sooner: zero while a read has no answer. state.mu is held.
func (p *pacer) again(g *group) time.Time {
	if g.asking != nil {
		return time.Time{}
	}
	return latest(g.reads.resting, g.looked().Add(p.ttl(g))).UTC()
}

// restless says whether the group is read more often than others. state.mu is held.
func (p *pacer) restless(g *group) bool { return p.ttl(g) < p.options.period()/2 }

// joins says whether the group takes part in a list that was made for others: more than half of its time is over, so that all come to be read
// together. Exactly half counts in every other list: two groups that are as far apart would else never meet. A group with an operation in
// flight does not take part. state.mu is held.
func (p *pacer) joins(g *group, now time.Time) bool {
	over, left := now.Sub(g.looked()), p.ttl(g)-now.Sub(g.looked())
	return !now.Before(g.reads.resting) && !p.busy(g.id) && (over > left || over == left && p.lists%2 == 0)
}

// unmoved says whether the newly listed model is the one that the group's complete reading rests on, and the machines of that have time
// left beyond the next half beat: they need not be listed again. state.mu is held.
func (p *pacer) unmoved(g *group, m *model, now time.Time) bool {
	r := g.reading
	if r == nil || !r.whole || g.problem.text != "" || g.reads.due != nothing || g.moving() || m.unfit != "" {
		return false
	}
	same := m.version != "" && m.version == r.model.version && m.capacity == r.model.capacity && m.provisioning == r.model.provisioning
	return same && now.Sub(g.reads.asked)+p.options.period()/2 < p.machinesTTL(g)
}
