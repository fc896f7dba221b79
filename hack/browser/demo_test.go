//go:build demo

package browser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/chromedp/chromedp"
	"github.com/creack/pty"

	"sluice.dev/sluice/hack/browser/film"
)

var (
	demoFolder = flag.String("demo", ".", "write the moving pictures to this folder")
	programs   = flag.String("programs", "../../bin", "folder of the programs sluice and playground")
)

const (
	wide, high = 100, 30                 // of the terminal
	largest    = 450_000                 // bytes of a picture
	wholeStory = 8 * time.Minute         // after which the recording is given up
	each       = 11 * time.Second        // between two frames of the page; the terminal has four for each
	shown      = 1200 * time.Millisecond // of a frame of the page when it is played
	lastShown  = 3500 * time.Millisecond // of the last frame
	reading    = 3 * time.Second         // for who reads what a key has opened
)

// cues are the keys that are pressed in the terminal, each some time after the story has told something. NODE is where the Job runs.
var cues = []struct {
	told  string
	after time.Duration
	keys  []string
}{
	{"Job encode runs on", 12 * time.Second, []string{"/", "NODE", "\r"}},
	{"Job encode runs on", 24 * time.Second, []string{"\x1b"}},
	{"Job encode runs on", 26 * time.Second, []string{"\x1b"}},
	{"A quiet minute", 0, []string{"2"}},
}

// TestDemo records the playground's story: its page in the browser, and sluice top in a terminal.
func TestDemo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), wholeStory)
	defer cancel()
	s := tell(ctx, t)
	page := &site{Server: &httptest.Server{URL: s.waitFor(t, regexp.MustCompile(`the page +(http://[^ /]+)/`))}}
	for answer, err := 0, error(nil); answer != http.StatusOK; time.Sleep(100 * time.Millisecond) { // before the first cycle there is nothing to show
		if answer, err = status(ctx, page.URL+"/api/v1/now"); err != nil {
			t.Fatal(err)
		}
	}
	terminal := run(ctx, t, page.URL)
	b := page.openFor(t, wholeStory)
	b.do(chromedp.EmulateViewport(1200, 920, chromedp.EmulateScale(0.75)))
	b.see("")

	var pages []film.Frame
	var screens []film.Screen
	look := func(lasts time.Duration) {
		screen := terminal.look()
		if n := len(screens); n > 0 && screens[n-1].Same(screen) {
			screens[n-1].For += lasts
			return
		}
		screen.For = lasts
		screens = append(screens, screen)
	}
	photograph := func() {
		raw, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, film.Frame{Image: picture, For: shown})
	}
	still := 0
	due := make([]time.Time, len(cues))
	done := make([]bool, len(cues))
	begun, ticks, end := time.Now(), 0, time.Time{}
	for end.IsZero() || time.Now().Before(end) {
		select {
		case <-ctx.Done():
			t.Fatalf("the story is not over after %s", wholeStory)
		case <-s.ended:
			t.Fatalf("the story ended early:\n%s", s.all())
		case <-time.After(time.Until(begun.Add(time.Duration(ticks) * each / 4))):
		}
		if ticks%4 == 0 {
			photograph()
		}
		look(shown / 4)
		ticks++
		for i, c := range cues {
			if at := s.told(c.told); !at.IsZero() && due[i].IsZero() {
				due[i] = at.Add(c.after)
			}
			if done[i] || due[i].IsZero() || time.Now().Before(due[i]) {
				continue
			}
			done[i] = true
			for _, k := range c.keys {
				terminal.press(strings.ReplaceAll(k, "NODE", s.found(regexp.MustCompile(`Job encode runs on ([a-z0-9]+)`))))
				time.Sleep(700 * time.Millisecond) // the terminal draws
				look(shown)
			}
			if c.keys[len(c.keys)-1] == "\r" {
				screens[len(screens)-1].For = reading
			}
		}
		if at := s.told("The load leaves"); !at.IsZero() && still == 0 {
			still = len(screens) - 1
		}
		if at := s.told("A quiet minute"); !at.IsZero() && end.IsZero() {
			end = at.Add(10 * time.Second)
		}
	}
	b.clean()
	terminal.end(t)
	pages[len(pages)-1].For, screens[len(screens)-1].For = lastShown, lastShown

	moving, err := film.Within(largest, pages)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"demo-page.gif": moving, "demo-terminal.svg": film.SVG("sluice top", screens, still)} {
		t.Logf("%s: %d bytes", name, len(content))
		if len(content) > largest {
			t.Errorf("%s has %d bytes (limit %d)", name, len(content), largest)
		}
		if err := os.WriteFile(filepath.Join(*demoFolder, name), content, 0o644); err != nil { //nolint:gosec // for anybody to read
			t.Fatal(err)
		}
	}
	t.Logf("%d frames of the page, %d of the terminal", len(pages), len(screens))
}

// status is how an address answers.
func status(ctx context.Context, address string) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// story is a playground that tells what happens.
type story struct {
	ended chan struct{}

	mu    sync.Mutex
	lines []string
	at    []time.Time
}

// tell starts the playground. It is ended with the test.
func tell(ctx context.Context, t *testing.T) *story {
	t.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(*programs, "playground"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it cleans up
	cmd.WaitDelay = 30 * time.Second
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &story{ended: make(chan struct{})}
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			s.mu.Lock()
			s.lines, s.at = append(s.lines, lines.Text()), append(s.at, time.Now())
			s.mu.Unlock()
		}
		close(s.ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		<-s.ended
		_ = cmd.Wait() // it was interrupted
	})
	return s
}

func (s *story) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// told is when a text was told, zero for not yet.
func (s *story) told(text string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range s.lines {
		if strings.Contains(l, text) {
			return s.at[i]
		}
	}
	return time.Time{}
}

// found is what a pattern has found in what was told, "" for nothing.
func (s *story) found(pattern *regexp.Regexp) string {
	if m := pattern.FindStringSubmatch(s.all()); m != nil {
		return m[1]
	}
	return ""
}

func (s *story) waitFor(t *testing.T, pattern *regexp.Regexp) string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if text := s.found(pattern); text != "" {
			return text
		}
		select {
		case <-s.ended:
			t.Fatalf("the playground ended:\n%s", s.all())
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("nothing like %s is told:\n%s", pattern, s.all())
		}
	}
}

// terminal is sluice top in a pseudo terminal.
type terminal struct {
	*vt.SafeEmulator
	tty  *os.File
	done chan error
}

func run(ctx context.Context, t *testing.T, address string) *terminal {
	t.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(*programs, "sluice"), "top", "--server="+address)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: wide, Rows: high})
	if err != nil {
		t.Fatal(err)
	}
	e := &terminal{vt.NewSafeEmulator(wide, high), tty, make(chan error, 1)}
	go io.Copy(tty, e) //nolint:errcheck // its replies
	go func() {
		_, _ = io.Copy(e, tty) // ends when the program has ended
		e.done <- cmd.Wait()
	}()
	return e
}

func (e *terminal) press(keys string) { _, _ = e.tty.WriteString(keys) }

func (e *terminal) look() film.Screen { return film.Look(e) }

// end quits, which must be no error.
func (e *terminal) end(t *testing.T) {
	t.Helper()
	e.press("q")
	select {
	case err := <-e.done:
		if err != nil {
			t.Errorf("sluice top: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Error(errors.New("sluice top does not quit"))
	}
	e.tty.Close()
}
