package web

import (
	"fmt"
	"net/http"
	"time"
)

// How many requests of a kind are answered at one time. A slow reader counts until its answer has left or the server's write timeout ends it. Health is
// not counted: its answer is one line, and nobody else's answers may keep kubelets from it.
const (
	apiReaders     = 16
	pageReaders    = 16
	metricsReaders = 4
	profileReaders = 2
)

// retryAfter is when a reader who was sent away may come again.
const retryAfter = 5 * time.Second

// bounded lets through so many requests at one time, and answers 503 with Retry-After to the others.
func bounded(most int, next http.Handler) http.Handler {
	places := make(chan struct{}, most)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			next.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", fmt.Sprint(int(retryAfter.Seconds())))
			refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("%d requests are being answered here (limit %d): try again in %s", most, most, retryAfter))
		}
	})
}
