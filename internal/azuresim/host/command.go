package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// command is a script that a machine is to run, and what came of it.
type command struct {
	ID     uint64 `json:"id"`
	Script string `json:"script"`
	ended  chan outcome
}

type outcome struct {
	ID     uint64 `json:"id"`
	Code   int    `json:"code"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// commands hands scripts to a machine's agent, which asks for them at the wire server and tells there what came of them.
type commands struct {
	waiting chan *command
	running atomic.Pointer[command]
	last    atomic.Uint64
}

func newCommands() *commands { return &commands{waiting: make(chan *command)} }

// askAgain is how long a machine's agent waits for a script before it asks again.
const askAgain = 30 * time.Second

func (c *commands) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		var o outcome
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostReport)).Decode(&o); err != nil {
			http.Error(w, "no outcome in this report", http.StatusBadRequest)
			return
		}
		if ran := c.running.Load(); ran != nil && ran.ID == o.ID && c.running.CompareAndSwap(ran, nil) {
			ran.ended <- o
		}
		return
	}
	select {
	case given := <-c.waiting:
		c.running.Store(given)
		_ = json.NewEncoder(w).Encode(given) // a machine that is gone does not tell what came of it
	case <-r.Context().Done():
	case <-time.After(askAgain):
		w.WriteHeader(http.StatusNoContent)
	}
}

// run has the machine's agent run a script, and waits until it has.
func (c *commands) run(ctx context.Context, script string) (outcome, error) {
	given := &command{ID: c.last.Add(1), Script: script, ended: make(chan outcome, 1)}
	select {
	case c.waiting <- given:
	case <-ctx.Done():
		return outcome{}, fmt.Errorf("no agent asks for a script: %w", ctx.Err())
	}
	select {
	case o := <-given.ended:
		return o, nil
	case <-ctx.Done():
		return outcome{}, fmt.Errorf("the agent does not tell what came of the script: %w", ctx.Err())
	}
}

// ExitError is what a script ended with, unless that was 0.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the script ended with %d", e.Code) }

// ExitCode tells the script's own failure from that of running it.
func (e *ExitError) ExitCode() int { return e.Code }

// Run runs a script as root in a machine, as Azure's run command does: by the machine's own agent, one at a time, when the machine is up.
func (h *Host) Run(ctx context.Context, id string, script []string) (stdout, stderr string, err error) {
	m := h.machine(id)
	if m == nil {
		return "", "", fmt.Errorf("there is no machine %s", id)
	}
	m.asking.Lock()
	defer m.asking.Unlock()
	o, err := m.commands().run(ctx, strings.Join(script, "\n")+"\n")
	if err == nil && o.Code != 0 {
		err = &ExitError{o.Code}
	}
	return o.Stdout, o.Stderr, err
}
