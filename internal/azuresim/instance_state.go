package azuresim

import (
	"strings"
	"time"
)

// reached reports whether t is set and not after now.
func reached(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

func (i *instance) gone(now time.Time) bool { return reached(i.deletion.goneAt, now) }

// underWay reports whether a delete is under way: accepted, and not failed.
func (d *deletion) underWay(now time.Time) bool {
	return reached(d.at, now) && !reached(d.failAt, now)
}

// failed reports the error the instance shows, nil for none.
func (i *instance) failed(now time.Time) *errorDetail {
	switch {
	case i.deletion.underWay(now):
		return nil
	case reached(i.deletion.failAt, now):
		return &i.deletion.failure
	case reached(i.provisioning.failAt, now):
		return &i.provisioning.failure
	case reached(i.power.until, now):
		return i.power.failure
	}
	return nil
}

// fail has the provisioning fail at a time, whatever the machine reports.
func (p *provisioning) fail(at time.Time, why errorDetail) {
	p.failAt, p.failure, p.awaited = at, why, false
}

// succeed ends the provisioning.
func (p *provisioning) succeed(now time.Time) {
	p.upAt, p.failAt, p.failure, p.awaited = now, time.Time{}, errorDetail{}, false
}

func (i *instance) provisioningState(now time.Time) string {
	switch {
	case i.deletion.underWay(now):
		return "Deleting"
	case i.failed(now) != nil:
		return "Failed"
	case !reached(i.provisioning.upAt, now):
		return "Creating"
	case reached(i.power.since, now) && now.Before(i.power.until):
		return "Updating"
	}
	return "Succeeded"
}

// powerState is "" for a machine that was never allocated.
func (i *instance) powerState(now time.Time) string {
	switch {
	case i.deletion.underWay(now) && !now.Before(i.deletion.lastWord):
		return "deallocating"
	case reached(i.provisioning.failAt, now) && !strings.HasPrefix(i.provisioning.failure.Code, "OS") && !strings.HasPrefix(i.provisioning.failure.Code, "VM"):
		return ""
	case reached(i.provisioning.failAt, now) && i.power.after == "":
		return "running"
	case reached(i.power.since, now) && now.Before(i.power.until):
		return i.power.during
	case reached(i.power.until, now):
		return i.power.after
	case !reached(i.provisioning.upAt, now):
		return "starting"
	}
	return "running"
}

// bootedAt is when the machine last came up; zero while it is not up.
func (i *instance) bootedAt(now time.Time) time.Time {
	switch {
	case i.powerState(now) != "running" || reached(i.provisioning.failAt, now):
		return time.Time{}
	case i.power.after == "running":
		return i.power.until
	}
	return i.provisioning.upAt
}

// changes are the times at which a state changes by itself.
func (i *instance) changes() []time.Time {
	return []time.Time{i.provisioning.upAt, i.provisioning.failAt, i.power.since, i.power.until, i.deletion.at, i.deletion.failAt, i.deletion.lastWord, i.deletion.goneAt}
}

// settledAt ends the waiting for a new instance: it is up, failed, or given up by a
// delete. It is zero when that will never be.
func (i *instance) settledAt() time.Time {
	settled := time.Time{}
	for _, t := range []time.Time{i.provisioning.upAt, i.provisioning.failAt, i.deletion.at} {
		if !t.IsZero() && (settled.IsZero() || t.Before(settled)) {
			settled = t
		}
	}
	return settled
}

// begin starts the deletion of an instance at a time.
func (d *deletion) begin(at time.Time) {
	d.at, d.failAt = at, time.Time{}
	d.goneAt = at.Add(d.takes)
}
