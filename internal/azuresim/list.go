package azuresim

import (
	"encoding/base64"
	"net/http"
	"slices"
)

// listBody is one page of a list.
type listBody[T any] struct {
	Value    []T    `json:"value"`
	NextLink string `json:"nextLink,omitempty"`
}

// page cuts the page that the request asks for out of a whole list, which is
// sorted by key. The token of the next page is the key of the last item of this
// one, so that a list that changes between pages neither repeats nor skips what
// stays.
func page[T any](q *request, all []T, key func(T) string) answer {
	if n := q.fault.Omit; n != 0 {
		if n < 0 || n > len(all) {
			n = len(all)
		}
		all = all[:len(all)-n]
	}
	if token := q.query.Get("$skiptoken"); token != "" {
		after, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return bad("InvalidParameter", "The skip token '%s' is invalid.", token).target("$skiptoken").answer()
		}
		all = slices.DeleteFunc(slices.Clone(all), func(item T) bool { return key(item) <= string(after) })
	}
	body := listBody[T]{Value: all}
	if n := q.server.pageSize(); len(all) > n {
		body.Value = all[:n]
		pairs := []string{}
		if e := q.query.Get("$expand"); e != "" {
			pairs = append(pairs, "$expand", e)
		}
		token := base64.RawURLEncoding.EncodeToString([]byte(key(all[n-1])))
		body.NextLink = q.link(q.http.URL.Path, append(pairs, "$skiptoken", token)...)
	}
	if body.Value == nil {
		body.Value = []T{}
	}
	return answer{status: http.StatusOK, body: body}
}
