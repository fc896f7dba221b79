package azure_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice.dev/sluice/cluster"
	"sluice.dev/sluice/internal/azuresim"
)

// carrier counts and looks at what goes to boot logs, at whatever host.
type carrier struct {
	http.RoundTripper
	change func(*http.Response) (*http.Response, error) // of an answer with a log; nil for nothing

	mu     sync.Mutex
	ranges []string
	tokens int
	asked  map[string]int // boot logs asked for, by machine
}

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	log := strings.HasPrefix(r.URL.Path, "/bootdiagnostics-")
	c.mu.Lock()
	if c.asked == nil {
		c.asked = map[string]int{}
	}
	if rest, is := strings.CutSuffix(r.URL.Path, "/retrieveBootDiagnosticsData"); is {
		c.asked[rest[strings.LastIndexByte(rest, '/')+1:]]++
	}
	if log {
		c.ranges = append(c.ranges, r.Header.Get("Range"))
		if r.Header.Get("Authorization") != "" {
			c.tokens++
		}
	}
	c.mu.Unlock()
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil && log && c.change != nil {
		return c.change(resp)
	}
	return resp, err
}

// late is a world of a scale set whose n machines say such a thing on their consoles, and sluice that looks at it.
func late(t *testing.T, n int, console string, change func(*http.Response) (*http.Response, error)) (*world, *carrier) {
	w := newWorld(t)
	if console != "" {
		w.sim.Inject(azuresim.Fault{Console: console})
	}
	w.must(w.sim.AddScaleSet(set("agents", 0)))
	w.must(w.sim.SetCapacity("agents", n))
	o := w.options("0:9:agents")
	c := &carrier{RoundTripper: o.Transport, change: change}
	o.Transport = c
	w.open(o)
	w.pass(5 * time.Minute)
	return w, c
}

// told has the machines of the group called late, and returns what the first one says.
func (w *world) told() *cluster.Diagnosis {
	w.t.Helper()
	var machines []cluster.Machine
	for _, in := range w.groups()["agents"].Instances {
		machines = append(machines, in.Machine())
	}
	w.Diagnose(machines)
	w.groups()
	w.AwaitErrands()
	return w.groups()["agents"].Instances[0].Diagnosis
}

// TestTheEndOfABootLogIsRead has logs of several lengths: of a long one two parts are fetched, as nobody can ask for the end of a blob. No token goes along.
func TestTheEndOfABootLogIsRead(t *testing.T) {
	for name, c := range map[string]struct {
		log    string
		ranges string
		last   string
	}{
		"short":          {"one\ntwo\n", "[bytes=0-65535]", "two"},
		"of one part":    {strings.Repeat("x\n", 32<<10-2) + "two\n", "[bytes=0-65535]", "two"},
		"of a part more": {strings.Repeat("x\n", 32<<10) + "two\n", "[bytes=0-65535 bytes=4-65539]", "two"},
		"long":           {strings.Repeat("x\n", 1<<20) + "no space left on device\n", "[bytes=0-65535 bytes=2031640-2097175]", "no space left on device"},
	} {
		w, carried := late(t, 1, c.log, nil)
		d := w.told()
		if d == nil || len(d.Lines) == 0 || d.Lines[len(d.Lines)-1] != c.last || d.Problem != "" || (d.Cause == "the disk is full") != (name == "long") {
			t.Fatalf("%s: the machine says %+v", name, d)
		}
		if got := fmt.Sprint(carried.ranges); got != c.ranges {
			t.Errorf("%s: asked for %s, want %s", name, got, c.ranges)
		}
		if carried.tokens > 0 {
			t.Errorf("%s: a token goes to the host of boot logs", name)
		}
	}
}

// TestWhatKeepsABootLogAwayIsASentence has each failure of the storage service in one sentence, without the address, which is a right.
func TestWhatKeepsABootLogAwayIsASentence(t *testing.T) {
	status := func(code int) func(*http.Response) (*http.Response, error) {
		return func(r *http.Response) (*http.Response, error) {
			r.StatusCode, r.Status = code, fmt.Sprintf("%d %s", code, http.StatusText(code))
			return r, nil
		}
	}
	for name, c := range map[string]struct {
		change func(*http.Response) (*http.Response, error)
		want   string
	}{
		"refused":          {status(http.StatusForbidden), "its boot log cannot be fetched: management.azure.com answers 403 Forbidden"},
		"sent elsewhere":   {status(http.StatusTemporaryRedirect), "its boot log cannot be fetched: management.azure.com answers 307 Temporary Redirect"},
		"empty":            {status(http.StatusRequestedRangeNotSatisfiable), "its boot log is empty"},
		"the line breaks":  {func(*http.Response) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, "its boot log cannot be fetched: "},
		"the answer stops": {func(r *http.Response) (*http.Response, error) { r.Body = io.NopCloser(broken{}); return r, nil }, "its boot log cannot be fetched: "},
	} {
		w, _ := late(t, 1, "", c.change)
		d := w.told()
		if d == nil || !strings.HasPrefix(d.Problem, c.want) || len(d.Lines) > 0 {
			t.Errorf("%s: the machine says %+v, want %q", name, d, c.want)
			continue
		}
		for _, text := range []string{d.Problem, w.log.String()} {
			if strings.Contains(text, "sig=") || strings.Contains(text, "bootdiagnostics") {
				t.Errorf("%s: the address is told: %s", name, text)
			}
		}
	}
}

