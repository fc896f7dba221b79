package azuresim

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// listBody is one page of a list.
type listBody[T any] struct {
	Value    []T    `json:"value"`
	NextLink string `json:"nextLink,omitempty"`
}

func (b listBody[T]) goesOn() bool { return b.NextLink != "" }

// goesOn says whether the answer is a page that others follow.
func (a answer) goesOn() bool {
	page, is := a.body.(interface{ goesOn() bool })
	return is && page.goesOn()
}

// page cuts the page that the request asks for out of a whole list, which is
// sorted by key. The token of the next page is the key of the last item of this
// one, so that a list that changes between pages neither repeats nor skips what
// stays.
func page[T any](q *request, all []T, key func(T) string) answer {
	f := q.fault
	if len(f.Hide) > 0 {
		all = slices.DeleteFunc(slices.Clone(all), func(item T) bool { return f.hides(key(item)) })
	}
	if n := f.Omit; n != 0 {
		if n < 0 || n > len(all) {
			n = len(all)
		}
		all = all[:len(all)-n]
	}
	size, seen := 200, 0
	for _, given := range []int{q.server.PageSize, f.PageSize} {
		if given > 0 {
			size = given
		}
	}
	if token := q.query.Get("$skiptoken"); token != "" {
		after, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil {
			return bad("InvalidParameter", "The skip token '%s' is invalid.", token).target("$skiptoken").answer()
		}
		before := len(all)
		all = slices.DeleteFunc(slices.Clone(all), func(item T) bool { return key(item) <= string(after) })
		seen = before - len(all)
	}
	body := listBody[T]{Value: all}
	if len(all) > size {
		body.Value = all[:size]
	}
	if last := f.Pages > 0 && seen/size+1 >= f.Pages; len(all) > size && !last {
		pairs := []string{}
		for _, k := range []string{"$expand", "$filter", "statusOnly"} {
			if v := q.query.Get(k); v != "" {
				pairs = append(pairs, k, v)
			}
		}
		token := base64.RawURLEncoding.EncodeToString([]byte(key(all[size-1])))
		body.NextLink = q.link(q.http.URL.Path, append(pairs, "$skiptoken", token)...)
	}
	if f.Circle {
		body.NextLink = q.link(q.http.URL.Path, "$skiptoken", q.query.Get("$skiptoken"))
	}
	if body.Value == nil {
		body.Value = []T{}
	}
	return answer{status: http.StatusOK, body: body}
}

// hides reports whether a list leaves out the item with this key: the last
// segment of its id, or its number, is named.
func (f *Fault) hides(key string) bool {
	key = strings.TrimSpace(key[strings.LastIndexByte(key, '/')+1:])
	return slices.ContainsFunc(f.Hide, func(name string) bool { return strings.EqualFold(name, key) })
}
