package economics

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Spell is what a machine is paid for at a time.
type Spell int

// The spells of a machine. Each moment that is billed belongs to one of them.
const (
	Booting  Spell = iota // requested, not Ready yet
	Idle                  // Ready, takes pods, holds none
	Thin                  // at most half of it is asked for, by the larger of CPU's and memory's share
	Full                  // more of it is
	Drying                // holds pods and takes no more
	Queued                // empty and barred: it waits for its deletion
	Deleting              // the cloud deletes it
	spells
)

// String names the spell as tables do.
func (s Spell) String() string {
	return [spells]string{"booting", "idle", "thin", "full", "drying", "queued", "deleting"}[s]
}

// Spent is what spells came to.
type Spent struct {
	MachineHours float64 `json:"machineHours"`
	USD          float64 `json:"usd"`
}

// spell is what the machine is paid for now.
func (f *Farm) spell(m *Machine) Spell {
	room := f.Kinds[m.Kind].Room
	switch {
	case !m.Ready:
		return Booting
	case len(m.Pods) == 0 && m.Barred:
		return Queued
	case len(m.Pods) == 0:
		return Idle
	case m.Barred:
		return Drying
	case 2*m.Free.Milli >= room.Milli && 2*m.Free.MiB >= room.MiB:
		return Thin
	}
	return Full
}

// turn pays the spell that ends when the machine has become what it is now.
func (f *Farm) turn(m *Machine) {
	f.spend(m, m.spell, f.Now-m.turned)
	m.spell, m.turned = f.spell(m), f.Now
}

func (f *Farm) spend(m *Machine, on Spell, d time.Duration) {
	s := &f.total.Spells[on]
	s.MachineHours += hours(d)
	s.USD += hours(d) * f.Kinds[m.Kind].PriceUSDPerHour
}

// Bar has a machine take no further pods.
func (f *Farm) Bar(m *Machine) {
	m.Barred = true
	f.turn(m)
}

// WriteSpells prints what the machines of replays were paid for.
func WriteSpells(to io.Writer, all []Replayed) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "workload\tcontender\t")
	for s := range spells {
		fmt.Fprintf(w, "%s h\tUSD\t", s)
	}
	fmt.Fprintln(w)
	for _, r := range all {
		fmt.Fprintf(w, "%s\t%s\t", r.Workload, r.Contender)
		for _, s := range r.Spells {
			fmt.Fprintf(w, "%.0f\t%.0f\t", s.MachineHours, s.USD)
		}
		fmt.Fprintln(w)
	}
	w.Flush()
}
