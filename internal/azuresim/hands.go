package azuresim

import (
	"fmt"
	"strings"
	"time"
)

// The hands of others: what a person, the cloud controller manager or a platform
// autoscaler does to a scale set, without a request in the log. All of them move
// the entity tag.

// SetCapacity writes a scale set's capacity, as a person does in the portal:
// absolutely, and lowering it lets Azure choose the victims.
func (s *Server) SetCapacity(set string, n int) error {
	return s.hand("set capacity of", set, func(ss *scaleSet, now time.Time) error {
		if n < 0 || n > maxCapacity {
			return fmt.Errorf("%d is not in 0..%d", n, maxCapacity)
		}
		if _, p := s.resize(ss, n, "", now); p != nil {
			return fmt.Errorf("%s: %s", p.detail.Code, p.detail.Message)
		}
		return nil
	})
}

// SetTags replaces a scale set's tags.
func (s *Server) SetTags(set string, tags map[string]string) error {
	return s.hand("set tags of", set, func(ss *scaleSet, _ time.Time) error {
		ss.model["tags"] = anyMap(tags)
		return nil
	})
}

// Touch moves a scale set's entity tag and keeps it Updating for a while, as a
// write of the cloud controller manager does.
func (s *Server) Touch(set string, updating time.Duration) error {
	return s.hand("touch", set, func(ss *scaleSet, now time.Time) error {
		s.begin(ss, now, operation{until: now.Add(updating)})
		return nil
	})
}

// DeleteMachine deletes an instance, by resource id or name.
func (s *Server) DeleteMachine(vm string) error {
	return s.handOn("delete", vm, func(i *instance, now time.Time) error {
		var o operation
		s.doom(&o, i, "", now)
		s.begin(i.set, now, o)
		return nil
	})
}

// Deallocate stops an instance and gives back its cores; it stays listed and
// counts toward capacity.
func (s *Server) Deallocate(vm string) error {
	return s.handOn("deallocate", vm, func(i *instance, now time.Time) error {
		s.begin(i.set, now, operation{until: s.turn(i, "deallocate", now)})
		return nil
	})
}

// Start starts an instance that was stopped or deallocated.
func (s *Server) Start(vm string) error {
	return s.handOn("start", vm, func(i *instance, now time.Time) error {
		s.begin(i.set, now, operation{until: s.turn(i, "start", now)})
		return nil
	})
}

// Evict takes a spot instance away after a notice, which the machine reads as a
// Preempt event; a zero notice gives none.
func (s *Server) Evict(vm string, notice time.Duration) error {
	return s.handOn("evict", vm, func(i *instance, now time.Time) error {
		if !i.set.spot() {
			return fmt.Errorf("scale set %s is not spot", i.set.name)
		}
		s.evict(i, notice, now)
		return nil
	})
}

// Protect sets an instance's protection from scale-in and from actions on its
// scale set.
func (s *Server) Protect(vm string, fromScaleIn, fromScaleSetActions bool) error {
	return s.handOn("protect", vm, func(i *instance, _ time.Time) error {
		i.protection = protection{fromScaleIn, fromScaleSetActions}
		i.etag++
		return nil
	})
}

func (s *Server) hand(verb, set string, do func(*scaleSet, time.Time) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	ss := s.scaleSet(set)
	if ss == nil {
		return fmt.Errorf("%s scale set %q: there is not exactly one", verb, set)
	}
	if err := do(ss, now); err != nil {
		return fmt.Errorf("%s scale set %q: %w", verb, set, err)
	}
	ss.etag++
	return nil
}

func (s *Server) handOn(verb, vm string, do func(*instance, time.Time) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	i := s.findInstance(vm, now)
	if i == nil {
		return fmt.Errorf("%s instance %q: there is not exactly one", verb, vm)
	}
	if err := do(i, now); err != nil {
		return fmt.Errorf("%s instance %q: %w", verb, vm, err)
	}
	i.set.etag++
	return nil
}

// findInstance finds an instance by resource id, or by name when only one bears
// it; nil otherwise.
func (s *Server) findInstance(ref string, now time.Time) *instance {
	var found *instance
	for _, ss := range s.sets {
		for _, i := range ss.listed(now) {
			switch {
			case strings.EqualFold(i.id(), ref):
				return i
			case strings.EqualFold(i.name(), ref) && found != nil:
				return nil
			case strings.EqualFold(i.name(), ref):
				found = i
			}
		}
	}
	return found
}
