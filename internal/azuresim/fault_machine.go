package azuresim

import (
	"slices"
	"strings"
	"time"
)

// strike is the fault that strikes a machine on its way in or out; the zero Fault when
// none does.
func (c compute) strike(i *instance, kind string, deleted bool, now time.Time) Fault {
	if f := c.faults.strike(occasion{kind: kind, set: i.groupName(), resource: i.id(), machine: true, deleted: deleted}, c.seed, now); f != nil {
		return f.Fault
	}
	return Fault{}
}

// strikeNewborn applies the machine fault, if any, that strikes a new instance.
func (c compute) strikeNewborn(i *instance, kind string, now time.Time) {
	f := c.strike(i, kind, false, now)
	i.flaws.neverJoins, i.flaws.console, i.flaws.extension = f.NeverJoins, f.Console, f.Extension
	i.called, i.ip = either(f.ComputerName, i.called), either(f.Address, i.ip)
	if f.ReuseID && i.uniform() {
		i.set.renumber(i, now)
	}
	switch {
	case f.MachineError != "":
		i.provisioning.fail(now.Add(f.delay()), f.detail(i))
		if i.provisioning.upAt.Before(i.provisioning.failAt) {
			i.provisioning.upAt = time.Time{}
		}
	case f.NeverBoots:
		i.provisioning.upAt, i.provisioning.failAt, i.provisioning.awaited = time.Time{}, time.Time{}, false
	case f.Takes > 0:
		i.provisioning.failAt, i.provisioning.awaited = time.Time{}, false
		i.provisioning.upAt = now.Add(f.Takes)
	}
}

// strikeDoomed applies the machine fault, if any, that strikes an instance whose
// deletion has begun. It reports whether the instance is spared in silence.
func (c compute) strikeDoomed(i *instance, kind string) (spared bool) {
	f := c.strike(i, kind, true, i.deletion.at)
	switch {
	case f.MachineError != "":
		i.deletion.goneAt, i.deletion.failAt, i.deletion.failure = time.Time{}, i.deletion.at.Add(f.delay()), f.detail(i)
	case f.NeverBoots:
		i.deletion.goneAt = time.Time{}
	case f.Takes > 0:
		i.deletion.goneAt = i.deletion.at.Add(f.Takes)
	case f.Survives:
		i.deletion.at, i.deletion.goneAt = time.Time{}, time.Time{}
		return true
	}
	return false
}

// renumber gives an instance the lowest free id of its set.
func (ss *scaleSet) renumber(i *instance, now time.Time) {
	ss.instances = slices.DeleteFunc(ss.instances, func(other *instance) bool { return other == i })
	i.number = 0
	for _, other := range ss.listed(now) { // ascending
		if other.number == i.number {
			i.number++
		}
	}
	at, _ := slices.BinarySearchFunc(ss.instances, i.number, func(other *instance, n int) int { return other.number - n })
	ss.instances = slices.Insert(ss.instances, at, i)
}

func (f *Fault) delay() time.Duration {
	switch {
	case f.After > 0:
		return f.After
	case strings.HasSuffix(f.MachineError, "TimedOut"):
		return 20 * time.Minute
	}
	return 5 * time.Second
}

func (f *Fault) detail(i *instance) errorDetail {
	message := f.Message
	if message == "" {
		message = usualMessage(f.MachineError)
	}
	return errorDetail{Code: f.MachineError, Message: message, Target: i.instanceID()}
}