// broken is a body that ends before its time.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestAServerWithoutRangesIsReadToItsEnd has the whole log come in the place of a part.
func TestAServerWithoutRangesIsReadToItsEnd(t *testing.T) {
	long := strings.Repeat("x\n", 1<<20) + "the end\n"
	w, c := late(t, 1, "", func(r *http.Response) (*http.Response, error) {
		r.StatusCode, r.Body = http.StatusOK, io.NopCloser(strings.NewReader(long))
		return r, nil
	})
	if d := w.told(); d == nil || d.Problem != "" || d.Lines[len(d.Lines)-1] != "the end" || len(c.ranges) != 1 {
		t.Errorf("the machine says %+v, asked for %q", d, c.ranges)
	}
}

// TestFewMachinesAreAskedAndRarely counts what an hour of five late machines costs, and that it ends with them.
func TestFewMachinesAreAskedAndRarely(t *testing.T) {
	w, c := late(t, 5, "no route to host\n", nil)
	if d := w.told(); d == nil || d.Cause != "it has no route to the API server" || d.Remedy == "" {
		t.Fatalf("the machine says %+v", d)
	}
	w.pass(time.Hour)
	if len(c.asked) != 3 {
		t.Errorf("machines asked in an hour: %v, want three", c.asked)
	}
	for machine, n := range c.asked {
		if n != 4 { // at once, and after 5, 15 and 35 minutes
			t.Errorf("machine %s is asked %d times in an hour, want 4", machine, n)
		}
	}
	w.Diagnose(nil)
	before := fmt.Sprint(c.asked)
	w.pass(time.Hour)
	if got := w.groups()["agents"].Instances[0].Diagnosis; got != nil || fmt.Sprint(c.asked) != before {
		t.Errorf("a machine that is late no more says %+v, asked %v", got, c.asked)
	}
}

// TestALookAsksForNoBootLog has a process that only looks: what Azure shows of extensions it may read.
func TestALookAsksForNoBootLog(t *testing.T) {
	w := newWorld(t)
	w.sim.Inject(azuresim.Fault{Extension: "\x1b[31mtar: no space left on device\x00 --token abcdef.0123456789abcdef"})
	w.must(w.sim.AddScaleSet(set("agents", 0)))
	w.must(w.sim.SetCapacity("agents", 1))
	o := w.options("0:9:agents")
	o.ReadOnly = true
	w.open(o)
	w.pass(5 * time.Minute)
	d := w.told()
	if d == nil || d.Cause != "the disk is full" || len(d.Statuses) != 1 || d.Statuses[0] != "extension join: Provisioning failed: tar: no space left on device (hidden)" ||
		!strings.HasPrefix(d.Problem, "this process only looks") {
		t.Errorf("the machine says %+v", d)
	}
	for kind := range w.sim.Counters() {
		if strings.HasPrefix(kind, "POST virtual") {
			t.Errorf("a process that only looks sends %s", kind)
		}
	}
}

// TestAPersonWhoAsksIsReadTheBootLog has a process that only looks asked for it on purpose: it is read at once, and of a machine that no list has, nothing.
func TestAPersonWhoAsksIsReadTheBootLog(t *testing.T) {
	w := newWorld(t)
	w.sim.Inject(azuresim.Fault{Console: "tar: No space left on device\nlogin:\n"})
	w.must(w.sim.AddScaleSet(set("agents", 0)))
	w.must(w.sim.SetCapacity("agents", 1))
	o := w.options("0:9:agents")
	o.ReadOnly = true
	w.open(o)
	w.pass(5 * time.Minute)
	m := w.groups()["agents"].Instances[0].Machine()
	if d := w.Ask(t.Context(), m); d == nil || d.Cause != "the disk is full" || d.Problem != "" || len(d.Lines) != 2 {
		t.Errorf("the machine says %+v", d)
	}
	m.UID = "another"
	if d := w.Ask(t.Context(), m); d != nil {
		t.Errorf("a machine that no list has says %+v", d)
	}
}

// TestAThrottledQuestionIsNoAnswer has Azure ask for a wait: the machine says nothing, and the group is as it would be else.
func TestAThrottledQuestionIsNoAnswer(t *testing.T) {
	w, _ := late(t, 1, "", nil)
	w.sim.Inject(azuresim.Fault{Kind: "*retrievebootdiagnosticsdata", Status: http.StatusTooManyRequests, RetryAfter: 10 * time.Second, Times: 1})
	if d := w.told(); d != nil {
		t.Errorf("the machine says %+v", d)
	}
	if g := w.groups()["agents"]; !g.Usable() {
		t.Errorf("the group is %+v", g)
	}
	w.pass(6 * time.Minute)
	if d := w.groups()["agents"].Instances[0].Diagnosis; d == nil || d.Problem != "" {
		t.Errorf("later the machine says %+v", d)
	}
}
