package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// asks is a machine's agent that asks for a script once.
func asks(t *testing.T, c *commands) command {
	t.Helper()
	w := httptest.NewRecorder()
	serveWire(w, httptest.NewRequest(http.MethodGet, "/machine?comp=command", nil), theOne, nil, c)
	var got command
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Errorf("the agent is told %q: %v", w.Body, err)
	}
	return got
}

func tells(c *commands, text string) int {
	w := httptest.NewRecorder()
	serveWire(w, httptest.NewRequest(http.MethodPost, "/machine?comp=command", strings.NewReader(text)), theOne, nil, c)
	return w.Code
}

func TestTheAgentRunsWhatItIsHanded(t *testing.T) {
	m := &machine{Machine: theOne, told: newCommands()}
	h := &Host{machines: map[string]*machine{"/one": m}}
	for code := range 2 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			given := asks(t, m.commands())
			if given.Script != "echo one\necho two\n" {
				t.Errorf("script %q", given.Script)
			}
			_ = tells(m.commands(), fmt.Sprintf(`{"id":%d,"code":9,"stdout":"of another"}`, given.ID+7)) // is nobody's
			_ = tells(m.commands(), fmt.Sprintf(`{"id":%d,"code":%d,"stdout":"one\n","stderr":"hm"}`, given.ID, code))
			_ = tells(m.commands(), fmt.Sprintf(`{"id":%d,"code":5}`, given.ID)) // is too late
		}()
		stdout, stderr, err := h.Run(t.Context(), "/one", []string{"echo one", "echo two"})
		<-done
		var ended *ExitError
		if stdout != "one\n" || stderr != "hm" || errors.As(err, &ended) != (code != 0) || ended != nil && ended.ExitCode() != code {
			t.Errorf("code %d: %q, %q, %v", code, stdout, stderr, err)
		}
	}
	if got := tells(m.commands(), "{"); got != http.StatusBadRequest {
		t.Errorf("garbage is answered with %d", got)
	}
}

func TestAScriptWaitsForAnAgentAsLongAsItsCaller(t *testing.T) {
	m := &machine{Machine: theOne, told: newCommands()}
	h := &Host{machines: map[string]*machine{"/one": m}}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := h.Run(over, "/one", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("without an agent: %v", err)
	}
	if _, _, err := h.Run(t.Context(), "/nobody", nil); err == nil {
		t.Error("a machine that is not there ran a script")
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		asks(t, m.commands())
		cancel()
	}()
	if _, _, err := h.Run(ctx, "/one", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an agent that tells nothing: %v", err)
	}
}
