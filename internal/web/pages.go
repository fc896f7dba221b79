package web

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"sluice.dev/sluice/internal/view"
	"sluice.dev/sluice/journal"
	"sluice.dev/sluice/plan/action"
)

// cycle is the entry of one cycle with the pages that somebody has asked for. All readers of a page share its bytes.
type cycle struct {
	*journal.Entry

	mu    sync.Mutex
	pages map[string][]byte // by name, compressed

	once   sync.Once
	viewed atomic.Pointer[view.Now]
	before *view.Now // of the cycle before, nil where nobody looked at that; no more once this one is viewed
}

// writer is io.Writer.
type writer = io.Writer

// most is how many pages of a cycle are kept; what is asked for beyond is written for each reader.
const most = 200

// view is what an operator looks at, made once.
func (c *cycle) view() *view.Now {
	c.once.Do(func() {
		c.viewed.Store(view.After(c.before, *c.Entry))
		c.before = nil
	})
	return c.viewed.Load()
}

// made is the named page where it was written already.
func (c *cycle) made(name string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, made := c.pages[name]
	return p, made
}

// page returns the named page as gzip. The first caller in a cycle has it written, and others wait for that: one page of a cycle is written at a time.
func (c *cycle) page(name string, write func(io.Writer) error) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, made := c.pages[name]; made {
		return p, nil
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err == nil {
		err = write(z)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, err
	}
	if c.pages == nil {
		c.pages = map[string][]byte{}
	}
	p := bytes.Clone(packed.Bytes())
	if len(c.pages) < most {
		c.pages[name] = p
	}
	return p, nil
}

// send answers with a page of JSON.
func send(w http.ResponseWriter, r *http.Request, page []byte) {
	sendPacked(w, r, "application/json", page)
}

// sendPacked answers with a page: as it is to a reader that takes gzip, else unpacked piece by piece.
func sendPacked(w http.ResponseWriter, r *http.Request, kind string, page []byte) {
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Vary", "Accept-Encoding")
	if takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", fmt.Sprint(len(page)))
		w.Write(page) //nolint:errcheck // nobody is left to tell
		return
	}
	if r.Method == http.MethodHead {
		return
	}
	z, err := gzip.NewReader(bytes.NewReader(page))
	if err != nil {
		panic("web: a page is no gzip: " + err.Error()) // this process has written it
	}
	io.Copy(w, z) //nolint:errcheck // nobody is left to tell
}

// takesGzip says whether the request names gzip among the encodings that the reader takes, with any weight above zero.
func takesGzip(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(line, ",") {
			name, weight, weighted := strings.Cut(part, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(weight), "q="), 64)
			return !weighted || err == nil && q > 0
		}
	}
	return false
}

// with writes an object whose last member is made piece by piece: a page of many verdicts is never whole in memory.
func with(w io.Writer, head any, name string, last func(io.Writer) error) error {
	raw, err := json.Marshal(head)
	if err != nil {
		return err
	}
	comma := ","
	if string(raw) == "{}" {
		comma = ""
	}
	if _, err := fmt.Fprintf(w, "%s%s%q:", raw[:len(raw)-1], comma, name); err != nil {
		return err
	}
	if err := last(w); err != nil {
		return err
	}
	_, err = io.WriteString(w, "}")
	return err
}

// list writes the verdicts that are wanted.
func list(w io.Writer, verdicts []action.Verdict, wanted func(action.Verdict) bool) error {
	separator := "["
	for _, v := range verdicts {
		if !wanted(v) {
			continue
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s%s", separator, raw); err != nil {
			return err
		}
		separator = ","
	}
	if separator == "[" {
		_, err := io.WriteString(w, "[]")
		return err
	}
	_, err := io.WriteString(w, "]")
	return err
}
