package azuresim

import (
	"strings"
	"time"
)

// reached reports whether t is set and not after now.
func reached(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

func (i *instance) gone(now time.Time) bool { return reached(i.goneAt, now) }

// deleting reports whether a delete is under way: accepted, and not failed.
func (i *instance) deleting(now time.Time) bool {
	return reached(i.deleteAt, now) && !reached(i.deleteFailAt, now)
}

// failed reports the error the instance shows, nil for none.
func (i *instance) failed(now time.Time) *errorDetail {
	switch {
	case i.deleting(now):
		return nil
	case reached(i.deleteFailAt, now):
		return &i.deleteFailure
	case reached(i.failAt, now):
		return &i.failure
	case reached(i.power.until, now):
		return i.power.failure
	}
	return nil
}

func (i *instance) provisioningState(now time.Time) string {
	switch {
	case i.deleting(now):
		return "Deleting"
	case i.failed(now) != nil:
		return "Failed"
	case !reached(i.upAt, now):
		return "Creating"
	case reached(i.power.since, now) && now.Before(i.power.until):
		return "Updating"
	}
	return "Succeeded"
}

// powerState is "" for a machine that was never allocated.
func (i *instance) powerState(now time.Time) string {
	switch {
	case i.deleting(now) && !now.Before(i.lastWord):
		return "deallocating"
	case reached(i.failAt, now) && !strings.HasPrefix(i.failure.Code, "OS") && !strings.HasPrefix(i.failure.Code, "VM"):
		return ""
	case reached(i.failAt, now) && i.power.after == "":
		return "running"
	case reached(i.power.since, now) && now.Before(i.power.until):
		return i.power.during
	case reached(i.power.until, now):
		return i.power.after
	case !reached(i.upAt, now):
		return "starting"
	}
	return "running"
}

// bootedAt is when the machine last came up; zero while it is not up.
func (i *instance) bootedAt(now time.Time) time.Time {
	switch {
	case i.powerState(now) != "running" || reached(i.failAt, now):
		return time.Time{}
	case i.power.after == "running":
		return i.power.until
	}
	return i.upAt
}

// changes are the times at which a state changes by itself.
func (i *instance) changes() []time.Time {
	return []time.Time{i.upAt, i.failAt, i.power.since, i.power.until, i.deleteAt, i.deleteFailAt, i.lastWord, i.goneAt}
}

// settledAt ends the waiting for a new instance: it is up, failed, or given up by a
// delete. It is zero when that will never be.
func (i *instance) settledAt() time.Time {
	settled := time.Time{}
	for _, t := range []time.Time{i.upAt, i.failAt, i.deleteAt} {
		if !t.IsZero() && (settled.IsZero() || t.Before(settled)) {
			settled = t
		}
	}
	return settled
}

// kill starts the deletion of an instance at a time.
func (i *instance) kill(at time.Time) {
	i.deleteAt, i.deleteFailAt = at, time.Time{}
	i.goneAt = at.Add(i.deathTime)
}
