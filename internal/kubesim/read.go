package kubesim

import (
	"encoding/base64"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func (s *apiServer) find(q *call) (*entry, error) {
	e := s.store.table(q.kind).byKey[key(q.namespace, q.name)]
	if e == nil {
		return nil, apierrors.NewNotFound(q.kind.groupResource(), q.name)
	}
	return e, nil
}

// target returns the object that a call names, nil if there is none.
func (s *apiServer) target(q *call) object {
	if q.name == "" || !q.mutates() {
		return nil
	}
	if e, err := s.find(q); err == nil {
		return e.obj
	}
	return nil
}

func (s *apiServer) serveGet(q *call) (answer, error) {
	e, err := s.find(q)
	if err != nil {
		return answer{}, err
	}
	return show(http.StatusOK, q.kind, e), nil
}

// serveList answers from the present state whatever resourceVersion is asked
// for. A continue token is the key of the last item it follows: pages are not
// one consistent snapshot.
func (s *apiServer) serveList(q *call) (answer, error) {
	sel, err := parseSelection(q)
	if err != nil {
		return answer{}, err
	}
	limit, err := strconv.Atoi(orZero(q.query.Get("limit")))
	if err != nil || limit < 0 {
		return answer{}, apierrors.NewBadRequest("limit must be a non-negative number")
	}
	after, err := base64.RawURLEncoding.DecodeString(q.query.Get("continue"))
	if err != nil {
		return answer{}, apierrors.NewBadRequest("continue key is not valid")
	}
	size := 0
	var found []*entry
	more := ""
	for _, e := range s.store.table(q.kind).inNamespace(q.namespace) {
		if len(after) > 0 && e.key <= string(after) || !sel.matches(e) {
			continue
		}
		if limit > 0 && len(found) == limit {
			more = base64.RawURLEncoding.EncodeToString([]byte(found[limit-1].key))
			break
		}
		found = append(found, e)
		size += len(e.bare()) + 1
	}
	b := make([]byte, 0, size+256)
	b = append(b, `{"kind":"`+q.kind.name+`List","apiVersion":"`+q.kind.apiVersion()+`","metadata":{"resourceVersion":"`...)
	b = strconv.AppendUint(b, s.store.rv, 10)
	b = append(b, '"')
	if more != "" {
		b = append(b, `,"continue":"`+more+`"`...)
	}
	b = append(b, `},"items":[`...)
	for i, e := range found {
		if i > 0 {
			b = append(b, ',')
		}
		if q.kind.stored != nil {
			b = append(b, mustEncode(viewAs(q.kind, e.obj))...)
		} else {
			b = append(b, e.bare()...)
		}
	}
	return answer{code: http.StatusOK, body: append(b, "]}"...)}, nil
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}
