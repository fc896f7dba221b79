package certify

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"sluice.dev/sluice/internal/azure"
)

// reply is an answer of Azure's with its body taken apart.
type reply struct {
	*azure.Answer
	body any
	at   time.Time // when it came
}

func replyOf(a *azure.Answer, at time.Time) *reply {
	r := &reply{Answer: a, at: at}
	_ = json.Unmarshal(a.Body, &r.body) // no JSON: nothing is found in it
	return r
}

// dig is what stands at a path of names, nil for nothing.
func dig(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func text(v any, path ...string) string {
	s, _ := dig(v, path...).(string)
	return s
}

func number(v any, path ...string) int {
	n, _ := dig(v, path...).(float64)
	return int(n)
}

func items(v any, path ...string) []any {
	all, _ := dig(v, path...).([]any)
	return all
}

func (r *reply) text(path ...string) string { return text(r.body, path...) }

// code is that of a refusal, in the envelope or without one.
func (r *reply) code() string {
	if c := r.text("error", "code"); c != "" {
		return c
	}
	return r.text("code")
}

// message is its sentence.
func (r *reply) message() string {
	if m := r.text("error", "message"); m != "" {
		return m
	}
	return r.text("message")
}

func (r *reply) target() string {
	if t := r.text("error", "target"); t != "" {
		return t
	}
	return r.text("target")
}

func (r *reply) ok() bool { return r.Status < http.StatusBadRequest }

// retryAfter is the wait that the answer asks for, or another one.
func (r *reply) retryAfter(other time.Duration) time.Duration {
	if n, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && n > 0 {
		return min(time.Duration(n)*time.Second, 5*time.Minute)
	}
	return other
}
