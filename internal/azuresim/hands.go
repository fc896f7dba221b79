package azuresim

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The hands of others: what a person, the cloud controller manager, the platform
// or its autoscaler does, without a request in the log. What is done to a scale
// set or a machine moves its entity tag.

// SetCapacity writes a scale set's capacity, as a person does in the portal:
// absolutely, and lowering it lets Azure choose the victims.
func (s *Server) SetCapacity(set string, n int) error {
	return s.Perform(Act{Do: "set-capacity", Target: set, Capacity: n})
}

func actSetCapacity(s *Server, a Act, now time.Time) error {
	return s.store.onSet(a.Target, func(ss *scaleSet) error {
		if a.Capacity < 0 || a.Capacity > maxCapacity {
			return fmt.Errorf("%d is not in 0..%d", a.Capacity, maxCapacity)
		}
		if _, p := s.compute().resize(ss, a.Capacity, "", now); p != nil {
			return fmt.Errorf("%s: %s", p.detail.Code, p.detail.Message)
		}
		return nil
	})
}

// SetTags replaces a scale set's tags.
func (s *Server) SetTags(set string, tags map[string]string) error {
	return s.Perform(Act{Do: "set-tags", Target: set, Tags: tags})
}

func actSetTags(s *Server, a Act, _ time.Time) error {
	return s.store.onSet(a.Target, func(ss *scaleSet) error {
		ss.model["tags"] = anyMap(a.Tags)
		return nil
	})
}

// SetImage gives a scale set's model another version of its image. Machines that
// are there keep theirs.
func (s *Server) SetImage(set, version string) error {
	return s.Perform(Act{Do: "set-image", Target: set, Version: version})
}

func actSetImage(s *Server, a Act, _ time.Time) error {
	return s.store.onSet(a.Target, func(ss *scaleSet) error {
		image, ok := dig(ss.model, "properties", "virtualMachineProfile", "storageProfile", "imageReference").(map[string]any)
		if !ok {
			return errors.New("its model names no image")
		}
		image["version"] = a.Version
		return nil
	})
}

// Touch moves a scale set's entity tag and keeps it Updating for a while, as a
// write of the cloud controller manager does.
func (s *Server) Touch(set string, updating time.Duration) error {
	return s.Perform(Act{Do: "touch", Target: set, Updating: updating})
}

func actTouch(s *Server, a Act, now time.Time) error {
	return s.store.onSet(a.Target, func(ss *scaleSet) error {
		s.store.operations.begin(s.Seed, ss, now, operation{until: now.Add(a.Updating)})
		return nil
	})
}

// DeleteMachine deletes an instance, by resource id or name. One that is being deleted already goes on as it was.
func (s *Server) DeleteMachine(vm string) error {
	return s.Perform(Act{Do: "delete", Target: vm})
}

func actDelete(s *Server, a Act, now time.Time) error {
	return s.store.onInstance(a.Target, now, func(i *instance) error {
		if !i.deletion.at.IsZero() {
			return nil // it is on its way out already
		}
		var o operation
		s.compute().doom(&o, i, "", now)
		s.store.operations.beginOn(s.Seed, i, now, o)
		return nil
	})
}

// DeleteScaleSet deletes a scale set with its instances.
func (s *Server) DeleteScaleSet(set string) error {
	return s.Perform(Act{Do: "delete-set", Target: set})
}

func actDeleteSet(s *Server, a Act, now time.Time) error {
	return s.store.onSet(a.Target, func(ss *scaleSet) error {
		s.store.operations.begin(s.Seed, ss, now, s.compute().demolish(ss, "POST virtualMachineScaleSets/delete", now)) // what strikes deletions of machines strikes it
		return nil
	})
}

// Deallocate stops an instance and gives back its cores; it stays listed and
// counts toward capacity.
func (s *Server) Deallocate(vm string) error {
	return s.Perform(Act{Do: "deallocate", Target: vm})
}

// Start starts an instance that was stopped or deallocated.
func (s *Server) Start(vm string) error {
	return s.Perform(Act{Do: "start", Target: vm})
}

func actTurn(verb string) func(*Server, Act, time.Time) error {
	return func(s *Server, a Act, now time.Time) error {
		return s.store.onInstance(a.Target, now, func(i *instance) error {
			if p := s.compute().capacity.checkStart([]*instance{i}, verb, now); p != nil {
				return fmt.Errorf("%s: %s", p.detail.Code, p.detail.Message)
			}
			var o operation
			s.compute().turn(&o, i, verb, "", now)
			s.store.operations.beginOn(s.Seed, i, now, o)
			return nil
		})
	}
}

// Evict takes a spot instance away after a notice, which the machine reads as a
// Preempt event; a zero notice gives none.
func (s *Server) Evict(vm string, notice time.Duration) error {
	return s.Perform(Act{Do: "evict", Target: vm, Notice: notice})
}

