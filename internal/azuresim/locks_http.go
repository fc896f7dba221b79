package azuresim

import (
	"net/http"
	"slices"
	"strings"
)

func (l *lock) wire() map[string]any {
	return map[string]any{
		"id": authorizationPath(l.scope, "locks", l.name), "name": l.name, "type": "Microsoft.Authorization/locks",
		"properties": map[string]any{"level": string(l.level), "notes": l.notes},
	}
}

// listLocks shows the locks at the scope, above it and below it.
func listLocks(q *request) answer {
	list := []map[string]any{}
	for _, l := range q.store.rights.locks {
		if within(l.scope, q.route.scope) || within(q.route.scope, l.scope) {
			list = append(list, l.wire())
		}
	}
	slices.SortFunc(list, func(a, b map[string]any) int { return strings.Compare(idOf(a), idOf(b)) })
	return page(q, list, idOf)
}

func getLock(q *request) answer {
	n := q.store.rights.findLock(q.route.name, q.route.scope)
	if n < 0 {
		return fail(http.StatusNotFound, "LockNotFound", "The lock '%s' could not be found.", q.route.name).answer()
	}
	return answer{status: http.StatusOK, body: q.store.rights.locks[n].wire()}
}

func putLock(q *request) answer {
	var w struct {
		Properties struct {
			Level LockLevel `json:"level"`
			Notes string    `json:"notes"`
		} `json:"properties"`
	}
	if p := q.decode(&w); p != nil {
		return p.answer()
	}
	if l := w.Properties.Level; l != CanNotDelete && l != ReadOnly {
		return bad("InvalidLockLevel", "The lock level '%s' is not valid: it must be CanNotDelete or ReadOnly.", l).answer()
	}
	l := &lock{name: q.route.name, scope: q.route.scope, level: w.Properties.Level, notes: w.Properties.Notes}
	a := answer{status: http.StatusOK}
	if q.store.rights.putLock(l) {
		a.status = http.StatusCreated
	}
	a.body = l.wire()
	return a
}

func deleteLock(q *request) answer {
	if !q.store.rights.removeLock(q.route.name, q.route.scope) {
		return answer{status: http.StatusNoContent}
	}
	return answer{status: http.StatusOK}
}
