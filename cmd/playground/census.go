package main

import (
	"context"
	"slices"
	"sync"
	"time"

	"sluice.dev/sluice/internal/azuresim"
)

// census keeps of every machine of a group from when to when Azure had it, which is what Azure bills.
type census struct {
	mu    sync.Mutex
	lives map[string]life // by vmId
}

// life is one machine's.
type life struct {
	id, node string    // instance id and computer name
	created  time.Time // its capacity was asked for
	gone     time.Time // zero while Azure lists it
}

func newCensus() *census { return &census{lives: map[string]life{}} }

// run looks until ctx is done. A machine's end is known to [lookEvery].
func (c *census) run(ctx context.Context, azure *azuresim.Server) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		c.look(azure.Machines(), time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (c *census) look(machines []azuresim.MachineState, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	there := map[string]bool{}
	for _, m := range machines {
		if m.ScaleSet == "" {
			continue
		}
		there[m.VMID] = true
		if _, known := c.lives[m.VMID]; !known {
			c.lives[m.VMID] = life{id: m.InstanceID, node: m.ComputerName, created: m.TimeCreated}
		}
	}
	for id, l := range c.lives {
		if !there[id] && l.gone.IsZero() {
			l.gone = now
			c.lives[id] = l
		}
	}
}

// all are the machines that there were, the oldest first.
func (c *census) all() []life {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []life
	for _, l := range c.lives {
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b life) int {
		if d := a.created.Compare(b.created); d != 0 {
			return d
		}
		if a.node < b.node {
			return -1
		}
		return 1
	})
	return out
}

// lives says whether the machine was there at a time.
func (l life) lives(t time.Time) bool {
	return !l.created.After(t) && (l.gone.IsZero() || l.gone.After(t))
}
