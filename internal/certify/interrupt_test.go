package certify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice.dev/sluice/internal/azuresim"
	"sluice.dev/sluice/internal/certify"
)

// without takes a word out of all answers.
func without(word string) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	return func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(bytes.NewReader(bytes.ReplaceAll(raw, []byte(word), []byte(`"other"`))))
		resp.ContentLength = -1
		return resp, err
	}
}

// isWrite says whether a request is for Resource Manager and changes something.
func isWrite(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.Contains(r.URL.Path, "oauth2") && r.URL.Hostname() != azuresim.MetadataHost
}

// there is what the simulated Azure has of runs.
func (w *world) there() (all []string) {
	for _, m := range w.sim.Machines() {
		if strings.Contains(m.ID, certify.GroupPrefix) {
			all = append(all, m.ID)
		}
	}
	commands, err := certify.Others(context.Background(), w.Cloud)
	w.must(err)
	return append(all, commands...)
}

// TestInterruptedAnywhereNothingIsLeft interrupts a run at each write and at some reads: before the request is sent, or when Azure has carried it out and
// nobody has heard so.
func TestInterruptedAnywhereNothingIsLeft(t *testing.T) {
	requests, writes := 0, map[int]bool{}
	w := newWorld(t, nil)
	w.mute = true
	w.between = func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if requests++; isWrite(r) {
			writes[requests] = true
		}
		if _, asked, is := strings.Cut(r.URL.Path, "/providers/"); r.Method == http.MethodPut && is && !strings.Contains(asked, "deployments") && !strings.Contains(asked, "virtualMachines/") {
			if l, err := certify.ReadLedger(w.LedgerPath); err != nil || l == nil || !slices.Contains(l.Asked, r.URL.Path) {
				t.Errorf("%s is asked for before the ledger names it: %v", r.URL.Path, err)
			}
		}
		return next.RoundTrip(r)
	}
	if _, left := w.run(t.Context()); left != nil {
		t.Fatalf("left: %+v", left)
	}
	t.Logf("%d requests, %d writes", requests, len(writes))
	const readsBetween = 61 // requests between two reads at which a run is interrupted
	tried := 0
	for at := 1; at <= requests; at++ {
		if !writes[at] && at%readsBetween != 0 {
			continue
		}
		for _, harsh := range []bool{false, true} {
			tried++
			t.Run(fmt.Sprint(at, harsh), func(t *testing.T) {
				t.Parallel()
				interrupt(t, at, harsh, harsh != (at%2 == 0))
			})
		}
	}
	t.Logf("interrupted %d times", tried)
}

var errInterrupted = errors.New("interrupted")

// interrupt plays a run up to a request. Carried says whether Azure carries it out; killed, that the process ends there, and another cleans up.
func interrupt(t *testing.T, at int, carried, killed bool) {
	t.Helper()
	w := newWorld(t, nil)
	w.quiet, w.mute = true, true
	if !killed {
		w.LedgerPath = "" // in memory: writing it to a disk takes most of the test's time
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	w.between = func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		n++
		switch {
		case n < at:
			return next.RoundTrip(r)
		case n == at:
			cancel(errInterrupted)
			if carried {
				resp, err := next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
				if err == nil {
					resp.Body.Close()
				}
			}
			return nil, r.Context().Err()
		case killed && ctx.Err() != nil:
			return nil, errInterrupted
		}
		return next.RoundTrip(r)
	}
	plan, err := certify.Survey(ctx, w.Cloud, "westeurope", 30*time.Minute)
	if err != nil {
		return // nothing is begun
	}
	w.Plan = plan
	ledger, err := w.Begin()
	w.must(err)
	_, err = w.Ask(ctx, ledger)
	if ctx.Err() == nil { // the request is one of the removal's: it is interrupted once, and cleans up again
		if left := w.cleanIn(ctx, ledger); left == nil {
			return
		}
	} else if err == nil {
		t.Errorf("request %d: the interrupted run ended well", at)
	}
	if w.between = nil; killed {
		if ledger, err = certify.ReadLedger(w.LedgerPath); err != nil || ledger == nil {
			t.Fatalf("request %d: ledger %v, %v", at, ledger, err)
		}
	}
	if left := w.clean(ledger); left != nil {
		t.Errorf("request %d, carried out %t, killed %t: left %+v", at, carried, killed, left)
	}
	if all := w.there(); len(all) > 0 {
		t.Errorf("request %d, carried out %t, killed %t: there is %q", at, carried, killed, all)
	}
	if _, err := os.Stat(w.LedgerPath); killed && err == nil {
		t.Errorf("request %d: the ledger stays", at)
	}
}
