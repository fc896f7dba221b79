package economics

import "time"

// Totals are what a replay came to.
type Totals struct {
	CostUSD       float64       `json:"costUSD"` // every machine from its request until it is deleted, by the list price
	MachineHours  float64       `json:"machineHours"`
	BoughtCores   float64       `json:"boughtCoreHours"`
	Used          float64       `json:"used"`          // share of the core-hours bought in which pods did work that was not lost
	IdleUSD       float64       `json:"idleUSD"`       // of the cost: machines while they boot or hold no pod
	LostCoreHours float64       `json:"lostCoreHours"` // batch work that was killed
	Evictions     int           `json:"evictions"`
	Killed        int           `json:"killed"`          // of these, pods of batch work
	Turnaround    time.Duration `json:"turnaroundNanos"` // mean, from a pod's creation to its end
	Waited        time.Duration `json:"waitedNanos"`     // mean, of all waits of a pod together
	Pending       time.Duration `json:"pendingNanos"`    // of all waits of all pods together
	Peak          int           `json:"peak"`            // machines at once
	Requests      int           `json:"requests"`        // growths of a group
	Looks         int           `json:"looks"`
	Unfinished    int           `json:"unfinished"` // pods that no group holds, left out of the means
	Spells        [spells]Spent `json:"spells"`     // by [Spell]
}

func (f *Farm) pay(m *Machine) {
	f.turn(m)
	f.spend(m, Deleting, f.settings.Delete)
	h := hours(f.Now + f.settings.Delete - m.Asked)
	k := &f.Kinds[m.Kind]
	f.total.CostUSD += h * k.PriceUSDPerHour
	f.total.MachineHours += h
	f.total.BoughtCores += h * float64(k.Machine.Milli) / 1000
}

func (t Totals) settled(f *Farm) Totals {
	if t.BoughtCores > 0 {
		t.Used = f.used / t.BoughtCores
	}
	t.Pending = t.Waited
	for _, s := range []Spell{Booting, Idle, Queued, Deleting} {
		t.IdleUSD += t.Spells[s].USD
	}
	if n := time.Duration(f.finished); n > 0 {
		t.Turnaround /= n
		t.Waited /= n
	}
	return t
}
