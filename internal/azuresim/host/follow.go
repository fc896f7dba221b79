package host

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// Switches switches machines: a host does.
type Switches interface {
	PowerOn(Machine) error
	PowerOff(ctx context.Context, id string) error
	Delete(id string) error
}

// Follow makes machines be what a simulated Azure says that they are, until the context is over and what was begun then has ended. A machine that is
// there runs from its creation on, not only from when Azure calls it provisioned.
func Follow(ctx context.Context, azure *azuresim.Server, to Switches, say func(format string, args ...any)) {
	f := &follower{azure: azure, to: to, say: say, machines: map[string]*followed{}}
	defer f.working.Wait()
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		f.look()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

const (
	pace     = 100 * time.Millisecond // between looks
	patience = 20 * time.Second       // for a machine that ends in order, before its plug is pulled
)

// follower knows what became of each machine.
type follower struct {
	azure *azuresim.Server
	to    Switches
	say   func(string, ...any)

	looked   int
	machines map[string]*followed // by id
	working  sync.WaitGroup
}

// wanted is what a machine is to be.
type wanted struct {
	on    bool
	boots int // how often it was started since it was created
	gone  bool
}

// followed is one machine. One goroutine at a time brings it to what is wanted last.
type followed struct {
	id    string
	state string // its power state at the last look

	mu      sync.Mutex
	want    wanted
	working bool
	is      wanted // of the goroutine
}

// look compares, and sets to work what differs.
func (f *follower) look() {
	states, looked := f.azure.MachinesSince(f.looked)
	if looked == f.looked {
		return
	}
	f.looked = looked
	seen := map[string]bool{}
	for _, state := range states {
		seen[state.ID] = true
		m := f.machines[state.ID]
		if m == nil {
			m = &followed{id: state.ID}
			f.machines[state.ID] = m
		}
		want := m.wants(state.PowerState)
		m.state = state.PowerState
		f.bring(m, want)
	}
	for id, m := range f.machines {
		if !seen[id] {
			delete(f.machines, id)
			f.bring(m, wanted{gone: true})
		}
	}
}

// wants is what a power state asks for, after the one before.
func (m *followed) wants(state string) wanted {
	m.mu.Lock()
	defer m.mu.Unlock()
	want := m.want
	want.on = state == "starting" || state == "running"
	if want.on && (m.want.boots == 0 || state == "starting" && m.state != "starting" || !m.want.on) {
		want.boots++
	}
	return want
}

// bring sets a machine to work on what is wanted, unless it is at it.
func (f *follower) bring(m *followed, want wanted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.want = want
	if m.working || m.want == m.is {
		return
	}
	m.working = true
	f.working.Go(func() {
		for {
			m.mu.Lock()
			want := m.want
			if want == m.is {
				m.working = false
				m.mu.Unlock()
				return
			}
			m.mu.Unlock()
			if err := f.turn(m, want); err != nil {
				f.say("%s: %v", m.id, err)
			}
			m.mu.Lock()
			m.is = want
			m.mu.Unlock()
		}
	})
}

// turn switches a machine.
func (f *follower) turn(m *followed, want wanted) error {
	if want.gone {
		return f.to.Delete(m.id)
	}
	if !want.on || m.is.on && m.is.boots != want.boots { // also before it boots again
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := f.to.PowerOff(ctx, m.id); err != nil || !want.on {
			return err
		}
	}
	p, ok := f.azure.Provision(m.id)
	if !ok {
		return nil // it is gone, or its custom data is no data
	}
	address, err := netip.ParseAddr(p.Address)
	if err != nil {
		return err
	}
	machine := Machine{
		ID: p.ID, VMID: p.VMID, Name: p.ComputerName, Address: address, MAC: p.MAC, MemoryMB: p.MemoryMB, User: p.User, Data: p.CustomData,
	}
	for _, d := range p.Disks {
		machine.Disks = append(machine.Disks, Disk(d))
	}
	return f.to.PowerOn(machine)
}
