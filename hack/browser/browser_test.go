// Package browser tests sluice's page in a real Chromium, and takes its pictures. It is a module of its own, so that sluice needs no browser.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// longest is how long one test may take in the browser.
const longest = 2 * time.Minute

// started is the browser of all tests; each has a tab of its own in it.
var started context.Context

func TestMain(m *testing.M) {
	path := os.Getenv("SLUICE_CHROMIUM")
	if path == "" {
		fmt.Fprintln(os.Stderr, "SLUICE_CHROMIUM names no Chromium: run make test-browser")
		os.Exit(1)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	var cancel context.CancelFunc
	started, cancel = chromedp.NewContext(allocator)
	if err := chromedp.Do(started, chromedp.Navigate("about:blank")); err != nil {
		fmt.Fprintf(os.Stderr, "start %s: %v\n", path, err)
		os.Exit(1)
	}
	code := m.Run()
	cancel()
	stop()
	os.Exit(code)
}

// tab is a window of the browser that remembers what went wrong in it.
type tab struct {
	t   *testing.T
	ctx context.Context
	at  *site

	mu     sync.Mutex
	asked  []string // addresses, in their order
	faults []string // errors on the console, exceptions, dialogs, requests that failed
	bytes  float64  // that came over the wire
}

// open is a tab of a test; what is left of its time limit is for all that the test does there.
func (s *site) open(t *testing.T) *tab {
	t.Helper()
	return s.openFor(t, longest)
}

// openFor is a tab for so long.
func (s *site) openFor(t *testing.T, longest time.Duration) *tab {
	t.Helper()
	b := &tab{t: t, at: s}
	own, drop := chromedp.NewContext(started, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.listen))
	ctx, cancel := context.WithTimeout(own, longest)
	t.Cleanup(func() { cancel(); drop() })
	b.ctx = ctx
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1440, 900)); err != nil {
		t.Fatal(err)
	}
	b.scheme("light")
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fault := func(format string, args ...any) { b.faults = append(b.faults, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			fault("%s: %d", e.Response.URL, e.Response.Status)
		}
	case *network.EventLoadingFinished:
		b.bytes += e.EncodedDataLength
	case *network.EventLoadingFailed:
		if !e.Canceled && e.Type != network.ResourceTypeEventSource && e.ErrorText != "net::ERR_ABORTED" { // a page that is left ends its requests
			fault("a request failed: %s %s", e.Type, e.ErrorText)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			fault("console: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		fault("exception: %s", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
			fault("console: %s", e.Type)
		}
	case *page.EventJavascriptDialogOpening:
		fault("a dialog opened: %s", e.Message)
	}
}

// clean fails the test for whatever went wrong in the tab, or left the server's origin.
func (b *tab) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.faults {
		b.t.Error(f)
	}
	for _, a := range b.asked {
		if !strings.HasPrefix(a, b.at.URL+b.at.prefix) && !strings.HasPrefix(a, "about:") {
			b.t.Errorf("the page asked %s, which is not below %s%s", a, b.at.URL, b.at.prefix)
		}
	}
	b.faults, b.asked = nil, nil
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// see goes to an address below the site, and waits until its script has run.
func (b *tab) see(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.at.address(path)))
	b.until("document.readyState === 'complete'")
}

// until waits for a condition, as JavaScript.
func (b *tab) until(condition string) {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		is, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("Boolean("+condition+")")) // an error while one page follows another
		switch {
		case err == nil && is:
			return
		case b.ctx.Err() != nil || time.Now().After(end):
			b.t.Fatalf("%s never came true at %s: %v", condition, b.text("location.href"), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// press presses keys one after the other.
func (b *tab) press(keys string) {
	b.t.Helper()
	b.until("document.readyState === 'complete'") // before, the script does not listen
	b.do(chromedp.KeyEvent(keys))
}

// text is what an expression gives, as text.
func (b *tab) text(expression string) string {
	b.t.Helper()
	s, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return s
}

func (b *tab) scheme(name string) {
	b.t.Helper()
	features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		b.t.Fatal(err)
	}
}

// axe holds the page against axe-core.
func (b *tab) axe(where string) {
	b.t.Helper()
	source, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](string(source)+";true")); err != nil {
		b.t.Fatal(err)
	}
	const run = `axe.run(document, {resultTypes: ['violations']}).then(r => JSON.stringify(r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3)
		.map(n => n.target.join(' ') + ' ' + (n.any.concat(n.all, n.none)[0] || {}).message).join(' | '))))`
	found, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](run, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	var all []string
	if err := json.Unmarshal([]byte(found), &all); err != nil {
		b.t.Fatal(err)
	}
	slices.Sort(all)
	for _, v := range all {
		b.t.Errorf("%s: %s", where, v)
	}
}
