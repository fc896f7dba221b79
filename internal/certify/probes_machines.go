package certify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// protect sets a machine's protection from scale-in.
func (l *Lab) protect(ctx context.Context, id string, is bool) error {
	body := map[string]any{"location": l.plan.Region, "properties": map[string]any{"protectionPolicy": map[string]bool{"protectFromScaleIn": is}}}
	r, err := l.ask(ctx, http.MethodPut, l.machinePath(id), computeVersion, nil, body)
	if r, err = l.must("protect a machine", r, err); err != nil {
		return err
	}
	e, err := l.follow(ctx, r)
	if err != nil {
		return err
	}
	return e.done("protect a machine")
}

// power has one machine switched off or on, and returns what the set shows of it then.
func (l *Lab) power(ctx context.Context, verb string, of machine) (machine, *reply, error) {
	r, err := l.ask(ctx, http.MethodPost, l.setPath(l.set.name)+"/"+verb, computeVersion, nil, map[string]any{"instanceIds": []string{of.id}})
	if r, err = l.must(verb+" a machine", r, err); err != nil {
		return machine{}, r, err
	}
	e, err := l.follow(ctx, r)
	if err != nil {
		return machine{}, r, err
	}
	if err := e.done(verb + " a machine"); err != nil {
		return machine{}, r, err
	}
	all, err := l.living(ctx, l.set.name)
	for _, m := range all {
		if m.uid == of.uid {
			return m, r, err
		}
	}
	return machine{}, r, err
}

// one is a machine of the uniform set.
func (l *Lab) one(ctx context.Context) (machine, error) {
	all, err := l.living(ctx, l.set.name)
	if err == nil && len(all) == 0 {
		err = errors.New("the set has no machine")
	}
	if err != nil {
		return machine{}, err
	}
	return newest(all), nil
}

// machineProbes ask what becomes of one machine.
var machineProbes = []Probe{
	{
		Name: "deallocated-machine-counts", Source: useSpot, Promises: []string{"S-01", "S-14"}, Needs: Machine,
		Fact: "A deallocated machine stays listed as PowerState/deallocated, keeps its vmId and counts in the capacity.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			m, err := l.one(ctx)
			if err != nil {
				return Observation{}, err
			}
			before, err := l.capacity(ctx, l.set.name)
			if err != nil {
				return Observation{}, err
			}
			off, r, err := l.power(ctx, "deallocate", m)
			if err != nil {
				return Observation{}, err
			}
			after, err := l.capacity(ctx, l.set.name)
			return seen(off.uid == m.uid && off.power == "deallocated" && after == before, "status", r.Status, "listed", off.uid == m.uid,
				"power", off.power, "state", off.state, "capacity", fmt.Sprintf("%d, was %d", after, before)), err
		},
	},
	{
		Name: "started-machine-is-the-same", Source: unread, Promises: []string{"S-14", "S-33"}, Needs: Machine,
		Fact: "A deallocated machine that is started runs again with the same id and vmId.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			m, err := l.one(ctx)
			if err == nil && m.power == "running" {
				m, _, err = l.power(ctx, "deallocate", m)
			}
			if err != nil {
				return Observation{}, err
			}
			on, r, err := l.power(ctx, "start", m)
			if err != nil {
				return Observation{}, err
			}
			return seen(on.uid == m.uid && on.id == m.id && on.power == "running", "status", r.Status, "the same", on.uid == m.uid, "power", on.power), nil
		},
	},
	{
		Name: "eviction-is-announced", Source: events, Promises: []string{"S-42"}, Needs: Machine,
		Fact: "The metadata service of a spot machine announces its eviction as an event of type Preempt that names the machine.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			e, err := l.evict(ctx)
			switch {
			case err == nil && !e.heard:
				err = errSilent
			case err == nil && e.kind == "": // the log comes late, and may end before it
				err = errors.New("the boot log ended before it told of an event")
			}
			if err != nil {
				return Observation{}, err
			}
			return seen(e.kind == "Preempt" && e.names, "type", e.kind, "names the machine", e.names, "seen after", seconds(e.announced), "notice", e.notice), nil
		},
	},
	{
		Name: "evicted-machine-lowers-capacity", Source: useSpot, Promises: []string{"S-01", "S-36"}, Needs: Machine,
		Fact: "With the eviction policy Delete an evicted machine leaves the list, and the capacity is lowered.",
		Run: func(ctx context.Context, l *Lab) (Observation, error) {
			e, err := l.evict(ctx)
			if err == nil && !e.gone {
				err = errors.New("the machine was not evicted within " + mostEviction.String())
			}
			if err != nil {
				return Observation{}, err
			}
			return seen(e.after == e.before-1, "status", e.status, "gone after", seconds(e.took), "capacity", fmt.Sprintf("%d, was %d", e.after, e.before)), nil
		},
	},
}

// eviction is a simulated one, as it was seen.
type eviction struct {
	done, heard, names, gone bool
	err                      error
	status, before, after    int
	kind, notice             string
	announced, took          time.Duration
}

// mostEviction is how long an eviction is waited for.
const mostEviction = 8 * time.Minute

func (l *Lab) evict(ctx context.Context) (eviction, error) {
	if !l.evicted.done {
		l.evicted, l.evicted.err = l.evictOne(ctx)
	}
	return l.evicted, l.evicted.err
}

func (l *Lab) evictOne(ctx context.Context) (e eviction, err error) {
	e.done = true
	m, err := l.one(ctx)
	if err != nil {
		return e, err
	}
	if e.before, err = l.capacity(ctx, l.set.name); err != nil {
		return e, err
	}
	if told, _, err := l.console(ctx, l.machinePath(m.id)); err == nil {
		e.heard = told["events"] != ""
	}
	r, err := l.ask(ctx, http.MethodPost, l.machinePath(m.id)+"/simulateEviction", computeVersion, nil, nil)
	if r, err = l.must("evict a machine", r, err); err != nil {
		return e, err
	}
	e.status = r.Status
	for !e.gone && l.now().Sub(r.at) < mostEviction {
		if err := l.wait(ctx, lookAgain); err != nil {
			return e, err
		}
		if told, _, err := l.console(ctx, l.machinePath(m.id)); err == nil && e.heard && e.kind == "" {
			e.kind, e.notice, e.names = announced(told["events"], m.name)
			e.announced = l.now().Sub(r.at)
		}
		all, err := l.machines(ctx, l.set.name)
		if err != nil {
			return e, err
		}
		e.gone, e.took = !slices.ContainsFunc(all, func(other machine) bool { return other.uid == m.uid }), l.now().Sub(r.at)
	}
	e.after, err = l.capacity(ctx, l.set.name)
	return e, err
}
