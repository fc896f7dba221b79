package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// withSpeed adds the speed of the clock to a control interface:
//
//	GET /clock  PUT /clock?speed=10
func withSpeed(control http.Handler, c *clock) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/clock" {
			control.ServeHTTP(w, r)
			return
		}
		switch r.Method {
		case http.MethodGet:
		case http.MethodPut:
			speed, err := strconv.ParseFloat(r.URL.Query().Get("speed"), 64)
			if err != nil || speed <= 0 {
				w.WriteHeader(http.StatusBadRequest)
				_ = json.NewEncoder(w).Encode(map[string]string{ // as below
					"error": fmt.Sprintf("speed %q is not a number above 0", r.URL.Query().Get("speed")),
				})
				return
			}
			c.setSpeed(speed)
		default:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		c.mu.Lock()
		speed := c.speed
		c.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"time": c.now().UTC(), "speed": speed}) // a caller that hung up has nobody left to tell
	})
}
