package world

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

// kill is the end that awaits a process: right after a write has taken effect, before it hears the answer.
type kill struct {
	in         int  // writes from now on, that one included; 0 when none awaits it
	operations bool // whether the next one knows the operations in flight, as they were after the last whole cycle
}

func doKill(w *world, s *statement) error {
	n, ok := counted(s.names[0], mostOf)
	if !ok || n < 1 {
		return fmt.Errorf("kill %s: give a number of writes, from 1 to %d", s.names[0], mostOf)
	}
	operations, err := s.oneOf("operations", "kept", "lost")
	if err != nil {
		return err
	}
	w.procs.kill = kill{in: n, operations: operations == "kept"}
	return nil
}

// mortal carries what sluice sends, until the process is killed.
type mortal struct {
	procs *processes
	next  http.RoundTripper
	life  context.Context // of the process
}

// RoundTrip implements [http.RoundTripper]. Sluice writes from one goroutine only, the world's.
func (m mortal) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := m.life.Err(); err != nil {
		return nil, err
	}
	resp, err := m.next.RoundTrip(r)
	if asks(r) || strings.HasSuffix(r.URL.Path, "/token") || m.procs.kill.in == 0 {
		return resp, err
	}
	if m.procs.kill.in--; m.procs.kill.in > 0 {
		return resp, err
	}
	m.procs.main.killed = r.Method + " " + r.URL.Path[strings.LastIndex(strings.TrimSuffix(r.URL.Path, "/"), "/")+1:]
	m.procs.main.stop()
	if err == nil {
		_ = resp.Body.Close()
	}
	return nil, m.life.Err()
}

// inherit has the next process take over if the one before was killed.
func (w *world) inherit(ctx context.Context) error {
	if w.procs.main.killed == "" {
		return nil
	}
	w.out.say(w.elapsed(), "sluice", "", "killed", "after "+w.procs.main.killed)
	w.procs.main.killed = ""
	if !w.procs.kill.operations {
		return w.begin(ctx, legacy{})
	}
	return w.begin(ctx, w.procs.saved)
}