func actEvict(s *Server, a Act, now time.Time) error {
	return s.store.onInstance(a.Target, now, func(i *instance) error {
		if !i.spot() {
			return fmt.Errorf("machine %s is not spot", i.name())
		}
		s.compute().events.evict(i, a.Notice, now)
		return nil
	})
}

// Protect sets an instance's protection from scale-in and from actions on its
// scale set.
func (s *Server) Protect(vm string, fromScaleIn, fromScaleSetActions bool) error {
	return s.Perform(Act{Do: "protect", Target: vm, FromScaleIn: fromScaleIn, FromScaleSetActions: fromScaleSetActions})
}

func actProtect(s *Server, a Act, now time.Time) error {
	return s.store.onInstance(a.Target, now, func(i *instance) error {
		if !i.uniform() {
			return errors.New("machines that are resources of their own have no protection policy: lock it instead")
		}
		i.protection = protection{a.FromScaleIn, a.FromScaleSetActions}
		return nil
	})
}

func actDeny(s *Server, a Act, _ time.Time) error {
	p := s.store.principals.byClientID(a.Target)
	switch {
	case p == nil:
		return errors.New("there is no such principal")
	case len(a.Actions) == 0:
		return errors.New("name the actions, such as Microsoft.Compute/virtualMachineScaleSets/write")
	}
	for _, action := range a.Actions {
		p.denied = append(p.denied, strings.ToLower(action))
	}
	return nil
}

func actAllow(s *Server, a Act, _ time.Time) error {
	p := s.store.principals.byClientID(a.Target)
	if p == nil {
		return errors.New("there is no such principal")
	}
	p.denied = slices.DeleteFunc(p.denied, func(d string) bool {
		return len(a.Actions) == 0 || slices.ContainsFunc(a.Actions, func(name string) bool { return strings.EqualFold(name, d) })
	})
	return nil
}

// handLock is the name of locks that acts put.
const handLock = "azuresim"

func actLock(s *Server, a Act, _ time.Time) error {
	level := LockLevel(either(string(a.Level), string(CanNotDelete)))
	if !strings.HasPrefix(a.Target, "/subscriptions/") || level != CanNotDelete && level != ReadOnly {
		return errors.New("a resource id and the level CanNotDelete or ReadOnly are required")
	}
	s.store.rights.putLock(&lock{name: handLock, scope: a.Target, level: level})
	return nil
}

func actUnlock(s *Server, a Act, _ time.Time) error {
	if !s.store.rights.removeLock(handLock, a.Target) {
		return errors.New("lock has put none there")
	}
	return nil
}

func actAssignRole(s *Server, a Act, now time.Time) error {
	return s.store.assignRole(s.Seed, s.TenantID, RoleAssignment{Role: a.Role, Principal: a.Target, Scope: a.Scope}, now)
}

func actSchedule(s *Server, a Act, now time.Time) error {
	if a.Notice == 0 {
		a.Notice = -1
	}
	return s.store.onInstance(a.Target, now, func(i *instance) error {
		_, err := s.compute().events.forewarn(i, a.Event, a.Notice, now)
		return err
	})
}

func actWithdraw(s *Server, a Act, now time.Time) error {
	return s.store.onInstance(a.Target, now, func(i *instance) error {
		found := false
		for _, e := range s.store.events {
			if e.machine == i && e.source == "Platform" && e.pending(now) {
				found = true
				s.compute().events.withdraw(e, now)
			}
		}
		if !found {
			return errors.New("it has no event to come")
		}
		return nil
	})
}

func actAutoscale(s *Server, a Act, now time.Time) error {
	return s.store.onSet(a.Target, func(ss *scaleSet) error {
		return s.compute().autoscale(ss, either(a.Metric, "Percentage CPU"), a.Value, now)
	})
}

func actRemoveRoles(s *Server, a Act, now time.Time) error {
	p := s.store.principal(s.Seed, s.TenantID, a.Target, now)
	if p == nil {
		return errors.New("there is no such principal")
	}
	s.store.rights.removeRoles(p)
	return nil
}

func actInject(s *Server, a Act, now time.Time) error {
	s.faults.inject(a.Fault, s.changes, now)
	return nil
}

func actClear(s *Server, a Act, _ time.Time) error {
	if a.Target == "" {
		s.faults.list, s.past = nil, nil
	} else if !s.faults.clear(a.Target) {
		return errors.New("there is no such fault in force")
	}
	return nil
}

func (st *store) onSet(set string, do func(*scaleSet) error) error {
	ss := st.scaleSet(set)
	if ss == nil {
		return errors.New("there is not exactly one such scale set")
	}
	if err := do(ss); err != nil {
		return err
	}
	ss.etag++
	return nil
}

func (st *store) onInstance(vm string, now time.Time, do func(*instance) error) error {
	i := st.findInstance(vm, now)
	if i == nil {
		return errors.New("there is not exactly one such instance")
	}
	if err := do(i); err != nil {
		return err
	}
	if i.set != nil {
		i.set.etag++
	}
	i.etag++
	return nil
}
