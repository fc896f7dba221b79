package progress

import (
	"os"
	"strings"
	"testing"
	"time"
)

// told plays work of 100 parts, one each step, of which a meter is told, and returns what it writes.
func told(t *testing.T, live bool, step time.Duration) string {
	t.Helper()
	t.Setenv("TERM", "xterm")
	var out strings.Builder
	now := time.Unix(0, 0)
	m := (&Line{w: &out, live: live}).meter(func() time.Time { return now })
	for done := range int64(101) {
		m.At(done, 100, func() string { return "journal.jsonl" })
		now = now.Add(step)
	}
	m.Clear()
	return out.String()
}

func TestShortWorkSaysNothing(t *testing.T) {
	if got := told(t, false, 19*time.Millisecond); got != "" {
		t.Errorf("work of 1.9 s into a pipe: %q", got)
	}
	if got := told(t, true, 4*time.Millisecond); got != "" {
		t.Errorf("work of 0.4 s on a terminal: %q", got)
	}
}

func TestAPipeGetsALineAfterTwoSecondsAndThenEveryTen(t *testing.T) {
	got := told(t, false, time.Second)
	if want := "journal.jsonl: 2 %, 1m40s left\njournal.jsonl: 12 %, 1m30s left\n"; !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 10 {
		t.Errorf("got\n%swant 10 lines, which begin as\n%s", got, want)
	}
	if strings.ContainsAny(got, "\r\x1b") {
		t.Errorf("control codes in a pipe: %q", got)
	}
	if last := "journal.jsonl: 92 %, 8s left\n"; !strings.HasSuffix(got, last) {
		t.Errorf("the last line is not %q:\n%s", last, got)
	}
}

func TestATerminalHasOneLineWhichGoesAgain(t *testing.T) {
	got := told(t, true, time.Second)
	if strings.Contains(got, "\n") {
		t.Errorf("more than one line: %q", got)
	}
	if shown, cleared := strings.Count(got, " left"), strings.Count(got, "\r\x1b[K"); shown < 90 || cleared != shown || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("shown %d times, taken off %d times: %q", shown, cleared, got)
	}
}

// TestALineIsCutToTheScreen holds that it never wraps: the first half of a line that wraps stays on the screen.
func TestALineIsCutToTheScreen(t *testing.T) {
	var out strings.Builder
	l := &Line{w: &out, live: true}
	l.Show(strings.Repeat("ä", 200))
	if n := len([]rune(out.String())); n != narrow-1 {
		t.Errorf("%d columns of %d", n, narrow)
	}
}

func TestWhatIsPrintedTakesTheLineOff(t *testing.T) {
	var screen strings.Builder
	l := &Line{w: &screen, live: true}
	w := l.Before(&screen)
	l.Show("half")
	for _, text := range []string{"one\n", "two\n"} {
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := screen.String(), "half\r\x1b[Kone\ntwo\n"; got != want {
		t.Errorf("the screen got %q, want %q", got, want)
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()                           //nolint:errcheck // it is only written to
	if Terminal(null) || Width(null) != narrow { // a character device, as terminals are
		t.Errorf("%s is a terminal of %d columns", os.DevNull, Width(null))
	}
}

func TestAmountsAreSaidAsPeopleDo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "1s", 8400 * time.Millisecond: "8s", 98 * time.Second: "1m40s", 59*time.Minute + 58*time.Second: "60m00s", 200 * time.Minute: "3h20m",
	} {
		if got := Rounded(d); got != want {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{1: "1 kB", 640_000: "640 kB", 34_600_000: "35 MB", 1_240_000_000: "1.2 GB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d bytes are %s, want %s", n, got, want)
		}
	}
}
