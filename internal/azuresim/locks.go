package azuresim

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// LockLevel is what a management lock forbids.
type LockLevel string

// The levels.
const (
	CanNotDelete LockLevel = "CanNotDelete" // deletes, those of instances by id included
	ReadOnly     LockLevel = "ReadOnly"     // everything but reads
)

// lock is a management lock on a scope and everything below it.
type lock struct {
	name, scope string
	level       LockLevel
	notes       string
}

// Lock puts a management lock on a subscription, a resource group or a resource.
// A lock of the same name at the same scope is replaced.
func (s *Server) Lock(name, scope string, level LockLevel) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if name == "" || !strings.HasPrefix(scope, "/subscriptions/") || level != CanNotDelete && level != ReadOnly {
		return fmt.Errorf("lock %q with %q: a name, a resource id and CanNotDelete or ReadOnly are required", scope, level)
	}
	s.remember(s.now())
	s.store.rights.putLock(&lock{name: name, scope: scope, level: level})
	return nil
}

// Unlock removes a management lock.
func (s *Server) Unlock(name, scope string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remember(s.now())
	if !s.store.rights.removeLock(name, scope) {
		return fmt.Errorf("unlock %q: it has no lock %q", scope, name)
	}
	return nil
}

func (rs *rights) findLock(name, scope string) int {
	return slices.IndexFunc(rs.locks, func(l *lock) bool {
		return strings.EqualFold(l.name, name) && strings.EqualFold(l.scope, scope)
	})
}

// putLock reports whether the lock is new.
func (rs *rights) putLock(l *lock) bool {
	if n := rs.findLock(l.name, l.scope); n >= 0 {
		rs.locks[n] = l
		return false
	}
	rs.locks = append(rs.locks, l)
	return true
}

func (rs *rights) removeLock(name, scope string) bool {
	n := rs.findLock(name, scope)
	if n >= 0 {
		rs.locks = slices.Delete(rs.locks, n, n+1)
	}
	return n >= 0
}

// checkLocks refuses what a management lock on the scope, or above it, forbids;
// for deletes one below it does too. The delete of instances by id counts as a
// delete. Locks themselves are not locked.
func (q *request) checkLocks() *problem {
	action := strings.ToLower(q.route.action)
	operation := action[strings.LastIndexByte(action, '/')+1:]
	if strings.HasSuffix(action, "/delete/action") {
		operation = "delete"
	}
	if operation == "" || operation == "read" || strings.HasPrefix(action, "microsoft.authorization/locks/") {
		return nil
	}
	var locked []string
	for _, l := range q.store.rights.locks {
		above := within(q.route.scope, l.scope)
		below := operation == "delete" && within(l.scope, q.route.scope)
		if (above || below) && (l.level == ReadOnly || operation == "delete") {
			locked = append(locked, l.scope)
		}
	}
	if len(locked) == 0 {
		return nil
	}
	return fail(http.StatusConflict, "ScopeLocked",
		"The scope '%s' cannot perform %s operation because following scope(s) are locked: '%s'. Please remove the lock and try again.",
		q.route.scope, operation, strings.Join(locked, ","))
}
